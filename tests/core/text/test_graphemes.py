"""Edges between graphemes, near any position."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.text.graphemes import edge_after, edge_before, edges, is_edge

texts = st.lists(
    st.sampled_from(["a", " ", "\r\n", "e\u0301", "👨‍👩‍👧", "🇩🇪", "🇫", "각", "क्षि", "字", "👍🏽", "สี", "\u0600"])
).map("".join)


def all_edges(text: str) -> list[int]:
    return [0, *(match.end() for match in regex.finditer(r"\X", text))]


@given(texts, st.integers(0, 60))
def test_the_edges_around_a_position_are_the_nearest_ones(text: str, at: int) -> None:
    at = min(at, len(text))
    assert edge_before(text, at) == max(edge for edge in all_edges(text) if edge <= at)
    assert edge_after(text, at) == min(edge for edge in all_edges(text) if edge >= at)


@given(texts)
def test_one_position_is_judged_as_all_are(text: str) -> None:
    known = edges(text, 0, len(text))
    assert known == set(all_edges(text))
    assert all(is_edge(text, at, lambda: known) == (at in known) for at in range(1, len(text)))


@pytest.mark.parametrize("wall", ["🇩🇪", "\ud83d\ude00"])
@pytest.mark.parametrize("at", [1001, 1002, 1003, 1004])
def test_pairs_stay_together_far_inside_a_wall_of_them(wall: str, at: int) -> None:
    assert edge_before("x" + wall * 1500, at) % 2 == edge_after("x" + wall * 1500, at) % 2 == 1
