"""Small real implementations of ports, that fail on request."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np

from memsrv.core.recall.view import digest
from memsrv.errors import EmbedderDown, IndexDown
from memsrv.model import AccessKey, CosineScale, Generation, PendingChunk, Said, Scope
from memsrv.ports import Scored


def hashed(text: str, dimension: int) -> np.ndarray:
    """A unit vector of a text's words and their three-letter parts: texts that share words are near."""
    vector = np.zeros(dimension, np.float32)
    for word in text.lower().split() or [text]:
        for part in {word, *(word[i : i + 3] for i in range(len(word) - 2))}:
            digest = blake2b(part.encode("utf-8", "replace"), digest_size=8).digest()
            vector[int.from_bytes(digest[:4], "big") % dimension] += 1.0 if digest[4] & 1 else -1.0
    if not vector.any():
        vector[0] = 1.0
    return vector / np.linalg.norm(vector)


class HashingEmbedder:
    """Words to vectors, the same in every process. `fail` is asked before each call and may raise; `spoil` changes answers."""

    cosine_scale: CosineScale | None = None

    def __init__(self, dimension: int = 64, *, fingerprint: str = "hashing", known: bool = True):
        self.fail: Callable[[Sequence[str]], None] = lambda texts: None
        self.spoil: Callable[[Sequence[str], np.ndarray], np.ndarray] = lambda texts, vectors: vectors
        self.calls: list[list[str]] = []
        self._fingerprint = fingerprint
        self._size = dimension
        self._known = known

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimension(self) -> int | None:
        return self._size if self._known else None

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        await asyncio.sleep(0)
        self.calls.append(list(texts))
        self.fail(texts)
        self._known = True
        vectors = np.array([hashed(text, self._size) for text in texts], np.float32).reshape(len(texts), self._size)
        return self.spoil(texts, vectors)

    async def query(self, text: str) -> np.ndarray:
        return (await self.passages([text]))[0]

    async def close(self) -> None:
        pass


def down(_: Sequence[str]) -> None:
    """For `HashingEmbedder.fail`: it answers nobody."""
    raise EmbedderDown("It is down.")


@dataclass
class Waiting:
    """A message in the queue's eyes."""

    chunks: list[PendingChunk]
    unmarked: set[int]
    attempts: int = 0
    due_at: float = 0.0
    set_aside: bool = False
    fresh: bool = True


@dataclass
class MemoryQueue:
    """ports.IndexQueue in memory. A failed message waits `retry_s`."""

    retry_s: float = 0.0
    current: Generation | None = None
    serving: Generation | None = None
    waiting: dict[int, Waiting] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    digests: dict[bytes, tuple[int, Generation]] = field(default_factory=dict)

    def append(self, message: int, *texts: str, session: int = 1, tenant: str = "default") -> None:
        """A message comes in, a chunk for each text; chunk numbers are ten times the message's and up."""
        chunks = [
            PendingChunk(message * 10 + i, session, message, tenant, Said("user", text), None) for i, text in enumerate(texts)
        ]
        self.waiting[message] = Waiting(chunks, {chunk.number for chunk in chunks})

    def delete(self, message: int) -> None:
        """A message goes."""
        self.gone.extend(chunk.number for chunk in self.waiting.pop(message).chunks)

    def indexed(self, message: int) -> bool:
        """Whether all its chunks are marked."""
        return not self.waiting[message].unmarked

    async def generation(self, fingerprint: str) -> tuple[Generation, bool]:
        if self.current and self.current.fingerprint == fingerprint:
            return self.current, False
        beside = self.serving is not None and self.serving.space == Generation(0, fingerprint).space
        return await self.renew(fingerprint, beside=beside), True

    async def newest(self) -> Generation | None:
        return self.current

    async def answering(self) -> Generation | None:
        return self.serving

    async def swap(self, generation: Generation) -> None:
        self.serving = generation

    async def left(self, generation: Generation) -> tuple[int, int]:
        return sum(not message.fresh for message in self._unindexed()), len(self.waiting)

    async def renew(self, fingerprint: str, *, beside: bool = False) -> Generation:
        self.current = Generation(self.current.number + 1 if self.current else 1, fingerprint)
        if not beside:
            self.serving = self.current
        for message in self.waiting.values():
            message.fresh = not beside or bool(message.unmarked)
            message.unmarked = {chunk.number for chunk in message.chunks}
            message.set_aside, message.attempts, message.due_at = False, 0, 0.0
        return self.current

    async def indexed_chunks(self, generation: Generation) -> int:
        return sum(len(message.chunks) - len(message.unmarked) for message in self.waiting.values())

    async def pending(self, generation: Generation, *, limit: int) -> list[PendingChunk]:
        await asyncio.sleep(0)
        assert generation == self.current
        found = [message for message in self._unindexed() if message.due_at <= time.monotonic()]
        due = sorted(found, key=lambda message: not message.fresh)
        chunks: list[PendingChunk] = []
        for message in due:
            if len(chunks) < limit:
                unmarked = [chunk for chunk in message.chunks if chunk.number in message.unmarked]
                chunks.extend(replace(chunk, attempts=message.attempts, fresh=message.fresh) for chunk in unmarked)
        return chunks

    async def mark_indexed(self, generation: Generation, chunks: Sequence[PendingChunk]) -> None:
        for chunk in chunks:
            self.digests[digest(chunk)] = chunk.number, generation
            message = self.waiting.get(chunk.message_number)
            if message is None:
                self.gone.append(chunk.number)
            else:
                message.unmarked.discard(chunk.number)

    async def embedded(self, generation: Generation, digests: Sequence[bytes]) -> dict[bytes, int]:
        known = {one: self.digests.get(one, (0, None)) for one in digests}
        return {one: number for one, (number, of) in known.items() if of == generation}

    async def mark_failed(self, message_number: int, reason: str, *, most: int) -> bool:
        self.reasons[message_number] = reason
        message = self.waiting.get(message_number)
        if message is None:
            return False
        message.attempts += 1
        message.set_aside = message.attempts >= most
        message.due_at = time.monotonic() + self.retry_s
        return message.set_aside

    async def removals(self, limit: int) -> list[int]:
        return self.gone[:limit]

    async def clear_removals(self, chunk_numbers: Sequence[int]) -> None:
        self.gone = [number for number in self.gone if number not in set(chunk_numbers)]

    async def backlog(self) -> tuple[int, int]:
        missing = sum(message.fresh for message in self._unindexed())
        return missing, sum(message.set_aside for message in self.waiting.values())

    async def next_due_s(self) -> float | None:
        due = [message.due_at for message in self._unindexed()]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _unindexed(self) -> list[Waiting]:
        return [message for message in self.waiting.values() if message.unmarked and not message.set_aside]


class MemoryVectors:
    """ports.VectorIndex in memory; everything is IndexDown while `is_down`. `delete_folder` loses all."""

    def __init__(self) -> None:
        self.is_down = False
        self.generations: dict[int, dict[int, tuple[PendingChunk, np.ndarray]]] = {}
        self._current = 0
        self._answering = 0
        self.opened = 0

    @property
    def rows(self) -> dict[int, tuple[PendingChunk, np.ndarray]]:
        if self.is_down or self._current not in self.generations:
            raise IndexDown("It is down.")
        return self.generations[self._current]

    @property
    def searched(self) -> dict[int, tuple[PendingChunk, np.ndarray]]:
        if self.is_down or self._answering not in self.generations:
            raise IndexDown("It is down.")
        return self.generations[self._answering]

    def delete_folder(self) -> None:
        self.generations.clear()

    async def use(self, generation: Generation, dimension: int, *, answering: Generation | None = None) -> None:
        if self.is_down:
            raise IndexDown("It is down.")
        self.opened += 1
        self._current = self._answering = generation.number
        if answering and answering.number in self.generations:
            self._answering = answering.number
        self._keep({self._answering, self._current})

    async def build(self, generation: Generation) -> None:
        if self.is_down:
            raise IndexDown("It is down.")
        self._current = generation.number
        self.generations[self._current] = {}

    async def swap(self) -> None:
        if self.is_down:
            raise IndexDown("It is down.")
        self._answering = self._current
        self._keep({self._current})

    async def follow(self, generation: Generation, dimension: int) -> None:
        if self.is_down or generation.number not in self.generations:
            raise IndexDown("It is not there.")
        self._current = self._answering = generation.number

    def _keep(self, numbers: set[int]) -> None:
        kept = {number: self.generations.get(number, {}) for number in numbers}
        self.generations.clear()  # the same dictionary is another process's too
        self.generations.update(kept)

    async def put(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)
        for chunk, row in zip(chunks, vectors, strict=True):
            self.rows[chunk.number] = chunk, row
            if chunk.fresh:
                self.searched[chunk.number] = chunk, row

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        for number in chunk_numbers:
            self.rows.pop(number, None)
            self.searched.pop(number, None)

    async def search(self, scope: Scope, vector: np.ndarray, *, limit: int, also: Sequence[int] = ()) -> Scored:
        scores = {
            number: float(row @ vector)
            for number, (chunk, row) in self.searched.items()
            if chunk.tenant == scope.tenant and chunk.session_number in scope.session_numbers
        }
        order = sorted(scores, key=lambda number: (-scores[number], number))
        kept = [number for rank, number in enumerate(order) if rank < limit or number in also]
        return Scored(np.array(kept, np.int64), np.array([scores[number] for number in kept], np.float32))

    async def count(self) -> int:
        return len(self.rows)

    async def numbers(self) -> list[int]:
        return list(self.rows)

    async def purge(self) -> None:
        pass

    async def vectors(self, chunk_numbers: Sequence[int]) -> dict[int, np.ndarray]:
        return {number: self.rows[number][1] for number in chunk_numbers if number in self.rows}

    async def close(self) -> None:
        pass


class HeldKeys:
    """Keys in memory."""

    def __init__(self) -> None:
        self.held: dict[str, AccessKey] = {}

    def all(self) -> tuple[AccessKey, ...]:
        return tuple(self.held.values())

    def find(self, id: str) -> AccessKey | None:
        return self.held.get(id)

    def add(self, key: AccessKey) -> None:
        self.held[key.id] = key

    def replace(self, key: AccessKey) -> None:
        self.held[key.id] = key
