"""Sections that stay whole, are merged, or leave only the user's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.prompt.sections import Sections, sections_for, spoken, staying
from memsrv.core.prompt.turns import Turn, talk
from tests.fakes_prompt import message


def turns(*texts: str) -> tuple[Turn, ...]:
    """Turns of a question and an answer."""
    said = [
        message(2 * n + at, {"role": role, "content": text})
        for n, text in enumerate(texts)
        for at, role in ((1, "user"), (2, "assistant"))
    ]
    return talk(said, system_prompt=None, max_tool_bytes=1000, opens=True).turns


def user_words(found: tuple[Turn, ...]) -> list[str]:
    return [payload["content"] for turn in found for unit in turn.units for payload in unit.payloads]


def test_the_profiles_have_values_of_their_own() -> None:
    assert sections_for("agent", {}) == Sections(51_200, 10, 65_536, 1, use_qa=True, summarize_human=False)
    assert sections_for("assistant", {}) == Sections(76_800, 7, 76_800, 3, use_qa=True, summarize_human=False)
    assert sections_for("support", {}) is None
    assert sections_for(None, {"max_tool_bytes": 5}) is None


def test_what_the_session_sets_wins_and_makes_a_policy_where_there_is_none() -> None:
    assert sections_for("agent", {"keep_qa": 4, "use_qa": False}) == Sections(keep_qa=4, use_qa=False)
    assert sections_for(None, {"last_bytes": 9}) == Sections(last_bytes=9)


def test_an_assistant_always_merges_and_never_loses_the_users_words() -> None:
    made = sections_for("assistant", {"use_qa": False, "summarize_human": True})
    assert made
    assert (made.use_qa, made.summarize_human) == (True, False)


def test_the_limit_on_recent_sections_can_be_lifted() -> None:
    made = sections_for("agent", {"limit_recent": False})
    assert made
    assert made.last_bytes is None
    assert staying([10**9, 10], made) == 1  # merged by max_qa_bytes all the same
    assert staying([10**9, 10], Sections(last_bytes=None, use_qa=False)) == 2


@pytest.mark.parametrize(
    ("sizes", "stay"),
    [
        ([], 0),
        ([100], 1),
        ([10] * 5, 5),
        ([10] * 6, 2),  # more than max_qa: all but keep_qa are merged
        ([10, 200, 10], 1),  # over last_bytes
        ([60, 60, 60], 1),
        ([500], 1),
    ],
)
def test_sections_that_are_too_many_or_too_long_leave(sizes: list[int], stay: int) -> None:
    assert staying(sizes, Sections(last_bytes=100, max_qa=5, max_qa_bytes=1000, keep_qa=2)) == stay


def test_without_merging_only_the_bytes_count() -> None:
    assert staying([1] * 50, Sections(last_bytes=40, use_qa=False)) == 40


@given(st.lists(st.integers(0, 200)), st.integers(0, 300), st.integers(0, 9), st.integers(0, 300), st.integers(0, 9))
def test_what_stays_needs_no_second_cut(sizes: list[int], last: int, qa: int, qa_bytes: int, keep: int) -> None:
    sections = Sections(last, qa, qa_bytes, min(keep, max(qa, 1)))
    stay = staying(sizes, sections)
    assert stay >= min(1, len(sizes))
    left = sizes[len(sizes) - stay :]
    if sum(left[-max(1, sections.keep_qa) :]) <= qa_bytes:
        assert staying(left, sections) == stay


def test_the_users_words_of_covered_sections_stay() -> None:
    said = turns("one", "two", "three")
    assert user_words(spoken(said, 4, Sections())) == ["one", "two"]
    assert user_words(spoken(said, 4, Sections(max_qa=1))) == ["two"]
    assert user_words(spoken(said, 6, Sections(max_qa_bytes=8))) == ["two", "three"]
    assert user_words(spoken(said, 6, Sections(max_qa=0))) == []
    assert user_words(spoken(said, 6, Sections(summarize_human=True))) == []
