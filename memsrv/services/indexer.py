"""Keep the index in step with the transcript.

Appending a message marks it unindexed in the same transaction; only this module clears the mark.

(1) A message is marked indexed only after all its chunks are in the index.
(2) A chunk's number is its vector's id, so redoing (1) overwrites.
(3) Deleting the index and running to the end restores recall in full: an index that holds fewer vectors than there are marks
    was lost, and a new generation begins.
(4) An embedder that is down is waited for. Only another fingerprint, told by an embedder that answers, makes a generation.
(5) One failure does not hide another: a message is to blame only if it fails alone while the embedder answers a probe; it
    waits longer each time and is set aside in the end, and the others go on. An index that fails is never a message's fault.
"""

import asyncio
import contextlib
import random
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import structlog

from memsrv.core.view import CHUNKS, VIEW, passage
from memsrv.errors import EmbedderDown, IndexDown, MemsrvError
from memsrv.model import Generation, PendingChunk
from memsrv.ports import Embedder, IndexQueue, VectorIndex

PROBE = "Is anybody there?"
REMOVALS = 1000
SUSPECT_AFTER = 3
"""After so many failures in a row the batch, not the embedder, may be to blame."""
REMEMBERED = 4096
"""Vectors of so many texts are kept by a hash of the text: what is said, edited or imported twice is embedded once."""
PROGRESS_POLL_S = 0.25
"""A waiter looks again at least so often: a mark may have been cleared just before it began to wait."""

log = structlog.get_logger()

Messages = Sequence[Sequence[PendingChunk]]
Batch = Sequence[tuple[str, Sequence[PendingChunk]]]
"""Texts, each with the chunks that have it."""


@dataclass(slots=True)
class Counters:
    """What the indexer did since it started."""

    indexed_chunks: int = 0
    removed_chunks: int = 0
    failed_batches: int = 0


class Indexer:
    """One background task. `batch`: texts in one call of the embedder; `window`: chunks taken from the queue at once;
    `attempts`: how often a message is tried before it is set aside; `poll_s`: how long a quiet queue is left alone."""

    def __init__(
        self,
        queue: IndexQueue,
        index: VectorIndex,
        embedder: Embedder,
        *,
        batch: int,
        window: int = 256,
        attempts: int = 5,
        backoff_s: float = 0.5,
        max_backoff_s: float = 30.0,
        poll_s: float = 60.0,
    ):
        self.counters = Counters()
        self._queue, self._index, self._embedder = queue, index, embedder
        self._batch, self._window, self._attempts = batch, window, attempts
        self._backoff_s, self._max_backoff_s, self._poll_s = backoff_s, max_backoff_s, poll_s
        self._generation: Generation | None = None
        self._catching_up = False
        self._down: set[str] = set()
        self._failures = 0
        self._known: dict[bytes, np.ndarray] = {}
        self._wake, self._closing, self._moved = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def degraded(self) -> frozenset[str]:
        """`embedder` while it fails; `index` while it fails, is not open yet, or is being filled after a start."""
        return frozenset(self._down | ({"index"} if self.reindexing or self._generation is None else set()))

    @property
    def reindexing(self) -> bool:
        """Whether the index has not caught up with the transcript since the start, or since a new generation began."""
        return self._catching_up

    def start(self) -> None:
        """Begin to work in the background."""
        self._task = asyncio.create_task(self._run(), name="indexer")

    def notify(self) -> None:
        """There is something to do."""
        self._wake.set()

    async def progress(self, timeout_s: float) -> None:
        """Return when marks were cleared, or after a moment, at most `timeout_s`: look again then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(timeout_s, PROGRESS_POLL_S)):
                await self._moved.wait()

    async def close(self, grace_s: float = 3.0) -> None:
        """Stop after the round that runs, or in the midst of it after `grace_s`; what is left is redone at the next start."""
        self._closing.set()
        self._wake.set()
        if self._task:
            await asyncio.wait([self._task], timeout=grace_s)
            self._task.cancel()
            await asyncio.wait([self._task])

    # --- the loop ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            error = await outcome(self._round())
            if error:
                self._note_failure(error)
                await asleep(self._closing, self._backoff())

    def _backoff(self) -> float:
        longest = min(self._max_backoff_s, self._backoff_s * 2.0 ** min(self._failures - 1, 20))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (so that several servers do not knock in step)

    def _note_failure(self, error: Exception) -> None:
        self._failures += 1
        self.counters.failed_batches += 1
        if isinstance(error, EmbedderDown):
            self._down.add("embedder")
        elif isinstance(error, IndexDown):
            self._down.add("index")
            self._generation = None
        log.warning("indexing failed", error=type(error).__name__, reason=reason(error), failures=self._failures)

    async def _round(self) -> None:
        """Do what is due, or sleep until something is. Raises what went wrong."""
        generation = self._generation or await self._begin()
        worked = await self._remove()
        if "embedder" in self._down:
            await self._embed([PROBE])
        worked = await self._index_pending(generation) or worked
        self._down.clear()
        self._failures = 0
        if self._catching_up:
            self._catching_up = (await self._queue.backlog())[0] > 0
        if not worked:
            due_s = await self._queue.next_due_s()
            await asleep(self._wake, self._poll_s if due_s is None else min(due_s, self._poll_s))

    async def _begin(self) -> Generation:
        """Open the index for the embedder's generation; a new one if there is none, or if the index was lost."""
        if self._embedder.dimension is None:
            await self._embed([PROBE])
        dimension = self._embedder.dimension
        assert dimension, "an embedder that answered knows its dimension"
        fingerprint = f"{self._embedder.fingerprint}|{dimension}|view{VIEW}|chunks{CHUNKS}"
        generation, new = await self._queue.generation(fingerprint)
        self._known.clear()
        await self._index.use(generation, dimension)
        if await self._lost(generation, new):
            log.warning("the index was lost and is built anew", generation=generation.number)
            generation = await self._queue.renew(fingerprint)
            await self._index.use(generation, dimension)
        self._generation = generation
        self._catching_up = (await self._queue.backlog())[0] > 0
        return generation

    async def _lost(self, generation: Generation, new: bool) -> bool:
        """Whether the index lacks vectors that are marked, or (new) holds those of a transcript that is gone.

        Vectors that await removal go first, so that they stand in for none that was lost. The marks are counted before the
        vectors, which only this task takes out: what is deleted meanwhile takes marks alone. Counts can't see a loss that
        vectors without a mark make up for: those of the last round before a kill (a window at most), of a message deleted
        in this very moment, or of messages that a transcript restored from a copy does not know.
        """
        while await self._remove():
            pass
        marked = await self._queue.indexed_chunks(generation)
        held = await self._index.count()
        return held > 0 if new else held < marked

    async def _remove(self) -> bool:
        numbers = await self._queue.removals(REMOVALS)
        if numbers:
            await self._index.remove(numbers)
            await self._queue.clear_removals(numbers)
            self.counters.removed_chunks += len(numbers)
        return bool(numbers)

    # --- messages ---------------------------------------------------------------------------------------------------

    async def _index_pending(self, generation: Generation) -> bool:
        """Take a window of messages from the queue; those that failed before go alone, after the others."""
        messages: dict[int, list[PendingChunk]] = {}
        for chunk in await self._queue.pending(generation, limit=self._window):
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
        storing: asyncio.Task[None] | None = None
        try:
            for batch in self._batches(chunks):
                vectors = await self._vectors([text for text, _ in batch])
                if storing:
                    await storing
                storing = asyncio.create_task(self._put(batch, vectors))  # while the next batch is embedded
        finally:
            if storing:
                await storing
        await self._queue.mark_indexed(generation, chunks)
        self.counters.indexed_chunks += len(chunks)
        self._moved.set()
        self._moved = asyncio.Event()

    async def _to_blame(self, messages: Messages, error: Exception) -> bool:
        """Whether the messages are at fault, and not the embedder or a store."""
        if isinstance(error, MemsrvError) and not isinstance(error, EmbedderDown):
            return False
        poison = isinstance(error, EmbedderDown) and error.poison
        known = len(messages) == 1 and messages[0][0].attempts > 0
        if not (poison or known or self._failures >= SUSPECT_AFTER):
            return False
        return await outcome(self._embed([PROBE])) is None

    async def _blame(self, message_number: int, error: Exception) -> None:
        if await self._queue.mark_failed(message_number, reason(error), most=self._attempts):
            log.error("a message cannot be indexed and is set aside", message=message_number, reason=reason(error))

    # --- vectors ----------------------------------------------------------------------------------------------------

    def _batches(self, chunks: Sequence[PendingChunk]) -> list[Batch]:
        """Texts with the chunks that have them, each text once; texts of like length go together, which pads least."""
        by_text: dict[str, list[PendingChunk]] = {}
        for chunk in chunks:
            by_text.setdefault(passage(chunk), []).append(chunk)
        texts = sorted(by_text.items(), key=lambda item: (len(item[0]), item[0]))
        return [texts[start : start + self._batch] for start in range(0, len(texts), self._batch)]

    async def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        """A unit row for each text. One that was embedded lately is not embedded again."""
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        known = {key: row for key in keys if (row := self._known.get(key)) is not None}
        new = [at for at, key in enumerate(keys) if key not in known]
        if new:
            known |= zip((keys[at] for at in new), await self._embed([texts[at] for at in new]), strict=True)
        self._remember(known)
        return np.stack([known[key] for key in keys])

    def _remember(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        self._known |= vectors
        for key in list(self._known)[: max(0, len(self._known) - REMEMBERED)]:
            del self._known[key]

    async def _put(self, batch: Batch, vectors: np.ndarray) -> None:
        rows = [(chunk, at) for at, (_, chunks) in enumerate(batch) for chunk in chunks]
        await self._index.put([chunk for chunk, _ in rows], vectors[[at for _, at in rows]])

    async def _embed(self, texts: Sequence[str]) -> np.ndarray:
        """Ask the embedder and check its answer: a vector that is not finite or zero would never be found again."""
        vectors = await self._embedder.passages(texts)
        if vectors.shape != (len(texts), self._embedder.dimension):
            raise EmbedderDown(f"The embedder answered an array of shape {vectors.shape}.")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise EmbedderDown("The embedder answered a vector that is zero or not finite.", poison=True)
        return np.asarray(vectors / norms, np.float32)


async def outcome(work: Coroutine[Any, Any, np.ndarray | None]) -> Exception | None:
    """Do it, and answer with what went wrong: the loop and the search for a culprit outlive any failure."""
    try:
        await work
    except Exception as error:  # noqa: BLE001
        return error
    return None


async def asleep(until: asyncio.Event, seconds: float) -> None:
    """Sleep until the event, so long at most."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until.wait()


def reason(error: Exception) -> str:
    """What may be logged and shown: our own words, never a vendor's, which may quote a message."""
    return error.message if isinstance(error, MemsrvError) else type(error).__name__
