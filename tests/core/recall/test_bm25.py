"""Posting lists and their search. That the scores are right is shown over whole stores, in the contracts."""

from itertools import chain, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.recall import bm25
from memsrv.core.recall.bm25 import Collection

DOCUMENTS = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=30)


def grow(collection: Collection, documents: list[list[int]]) -> Collection:
    first = len(collection.numbers)
    numbers = np.arange(first + 100, first + 100 + len(documents))
    lengths = np.array([len(document) for document in documents], np.int64)
    return bm25.grown(collection, numbers, lengths, np.array(list(chain(*documents)), np.int64))


def found(collections: list[Collection], limit: int = 1000) -> tuple[list[int], list[float]]:
    numbers, scores, coverage = bm25.search(collections, [1, 2], limit=limit, k1=1.2, b=0.75)
    assert ((coverage > 0) & (coverage <= 1.0001)).all()
    return numbers.tolist(), scores.tolist()


@given(DOCUMENTS, st.lists(st.integers(0, 30)))
def test_a_collection_grown_in_steps_answers_as_one_built_at_once(documents, cuts):
    edges = [0, *sorted(min(cut, len(documents)) for cut in cuts), len(documents)]
    stepwise = Collection()
    for start, end in pairwise(edges):
        stepwise = grow(stepwise, documents[start:end])
    assert found([stepwise]) == found([grow(Collection(), documents)])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=200))
def test_there_are_few_segments_however_often_a_collection_grows(sizes):
    collection = Collection()
    for size in sizes:
        collection = grow(collection, [[1]] * size)
    assert len(collection.segments) <= 1 + np.log2(sum(sizes))


@given(DOCUMENTS, DOCUMENTS)
def test_collections_are_answered_in_the_order_given(one, other):
    numbers, _ = found([grow(Collection(), one), grow(Collection(), other)])
    assert len(numbers) <= len(one) + len(other)
    turns = sum(after <= before for before, after in pairwise(numbers))
    assert turns <= 1


@given(DOCUMENTS)
def test_a_document_is_found_by_a_term_in_its_window_only(documents):
    numbers, _ = found([grow(Collection(), documents)])
    for i in range(len(documents)):
        window = documents[max(0, i - len(bm25.BACK)) : i + len(bm25.AHEAD) + 1]
        assert (i + 100 in numbers) == any({1, 2} & set(document) for document in window)


def test_a_neighbours_term_counts_less_the_farther_away_it_is():
    _, scores = found([grow(Collection(), [[1], [3], [3], [3], [3], [3], [3]])])
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 1 + len(bm25.BACK)


def test_scores_are_never_negative_even_for_a_term_that_all_have():
    _, scores = found([grow(Collection(), [[1], [1], [1, 1]])])
    assert np.min(scores) > 0


def test_no_collection_finds_nothing():
    assert found([]) == ([], [])


def test_coverage_is_the_share_of_the_questions_words_by_their_rarity():
    collection = grow(Collection(), [[1, 2], *[[9]] * 9, [2], *[[2]] * 9])
    numbers, _, coverage = bm25.search([collection], [1, 2], limit=99, k1=1.2, b=0.75)
    covered = dict(zip(numbers.tolist(), coverage.tolist(), strict=True))
    assert abs(covered[100] - 1) < 1e-6
    assert 0 < covered[119] < 0.5


@given(st.sets(st.integers(0, 60)), st.integers(0, 5))
def test_following_a_term_slot_by_slot_is_as_good_as_spreading_it_over_the_row(places, seed):
    gap, slots = len(bm25.BACK), np.array(sorted(places), np.int64) + len(bm25.BACK)
    values = np.random.default_rng(seed).random(len(slots), np.float32)
    for length in (61 + 2 * gap, 61 * bm25.RARE + 2 * gap):
        scores, whole = np.ones(length, np.float32), np.zeros(length, np.float32)
        whole[slots] = values
        bm25.add_spread(scores, slots, values, bm25.OFFSETS)
        np.testing.assert_allclose(scores, 1 + bm25.spread(whole, bm25.OFFSETS), rtol=1e-6)
