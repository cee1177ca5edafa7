"""The client for programs that run an event loop."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self, TypeVar

import httpx

from memsrv.client import calls, wire
from memsrv.client.calls import Call
from memsrv.client.methods import Methods
from memsrv.client.shapes import Listed, Page

T = TypeVar("T")


class AsyncMemory:
    """One memsrv server.

        async with AsyncMemory("http://127.0.0.1:8000", key="...") as memory:
            anna = memory.session("anna")
            await anna.add("My spare key is under the blue flowerpot.")
            prompt = await anna.prompt("Where is the key?", budget=1000)

    The tasks of one event loop may share it. `transport` takes the place of the network, for tests or for a proxy. Raises
    ValueError for an address or key that cannot be used; its calls raise Refused.
    """

    def __init__(
        self,
        url: str = wire.DEFAULT_URL,
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        tries: int = 5,
        backoff_s: float = 0.2,
        transport: httpx.AsyncBaseTransport | None = None,
    ):
        wire.checked(url, key)
        self._wire = wire.Wire(url, key, timeout_s, tries, backoff_s)
        self._http = httpx.AsyncClient(transport=transport, **self._wire.client())

    def session(self, name: str) -> "AsyncSession":
        """A handle for the session of this name; the server is not asked, and the session need not be there yet."""
        return AsyncSession(self, name)

    def sessions(self, *, owner: str | None = None, page: int = 100) -> AsyncIterator[Listed]:
        """Walk over the sessions (of one owner), in order of name."""
        return self.walk(calls.sessions(owner=owner, page=page))

    async def send(self, call: Call[T]) -> T:
        """The answer to a call, tried again where that can help. Raises Refused."""
        answer: T = await self._wire.awaiting(call)(self._once, call)
        return answer

    async def walk(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """The items of a list, a page at a time."""
        page = await self.send(call)
        for item in page.items:
            yield item
        while page.next is not None:
            page = await self.send(call.after(page.next))
            for item in page.items:
                yield item

    async def _once(self, call: Call[T]) -> T:
        try:
            answer = await self._http.request(**wire.request(call))
        except wire.LOST as error:
            raise wire.lost(self._wire.url, error) from None
        return wire.read(call, answer)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


class AsyncSession(Methods):
    """One session. What each method takes and gives is written in `memsrv.client.calls`."""

    def __init__(self, memory: AsyncMemory, name: str):
        self.memory = memory
        self.name = name
