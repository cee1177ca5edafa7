"""Weights are applied as they were learned, and only to the features they were learned on."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memsrv.adapters.summarizer_extractive import shipped_weights
from memsrv.core.summary.extract import heard
from memsrv.core.summary.features import VERSION, features
from memsrv.core.summary.learned import Forest, Learned, logistic
from memsrv.core.summary.summary import Source, Task

AT = datetime(2026, 3, 1, tzinfo=UTC)
TALK = (
    ("user", "Which database shall we take?"),
    ("assistant", "PostgreSQL would do."),
    ("user", "PostgreSQL it is. And no Redis, we have nobody to run it."),
    ("assistant", "Noted: PostgreSQL, no Redis."),
    ("user", "My cat has just walked over the keyboard, haha."),
)


def said(*turns):
    return tuple(Source(at, role, role, AT + timedelta(minutes=at), text) for at, (role, text) in enumerate(turns, 1))


def entries():
    return heard(Task(None, said(*TALK), 200))[1]


def place(found, words):
    return next(at for at, entry in enumerate(found) if words in entry.text)


def test_a_row_goes_down_each_tree_to_a_leaf_and_the_leaves_are_summed():
    two_trees = Forest(
        feature=np.array([1, 0, 0, 0]),
        most=np.array([0.5, 0, 0, 0]),
        left=np.array([1, 1, 2, 3]),
        right=np.array([2, 1, 2, 3]),
        value=np.array([0, -1.0, 2.0, 0.25]),
        roots=np.array([0, 3]),
        base=0.5,
    )
    rows = np.array([[9, 0.5], [9, 0.6]], np.float32)
    assert np.allclose(two_trees.chances(rows), logistic(np.array([-0.25, 2.75])))


def test_weights_for_other_features_are_refused():
    with pytest.raises(ValueError, match="version"):
        Learned.of({"version": np.array(VERSION + 1)})


def test_the_shipped_weights_look_at_features_that_there_are():
    weights = shipped_weights()
    width = features(entries(), said(*TALK), [9] * len(entries())).shape[1]
    assert max(weights.keep.feature.max(), weights.stale.feature.max()) < width


def test_what_is_ruled_out_matters_more_than_small_talk():
    found = entries()
    chances, _ = shipped_weights().weigh(found, said(*TALK), [9] * len(found))
    assert chances[place(found, "no Redis")] > chances[place(found, "cat")]


def test_what_is_repeated_is_said_by_the_other():
    found = entries()
    said_by = shipped_weights().said_by(found, said(*TALK))
    assert said_by.shape == (len(found), len(found))
    assert not said_by.diagonal().any()
    assert said_by[place(found, "PostgreSQL")].max() > said_by[place(found, "cat")].max()


def test_of_nothing_there_is_nothing_to_weigh():
    chances, stale = shipped_weights().weigh([], (), [])
    assert chances.size == stale.size == 0
