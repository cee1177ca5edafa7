"""Search, by words and by vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from memsrv.model import Generation, PendingChunk, Scope


@dataclass(frozen=True, slots=True)
class Scored:
    """Chunks and how a search judged them: `numbers` int64 and `scores` float32, both of shape (n,)."""

    numbers: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, slots=True)
class Worded:
    """What a search by words found: `numbers` int64, `scores` and `coverage` float32, all of shape (n,). Coverage is the share
    of the question's terms, weighed by their rarity, that stand in or around a chunk: 0 to 1."""

    numbers: np.ndarray
    scores: np.ndarray
    coverage: np.ndarray


class Lexicon(Protocol):
    """What a scope says, in words and traits, as it was committed when the lexicon was opened. It never waits: computing is all
    that it does, so it is called in a thread."""

    @property
    def session_numbers(self) -> tuple[int, ...]:
        """Those sessions of the scope that say anything."""
        ...

    def search(self, terms: Sequence[str], *, limit: int) -> Worded:
        """The best `limit` chunks for these terms, by the statistics of the scope alone; a chunk that has no term of the query in
        its window is never among them."""
        ...

    def traits(self, numbers: np.ndarray) -> np.ndarray:
        """The traits (`core.recall.traits.TRAITS`) of these chunks (int64, rising) that are in the scope, in order of number."""
        ...

    def newest_at(self, session_number: int) -> float:
        """When the newest chunk of a session was said, in seconds since 1970; 0 without any."""
        ...


class LexicalIndex(Protocol):
    """BM25 over each chunk's terms and, weakened, those of its neighbours."""

    async def open(self, *scopes: Scope) -> Sequence[Lexicon]:
        """A lexicon for each of the scopes of one tenant, as they are committed at one moment."""
        ...


class Vectors(Protocol):
    """The vectors of a scope, as they were when it was opened or later."""

    def search(self, vector: np.ndarray, *, limit: int, also: Sequence[int] | np.ndarray = ()) -> Scored:
        """The nearest `limit` chunks of the scope, and those of `also` that are in it, each with its cosine similarity,
        best first. It computes, and may ask a server, so it is called in a thread. Raises IndexDown."""
        ...


class VectorIndex(Protocol):
    """Vectors of chunks, searched by cosine."""

    async def use(self, generation: Generation, dimension: int, *, answering: Generation | None = None) -> None:
        """Open (or make) this generation's collection, and remove those of others but that of `answering`: if it is there it is
        searched until `swap`, and this one is built beside it."""
        ...

    async def build(self, generation: Generation) -> None:
        """Begin this generation beside the one that is used, which goes on to answer."""
        ...

    async def swap(self) -> None:
        """What was built beside answers from now on; the collection that did is removed. Searches go on meanwhile."""
        ...

    async def follow(self, generation: Generation, dimension: int) -> None:
        """Open this generation's collection, which another process fills, for searching. IndexDown if it is not there."""
        ...

    async def put(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        """Store vectors, shape (len(chunks), dimension), float32, unit rows; what is there already is overwritten. Those of
        `fresh` chunks go into the generation that answers too."""
        ...

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        """Take vectors out of every generation; those that are not there are ignored."""
        ...

    async def open(self, scope: Scope) -> Vectors:
        """The vectors of a scope. Raises IndexDown."""
        ...

    async def count(self) -> int:
        """Vectors in the generation that is filled."""
        ...

    async def numbers(self) -> list[int]:
        """The numbers of all vectors in the generation that is filled."""
        ...

    async def vectors(self, chunk_numbers: Sequence[int]) -> Mapping[int, np.ndarray]:
        """The vectors of these chunks in the generation that is filled, float32, by number; what is missing there or no unit
        vector is left out."""
        ...

    async def purge(self) -> None:
        """Take what is left of removed generations out of the files, where they are ours."""
        ...

    async def close(self) -> None: ...
