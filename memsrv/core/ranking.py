"""Order what the searches found: word scores, cosines and a few cues of the question, on one scale and added up.

    rank = z(words) + .6 z(dense) + .6 z(dense around) + 1.5 speaker + 5 time + role - .5 asks

z is the distance from the candidates' mean in standard deviations, so that a cosine and a BM25 score can be added. "Around"
adds the neighbours' cosines, for what answers a question is often spread over a few lines. The cues: the piece's speaker is
named in the question; it was said when the question asks; it was said by the one the question speaks of; it is a question
itself. docs/recall.md tells how the weights were found and what each part brings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from memsrv.core.cues import asked_role, is_question, named
from memsrv.core.timewords import nearness, stretches
from memsrv.model import Chunk, Recall

WEIGHTS: Mapping[str, float] = {"words": 1.0, "dense": 0.6, "around": 0.6, "speaker": 1.5, "time": 5.0, "role": 1.0, "asks": -0.5}
NEIGHBOURS = (0.6, 0.4, 0.2)
"""What the cosine of a piece one, two, three places away adds, on either side."""
NOT_SAID = regex.compile(r"[\p{P}\p{Z}\p{C}]+")


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the searches found: `chunks`, and their `words` (BM25) and `dense` (cosine) scores, float64, shape (n,). No word
    in common is a score of 0; a cosine that is not known is NaN."""

    chunks: Sequence[Chunk]
    words: np.ndarray
    dense: np.ndarray


def ranked(candidates: Candidates, question: str, *, now: float) -> list[Recall]:
    """The candidates as hits, best first. `now`: the time of the newest message, in seconds."""
    if not candidates.chunks:
        return []
    signals = {
        "words": standardized(candidates.words),
        "dense": standardized(candidates.dense),
        "around": around(candidates),
        **cues(candidates.chunks, question, now=now),
    }
    total = np.sum([WEIGHTS[name] * values for name, values in signals.items()], axis=0)
    newest_first = np.array([-chunk.number for chunk in candidates.chunks])
    return [hit(candidates, signals, total, row) for row in np.lexsort((newest_first, -total))]


def hit(candidates: Candidates, signals: Mapping[str, np.ndarray], total: np.ndarray, row: int) -> Recall:
    """One candidate with what spoke for it and against it."""
    cosine = float(candidates.dense[row])
    return Recall(
        chunk=candidates.chunks[row],
        score=None if np.isnan(cosine) else round(cosine, 4),
        rank_score=round(float(total[row]), 4),
        signals={name: round(WEIGHTS[name] * float(values[row]), 3) for name, values in signals.items() if values[row]},
    )


def standardized(values: np.ndarray) -> np.ndarray:
    """Distance from the mean in standard deviations; what is not known counts as the least that is."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros(len(values))
    filled = np.where(known, values, values[known].min())
    spread = filled.std()
    return (filled - filled.mean()) / spread if spread > 0 else np.zeros(len(values))


def around(candidates: Candidates) -> np.ndarray:
    """The standardized cosines, each with those of the pieces beside it in its session, standardized again. A neighbour
    that no search found counts as the least that one found."""
    dense = standardized(candidates.dense)
    least = dense.min()
    places = {(chunk.session_number, chunk.position): row for row, chunk in enumerate(candidates.chunks)}
    total = dense.copy()
    for row, chunk in enumerate(candidates.chunks):
        for distance, weight in enumerate(NEIGHBOURS, 1):
            for position in (chunk.position - distance, chunk.position + distance):
                beside = places.get((chunk.session_number, position))
                total[row] += weight * (least if beside is None else dense[beside])
    return standardized(total)


def cues(chunks: Sequence[Chunk], question: str, *, now: float) -> dict[str, np.ndarray]:
    """Each cue's values, shape (n,): what the question says about where its answer stands."""
    speakers = named(question, {chunk.name for chunk in chunks if chunk.name})
    role = None if speakers else asked_role(question)
    times = [chunk.sent_at.timestamp() for chunk in chunks]
    spans = stretches(question, first=min(times), now=now)
    return {
        "speaker": np.array([float(chunk.name in speakers) for chunk in chunks]),
        "time": np.array([nearness(spans, at) for at in times]),
        "role": np.array([float(chunk.role == role) for chunk in chunks]),
        "asks": np.array([float(is_question(chunk.text)) for chunk in chunks]),
    }


def chosen(hits: Sequence[Recall], *, k: int, min_score: float) -> list[Recall]:
    """At most k hits at or above the least score, each text once.

    Only texts that are the same letter for letter are folded (the newest stands for all): those that differ in a name,
    a digit or a "not" say different things.
    """
    newest: dict[str, Recall] = {}
    for one in hits:
        said = NOT_SAID.sub("", one.chunk.text).casefold() or one.chunk.text
        first = newest.setdefault(said, one)
        if (one.chunk.sent_at, one.chunk.position) > (first.chunk.sent_at, first.chunk.position):
            newest[said] = Recall(one.chunk, one.score, first.rank_score, one.signals)
    enough = [one for one in newest.values() if one.score is None or one.score >= min_score]
    return enough[:k]
