"""`/mcp`: the tools and resources of memsrv.mcp, as a part of the server.

They ask this same app, in this process, with the key of whoever asked: so keys, tenants, limits and refusals are those of the
routes, without a second copy of any of them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx
from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memsrv.client import AsyncMemory
from memsrv.core.remembering import Latest
from memsrv.services.access import Access
from memsrv.web.edge import bearer_of, segment_in

if TYPE_CHECKING:  # it takes a while to load
    from memsrv.mcp.serving import Visit

INSIDE = "http://127.0.0.1"
SESSION_HEADER = "x-memory-session"
MOST_MEMORIES = 1000
"""Keys whose client is kept; it holds no connection, so it may go while it is in use."""


class Door:
    """The route's end: open from its first request, for what serves it takes half a second to load, to the app's end."""

    def __init__(self, *, access: Access, max_body_bytes: int):
        self._access, self._max_body_bytes = access, max_body_bytes
        self._memories: Latest[str, AsyncMemory] = Latest(MOST_MEMORIES)
        self._app: FastAPI | None = None
        self._closing = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._part: asyncio.Future[ASGIApp] | None = None

    @asynccontextmanager
    async def opened(self, app: FastAPI) -> AsyncIterator[None]:
        """The app's lifespan."""
        self._app = app
        yield
        self._closing.set()
        if self._serving:
            await asyncio.wait([self._serving])
        for memory in self._memories.values():
            await memory.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        part = await self._opened_part()
        await part(scope, receive, send)

    async def _opened_part(self) -> ASGIApp:
        if self._part is None or self._serving is None:
            self._part = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._part), name="mcp")
        either: set[asyncio.Future[Any]] = {self._part, self._serving}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._serving.done():
            self._serving.result()
        return self._part.result()

    async def _serve(self, part: "asyncio.Future[ASGIApp]") -> None:
        """One task opens and closes it: the SDK asks for that."""
        from memsrv.mcp.serving import over_http

        async with over_http(self._visit, max_body_bytes=self._max_body_bytes) as app:
            part.set_result(app)
            await self._closing.wait()

    def _visit(self, request: Request | None) -> "Visit":
        from memsrv.mcp.serving import Visit

        assert request is not None
        session = request.headers.get(SESSION_HEADER)
        return Visit(
            self._memory(bearer_of(request.headers) if self._access.wanted else ""),
            unquote(segment_in(session)) if session else None,
        )

    def _memory(self, key: str) -> AsyncMemory:
        """One for each key; the edge has let through only those that are known."""
        assert self._app is not None
        if key not in self._memories:
            transport = httpx.ASGITransport(self._app)
            self._memories[key] = AsyncMemory(INSIDE, key=key or None, transport=transport)
        return self._memories[key]


class DoorRoute(Route):
    """POST only: nothing is kept between requests, so there is no stream to GET and no session to DELETE."""

    def __init__(self, door: Door):
        super().__init__("/mcp", endpoint=door, methods=["POST"], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As any route does, and name the route for the log line and the counters."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}
