"""Learn what the built-in summarizer knows (`data/summary/weights.npz`) from labelled dialogues.

    python -m bench.learn_summary                    figures by cross-validation over dialogues, in five parts
    python -m bench.learn_summary --write            learn from all of them, and write the weights

It needs scikit-learn, which memsrv itself does not. A line matters if it meets what must be kept, is stale if it makes a
forbidden claim, and says another again if it meets most of what that one meets.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from memsrv.adapters.tokens_tiktoken import TiktokenCounter, shipped_vocabularies
from memsrv.core.summary.extract import extract, heard
from memsrv.core.summary.features import VERSION, Talk, features, pair_features
from memsrv.core.summary.learned import Learned
from memsrv.core.summary.ledger import Entry
from memsrv.core.summary.scoring import Dialogue, Score, scored, totals
from memsrv.core.summary.summary import Task
from memsrv.evaluate import dialogues_in
from memsrv.services.evaluation import sources, written_in

DATA = Path("data")
WEIGHTS = DATA / "summary" / "weights.npz"
PARTS = 5
SEEDS = 2
PAIRS_C = 0.1
TOKENS = TiktokenCounter("o200k_base", shipped_vocabularies())
KEEP = {"max_iter": 150, "learning_rate": 0.06, "max_leaf_nodes": 12, "min_samples_leaf": 30}
STALE = {"max_iter": 80, "learning_rate": 0.06, "max_leaf_nodes": 8, "min_samples_leaf": 20}


def count(text: str) -> int:
    return TOKENS.count(text, None)


@dataclass(frozen=True)
class Example:
    """A dialogue as rows: of each entry its numbers, which must-keeps it meets, whether it makes a forbidden claim; of each
    two entries that matter, their numbers and whether the second says the first again."""

    dialogue: Dialogue
    rows: np.ndarray
    meets: np.ndarray
    stale: np.ndarray
    pairs: np.ndarray
    again: np.ndarray


def example(dialogue: Dialogue) -> Example:
    said = sources(dialogue)
    entries = heard(Task(None, said, 200, written_in(dialogue)))[1]
    lines = [entry.line.text for entry in entries]
    wanted = dialogue.decisions + dialogue.exclusions
    stale = np.array([any(claim.met_by(line) for claim in dialogue.forbidden) for line in lines])
    meets = np.array([[one.met_by(line) for one in wanted] for line in lines]) & ~stale[:, None]
    rows = features(entries, said, [count(line) for line in lines])
    pairs, again = paired(entries, meets, Talk(said).spoken)
    return Example(dialogue, rows, meets, stale, pairs, again)


def paired(entries: Sequence[Entry], meets: np.ndarray, spoken: Counter[str]) -> tuple[np.ndarray, np.ndarray]:
    of = np.flatnonzero(meets.any(axis=1))
    found = pair_features([entries[at] for at in of], spoken)
    both = meets[of].astype(float) @ meets[of].T.astype(float)
    again = both / np.maximum(1, meets[of].sum(axis=1))[:, None] > 0.5
    other = ~np.eye(len(of), dtype=bool)
    return found[other], again[other]


# --- learning ------------------------------------------------------------------------------------------------------


def learned(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """The weights as arrays."""
    rows = np.concatenate([one.rows for one in examples])
    keep = np.concatenate([one.meets.any(axis=1) for one in examples])
    stale = np.concatenate([one.stale for one in examples])
    pairs = np.concatenate([one.pairs for one in examples])
    line = LogisticRegression(C=PAIRS_C, max_iter=2000).fit(pairs, np.concatenate([one.again for one in examples]))
    return {
        "version": np.array(VERSION),
        **forest("keep", rows, keep, KEEP),
        **forest("stale", rows, stale, STALE),
        "again": line.coef_[0].astype(np.float32),
        "again_bias": line.intercept_[0].astype(np.float32),
    }


def forest(name: str, rows: np.ndarray, labels: np.ndarray, shape: dict[str, float]) -> dict[str, np.ndarray]:
    """`SEEDS` boosted forests as one, in the form of `core.summary.learned.Forest`."""
    nodes, roots, base = [], [], 0.0
    for seed in range(SEEDS):
        model = HistGradientBoostingClassifier(
            **shape, l2_regularization=10, max_features=0.3, early_stopping=False, random_state=seed
        ).fit(rows, labels)
        base += float(model._baseline_prediction.ravel()[0]) / SEEDS
        for trees in model._predictors:
            roots.append(sum(map(len, nodes)))
            nodes.append(numbered(trees[0].nodes, roots[-1]))
    whole = np.concatenate(nodes)
    arrays = {
        "feature": whole[:, 0].astype(np.int16),
        "most": whole[:, 1].astype(np.float32),
        "left": whole[:, 2].astype(np.int32),
        "right": whole[:, 3].astype(np.int32),
        "value": (whole[:, 4] / SEEDS).astype(np.float32),
        "roots": np.array(roots, np.int32),
        "base": np.array(base),
    }
    return {f"{name}_{part}": array for part, array in arrays.items()}


def numbered(tree: np.ndarray, first: int) -> np.ndarray:
    """A tree's nodes as rows: feature, threshold, left, right, value; a leaf leads to itself and has the only value."""
    leaf = tree["is_leaf"].astype(bool)
    own = np.arange(len(tree)) + first
    return np.stack(
        [
            np.where(leaf, 0, tree["feature_idx"]),
            np.where(leaf, 0, tree["num_threshold"]),
            np.where(leaf, own, tree["left"] + first),
            np.where(leaf, own, tree["right"] + first),
            np.where(leaf, tree["value"], 0),
        ],
        axis=1,
    )


# --- measuring -----------------------------------------------------------------------------------------------------


def crossed(examples: Sequence[Example], max_tokens: Sequence[int]) -> None:
    """Print what is kept of each dialogue by weights that were learned without it."""
    weights = [Learned.of(learned([one for at, one in enumerate(examples) if at % PARTS != part])) for part in range(PARTS)]
    for most in max_tokens:
        sums = totals([summarised(one.dialogue, weights[at % PARTS], most) for at, one in enumerate(examples)])
        print(
            f"{most} tokens: decisions {sums.decision_retention:.1%}, exclusions {sums.exclusion_retention:.1%}, "
            f"contradictions {sums.contradictions} in {sums.contradicted} of {sums.dialogues}, "
            f"small talk {sums.droppable_share:.1%}, compression {sums.compression:.1f}",
            flush=True,
        )


def summarised(dialogue: Dialogue, weights: Learned, max_tokens: int) -> Score:
    summary = extract(Task(None, sources(dialogue), max_tokens, written_in(dialogue)), count=count, learned=weights)
    return scored(dialogue, summary, max_tokens=max_tokens, count=count)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--dialogues", type=Path, default=DATA / "dialogues-training")
    asked.add_argument("--write", action="store_true")
    chosen = asked.parse_args()
    examples = [example(dialogue) for dialogue in dialogues_in(chosen.dialogues)]
    if not chosen.write:
        crossed(examples, (200, 115))
        return
    WEIGHTS.parent.mkdir(exist_ok=True)
    np.savez_compressed(WEIGHTS, **learned(examples))
    print(f"{len(examples)} dialogues, {WEIGHTS.stat().st_size} bytes in {WEIGHTS}")


if __name__ == "__main__":
    main()
