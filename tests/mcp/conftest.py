"""The SDK's own client, connected over either transport to the real server."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.command import command, environ
from tests.served import RED, Served

Connect = Callable[..., AbstractAsyncContextManager[Client]]


def stdio(server: Served, session: str | None, key: str) -> StdioServerParameters:
    """How an MCP client starts `memsrv mcp`."""
    named = ["--session", session] if session else []
    program, *arguments = command("mcp", "--url", server.address, "--key", key, *named)
    return StdioServerParameters(command=program, args=arguments, env=environ())


@asynccontextmanager
async def over_stdio(server: Served, session: str | None = None, key: str = RED, mode: str = "auto") -> AsyncIterator[Client]:
    async with Client(stdio(server, session, key), mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(server: Served, session: str | None = None, key: str = RED, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {key}"} | ({"x-memory-session": session} if session else {})
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{server.address}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.fixture(params=[over_stdio, over_http], ids=["stdio", "http"])
def connect(request, server: Served) -> Connect:
    """Opens a connection; the same tests hold for both transports."""
    return lambda *args, **options: request.param(server, *args, **options)


@pytest.fixture
def connect_http(server: Served) -> Connect:
    """For what cannot differ between the transports; it starts no process."""
    return lambda *args, **options: over_http(server, *args, **options)
