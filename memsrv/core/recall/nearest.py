"""Exact search by cosine over vectors held in memory.

(1) A Matrix never changes for one who holds it: a search in another thread sees the rows it began with.
(2) Scores are rounded to six decimals and ties go to the lower number, so the order does not hang on how rows lie in memory.
(3) A MatrixCache holds at most `limit_bytes`, the least recently used go first.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

ROUND_DECIMALS = 6
ENTRY_BYTES = 512
"""About what an entry costs beside its rows, so that empty ones count too."""
MIN_ROWS = 8

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True, eq=False)
class Buffer:
    """Room that matrices share: rows are added behind the last one, none is ever written twice."""

    numbers: np.ndarray
    vectors: np.ndarray
    used: int


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Vectors of chunks: the first `size` rows of a buffer, which no later matrix overwrites."""

    buffer: Buffer
    size: int

    @classmethod
    def of(cls, numbers: np.ndarray, vectors: np.ndarray) -> "Matrix":
        """From int64 numbers, shape (n,), and float32 vectors, shape (n, d)."""
        assert numbers.shape == vectors.shape[:1], "a number for each row"
        return cls(Buffer(numbers, vectors, len(numbers)), len(numbers))

    @classmethod
    def empty(cls, dimension: int) -> "Matrix":
        """No rows."""
        return cls.of(np.empty(0, np.int64), np.empty((0, dimension), np.float32))

    @property
    def numbers(self) -> np.ndarray:
        return self.buffer.numbers[: self.size]

    @property
    def vectors(self) -> np.ndarray:
        return self.buffer.vectors[: self.size]

    @property
    def size_bytes(self) -> int:
        return self.buffer.numbers.nbytes + self.buffer.vectors.nbytes + ENTRY_BYTES

    def with_rows(self, numbers: np.ndarray, vectors: np.ndarray) -> "Matrix":
        """These rows added; rows of the same numbers are replaced. Amortised linear in what is added."""
        kept = self.without(numbers)
        size = kept.size + len(numbers)
        buffer = kept.buffer
        if buffer.used != kept.size or len(buffer.numbers) < size:
            buffer = grown(kept, max(size * 9 // 8, MIN_ROWS), vectors.shape[1])
        buffer.numbers[kept.size : size] = numbers
        buffer.vectors[kept.size : size] = vectors
        buffer.used = size
        return Matrix(buffer, size)

    def without(self, numbers: np.ndarray) -> "Matrix":
        """These rows taken out; itself if it has none of them."""
        gone = np.isin(self.numbers, numbers)
        return Matrix.of(self.numbers[~gone], self.vectors[~gone]) if gone.any() else self

    def only(self, numbers: np.ndarray) -> "Matrix":
        """The rows of these numbers; itself if it has no others."""
        return self.without(np.setdiff1d(self.numbers, numbers))


def grown(matrix: Matrix, rows: int, dimension: int) -> Buffer:
    """A buffer with room for `rows` rows that begins with the matrix."""
    buffer = Buffer(np.empty(rows, np.int64), np.empty((rows, dimension), np.float32), matrix.size)
    buffer.numbers[: matrix.size] = matrix.numbers
    buffer.vectors[: matrix.size] = matrix.vectors
    return buffer


def nearest(
    matrices: Sequence[Matrix], vector: np.ndarray, *, limit: int, also: Sequence[int] | np.ndarray = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (int64) and cosines (float32) of the `limit` nearest rows and of those of `also` that are there, best first."""
    held = [matrix for matrix in matrices if matrix.size]
    if not held:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    numbers = np.concatenate([matrix.numbers for matrix in held])
    # row by row: the same bits whatever stands around a row, and no threads to fight the embedder for the cores
    scores = np.concatenate([np.vecdot(matrix.vectors, vector) for matrix in held])
    return best(numbers, scores, limit=limit, also=also)


def best(
    numbers: np.ndarray, scores: np.ndarray, *, limit: int, also: Sequence[int] | np.ndarray = ()
) -> tuple[np.ndarray, np.ndarray]:
    """The `limit` highest scores and those of the numbers in `also`, best first, ties by number."""
    rows = in_order(numbers, scores, candidates_for(scores, limit))[:limit]
    if len(also):
        asked = np.flatnonzero(np.isin(numbers, np.asarray(also, np.int64)))
        rows = in_order(numbers, scores, np.union1d(rows, asked))
    return numbers[rows], rounded(scores[rows])


def in_order(numbers: np.ndarray, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows with the highest score first, ties by number."""
    return rows[np.lexsort((numbers[rows], -rounded(scores[rows])))]


def rounded(scores: np.ndarray) -> np.ndarray:
    """Cosines to so many decimals, and never above 1."""
    return np.clip(np.round(scores, ROUND_DECIMALS), -1.0, 1.0).astype(np.float32)


def candidates_for(scores: np.ndarray, limit: int) -> np.ndarray:
    """Rows among which the `limit` highest are, also after rounding, which may make ties."""
    if limit == 0 or limit >= len(scores):
        return np.arange(len(scores) if limit else 0)
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return np.flatnonzero(scores >= least - 2 * 10**-ROUND_DECIMALS)


class MatrixCache(Generic[Key]):
    """Matrices by key, bounded in bytes."""

    def __init__(self, limit_bytes: int):
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._matrices: OrderedDict[Key, Matrix] = OrderedDict()

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def get(self, key: Key) -> Matrix | None:
        """The matrix, which counts as a use of it."""
        if key not in self._matrices:
            return None
        self._matrices.move_to_end(key)
        return self._matrices[key]

    def put(self, key: Key, matrix: Matrix) -> None:
        """Hold a matrix as the latest used; let go of the oldest until the bound holds again."""
        self.drop(key)
        self._matrices[key] = matrix
        self._size_bytes += matrix.size_bytes
        while self._size_bytes > self._limit_bytes:
            self.drop(next(iter(self._matrices)))

    def replace(self, key: Key, matrix: Matrix) -> None:
        """Put another matrix in place of a held one, which does not count as a use of it."""
        self._size_bytes += matrix.size_bytes - self._matrices[key].size_bytes
        self._matrices[key] = matrix
        while self._size_bytes > self._limit_bytes:
            self.drop(next(iter(self._matrices)))

    def peek(self, key: Key) -> Matrix | None:
        """The matrix, without counting as a use of it."""
        return self._matrices.get(key)

    def drop(self, key: Key) -> None:
        """Let go of a matrix, if it is held."""
        matrix = self._matrices.pop(key, None)
        if matrix is not None:
            self._size_bytes -= matrix.size_bytes

    def clear(self) -> None:
        """Let go of all."""
        self._matrices.clear()
        self._size_bytes = 0
