"""How the vectors of a scope are searched: in matrices that were read from Chroma, or by Chroma's index. Blocking calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memsrv.adapters.chroma import Collection
from memsrv.core.recall.nearest import Matrix, best, nearest
from memsrv.model import Scope
from memsrv.ports import Scored

Change = Callable[[Matrix], Matrix]


@dataclass(frozen=True, slots=True)
class Exact:
    """ports.Vectors in memory."""

    matrices: Sequence[Matrix]

    def search(self, vector: np.ndarray, *, limit: int, also: Sequence[int] | np.ndarray = ()) -> Scored:
        """See `ports.Vectors`."""
        return Scored(*nearest(self.matrices, vector.astype(np.float32), limit=limit, also=also))


def approximate(opened: Collection, scope: Scope, vector: np.ndarray, limit: int, also: Sequence[int] | np.ndarray) -> Scored:
    """The answer of Chroma's index; the cosines of `also` are exact."""
    scores = opened.nearest(scope, vector, limit) if limit else {}
    scores |= opened.cosines(scope, vector, [int(number) for number in also if number not in scores])
    numbers, cosines = np.array(list(scores), np.int64), np.array(list(scores.values()), np.float32)
    return Scored(*best(numbers, cosines, limit=limit, also=also))


def read_sessions(
    opened: Collection, tenant: str, sessions: Sequence[int], held: Mapping[int, Matrix], limit: int
) -> dict[int, Matrix] | None:
    """The vectors of sessions, each as a matrix, without reading again what is held; None if there are more than `limit`."""
    listed = opened.listing(tenant, sessions, limit)
    if listed is None:
        return None
    read = {}
    for n in sessions:
        known = held[n].only(np.array(listed[n], np.int64)) if n in held else Matrix.empty(opened.dimension)
        wanted = sorted(set(listed[n]).difference(known.numbers.tolist()))
        read[n] = joined(known, *opened.vectors(wanted))
    return read


def joined(known: Matrix, numbers: np.ndarray, vectors: np.ndarray) -> Matrix:
    """A matrix with further rows; what was just read is taken as it is where nothing was known."""
    if not len(numbers):
        return known
    return known.with_rows(numbers, vectors) if known.size else Matrix.of(numbers, vectors)


def added(numbers: np.ndarray, vectors: np.ndarray) -> Change:
    return lambda matrix: matrix.with_rows(numbers, vectors)


def removed(numbers: np.ndarray) -> Change:
    return lambda matrix: matrix.without(numbers)
