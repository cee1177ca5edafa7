"""memsrv: a memory server for chat assistants."""

__version__ = "0.1.0"
