"""Background work waits for a lull, so that it does not take the interpreter from a prompt that is being made.

(1) It waits while a prompt is in hand and for a moment after, for questions come one on the other.
(2) It waits so long at most as it says, however many prompts come.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

AFTERMATH_S = 0.05


class Lull:
    """Knows whether prompts are in hand."""

    def __init__(self, aftermath_s: float = AFTERMATH_S):
        self._aftermath_s = aftermath_s
        self._in_hand = 0
        self._over_at = -aftermath_s

    @contextmanager
    def broken(self) -> Iterator[None]:
        """A prompt is in hand inside."""
        self._in_hand += 1
        try:
            yield
        finally:
            self._in_hand -= 1
            self._over_at = monotonic()

    async def comes(self, most_s: float) -> None:
        """Return when there is a lull, or after `most_s`."""
        until = monotonic() + most_s
        while (wait_s := self._left_s()) > 0 and (left_s := until - monotonic()) > 0:  # noqa: ASYNC110 - nothing tells when the moment is over
            await asyncio.sleep(min(wait_s, left_s))

    def _left_s(self) -> float:
        """How soon there can be one."""
        return self._aftermath_s if self._in_hand else self._over_at + self._aftermath_s - monotonic()
