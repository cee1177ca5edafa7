"""A gate before the writes of each session: many may pass at once, until it is frozen for a while.

(1) While a session is frozen nothing is written to it, and what is being written when it freezes ends first.
(2) It thaws however the freezing ends. Other sessions are not touched.
(3) At most `most_waiting` writes wait before a frozen session; the next one is told to come back.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from memsrv.errors import Busy
from memsrv.model import SessionKey


class Gate:
    """The gate of one session."""

    def __init__(self) -> None:
        self.frozen = False
        self.writers = 0
        self.waiting = 0
        self.moved = asyncio.Event()

    async def wait(self) -> None:
        """Until someone has passed, or the gate has thawed."""
        self.moved.clear()
        await self.moved.wait()


class Gates:
    """The gates that somebody stands at."""

    def __init__(self, *, most_waiting: int = 256) -> None:
        self._most_waiting = most_waiting
        self._gates: WeakValueDictionary[SessionKey, Gate] = WeakValueDictionary()

    @asynccontextmanager
    async def writing(self, key: SessionKey) -> AsyncIterator[None]:
        """Write to the session inside; waits while it is frozen. Raises Busy where too many wait already."""
        gate = self._gate(key)
        if gate.frozen and gate.waiting >= self._most_waiting:
            raise Busy(f"{gate.waiting} writes wait already while the session's mode changes.")
        gate.waiting += 1
        try:
            while gate.frozen:
                await gate.wait()
        finally:
            gate.waiting -= 1
        gate.writers += 1
        try:
            yield
        finally:
            gate.writers -= 1
            gate.moved.set()

    @asynccontextmanager
    async def frozen(self, key: SessionKey) -> AsyncIterator[None]:
        """Nobody writes to the session while inside."""
        gate = self._gate(key)
        while gate.frozen:
            await gate.wait()
        gate.frozen = True
        try:
            while gate.writers:
                await gate.wait()
            yield
        finally:
            gate.frozen = False
            gate.moved.set()

    def _gate(self, key: SessionKey) -> Gate:
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = Gate()
        return gate
