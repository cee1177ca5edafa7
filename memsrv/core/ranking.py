"""Order what the searches found: several views of one chunk, put on one scale and added up.

Each signal is brought to its distance from the candidates' mean in standard deviations, so that a cosine and a BM25
score can be added; see docs/recall.md for what each part brings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import regex

from memsrv.model import Chunk, Recall

VIEWS = ("bm25", "bm25_before", "bm25_around")  # columns of the lexical scores
NOT_SAID = regex.compile(r"[\p{P}\p{Z}\p{C}]+")


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the searches found. `numbers` int64 (n,); `cosine` float (n,), NaN where unknown; `lexical` float (n, 3)."""

    numbers: np.ndarray
    cosine: np.ndarray
    lexical: np.ndarray

    def at(self, rows: Sequence[int]) -> "Candidates":
        """The candidates in these rows, in this order."""
        return Candidates(self.numbers[rows], self.cosine[rows], self.lexical[rows])


def joined(dense: tuple[np.ndarray, np.ndarray] | None, lexical: tuple[np.ndarray, np.ndarray]) -> Candidates:
    """Both searches' (numbers, scores) as one list; a chunk that shares no word with the query has lexical scores of 0."""
    dense_numbers, cosines = dense if dense is not None else (np.empty(0, np.int64), np.empty(0, np.float32))
    numbers = np.union1d(dense_numbers, lexical[0]).astype(np.int64)
    cosine = np.full(len(numbers), np.nan)
    cosine[np.searchsorted(numbers, dense_numbers)] = cosines
    words = np.zeros((len(numbers), len(VIEWS)))
    words[np.searchsorted(numbers, lexical[0])] = lexical[1]
    return Candidates(numbers, cosine, words)


def ranked(candidates: Candidates, chunks: Sequence[Chunk]) -> list[Recall]:
    """The candidates' chunks (in the candidates' order) as hits, best first."""
    columns = {"dense": candidates.cosine, **{view: candidates.lexical[:, at] for at, view in enumerate(VIEWS)}}
    total = np.sum([standardized(column) for column in columns.values()], axis=0)
    order = np.lexsort((-candidates.numbers, -total))
    return [
        Recall(
            chunk=chunks[row],
            score=None if np.isnan(candidates.cosine[row]) else round(float(candidates.cosine[row]), 4),
            rank_score=round(float(total[row]), 4),
            signals={name: round(float(column[row]), 4) for name, column in columns.items() if not np.isnan(column[row])},
        )
        for row in order
    ]


def standardized(values: np.ndarray) -> np.ndarray:
    """Distance from the mean in standard deviations; what is unknown counts as the least that is known."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros(len(values))
    filled = np.where(known, values, values[known].min())
    spread = filled.std()
    return (filled - filled.mean()) / spread if spread > 0 else np.zeros(len(values))


def chosen(hits: Sequence[Recall], *, k: int, min_score: float) -> list[Recall]:
    """At most k hits at or above the least score, each text once.

    Only texts that are the same letter for letter are folded (the newest stands for all): those that differ in a name,
    a digit or a "not" say different things.
    """
    newest: dict[str, Recall] = {}
    for hit in hits:
        said = NOT_SAID.sub("", hit.chunk.text).casefold() or hit.chunk.text
        first = newest.setdefault(said, hit)
        if (hit.chunk.sent_at, hit.chunk.position) > (first.chunk.sent_at, first.chunk.position):
            newest[said] = Recall(hit.chunk, hit.score, first.rank_score, hit.signals)
    enough = [hit for hit in newest.values() if hit.score is None or hit.score >= min_score]
    return enough[:k]
