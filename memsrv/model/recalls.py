"""Recalls: what was found, and how well it fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memsrv.model.chunks import Chunk


class Reach(StrEnum):
    """How far recall looks: this session, or every session of its owner."""

    SESSION = "session"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Recall:
    """A found chunk. `score` is the cosine similarity to the query (None while the embedder is down); `rank_score`
    orders the hits; `signals` tells what went into it."""

    chunk: Chunk
    score: float | None
    rank_score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CosineScale:
    """How an embedder's cosines read: what two texts that have nothing to do with each other come to (two Chinese texts come
    to `unrelated_han`), and how much more is worth as much as `core.recall.ranking.COVERED` of the question's words."""

    unrelated: float
    unrelated_han: float
    step: float


@dataclass(frozen=True, slots=True)
class Recalls:
    """The answer of a recall: hits, best first, and what could not be used."""

    hits: tuple[Recall, ...]
    degraded: tuple[str, ...] = ()
