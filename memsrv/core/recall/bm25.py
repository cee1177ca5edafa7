"""BM25 in memory, over a window of neighbours: posting lists that grow, and a search over several collections as one.

A document is one chunk's terms; documents stand in the order of their session. What is said in a talk is often asked for
by the words of the lines around it, so a document is judged by each term in itself or, weakened by the distance, in a
neighbour, whichever speaks more for it:

    score(d)   = sum over the query's terms t of  max over offsets o of  decay(o) * part(t, d - o)
    part(t, d) = idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / mean |d|))
    idf(t)     = ln(1 + (N - df + 0.5) / (df + 0.5))

A document's coverage is the same sum with part = idf wherever the term stands at all, over the sum of all the terms' idf.

(part and idf: S. Robertson, H. Zaragoza, The Probabilistic Relevance Framework, 2009, with Lucene's idf, which is never
negative; the window is ours, docs/recall.md tells what it brings.)

(1) tf, df, |d| and its mean are those of the single documents, over all the collections of the search together.
(2) A neighbour is never one of another session.
(3) A collection grown in steps scores exactly as one built at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Offsets = Sequence[tuple[int, float]]

BACK = (0.7, 0.5, 0.4, 0.3, 0.2)
"""Decay of a term said one, two, ... documents before."""
AHEAD = (0.4, 0.3, 0.2)
"""Decay of a term said one, two, ... documents after."""
OFFSETS = ((0, 1.0), *enumerate(BACK, 1), *((-distance, decay) for distance, decay in enumerate(AHEAD, 1)))
"""How far a term reaches, in documents, and how strongly: first where it stands."""
ALONE = OFFSETS[:1]
"""Where a document has nothing to do with those around it."""
RARE = 32
"""A term that stands in less than one of so many documents is cheaper to follow slot by slot (measured at 1,000 to 100,000)."""


def no_numbers() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Segment:
    """Posting lists of a run of documents. The term `terms[i]` (sorted) stands in the documents
    `ordinals[starts[i]:starts[i + 1]]` (sorted), in each `counts[...]` times."""

    terms: np.ndarray
    starts: np.ndarray
    ordinals: np.ndarray
    counts: np.ndarray

    @property
    def size_bytes(self) -> int:
        return self.terms.nbytes + self.starts.nbytes + self.ordinals.nbytes + self.counts.nbytes


@dataclass(frozen=True, slots=True)
class Collection:
    """The documents of one session: `numbers` and `lengths` (in terms), both shape (n,), and their posting lists."""

    numbers: np.ndarray = field(default_factory=no_numbers)
    lengths: np.ndarray = field(default_factory=no_numbers)
    segments: tuple[Segment, ...] = ()

    @property
    def size_bytes(self) -> int:
        return self.numbers.nbytes + self.lengths.nbytes + sum(segment.size_bytes for segment in self.segments)


def key_of(term: str) -> int:
    """A term as posting lists know it: 64 bits, salted anew in each process, so that nobody can make two collide."""
    return hash(term)


def grown(collection: Collection, numbers: np.ndarray, lengths: np.ndarray, keys: np.ndarray) -> Collection:
    """The collection with documents added at its end. `keys`: the terms of all of them, one document after the other.

    A segment is merged into the one before as soon as it is half its size: there are never more than log(n) of them, and
    each posting is moved log(n) times.
    """
    first = len(collection.numbers)
    ordinals = np.repeat(np.arange(first, first + len(numbers)), lengths)
    segments = (
        [*collection.segments, segment_of(keys, ordinals, np.ones(len(keys), np.int64))] if len(keys) else [*collection.segments]
    )
    while len(segments) > 1 and 2 * len(segments[-1].ordinals) >= len(segments[-2].ordinals):
        segments[-2:] = [merged(segments[-2], segments[-1])]
    return Collection(
        np.concatenate([collection.numbers, numbers]), np.concatenate([collection.lengths, lengths]), tuple(segments)
    )


def segment_of(keys: np.ndarray, ordinals: np.ndarray, counts: np.ndarray) -> Segment:
    """Posting lists from one entry for each occurrence; `ordinals` never fall."""
    order = np.argsort(keys, kind="stable")
    keys, ordinals, counts = keys[order], ordinals[order], counts[order]
    fresh = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (ordinals[1:] != ordinals[:-1])))
    keys, ordinals, counts = keys[fresh], ordinals[fresh], np.add.reduceat(counts, fresh)
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return Segment(keys[starts], np.append(starts, len(keys)), ordinals.astype(np.int32), counts.astype(np.int32))


def merged(early: Segment, late: Segment) -> Segment:
    """Two segments as one; every document of `early` stands before those of `late`."""
    keys = np.concatenate([np.repeat(part.terms, np.diff(part.starts)) for part in (early, late)])
    ordinals = np.concatenate([early.ordinals, late.ordinals])
    return segment_of(keys, ordinals, np.concatenate([early.counts, late.counts]))


# --- searching ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """The documents of all the collections in one row of slots, with empty slots around each collection, as many as the
    window is wide, so that it never reaches into another session. `numbers` and `lengths` are 0 in an empty slot."""

    numbers: np.ndarray
    lengths: np.ndarray
    offsets: tuple[int, ...]
    documents: int


def search(
    collections: Sequence[Collection], keys: Sequence[int], *, limit: int, k1: float, b: float, offsets: Offsets = OFFSETS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, scores and coverage (float32), each of shape (n,), of the best `limit` documents, in order of the
    collections. A document that has no term of the query in its window is never among them."""
    row = lined_up(collections)
    scores = np.zeros(len(row.numbers), np.float32)
    if not row.documents:
        return no_numbers(), scores[:0], scores[:0]
    mean_length = max(1.0, float(row.lengths.sum()) / row.documents)
    found: list[tuple[float, np.ndarray]] = []
    for key in dict.fromkeys(keys):
        slots, counts = postings(collections, row, key)
        idf = float(np.log1p((row.documents - len(slots) + 0.5) / (len(slots) + 0.5)))
        norms = k1 * (1 - b + b * row.lengths[slots] / mean_length)
        add_spread(scores, slots, (idf * counts * (k1 + 1) / (counts + norms)).astype(np.float32), offsets)
        found.append((idf, slots))
    scores[row.numbers == 0] = 0
    chosen = np.sort(best(scores, limit))
    return row.numbers[chosen], scores[chosen], coverage(row, found, chosen, offsets)


def lined_up(collections: Sequence[Collection]) -> Row:
    """All documents in one row of slots."""
    gap = max(len(BACK), len(AHEAD))
    numbers, lengths, offsets, slots = [np.zeros(gap, np.int64)], [np.zeros(gap, np.int64)], [], gap
    for collection in collections:
        numbers += [collection.numbers, np.zeros(gap, np.int64)]
        lengths += [collection.lengths, np.zeros(gap, np.int64)]
        offsets.append(slots)
        slots += len(collection.numbers) + gap
    documents = sum(len(collection.numbers) for collection in collections)
    return Row(np.concatenate(numbers), np.concatenate(lengths), tuple(offsets), documents)


def postings(collections: Sequence[Collection], row: Row, key: int) -> tuple[np.ndarray, np.ndarray]:
    """The slots where a term stands, over all collections, and how often."""
    slots, counts = [no_numbers()], [no_numbers()]
    for collection, offset in zip(collections, row.offsets, strict=True):
        for segment in collection.segments:
            at = int(np.searchsorted(segment.terms, key))
            if at < len(segment.terms) and segment.terms[at] == key:
                start, end = segment.starts[at], segment.starts[at + 1]
                slots.append(segment.ordinals[start:end] + offset)
                counts.append(segment.counts[start:end])
    return np.concatenate(slots), np.concatenate(counts)


def add_spread(scores: np.ndarray, slots: np.ndarray, values: np.ndarray, offsets: Offsets) -> None:
    """Add to each slot's score the greatest of its own value and its neighbours' after their decay. The values (float32)
    stand at `slots`, each once; the empty slots at both ends of the row are as wide as the window.

    A term that stands nearly everywhere is spread over the whole row at once, any other around its own slots only.
    """
    widest = np.zeros(len(scores), np.float32)
    if RARE * len(slots) > len(scores):
        widest[slots] = values
        scores += spread(widest, offsets)
        return
    for offset, decay in offsets:
        reached = slots + offset
        widest[reached] = np.maximum(widest[reached], values * decay)
    for offset, _ in offsets:
        reached = slots + offset
        scores[reached] += widest[reached]
        widest[reached] = 0  # added once, however many offsets lead there


def spread(values: np.ndarray, offsets: Offsets) -> np.ndarray:
    """Each slot's own value or a neighbour's after its decay, whichever is greatest."""
    widest, weakened = values.copy(), np.empty_like(values)
    for offset, decay in offsets[1:]:
        np.multiply(values, np.float32(decay), out=weakened)
        reached, reaching = (widest[offset:], weakened[:-offset]) if offset > 0 else (widest[:offset], weakened[-offset:])
        np.maximum(reached, reaching, out=reached)
    return widest


def coverage(row: Row, found: Sequence[tuple[float, np.ndarray]], chosen: np.ndarray, offsets: Offsets) -> np.ndarray:
    """The coverage of the chosen slots, float32; `found` are idf and slots of each term."""
    covered, whole = np.zeros(len(chosen), np.float32), sum(idf for idf, _ in found)
    decays = np.array([decay for _, decay in offsets], np.float32)
    windows = chosen[:, None] - np.array([offset for offset, _ in offsets])
    there = np.zeros(len(row.numbers), np.bool_)
    for idf, slots in found:
        there[slots] = True
        covered += idf * (there[windows] * decays).max(axis=1, initial=0)
        there[slots] = False
    return covered / np.float32(whole or 1.0)


def best(scores: np.ndarray, limit: int) -> np.ndarray:
    """Slots of the best `limit` scores above zero, in no order."""
    found = np.flatnonzero(scores > 0)
    if len(found) <= limit:
        return found
    return found[np.argpartition(-scores[found], limit - 1)[:limit]]
