"""Order what the searches found: word scores, cosines and a few cues of the question, on one scale and added up.

    rank = z(words) + .6 z(dense) + .6 z(dense around) + 1.5 speaker + 5 time + role - .5 asks

z is the distance from the candidates' mean in standard deviations, so that a cosine and a BM25 score can be added. "Around"
adds the neighbours' cosines, for what answers a question is often spread over a few lines. The cues: the piece's speaker is
named in the question; it was said when the question asks; it was said by the one the question speaks of; it is a question
itself. docs/recall.md tells how the weights were found and what each part brings.

Beyond the first few, what has too little to do with the question is left out, if the embedder's cosines can be read that way:

    relevance = (cosine - what unrelated texts come to) / step + coverage / .3  >=  .5
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from memsrv.core.recall.cues import asked_role, named
from memsrv.core.recall.timewords import nearness, stretches
from memsrv.core.recall.traits import has_han
from memsrv.model import CosineScale

WEIGHTS: Mapping[str, float] = {"words": 1.0, "dense": 0.6, "around": 0.6, "speaker": 1.5, "time": 5.0, "role": 1.0, "asks": -0.5}
NEIGHBOURS = (0.6, 0.4, 0.2)
"""What the cosine of a piece one, two, three places away adds, on either side."""
POSITIONS = 1 << 40
"""More than a session has: keeps the places of two sessions apart."""
LEAST_SPREAD = 0.01
"""Cosines that lie closer together than this tell little: among a few pieces, chance would decide."""
COVERED = 0.3
RELEVANT = 0.5
SURE = 3
"""So many are shown however little they seem to have to do with it: a question may be put in quite other words."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the searches found: `traits` (see core.traits), and their `words` (BM25), `dense` (cosine) and `coverage` (share of
    the question's words) as float64, all of shape (n,). No word in common is 0; a cosine that is not known is NaN."""

    traits: np.ndarray
    words: np.ndarray
    dense: np.ndarray
    coverage: np.ndarray


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk (by number) with its cosine, if that is known, the rank that orders it, and what went into that."""

    number: int
    score: float | None
    rank_score: float
    signals: Mapping[str, float]


def best(
    candidates: Candidates, question: str, *, now: float, k: int, min_score: float | None = None, scale: CosineScale | None = None
) -> list[Ranked]:
    """At most k hits at or above the least score, best first, each text once; with a scale, beyond the first few only what
    is relevant. `now`: the time of the newest message, in seconds.

    Only texts that are the same but for case, white space and signs at their ends are folded (the newest stands for all):
    those that differ in a name, a digit or a "not" say different things. A cosine that is not known is below any least score.
    """
    traits = candidates.traits
    if not len(traits):
        return []
    signals = signals_of(candidates, question, now=now)
    total = np.sum([WEIGHTS[name] * values for name, values in signals.items()], axis=0)
    said = traits["said"].tolist()
    by_age = np.lexsort((traits["number"], traits["sent_at"])).tolist()
    newest = {said[row]: row for row in by_age}
    related = relevant(candidates, question, signals["time"], scale)
    enough = candidates.dense >= min_score if min_score else np.ones(len(traits), bool)
    chosen: dict[int, tuple[int, int]] = {}
    for row in np.lexsort((-traits["number"], -total)).tolist():
        shown = newest[said[row]]
        if said[row] in chosen or not enough[shown] or (len(chosen) >= SURE and not related[shown]):
            continue
        if len(chosen) == k:
            break
        chosen[said[row]] = row, shown
    rows, shown_rows = (list(places) for places in zip(*chosen.values(), strict=True)) if chosen else ([], [])
    return ranked(candidates, signals, total[rows], shown_rows)


def of_summaries(
    candidates: Candidates, question: str, *, least: float, min_score: float | None, scale: CosineScale | None
) -> list[Ranked]:
    """The passages of summaries that have so much to do with a question, best first, by relevance alone: they are no talk,
    in which what stands around a piece and who said it would count. Without a scale or a cosine the words alone tell."""
    words = candidates.coverage / COVERED
    total = words if scale is None else relevance(candidates, question, scale)
    total = np.where(np.isnan(total), words, total)
    enough = (total >= least) & (candidates.dense >= min_score if min_score else True)
    rows = [row for row in np.argsort(-total, kind="stable").tolist() if enough[row]]
    return ranked(candidates, {"relevance": total}, total[rows], rows)


def ranked(candidates: Candidates, signals: Mapping[str, np.ndarray], ranks: np.ndarray, rows: Sequence[int]) -> list[Ranked]:
    """Candidates with what spoke for each and against it."""
    numbers, cosines = candidates.traits["number"][rows].tolist(), np.round(candidates.dense[rows], 4).tolist()
    weighed = [np.round(WEIGHTS.get(name, 1.0) * values[rows], 3).tolist() for name, values in signals.items()]
    return [
        Ranked(number, None if isnan(cosine) else cosine, rank, {n: v for n, v in zip(signals, parts, strict=True) if v})
        for number, cosine, rank, *parts in zip(numbers, cosines, np.round(ranks, 4).tolist(), *weighed, strict=True)
    ]


def relevant(candidates: Candidates, question: str, time: np.ndarray, scale: CosineScale | None) -> np.ndarray:
    """Which candidates have enough to do with the question, bool, shape (n,). Without a scale or a cosine: all. What was said
    at the very time that is asked for always has."""
    if scale is None:
        return np.ones(len(candidates.traits), bool)
    enough: np.ndarray = (relevance(candidates, question, scale) >= RELEVANT) | np.isnan(candidates.dense) | (time >= 1)
    return enough


def relevance(candidates: Candidates, question: str, scale: CosineScale) -> np.ndarray:
    """How much each candidate has to do with the question, float64, shape (n,); NaN where the cosine is not known."""
    unrelated = np.where(candidates.traits["han"] & has_han(question), scale.unrelated_han, scale.unrelated)
    found: np.ndarray = (candidates.dense - unrelated) / scale.step + candidates.coverage / COVERED
    return found


def aligned(wanted: np.ndarray, numbers: np.ndarray, values: np.ndarray, *, missing: float) -> np.ndarray:
    """The values that `numbers` (each once) have, in the order of `wanted`, as float64."""
    if not len(numbers):
        return np.full(len(wanted), missing)
    order = np.argsort(numbers)
    at = np.minimum(np.searchsorted(numbers, wanted, sorter=order), len(numbers) - 1)
    return np.where(numbers[order[at]] == wanted, values[order[at]].astype(np.float64), missing)


# --- signals --------------------------------------------------------------------------------------------------------


def signals_of(candidates: Candidates, question: str, *, now: float) -> dict[str, np.ndarray]:
    """Every signal's values, shape (n,)."""
    dense = standardized(candidates.dense, least_spread=LEAST_SPREAD)
    return {
        "words": standardized(candidates.words),
        "dense": dense,
        "around": around(candidates.traits, dense),
        **cues(candidates.traits, question, now=now),
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


def around(traits: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """Each standardized cosine with those of the messages beside it in its session, standardized again (where the sums spread
    wider than one such cosine does). A neighbour that no search found adds nothing."""
    places = traits["session"] * POSITIONS + traits["position"]
    order = np.argsort(places, kind="stable")
    in_order = places[order]
    total = dense.copy()
    for distance, weight in enumerate(NEIGHBOURS, 1):
        for place in (places - distance, places + distance):
            at = order[np.minimum(np.searchsorted(in_order, place), len(places) - 1)]
            total += np.where(places[at] == place, weight * dense[at], 0.0)
    return standardized(total, least_spread=1.0)


def cues(traits: np.ndarray, question: str, *, now: float) -> dict[str, np.ndarray]:
    """Each cue's values, shape (n,): what the question says about where its answer stands."""
    names = traits["name"].tolist()
    speakers = named(question, {name for name in names if name})
    role = None if speakers else asked_role(question)
    spans = stretches(question, first=float(traits["sent_at"].min()), now=now)
    return {
        "speaker": marked(name in speakers for name in names) if speakers else np.zeros(len(names)),
        "time": marked(nearness(spans, at) for at in traits["sent_at"].tolist()) if spans else np.zeros(len(names)),
        "role": marked(other == role for other in traits["role"].tolist()) if role else np.zeros(len(names)),
        "asks": traits["asks"].astype(np.float64),
    }


def marked(values: Iterable[float]) -> np.ndarray:
    """Values as float64, shape (n,)."""
    return np.fromiter(values, np.float64)
