"""What labelled talks taught: how likely an entry is to matter, to be outdated, and to be said by another already.

(1) Two forests of small trees give the first two, a line the third. `bench/learn_summary.py` learns them, from
    data/dialogues-training and nothing else.
(2) Weights fit the features of their version, and no others.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from memsrv.core.claims.numbered import apart, numbered
from memsrv.core.summary.features import VERSION, Talk, features, pair_features
from memsrv.core.summary.ledger import Entry
from memsrv.core.summary.summary import Source

DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees as arrays, all trees one after another: of node k, the feature it looks at, the most that goes `left`, the nodes
    that follow, and a leaf's value (a leaf follows itself). `roots`: where each tree begins."""

    feature: np.ndarray
    most: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    base: float

    def chances(self, rows: np.ndarray) -> np.ndarray:
        """A probability for each row."""
        lines = np.arange(len(rows))[:, None]
        at = np.repeat(self.roots[None], len(rows), axis=0)
        for _ in range(DEEPEST):
            on = np.where(rows[lines, self.feature[at]] <= self.most[at], self.left[at], self.right[at])
            if (on == at).all():
                break
            at = on
        return logistic(self.base + self.value[at].sum(axis=1))


@dataclass(frozen=True, slots=True)
class Learned:
    """The weights."""

    keep: Forest
    stale: Forest
    again: np.ndarray
    again_bias: float

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "Learned":
        """From arrays by name. ValueError if they were learned on other features than these."""
        if int(arrays["version"]) != VERSION:
            raise ValueError(f"The weights are for features of version {int(arrays['version'])}, not {VERSION}.")
        return cls(forest("keep", arrays), forest("stale", arrays), arrays["again"], float(arrays["again_bias"]))

    def weigh(self, entries: Sequence[Entry], said: Iterable[Source], tokens: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """For each entry, how likely it matters and how likely it holds no longer. `tokens`: of each entry's line."""
        if not entries:
            return np.zeros(0), np.zeros(0)
        rows = features(entries, said, tokens)
        return self.keep.chances(rows), self.stale.chances(rows)

    def said_by(self, entries: Sequence[Entry], said: Iterable[Source]) -> np.ndarray:
        """For each entry (row) and other (column), how likely the other says it too; 0 for itself. Shape (n, n)."""
        spoken = Counter(Talk(said).spoken)
        for entry in entries:
            spoken.update(entry.keys if entry.old else ())
        found = logistic(pair_features(entries, spoken) @ self.again + self.again_bias)
        np.fill_diagonal(found, 0)
        found[other_things([entry.line.text for entry in entries])] = 0
        return found


def other_things(texts: Sequence[str]) -> np.ndarray:
    """Which texts speak of things that a number tells apart (flat 3, flat 5), however alike they are. Bool, shape (n, n)."""
    counted = [at for at, text in enumerate(texts) if numbered(text).numbers]
    found = np.zeros((len(texts), len(texts)), bool)
    for one, other in combinations(counted, 2):
        found[one, other] = found[other, one] = bool(apart(texts[one], texts[other]))
    return found


def forest(name: str, arrays: Mapping[str, np.ndarray]) -> Forest:
    """The forest of this name."""
    parts = {part: arrays[f"{name}_{part}"] for part in ("feature", "most", "left", "right", "value", "roots")}
    return Forest(**parts, base=float(arrays[f"{name}_base"]))


def logistic(odds: np.ndarray) -> np.ndarray:
    """Log-odds as probabilities."""
    return np.asarray(1 / (1 + np.exp(-odds)))
