"""Exact search in memory, and the bounded cache of what it searches."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.recall.nearest import Matrix, MatrixCache, nearest

DIMENSION = 8


def unit(count: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def matrix(*numbers: int, seed: int = 0) -> Matrix:
    return Matrix.of(np.array(numbers, np.int64), unit(len(numbers), seed))


@given(
    sizes=st.lists(st.integers(0, 12), max_size=4),
    limit=st.integers(0, 50),
    also=st.lists(st.integers(0, 60), max_size=5),
    seed=st.integers(0, 99),
)
def test_the_answer_is_that_of_sorting_everything(sizes: list[int], limit: int, also: list[int], seed: int) -> None:
    vectors, query = unit(sum(sizes), seed), unit(1, seed + 1)[0]
    edges = np.cumsum([0, *sizes])
    parts = [Matrix.of(np.arange(a, b), vectors[a:b]) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    numbers, scores = nearest(parts, query, limit=limit, also=also)
    cosines = np.round(vectors @ query, 6) if len(vectors) else np.empty(0)
    order = sorted(range(len(vectors)), key=lambda i: (-cosines[i], i))
    assert numbers.tolist() == [number for rank, number in enumerate(order) if rank < limit or number in also]
    np.testing.assert_allclose(scores, [cosines[number] for number in numbers], atol=2e-6)


def test_ties_at_the_limit_go_to_the_lower_numbers() -> None:
    same = Matrix.of(np.array([9, 3, 7, 1]), np.repeat(unit(1), 4, axis=0))
    assert nearest([same], unit(1)[0], limit=2)[0].tolist() == [1, 3]


def test_no_cosine_is_above_one() -> None:
    row = np.full((1, DIMENSION), DIMENSION**-0.5, np.float32) * np.float32(1.0001)
    assert nearest([Matrix.of(np.array([1]), row)], row[0], limit=1)[1].tolist() == [1.0]


steps = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 15), min_size=1, max_size=5, unique=True)), max_size=15)


@given(steps=steps)
def test_rows_added_and_taken_out_are_those_of_a_dictionary(steps: list[tuple[bool, list[int]]]) -> None:
    held, wanted = Matrix.empty(DIMENSION), {}
    for seed, (adds, numbers) in enumerate(steps):
        rows = unit(len(numbers), seed)
        if adds:
            held = held.with_rows(np.array(numbers), rows)
            wanted.update(zip(numbers, rows, strict=True))
        else:
            held = held.without(np.array(numbers))
            wanted = {number: row for number, row in wanted.items() if number not in numbers}
    assert set(held.numbers.tolist()) == set(wanted)
    assert held.size == len(wanted)
    for number, row in zip(held.numbers.tolist(), held.vectors, strict=True):
        np.testing.assert_array_equal(row, wanted[number])


def test_a_matrix_that_is_held_does_not_change_when_two_grow_from_it() -> None:
    first = matrix(1, 2).with_rows(np.array([3]), unit(1, 5))
    left = first.with_rows(np.array([4]), unit(1, 6))
    right = first.with_rows(np.array([5]), unit(1, 7))
    assert first.numbers.tolist() == [1, 2, 3]
    assert left.numbers.tolist() == [1, 2, 3, 4]
    assert right.numbers.tolist() == [1, 2, 3, 5]
    np.testing.assert_array_equal(left.vectors[3], unit(1, 6)[0])
    np.testing.assert_array_equal(right.vectors[3], unit(1, 7)[0])


def test_the_least_recently_used_goes_first() -> None:
    one = matrix(1)
    cache: MatrixCache[str] = MatrixCache(one.size_bytes * 2)
    cache.put("a", one)
    cache.put("b", one)
    cache.get("a")
    cache.put("c", one)
    assert [key for key in "abc" if cache.peek(key)] == ["a", "c"]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 40)), max_size=30))
def test_the_cache_never_holds_more_than_its_bound(puts: list[tuple[str, int]]) -> None:
    cache: MatrixCache[str] = MatrixCache(4000)
    for key, rows in puts:
        made = matrix(*range(rows))
        if cache.peek(key) and rows % 2:
            cache.replace(key, made)
        else:
            cache.put(key, made)
        held = [found for name in "abcd" if (found := cache.peek(name))]
        assert cache.size_bytes == sum(found.size_bytes for found in held) <= 4000
