"""Vectors in Chroma, embedded or as a server: one collection a generation, exact search where a scope is small.

(1) A scope of up to `exact_chunks` vectors (of a server at most SERVER_EXACT_CHUNKS) is searched exactly, over matrices in a
    bounded cache; a larger one through Chroma's index. Which way is taken hangs on the scope alone, not on what the cache
    happens to hold.
(2) A cached session is never behind a finished `put` or `remove` of this object: each is applied to the cache and to the
    loads on their way, in the order in which they finished.
(3) While a generation is built beside the one that answers, every search goes to the latter; `put` fills the new one, and both
    with what neither has. `swap` takes no moment in which nothing answers.
(4) Nothing is open before `use`; it opens everything anew, so it is also the way back after an IndexDown.
(5) Chroma's index goes on to hold what was removed from it, and the process what a removed collection held. When an embedded
    Chroma holds more of it than half of what lives, that is copied into a new collection and opened anew, so that memory and
    files stay in proportion to what is left. Writes wait meanwhile, searches do not.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import structlog

from memsrv.adapters import chroma
from memsrv.adapters.chroma import Collection, Place
from memsrv.adapters.chroma_reading import Change, Exact, added, approximate, read_sessions, removed
from memsrv.adapters.gate import Gate
from memsrv.core.recall.nearest import Matrix, MatrixCache
from memsrv.core.remembering import Latest
from memsrv.errors import IndexDown
from memsrv.memory import give_back
from memsrv.model import Generation, PendingChunk, Scope
from memsrv.ports import Scored, Vectors

READERS = 3
REFRESH_S = 2.0
"""So old may a cached session be where other processes write too."""
LEAST_HOLES = 5_000
"""Fewer removed vectors are never worth a copy: they take some 3 kB each."""
SERVER_EXACT_CHUNKS = 20_000
"""More are not listed anew every REFRESH_S: it takes a server seconds."""
NEVER = float("-inf")
LARGE_SCOPES_KEPT = 1000
MOST_CHECKED = 100_000
"""Sessions of which is kept when they were looked at; others are looked at again."""
UNREADABLE = "Stop the server and delete the folder 'chroma' in the data folder: it is rebuilt from the transcript."
UNREACHABLE = "Check that the Chroma server at MEMSRV_CHROMA_URL is up; what is missing there is rebuilt from the transcript."

log = structlog.get_logger()

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True, eq=False)
class Load:
    """Sessions that are being read, and the writes that finished meanwhile."""

    keys: frozenset[Place]
    writes: list[tuple[Place, Change]] = field(default_factory=list)
    outdated: bool = False


class ChromaVectors:
    """ports.VectorIndex over Chroma."""

    def __init__(
        self, connect: Callable[[], Any], *, cache_bytes: int, exact_chunks: int, folder: Path | None, refresh_s: float | None
    ):
        self._connect = connect
        self._folder = folder
        self._hint = UNREADABLE if folder else UNREACHABLE
        self._exact_chunks = exact_chunks
        self._cache_bytes = cache_bytes
        self._refresh_s = refresh_s
        self._filled: Collection | None = None
        self._answering: Collection | None = None
        self._cache: MatrixCache[Place] = MatrixCache(cache_bytes)
        self._checked_at: Latest[Place, float] = Latest(MOST_CHECKED)
        self._large: set[Scope] = set()
        self._loads: list[Load] = []
        self._holes = 0  # removed vectors that Chroma's index still holds
        self._gate = Gate()
        self._locks: WeakValueDictionary[Scope, asyncio.Lock] = WeakValueDictionary()
        self._writer = ThreadPoolExecutor(1, "chroma-write")
        self._readers = ThreadPoolExecutor(READERS, "chroma-read")

    @classmethod
    def embedded(cls, folder: Path, *, cache_bytes: int, exact_chunks: int) -> "ChromaVectors":
        """Chroma in this process, in a folder that no other process uses."""
        return cls(
            lambda: chroma.embedded(folder), cache_bytes=cache_bytes, exact_chunks=exact_chunks, folder=folder, refresh_s=None
        )

    @classmethod
    def server(
        cls,
        url: str,
        *,
        cache_bytes: int,
        exact_chunks: int,
        headers: Mapping[str, str] | None = None,
        refresh_s: float = REFRESH_S,
    ) -> "ChromaVectors":
        """A Chroma server that is ours alone; other processes of the same memsrv may write to it too."""
        return cls(
            lambda: chroma.connected(url, headers or {}),
            cache_bytes=cache_bytes,
            exact_chunks=min(exact_chunks, SERVER_EXACT_CHUNKS),
            folder=None,
            refresh_s=refresh_s,
        )

    async def use(self, generation: Generation, dimension: int, *, answering: Generation | None = None) -> None:
        """Open, or open again, and make the collections of these generations the only ones of ours; IndexDown if it cannot
        be. The one that answers is searched if it is there."""
        before, self._filled, self._answering = self._filled, None, None
        self._forget()
        opened = await self._run(self._writer, self._open, before, generation, dimension, answering)
        self._filled, self._answering = opened

    async def follow(self, generation: Generation, dimension: int) -> None:
        """Open, or open again, what another process fills; IndexDown if it is not there. What was open is searched until then."""
        client = self._filled.client if self._filled else None
        self._filled = self._answering = await self._run(self._writer, self._find, client, generation, dimension)
        self._forget()

    async def build(self, generation: Generation) -> None:
        """Begin this generation; the one that answers goes on to."""
        filled = self._current()
        self._filled = await self._run(self._writer, Collection.own, filled.client, generation, filled.dimension)

    async def swap(self) -> None:
        """What was built answers from now on; the collection that did so is removed."""
        filled = self._to_fill()
        self._answering = filled
        self._forget()
        await self._run(self._writer, self._remove_all_but, filled)

    async def put(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        """Store vectors, shape (len(chunks), dimension), float32, unit rows; what is there already is overwritten."""
        dimension = self._to_fill().dimension
        assert vectors.shape == (len(chunks), dimension), "a vector of the right dimension for each chunk"
        assert bool(np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)), "unit rows, all finite"
        assert len({chunk.number for chunk in chunks}) == len(chunks), "each chunk once"
        rows: dict[Place, list[int]] = {}
        for row in await self._run(self._writer, self._write, chunks, vectors):
            chunk = chunks[row]
            rows.setdefault((chunk.tenant, chunk.session_number), []).append(row)
        for key, own in rows.items():
            self._apply(key, added(np.array([chunks[row].number for row in own], np.int64), vectors[own].astype(np.float32)))

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        """Take vectors out; those that are not there are ignored. Done twice is as good as once."""
        there: dict[int, Place] = {}
        try:
            await self._run(self._writer, self._erase, chunk_numbers, there)
        finally:
            # after a failure too: Chroma may have done it, and what is on its way out must not be answered
            gone = np.array(list(there), np.int64)
            for key in set(there.values()):
                self._apply(key, removed(gone))
            self._large.clear()
        if self._folder and self._holes >= LEAST_HOLES:
            await self._renewed()

    async def _renewed(self) -> None:
        """A copy that fails is tried again after as many removals; what it would give back is not missed until then."""
        try:
            await self._run(self._writer, self._renew)
        except IndexDown as error:
            self._holes = 0
            log.warning("the vector index was not copied", reason=error.message)

    async def open(self, scope: Scope) -> Vectors:
        """See `ports.VectorIndex`. The vectors of a scope that is searched exactly are in memory when this returns."""
        if not scope.session_numbers:
            return Exact([])
        opened: Collection | None = self._current()
        try:
            matrices = await self._matrices(self._current(), scope)
        except IndexDown as error:
            if not chroma.may_pass(error) and opened is self._answering:
                raise
            opened = None
        if opened is not self._answering:  # what was replaced meanwhile may fail, or answer with less than it held
            matrices = await self._matrices(self._current(), scope)
        return ThroughIndex(self, scope) if matrices is None else Exact(matrices)

    def nearest(self, scope: Scope, vector: np.ndarray, limit: int, also: Sequence[int] | np.ndarray) -> Scored:
        """What Chroma's index finds in a scope; the cosines of `also` are exact. Blocking."""

        def search() -> tuple[Collection, Scored]:
            opened = self._current()  # inside the gate, where a copy does not take its place
            return opened, approximate(opened, scope, vector, limit, also)

        try:
            opened, found = self._guarded(search)
            if opened is self._answering:
                return found
        except IndexDown as error:
            if not chroma.may_pass(error):
                raise
        return self._guarded(search)[1]  # as in `open`

    async def count(self) -> int:
        """Vectors in the generation that is filled."""
        return await self._run(self._readers, lambda: self._to_fill().count())

    async def numbers(self) -> list[int]:
        """The numbers of all vectors in the generation that is filled."""
        return await self._run(self._readers, lambda: self._to_fill().numbers())

    async def vectors(self, chunk_numbers: Sequence[int]) -> Mapping[int, np.ndarray]:
        """The unit vectors of those of the chunks that are in the generation that is filled, by number."""
        found, vectors = await self._run(self._readers, lambda: self._to_fill().vectors(chunk_numbers))
        unit = np.isclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)
        return dict(zip(found[unit].tolist(), vectors[unit], strict=True))

    async def purge(self) -> None:
        """Take what is left of removed collections out of an embedded Chroma's file."""
        if self._folder:
            await self._run(self._writer, chroma.vacuum, self._folder)

    async def close(self) -> None:
        """Wait for the write that runs, then let go of the client."""
        opened, self._filled, self._answering = self._filled, None, None
        if opened:
            await self._run(self._writer, chroma.disconnect, opened.client)
        for threads in (self._writer, self._readers):
            threads.shutdown(wait=False, cancel_futures=True)

    async def _matrices(self, opened: Collection, scope: Scope) -> list[Matrix] | None:
        """The scope's vectors, or None if they are too many for exact search."""
        if scope in self._large:
            return None
        limit = min(self._exact_chunks, self._cache_bytes // (4 * opened.dimension + 8))
        matrices: dict[int, Matrix] | None
        if self._missing(scope):
            lock = self._locks.setdefault(scope, asyncio.Lock())
            async with lock:
                matrices = await self._load(opened, scope, limit)
        else:
            matrices = self._held(scope)
        if matrices is not None and sum(matrix.size for matrix in matrices.values()) <= limit:
            return list(matrices.values())
        if len(self._large) >= LARGE_SCOPES_KEPT:
            self._large.clear()
        self._large.add(scope)
        return None

    def _held(self, scope: Scope) -> dict[int, Matrix]:
        """Those of the scope's sessions that are cached."""
        held = {number: self._cache.get((scope.tenant, number)) for number in scope.session_numbers}
        return {number: matrix for number, matrix in held.items() if matrix}

    def _missing(self, scope: Scope) -> list[int]:
        """Those that are not cached, or not looked at lately where others write too."""
        since = NEVER if self._refresh_s is None else monotonic() - self._refresh_s
        keys = {number: (scope.tenant, number) for number in scope.session_numbers}
        return [n for n, key in keys.items() if not self._cache.peek(key) or self._checked_at.get(key, NEVER) < since]

    async def _load(self, opened: Collection, scope: Scope, limit: int) -> dict[int, Matrix] | None:
        """All sessions of the scope, those that are missing read into the cache; None if they are too many."""
        held, missing = self._held(scope), self._missing(scope)
        load = Load(frozenset((scope.tenant, number) for number in missing))
        started_at = monotonic()
        self._loads.append(load)
        try:
            read = await self._run(self._readers, self._read_sessions, opened, scope.tenant, missing, held, limit)
        finally:
            self._loads.remove(load)
        if read is None:
            return None
        for (_, number), change in load.writes:
            read[number] = change(read[number])
        if opened is not self._answering:
            load.outdated = True
        for number, matrix in read.items() if not load.outdated else ():
            self._cache.put((scope.tenant, number), matrix)
            if self._refresh_s is not None:
                self._checked_at[scope.tenant, number] = started_at
        return {**held, **read}

    def _apply(self, key: Place, change: Change) -> None:
        """Bring a finished write to the cache and to the loads on their way."""
        held = self._cache.peek(key)
        if held:
            self._cache.replace(key, change(held))
        for load in self._loads:
            if key in load.keys:
                load.writes.append((key, change))

    def _forget(self) -> None:
        self._cache.clear()
        self._checked_at.clear()
        self._large.clear()
        for load in self._loads:
            load.outdated = True

    def _current(self) -> Collection:
        if self._answering is None:
            raise IndexDown("The vector index is not open.", self._hint)
        return self._answering

    def _to_fill(self) -> Collection:
        if self._filled is None:
            raise IndexDown("The vector index is not open.", self._hint)
        return self._filled

    def _open(
        self, before: Collection | None, generation: Generation, dimension: int, answering: Generation | None
    ) -> tuple[Collection, Collection]:
        if before:
            chroma.disconnect(before.client)
        client = self._connect()
        kept = [generation, answering] if answering else [generation]
        chroma.finish_copies(client, kept, dimension)
        chroma.remove_others(client, kept, dimension)
        filled = Collection.own(client, generation, dimension)
        self._holes = chroma.holes(self._folder, filled) if self._folder else 0
        self._sweep()
        return filled, (Collection.found(client, answering, dimension) if answering else None) or filled

    def _read_sessions(
        self, opened: Collection, tenant: str, sessions: Sequence[int], held: Mapping[int, Matrix], limit: int
    ) -> dict[int, Matrix] | None:
        if opened is not self._answering:
            raise IndexDown("The collection was replaced meanwhile.")
        return read_sessions(opened, tenant, sessions, held, limit)

    def _write(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> Sequence[int]:
        """The rows that searches see from now on."""
        filled, answering = self._to_fill(), self._current()
        filled.write(chunks, vectors)
        if answering is filled:
            return range(len(chunks))
        fresh = [row for row, chunk in enumerate(chunks) if chunk.fresh]
        answering.write([chunks[row] for row in fresh], vectors[fresh])
        return fresh

    def _erase(self, chunk_numbers: Sequence[int], there: dict[int, Place]) -> None:
        """Fills `there` with what is taken out, before it is."""
        for opened in {id(one): one for one in (self._to_fill(), self._current())}.values():
            own = opened.places(chunk_numbers)
            there.update(own)
            opened.erase(list(own))
            self._holes += len(own)

    def _renew(self) -> None:
        """See (5). What was closed or opened anew meanwhile is left alone; `use` removes the copy then."""
        old = self._answering
        if old is None or old is not self._filled or self._holes <= old.count() // 2:
            return
        copy = old.copied()
        with self._gate.alone():
            if self._answering is not old or self._filled is not old:
                return
            copy.take_place()
            chroma.disconnect(old.client)
            self._filled = self._answering = Collection.own(self._connect(), old.generation, old.dimension)
            self._holes = 0
        self._sweep()
        give_back()

    def _find(self, client: Any, generation: Generation, dimension: int) -> Collection:
        found = Collection.found(client or self._connect(), generation, dimension)
        if found is None:
            raise IndexDown("The process that leads has not made the vector index yet.")
        return found

    def _remove_all_but(self, kept: Collection) -> None:
        chroma.remove_others(kept.client, [kept.generation], kept.dimension)
        self._sweep()

    def _sweep(self) -> None:
        if self._folder:
            chroma.sweep(self._folder)

    async def _run(self, threads: ThreadPoolExecutor, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call Chroma in a thread. The one that writes is never at the gate: it is the one that is alone."""
        called = self._called if threads is self._writer else self._guarded
        return await asyncio.get_running_loop().run_in_executor(threads, lambda: called(call, *args, **kwargs))

    def _guarded(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with self._gate.passed():
            return self._called(call, *args, **kwargs)

    def _called(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with chroma.errors_mapped(self._hint):
            return call(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class ThroughIndex:
    """ports.Vectors of a scope that is too large for memory."""

    index: ChromaVectors
    scope: Scope

    def search(self, vector: np.ndarray, *, limit: int, also: Sequence[int] | np.ndarray = ()) -> Scored:
        """See `ports.Vectors`."""
        return self.index.nearest(self.scope, vector.astype(np.float32), limit, also)
