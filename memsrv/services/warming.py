"""After a start, bring the words and vectors of the sessions that were used last into memory: a prompt that comes first would
wait for them, about a second for each 10,000 chunks.

(1) A start never waits for it and never fails by it. (2) No more is brought than the caches hold, the sessions changed last
first. (3) A search that comes meanwhile is not held up but by the session it asks for. (4) At the end, the memory
that loading took beside what stays is given back.
"""

import asyncio
import contextlib

from memsrv.errors import IndexDown, StoreDown
from memsrv.memory import give_back
from memsrv.model import Scope
from memsrv.ports import LexicalIndex, Sessions, VectorIndex

MOST_SESSIONS = 64
RETRY_S = 0.5
TRIES = 120


class Warming:
    """The reading ahead."""

    def __init__(
        self,
        sessions: Sessions,
        lexical: LexicalIndex,
        vectors: VectorIndex,
        *,
        most_chunks: int,
        retry_s: float = RETRY_S,
    ):
        self._sessions, self._lexical, self._vectors = sessions, lexical, vectors
        self._most_chunks, self._retry_s = most_chunks, retry_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the background."""
        self._task = asyncio.create_task(self._run(), name="warming")

    async def done(self) -> None:
        """Return when nothing is left to bring."""
        if self._task:
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Stop; what is in memory stays."""
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        with contextlib.suppress(StoreDown):
            await self._bring()
        await asyncio.to_thread(give_back)

    async def _bring(self) -> None:
        room = self._most_chunks
        for scope, chunks in await self._sessions.changed_last(limit=MOST_SESSIONS):
            if chunks > room:
                continue
            room -= chunks
            await self._lexical.open(scope)
            await self._vectors_of(scope)

    async def _vectors_of(self, scope: Scope) -> None:
        """The index may not be open yet."""
        for _ in range(TRIES):
            with contextlib.suppress(IndexDown):
                await self._vectors.open(scope)
                return
            await asyncio.sleep(self._retry_s)
