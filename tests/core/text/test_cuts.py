"""Cuts say that they are there, fall between characters, and keep to their limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.text.cuts import cut_bytes, cut_end, cut_tokens, fits, without_middle


def by_four(text: str) -> int:
    return -(-len(text) // 4)


def test_a_text_within_its_limit_is_not_touched() -> None:
    assert cut_tokens("short", 10, by_four) == "short"
    assert cut_bytes("short", 10) == "short"
    assert cut_end("short", 10, by_four) == "short"


def test_a_cut_keeps_head_and_tail_and_says_how_much_went() -> None:
    text = "head " + "x" * 5_000 + " tail"
    cut = cut_tokens(text, 40, by_four)
    assert cut is not None
    head, mark, tail = cut.split("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert mark == f"[… {len(text) - len(head) - len(tail):,} characters left out …]"


def test_a_limit_too_small_for_the_mark_gives_nothing() -> None:
    assert cut_tokens("x" * 1_000, 3, by_four) is None
    assert cut_tokens("x" * 1_000, 0, by_four) is None
    assert cut_tokens("x" * 1_000, -5, by_four) is None


def test_a_summary_is_cut_after_a_line() -> None:
    text = "\n".join(f"- line {n} of the summary" for n in range(50))
    cut = cut_end(text, 60, by_four)
    assert cut is not None
    *lines, mark = cut.split("\n")
    assert set(lines) <= set(text.split("\n"))
    assert "left out" in mark


@given(
    st.lists(st.sampled_from([*"ab \n字é", "👨‍👩‍👧", "🇩🇪", "e\u0301"]), min_size=1, max_size=400).map("".join), st.integers(1, 60)
)
def test_a_cut_never_costs_more_than_its_limit(text: str, limit: int) -> None:
    cut = cut_tokens(text, limit, by_four)
    assert cut is None or by_four(cut) <= limit


@given(st.text(max_size=400), st.integers(60, 400))
def test_a_cut_in_bytes_keeps_to_its_limit(text: str, limit: int) -> None:
    assert len(cut_bytes(text, limit).encode("utf-8", "replace")) <= limit


@pytest.mark.parametrize("kept", range(0, 60, 7))
def test_no_emoji_is_split(kept: int) -> None:
    family = "👨‍👩‍👧‍👦"
    head, _, tail = without_middle(family * 40, kept).partition("[…")
    assert head.strip().replace(family, "") == ""
    assert tail.split("…]")[1].strip().replace(family, "") == ""


def test_a_text_far_over_its_limit_is_not_counted_whole() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return by_four(text)

    assert not fits("word " * 200_000, 100, count)
    assert cut_tokens("word " * 2_000, 100, count) is not None
    assert max(counted) < 3_000
