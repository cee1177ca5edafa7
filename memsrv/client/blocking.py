"""The client for programs that wait for each answer."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self, TypeVar

import httpx

from memsrv.client import calls, wire
from memsrv.client.calls import Call
from memsrv.client.methods import Methods
from memsrv.client.shapes import Listed, Page

T = TypeVar("T")


class Memory:
    """One memsrv server.

        with Memory("http://127.0.0.1:8000", key="...") as memory:
            anna = memory.session("anna")
            anna.add("My spare key is under the blue flowerpot.")
            prompt = anna.prompt("Where is the key?", budget=1000)

    Threads may share it. `transport` takes the place of the network, for tests or for a proxy. Raises ValueError for an
    address or key that cannot be used; its calls raise Refused.
    """

    def __init__(
        self,
        url: str = wire.DEFAULT_URL,
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        tries: int = 5,
        backoff_s: float = 0.2,
        transport: httpx.BaseTransport | None = None,
    ):
        wire.checked(url, key)
        self._wire = wire.Wire(url, key, timeout_s, tries, backoff_s)
        self._http = httpx.Client(transport=transport, **self._wire.client())

    def session(self, name: str) -> "Session":
        """A handle for the session of this name; the server is not asked, and the session need not be there yet."""
        return Session(self, name)

    def sessions(self, *, owner: str | None = None, page: int = 100) -> Iterator[Listed]:
        """Walk over the sessions (of one owner), in order of name."""
        return self.walk(calls.sessions(owner=owner, page=page))

    def send(self, call: Call[T]) -> T:
        """The answer to a call, tried again where that can help. Raises Refused."""
        answer: T = self._wire.blocking(call)(self._once, call)
        return answer

    def walk(self, call: Call[Page[T]]) -> Iterator[T]:
        """The items of a list, a page at a time."""
        page = self.send(call)
        yield from page.items
        while page.next is not None:
            page = self.send(call.after(page.next))
            yield from page.items

    def _once(self, call: Call[T]) -> T:
        try:
            answer = self._http.request(**wire.request(call))
        except wire.LOST as error:
            raise wire.lost(self._wire.url, error) from None
        return wire.read(call, answer)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


class Session(Methods):
    """One session. What each method takes and gives is written in `memsrv.client.calls`."""

    def __init__(self, memory: Memory, name: str):
        self.memory = memory
        self.name = name
