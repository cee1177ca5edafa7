"""Keep the index in step with the transcript.

Appending a message marks it unindexed in the same transaction; only indexing it clears the mark.

(1) A message is marked indexed only after all its chunks are in the index (`filling`).
(2) A chunk's number is its vector's id, so redoing (1) overwrites.
(3) Deleting the index and running to the end restores recall in full: an index that holds fewer vectors than there are marks
    was lost, and a new generation begins.
(4) An embedder that is down is waited for. Only another fingerprint, told by an embedder that answers, makes a generation.
(5) A rebuild fills a generation beside the one that answers, which goes on to, and swaps when it misses nothing more. What
    comes in meanwhile goes into both, first. After a stop in the midst the next start goes on with it.
(6) Of several processes the one that leads does all this. The others look on: they open what answers, for searching, and a
    rebuild that is asked of them begins in the queue, where the one that leads finds it.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import structlog

from memsrv.core.recall.view import CHUNKS, VIEW
from memsrv.errors import EmbedderDown, IndexDown
from memsrv.model import Generation
from memsrv.ports import Embedder, IndexQueue, Lead, VectorIndex
from memsrv.services.alone import ALONE
from memsrv.services.embedding import Embedding
from memsrv.services.filling import Counters, Filler, outcome, reason
from memsrv.services.lull import Lull

REMOVALS = 1000
MOST_REMOVED = 20_000
"""After so many vectors were taken out the index is opened anew: Chroma keeps about 2 kB of memory for each until then."""
REOPEN_WAIT_S = 5.0
LULL_WAIT_S = 0.25  # how long prompts put a round off
LOOKS_KEPT = 3
"""After a swap the old collection stays for so many looks of those who look on, who search it until they have looked."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """How far a rebuild is: of `messages` that there are to index, `left` are missing still; `generation` is filled, and the
    one that `answers` is searched (None while the index was not opened yet). Both are the same when none is under way."""

    messages: int
    left: int
    generation: int | None
    answers: int | None

    @property
    def running(self) -> bool:
        """Whether a generation is built beside the one that answers."""
        return self.generation != self.answers


class Indexer:
    """One background task. `batch`: texts in one call of the embedder; `window`: chunks taken from the queue at once;
    `attempts`: how often a message is tried before it is set aside; `recut` cuts a page of messages anew and says whether there
    were any; `poll_s`: how long a quiet queue is left alone; `look_s`: how often a process that does not lead looks who does,
    and what it fills."""

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
        recut: Callable[[], Awaitable[bool]] | None = None,
        lead: Lead = ALONE,
        look_s: float = 1.0,
        lull: Lull | None = None,
        most_removed: int = MOST_REMOVED,
    ):
        self.counters = Counters()
        self._queue, self._index, self._embedder = queue, index, embedder
        self._embedding = Embedding(embedder)
        self._lull = lull or Lull()
        own = (queue, index, self._embedding, self.counters, self._lull)
        self._filler = Filler(*own, batch=batch, window=window, attempts=attempts)
        self._backoff_s, self._max_backoff_s, self._poll_s = backoff_s, max_backoff_s, poll_s
        self._lead, self._look_s = lead, look_s
        self._leads = lead.held
        self._generation: Generation | None = None
        self._answering: Generation | None = None
        self._recut, self._uncut = recut, True
        self._rebuild_asked = False
        self._most_removed, self._removed = most_removed, 0
        self._catching_up = False
        self._down: set[str] = set()
        self._failures = 0
        self._worked = False
        self._working = asyncio.Lock()
        self._wake, self._closing = asyncio.Event(), asyncio.Event()
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

    def notify(self, *, uncut: bool = False) -> None:
        """There is something to do; `uncut`: messages must be cut anew, too."""
        self._uncut = self._uncut or uncut
        if self._leads and not self._failures:
            self._lull.tell(backlog=True)
        self._wake.set()

    def rebuild(self) -> None:
        """Build the index anew beside the one that answers, and swap; one that is under way goes on."""
        self._rebuild_asked = True
        self._wake.set()

    @contextlib.asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """Nothing is put into the index or taken out inside; what is in hand ends first."""
        async with self._working:
            yield

    async def rebuilding(self) -> Rebuilding:
        """How far the rebuild is, if one is under way or was asked for."""
        filled, answering, asked = self._generation, self._answering, self._rebuild_asked
        if filled is None or answering is None:
            return Rebuilding(0, 0, None, None)
        left, messages = await self._queue.left(filled)
        ahead = filled.number + 1 if asked and filled == answering else filled.number
        return Rebuilding(messages, messages if ahead > filled.number else left, ahead, answering.number)

    async def progress(self, timeout_s: float) -> None:
        """Return when marks were cleared, or after a moment, at most `timeout_s`: look again then."""
        await self._filler.progress(timeout_s)

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
            if self._leads != self._lead.held:
                self._change_sides()
            await self._lull.comes(LULL_WAIT_S)
            error = await outcome(self._round() if self._leads else self._look_on())
            if error is None and not self._worked:
                error = await outcome(self._rest())
            if error:
                self._note_failure(error)
                await asleep(self._closing, self._backoff() if self._leads else self._look_s)

    def _change_sides(self) -> None:
        """The index is to be opened anew, as its owner or not; the other may have stopped in the midst of cutting."""
        self._leads, self._uncut = self._lead.held, True
        self._generation = self._answering = None

    def _backoff(self) -> float:
        longest = min(self._max_backoff_s, self._backoff_s * 2.0 ** min(self._failures - 1, 20))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (so that several servers do not knock in step)

    def _note_failure(self, error: Exception) -> None:
        self._failures += 1
        self._lull.tell(backlog=False)  # nothing is gained by waiting for what does not get on
        self.counters.failed_batches += 1
        if isinstance(error, EmbedderDown):
            self._down.add("embedder")
        elif isinstance(error, IndexDown):
            self._down.add("index")
            self._generation = None
        if self._leads or self._failures == 1:
            log.warning("indexing failed", error=type(error).__name__, reason=reason(error), failures=self._failures)

    async def _round(self) -> None:
        """Do what is due. Raises what went wrong."""
        async with self._working:
            generation = await self._build_beside(self._generation or await self._begin())
            worked = await self._remove()
            if "embedder" in self._down:
                await self._embedding.probe()
            if self._recut and self._uncut:
                self._uncut = await self._recut()
                worked = worked or self._uncut
            worked = await self._filler.fill(generation, failures=self._failures) or worked
            if generation != self._answering and (await self._queue.left(generation))[0] == 0:
                await self._swap(generation)
            if self._removed >= self._most_removed:
                await self._lull.comes(REOPEN_WAIT_S)
                await self._begin()
        self._worked = worked
        self._down.clear()
        self._failures = 0
        if self._catching_up:
            self._catching_up = (await self._queue.backlog())[0] > 0

    async def _rest(self) -> None:
        """Sleep until something is due."""
        if self._leads:
            due_s = await self._queue.next_due_s()
            await asleep(self._wake, self._poll_s if due_s is None else min(due_s, self._poll_s))
        else:
            await asleep(self._closing, self._look_s)

    async def _look_on(self) -> None:
        """Keep open what another process fills. Raises what went wrong."""
        fingerprint, dimension = await self._wanted()
        filled, answering = await self._queue.newest(), await self._queue.answering()
        if filled is None or answering is None or answering.space != Generation(0, fingerprint).space:
            raise IndexDown("The process that leads has not begun, or has another embedder.")
        if self._generation is None or self._answering != answering:
            await self._index.follow(answering, dimension)
            self._catching_up = True
        self._generation, self._answering = filled, answering
        if await self._ask_on(filled):
            self._generation, self._rebuild_asked = await self._queue.newest(), False
        self._lull.tell(backlog=False)  # it is another's
        if self._catching_up:
            self._catching_up = (await self._queue.backlog())[0] > 0
        self._worked = False
        self._down.clear()
        self._failures = 0

    async def _wanted(self) -> tuple[str, int]:
        """The fingerprint of a generation by this embedder, and its dimension."""
        if self._embedder.dimension is None:
            await self._embedding.probe()
        dimension = self._embedder.dimension
        assert dimension, "an embedder that answered knows its dimension"
        return f"{self._embedder.fingerprint}|{dimension}|view{VIEW}|chunks{CHUNKS}", dimension

    async def _begin(self) -> Generation:
        """Open the index for the embedder's generation; a new one if there is none, or if the index was lost."""
        fingerprint, dimension = await self._wanted()
        generation, new = await self._queue.generation(fingerprint)
        answering = await self._queue.answering()
        self._embedding.forget()
        self._removed = 0
        await self._index.use(generation, dimension, answering=answering if answering != generation else None)
        if await self._lost(generation, new):
            log.warning("the index was lost and is built anew", generation=generation.number)
            generation = await self._queue.renew(fingerprint)
            await self._index.use(generation, dimension)
        self._uncut = self._uncut or new
        self._generation, self._answering = generation, await self._queue.answering()
        self._catching_up = (await self._queue.backlog())[0] > 0
        return generation

    async def _ask_on(self, filled: Generation) -> bool:
        """Begin the generation of a rebuild that was asked for here, unless one is under way; whether one was. Who asked is told
        of it until the caller fills the new generation."""
        asked = self._rebuild_asked
        if asked and filled == self._answering:
            await self._queue.renew(filled.fingerprint, beside=True)
        return asked

    async def _build_beside(self, generation: Generation) -> Generation:
        """Begin the rebuild that was asked for, here or of another process."""
        asked = await self._ask_on(generation)
        newest = await self._queue.newest()
        if newest is not None and newest != generation:
            generation = await self._open_beside(newest, generation)
        if asked:
            self._rebuild_asked = False
        return generation

    async def _open_beside(self, newest: Generation, generation: Generation) -> Generation:
        if newest.fingerprint != generation.fingerprint:  # one with another embedder led for a moment
            return await self._begin()
        self._embedding.forget()
        await self._index.build(newest)
        self._generation = newest
        log.info("a rebuild begins", generation=newest.number)
        return newest

    async def _swap(self, generation: Generation) -> None:
        """What was built answers from now on. The queue first: if the index fails now, the next start opens what it says."""
        await self._queue.swap(generation)
        self._answering, self._rebuild_asked = generation, False  # asked meanwhile: it was under way
        if self._lead is not ALONE:
            await asleep(self._closing, LOOKS_KEPT * self._look_s)
        if self._lead.held:
            await self._index.swap()
        log.info("the rebuilt index answers", generation=generation.number)

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
            self._removed += len(numbers)
        return bool(numbers)


async def asleep(until: asyncio.Event, seconds: float) -> None:
    """Sleep until the event, so long at most."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until.wait()
