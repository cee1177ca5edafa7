"""Every minute, give back to the system what memory lies free in the process: batches, copies and searches come and go between
what stays, and without this it would stay as large as it was at its busiest. It takes some ten milliseconds of a thread."""

import asyncio
import contextlib
from collections.abc import Callable

from memsrv.memory import give_back

EVERY_S = 60.0


class Tidying:
    """The background task."""

    def __init__(self, give_back: Callable[[], None] = give_back, *, every_s: float = EVERY_S):
        self._give_back, self._every_s = give_back, every_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name="tidying")

    async def close(self) -> None:
        """Stop."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await asyncio.to_thread(self._give_back)
