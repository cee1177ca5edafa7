"""Order what the searches found: word scores, cosines and a few cues of the question, on one scale and added up.

    rank = z(words) + .6 z(dense) + .6 z(dense around) + 1.5 speaker + 5 time + role - .5 asks

z is the distance from the candidates' mean in standard deviations, so that a cosine and a BM25 score can be added. "Around"
adds the neighbours' cosines, for what answers a question is often spread over a few lines. The cues: the piece's speaker is
named in the question; it was said when the question asks; it was said by the one the question speaks of; it is a question
itself. docs/recall.md tells how the weights were found and what each part brings.

Beyond the first few, what has too little to do with the question is left out, if the embedder's cosines can be read that way:

    relevance = (cosine - what unrelated texts come to) / step + coverage / .3  >=  .5
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from memsrv.core.cues import asked_role, is_question, named
from memsrv.core.timewords import nearness, stretches
from memsrv.model import Chunk, CosineScale, Recall

WEIGHTS: Mapping[str, float] = {"words": 1.0, "dense": 0.6, "around": 0.6, "speaker": 1.5, "time": 5.0, "role": 1.0, "asks": -0.5}
NEIGHBOURS = (0.6, 0.4, 0.2)
"""What the cosine of a piece one, two, three places away adds, on either side."""
POSITIONS = 1 << 40
"""More than a session has: keeps the places of two sessions apart."""
SIGNS = " .,;:!…。，、；：！"
LEAST_SPREAD = 0.01
"""Cosines that lie closer together than this tell little: among a few pieces, chance would decide."""
COVERED = 0.3
RELEVANT = 0.5
SURE = 3
"""So many are shown however little they seem to have to do with it: a question may be put in quite other words."""
HAN = regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the searches found: `chunks`, and their `words` (BM25), `dense` (cosine) and `coverage` (share of the question's
    words) as float64, shape (n,). No word in common is 0; a cosine that is not known is NaN."""

    chunks: Sequence[Chunk]
    words: np.ndarray
    dense: np.ndarray
    coverage: np.ndarray


def best(
    candidates: Candidates, question: str, *, now: float, k: int, min_score: float | None = None, scale: CosineScale | None = None
) -> list[Recall]:
    """At most k hits at or above the least score, best first, each text once; with a scale, beyond the first few only what
    is relevant. `now`: the time of the newest message, in seconds.

    Only texts that are the same but for case, white space and signs at their ends are folded (the newest stands for all):
    those that differ in a name, a digit or a "not" say different things. A cosine that is not known is below any least score.
    """
    chunks = candidates.chunks
    if not chunks:
        return []
    signals = signals_of(candidates, question, now=now)
    total = np.sum([WEIGHTS[name] * values for name, values in signals.items()], axis=0)
    said = [plain(chunk.text) for chunk in chunks]
    newest = {said[row]: row for row in sorted(range(len(chunks)), key=lambda row: (chunks[row].sent_at, chunks[row].number))}
    related = relevant(candidates, question, signals["time"], scale)
    enough = candidates.dense >= min_score if min_score else np.ones(len(chunks), bool)
    hits: dict[str, Recall] = {}
    for row in np.lexsort(([-chunk.number for chunk in chunks], -total)):
        shown = newest[said[row]]
        if said[row] in hits or not enough[shown] or (len(hits) >= SURE and not related[shown]):
            continue
        if len(hits) == k:
            break
        hits[said[row]] = hit(candidates, signals, total[row], row=shown)
    return list(hits.values())


def hit(candidates: Candidates, signals: Mapping[str, np.ndarray], rank: float, *, row: int) -> Recall:
    """One candidate with what spoke for it and against it."""
    cosine = float(candidates.dense[row])
    return Recall(
        chunk=candidates.chunks[row],
        score=None if np.isnan(cosine) else round(cosine, 4),
        rank_score=round(float(rank), 4),
        signals={name: round(WEIGHTS[name] * float(values[row]), 3) for name, values in signals.items() if values[row]},
    )


def relevant(candidates: Candidates, question: str, time: np.ndarray, scale: CosineScale | None) -> np.ndarray:
    """Which candidates have enough to do with the question, bool, shape (n,). Without a scale or a cosine: all. What was said
    at the very time that is asked for always has."""
    if scale is None:
        return np.ones(len(candidates.chunks), bool)
    han = np.array([HAN.search(chunk.text) is not None for chunk in candidates.chunks]) & (HAN.search(question) is not None)
    unrelated = np.where(han, scale.unrelated_han, scale.unrelated)
    relevance = (candidates.dense - unrelated) / scale.step + candidates.coverage / COVERED
    enough: np.ndarray = (relevance >= RELEVANT) | np.isnan(candidates.dense) | (time >= 1)
    return enough


def plain(text: str) -> str:
    """A text without what does not change its meaning: case, white space, signs at the ends."""
    return " ".join(text.casefold().split()).strip(SIGNS) or text


def signals_of(candidates: Candidates, question: str, *, now: float) -> dict[str, np.ndarray]:
    """Every signal's values, shape (n,)."""
    dense = standardized(candidates.dense, least_spread=LEAST_SPREAD)
    return {
        "words": standardized(candidates.words),
        "dense": dense,
        "around": around(candidates.chunks, dense),
        **cues(candidates.chunks, question, now=now),
    }


def standardized(values: np.ndarray, *, least_spread: float = 0.0) -> np.ndarray:
    """Distance from the mean in standard deviations (or in `least_spread`, if that is more); what is not known counts as the
    least that is."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros(len(values))
    filled = np.where(known, values, values[known].min())
    spread = max(float(filled.std()), least_spread)
    return (filled - filled.mean()) / spread if spread > 0 else np.zeros(len(values))


def around(chunks: Sequence[Chunk], dense: np.ndarray) -> np.ndarray:
    """Each standardized cosine with those of the messages beside it in its session, standardized again (where the sums spread
    wider than one such cosine does). A neighbour that no search found adds nothing."""
    places = np.array([chunk.session_number * POSITIONS + chunk.position for chunk in chunks])
    order = np.argsort(places, kind="stable")
    total = dense.copy()
    for distance, weight in enumerate(NEIGHBOURS, 1):
        for place in (places - distance, places + distance):
            at = order[np.minimum(np.searchsorted(places[order], place), len(places) - 1)]
            total += np.where(places[at] == place, weight * dense[at], 0.0)
    return standardized(total, least_spread=1.0)


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
