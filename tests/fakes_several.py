"""What several processes decide among themselves, decided by the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class GivenLead:
    """ports.Lead that is given and taken away."""

    def __init__(self, *, held: bool):
        self._taken, self._lost = asyncio.Event(), asyncio.Event()
        self.give(held)

    @property
    def held(self) -> bool:
        return self._taken.is_set()

    def give(self, held: bool) -> None:
        for event, is_so in ((self._taken, held), (self._lost, not held)):
            if is_so:
                event.set()
            else:
                event.clear()

    async def taken(self) -> None:
        await self._taken.wait()

    async def lost(self) -> None:
        await self._lost.wait()


class SharedClaims:
    """ports.Claims among those who share it. `asked` counts."""

    def __init__(self) -> None:
        self.claimed: set[int] = set()
        self.asked = 0

    @asynccontextmanager
    async def claim(self, session_number: int) -> AsyncIterator[bool]:
        self.asked += 1
        own = session_number not in self.claimed
        self.claimed |= {session_number}
        try:
            yield own
        finally:
            if own:
                self.claimed -= {session_number}
