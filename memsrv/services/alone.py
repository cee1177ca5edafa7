"""One process has its stores to itself: whatever several would have to decide is decided."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Alone:
    """ports.Lead and ports.Claims where there is nobody else."""

    held = True

    async def taken(self) -> None:
        """From the beginning."""

    async def lost(self) -> None:
        """Never."""
        await asyncio.Event().wait()

    @asynccontextmanager
    async def claim(self, session_number: int) -> AsyncIterator[bool]:
        """Nobody else asks."""
        yield True

    async def close(self) -> None:
        """There is nothing to let go of."""


ALONE = Alone()
