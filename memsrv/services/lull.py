"""Background work waits for a lull, so that it does not take the interpreter from a prompt that is being made.

(1) It waits while a prompt is in hand and for a moment after, for questions come one on the other.
(2) Summaries that nobody asked for wait for the end of a backlog to index, too: both take all the processor that they can get,
    and what is said can be recalled only when it is indexed. The indexer tells as often as it looks into its queue; messages that
    just came count as a backlog until it has looked, so that no summary is begun just before an import is seen.
(3) It waits so long at most as it says, however many prompts or messages come.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

AFTERMATH_S = 0.05


class Lull:
    """Knows whether prompts are in hand, and whether more is to be indexed than one call of the embedder takes."""

    def __init__(self, aftermath_s: float = AFTERMATH_S):
        self._aftermath_s = aftermath_s
        self._in_hand = 0
        self._over_at = -aftermath_s
        self._indexed = asyncio.Event()
        self._indexed.set()

    @contextmanager
    def broken(self) -> Iterator[None]:
        """A prompt is in hand inside."""
        self._in_hand += 1
        try:
            yield
        finally:
            self._in_hand -= 1
            self._over_at = monotonic()

    def tell(self, *, backlog: bool) -> None:
        """Whether there is a backlog to index now."""
        if backlog:
            self._indexed.clear()
        else:
            self._indexed.set()

    async def indexed(self, most_s: float) -> None:
        """Return when there is no backlog to index, or after `most_s`."""
        if most_s > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(most_s):
                    await self._indexed.wait()

    async def comes(self, most_s: float) -> None:
        """Return when there is a lull, or after `most_s`."""
        until = monotonic() + most_s
        while (wait_s := self._left_s()) > 0 and (left_s := until - monotonic()) > 0:  # noqa: ASYNC110 - nothing tells when the moment is over
            await asyncio.sleep(min(wait_s, left_s))

    def _left_s(self) -> float:
        """How soon there can be one."""
        return self._aftermath_s if self._in_hand else self._over_at + self._aftermath_s - monotonic()
