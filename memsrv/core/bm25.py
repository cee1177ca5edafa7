"""BM25 in memory: posting lists that grow, and a search over several collections as one.

A document is one chunk's terms; documents stand in the order of their session. A search judges each of them in three
views: alone; with the document before it in front; between the one before and the one after. Only the lists of single
documents are kept; what the neighbours add is found from them during the search.

    score(d) = sum over the query's terms t of  idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / mean |d|))
    idf(t)   = ln(1 + (N - df + 0.5) / (df + 0.5))

(S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework, 2009; idf as in Lucene, so that it is never negative.)

(1) tf, df, |d| and its mean are those of the view that is judged, over all the collections of the search together.
(2) A neighbour is never one of another session.
(3) A collection grown in steps scores exactly as one built at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

VIEWS = 3  # alone, before, around


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
    """The documents of all the collections in one row of slots, with an empty slot around each collection, so that a
    step to a neighbour never lands in another session. `empty` are these slots; `lengths` is 0 there."""

    numbers: np.ndarray
    lengths: np.ndarray
    offsets: tuple[int, ...]
    empty: np.ndarray

    @property
    def documents(self) -> int:
        return len(self.numbers) - len(self.empty)


@dataclass(frozen=True, slots=True)
class Postings:
    """Where the query's terms stand: `term * slots + slot` (rising) and how often."""

    places: np.ndarray
    counts: np.ndarray


def search(
    collections: Sequence[Collection], keys: Sequence[int], *, limit: int, k1: float, b: float
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, shape (n,), and scores, float32, shape (n, VIEWS), of the union of each view's best `limit` documents, in
    order of the collections. A document that shares no term with the query in any view is never among them."""
    row = lined_up(collections)
    postings = gathered(collections, row, np.array(list(dict.fromkeys(keys)), np.int64))
    if not len(postings.places):
        return np.empty(0, np.int64), np.empty((0, VIEWS), np.float32)
    scores = [judged(row, view, lengths, k1=k1, b=b) for view, lengths in zip(views(postings), lengths_of(row), strict=True)]
    chosen = np.unique(np.concatenate([best(view, limit) for view in scores]))
    return row.numbers[chosen], np.stack([view[chosen] for view in scores], axis=1).astype(np.float32)


def lined_up(collections: Sequence[Collection]) -> Row:
    """All documents in one row of slots."""
    gap, nothing = np.array([-1]), np.array([0])
    numbers, lengths, offsets, slots = [gap], [nothing], [], 1
    for collection in collections:
        numbers += [collection.numbers, gap]
        lengths += [collection.lengths, nothing]
        offsets.append(slots)
        slots += len(collection.numbers) + 1
    empty = np.array([0, *(offset + len(one.numbers) for offset, one in zip(offsets, collections, strict=True))])
    return Row(np.concatenate(numbers), np.concatenate(lengths), tuple(offsets), empty)


def gathered(collections: Sequence[Collection], row: Row, keys: np.ndarray) -> Postings:
    """The posting lists of the query's terms over all collections."""
    places: list[list[np.ndarray]] = [[] for _ in keys]
    counts: list[list[np.ndarray]] = [[] for _ in keys]
    for collection, offset in zip(collections, row.offsets, strict=True):
        for segment in collection.segments:
            at = np.minimum(np.searchsorted(segment.terms, keys), len(segment.terms) - 1)
            for term in np.flatnonzero(segment.terms[at] == keys):
                start, end = segment.starts[at[term]], segment.starts[at[term] + 1]
                places[term].append(segment.ordinals[start:end] + (term * len(row.numbers) + offset))
                counts[term].append(segment.counts[start:end])
    found = [part for term in places for part in term]
    if not found:
        return Postings(np.empty(0, np.int64), np.empty(0, np.int64))
    return Postings(np.concatenate(found), np.concatenate([part for term in counts for part in term]))


def views(alone: Postings) -> tuple[Postings, Postings, Postings]:
    """The lists as the three views have them; a document without the term gets it from a neighbour that has it."""
    places, counts = alone.places, alone.counts
    step = np.diff(places, prepend=places[0] - 9, append=places[-1] + 9)  # to the next place of the term; 9 is far away
    padded = np.concatenate([[0], counts, [0]])
    before = np.where(step[:-1] == 1, padded[:-2], 0)
    after = np.where(step[1:] == 1, padded[2:], 0)
    right = step[1:] > 1  # the next document lacks the term ...
    beyond = np.where(step[1:] == 2, padded[2:], 0)  # ... and the one after that has it
    left = step[:-1] > 2  # the document before lacks it, and is not the one that `right` has found already
    return (
        alone,
        Postings(np.concatenate([places, places[right] + 1]), np.concatenate([counts + before, counts[right]])),
        Postings(
            np.concatenate([places, places[right] + 1, places[left] - 1]),
            np.concatenate([counts + before + after, (counts + beyond)[right], counts[left]]),
        ),
    )


def lengths_of(row: Row) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths of the documents in the three views, by slot; 0 in the empty ones."""
    before = row.lengths.copy()
    before[1:] += row.lengths[:-1]
    around = before.copy()
    around[:-1] += row.lengths[1:]
    before[row.empty] = around[row.empty] = 0
    return row.lengths, before, around


def judged(row: Row, view: Postings, lengths: np.ndarray, *, k1: float, b: float) -> np.ndarray:
    """BM25 of every slot in one view; 0 in the empty ones."""
    term, slot = np.divmod(view.places, len(row.numbers))
    length = lengths[slot]
    inside = length > 0  # what a neighbour gave to an empty slot does not count
    term, slot, length, tf = term[inside], slot[inside], length[inside], view.counts[inside]
    df = np.bincount(term)
    idf = np.log1p((row.documents - df + 0.5) / (df + 0.5))
    norm = k1 * (1 - b + b * length / (lengths.sum() / row.documents))
    return np.bincount(slot, idf[term] * tf * (k1 + 1) / (tf + norm), minlength=len(row.numbers))


def best(scores: np.ndarray, limit: int) -> np.ndarray:
    """Slots of the best `limit` scores above zero, in no order."""
    found = np.flatnonzero(scores > 0)
    if len(found) <= limit:
        return found
    return found[np.argpartition(-scores[found], limit - 1)[:limit]]
