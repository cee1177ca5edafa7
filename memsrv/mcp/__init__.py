"""The memory for MCP clients: one table of tools and one of resources, served over stdio and over HTTP.

Both ask a server through `memsrv.client`: over stdio one that runs elsewhere, over HTTP the one that they are part of.
"""
