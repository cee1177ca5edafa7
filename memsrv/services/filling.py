"""Put the messages that wait into the index, and find the one that is to blame when they cannot be.

(1) A message is marked indexed only after all its chunks are in the index.
(2) One failure does not hide another: a message is to blame only if it fails alone while the embedder answers a probe; it
    waits longer each time and is set aside in the end, and the others go on. An index that fails is never a message's fault.
(3) No text is embedded that has its vector in this generation already, of whatever chunk of its tenant: what is said, edited or
    imported twice, before the last start too.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import structlog

from memsrv.errors import EmbedderDown, MemsrvError
from memsrv.model import Generation, PendingChunk
from memsrv.ports import IndexQueue, VectorIndex
from memsrv.services.embedding import Embedding, Text
from memsrv.services.lull import Lull

SUSPECT_AFTER = 3
"""After so many failures in a row the batch, not the embedder, may be to blame."""
PROGRESS_POLL_S = 0.25
"""A waiter looks again at least so often: a mark may have been cleared just before it began to wait."""

log = structlog.get_logger()

Messages = Sequence[Sequence[PendingChunk]]


@dataclass(slots=True)
class Counters:
    """What the indexer did since it started."""

    indexed_chunks: int = 0
    removed_chunks: int = 0
    failed_batches: int = 0


class Filler:
    """`batch`: texts in one call of the embedder; `window`: chunks taken from the queue at once; `attempts`: how often a message
    is tried before it is set aside."""

    def __init__(
        self,
        queue: IndexQueue,
        index: VectorIndex,
        embedding: Embedding,
        counters: Counters,
        lull: Lull,
        *,
        batch: int,
        window: int,
        attempts: int,
    ):
        self._counters, self._lull = counters, lull
        self._queue, self._index, self._embedding = queue, index, embedding
        self._batch, self._window, self._attempts = batch, window, attempts
        self._failures = 0
        self._moved = asyncio.Event()

    async def progress(self, timeout_s: float) -> None:
        """Return when marks were cleared, or after a moment, at most `timeout_s`: look again then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(timeout_s, PROGRESS_POLL_S)):
                await self._moved.wait()

    async def fill(self, generation: Generation, *, failures: int) -> bool:
        """Take a window of messages from the queue; those that failed before go alone, after the others.
        Whether there were any; `failures`: so many went before in a row. Raises what went wrong, but for what a message is to
        blame for."""
        self._failures = failures
        messages: dict[int, list[PendingChunk]] = {}
        pending = await self._queue.pending(generation, limit=self._window)
        self._lull.tell(backlog=len(pending) > self._batch)
        for chunk in pending:
            messages.setdefault(chunk.message_number, []).append(chunk)
        sound = [chunks for chunks in messages.values() if not chunks[0].attempts]
        for group in (sound, *([chunks] for chunks in messages.values() if chunks[0].attempts)):
            if group:
                await self._settle(generation, group)
        return bool(messages)

    async def _settle(self, generation: Generation, messages: Messages) -> None:
        """Index messages; if one of them is to blame for a failure, find it by halves and let the others through."""
        error = await outcome(self._index_messages(generation, messages))
        if error is None:
            return
        if not await self._to_blame(messages, error):
            raise error
        if len(messages) == 1:
            await self._blame(messages[0][0].message_number, error)
            return
        middle = len(messages) // 2
        await self._settle(generation, messages[:middle])
        await self._settle(generation, messages[middle:])

    async def _index_messages(self, generation: Generation, messages: Messages) -> None:
        chunks = [chunk for message in messages for chunk in message]
        await self._look_up(generation, chunks)
        storing: asyncio.Task[None] | None = None
        try:
            for batch in self._embedding.batches(chunks, self._batch):
                vectors = await self._embedding.vectors(batch)
                if storing:
                    await storing
                storing = asyncio.create_task(self._put(batch, vectors))  # while the next batch is embedded
        finally:
            if storing:
                await storing
        await self._queue.mark_indexed(generation, chunks)
        self._counters.indexed_chunks += len(chunks)
        self._moved.set()
        self._moved = asyncio.Event()

    async def _look_up(self, generation: Generation, chunks: Sequence[PendingChunk]) -> None:
        """Take the vectors of texts that are in the index from there; see (3)."""
        numbers = await self._queue.embedded(generation, self._embedding.strange(chunks))
        if numbers:
            found = await self._index.vectors(list(numbers.values()))
            self._embedding.learn({digest: found[number] for digest, number in numbers.items() if number in found})

    async def _to_blame(self, messages: Messages, error: Exception) -> bool:
        """Whether the messages are at fault, and not the embedder or a store."""
        if isinstance(error, MemsrvError) and not isinstance(error, EmbedderDown):
            return False
        poison = isinstance(error, EmbedderDown) and error.poison
        known = len(messages) == 1 and messages[0][0].attempts > 0
        if not (poison or known or self._failures >= SUSPECT_AFTER):
            return False
        return await outcome(self._embedding.probe()) is None

    async def _blame(self, message_number: int, error: Exception) -> None:
        if await self._queue.mark_failed(message_number, reason(error), most=self._attempts):
            log.error("a message cannot be indexed and is set aside", message=message_number, reason=reason(error))

    async def _put(self, batch: Sequence[Text], vectors: np.ndarray) -> None:
        rows = [(chunk, at) for at, one in enumerate(batch) for chunk in one.chunks]
        await self._index.put([chunk for chunk, _ in rows], vectors[[at for _, at in rows]])


async def outcome(work: Coroutine[Any, Any, np.ndarray | None]) -> Exception | None:
    """Do it, and answer with what went wrong: the loop and the search for a culprit outlive any failure."""
    try:
        await work
    except Exception as error:  # noqa: BLE001
        return error
    return None


def reason(error: Exception) -> str:
    """What may be logged and shown: our own words, never a vendor's, which may quote a message."""
    return error.message if isinstance(error, MemsrvError) else type(error).__name__
