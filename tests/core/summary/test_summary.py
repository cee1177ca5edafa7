"""Summaries cut to a length, and how two of them differ."""

from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.summary.summary import Heading, Line, Summary, difference, rendered, within

LINES = st.lists(st.builds(Line, st.sampled_from(Heading), st.text("abc 车", min_size=1, max_size=30)), max_size=12)


def letters(text: str) -> int:
    return -(-len(text) // 4)


def test_facts_go_first_and_decisions_last() -> None:
    lines = (
        Line(Heading.GOAL, "a trip by train"),
        Line(Heading.DECISIONS, "we leave on Monday"),
        Line(Heading.CONSTRAINTS, "no flights at all"),
        Line(Heading.FACTS, "older fact of some length"),
        Line(Heading.FACTS, "newer fact of some length"),
    )
    left = [line.text for line in lines]
    whole = letters(rendered(Summary(lines)))
    for gone in ("older fact of some length", "newer fact of some length", "a trip by train", "no flights at all"):
        left.remove(gone)
        one_less = within(Summary(lines), whole - 1, letters)
        assert [line.text for line in one_less.lines] == left
        whole = letters(rendered(one_less))
    assert within(Summary(lines), 1, letters).lines == ()


@given(LINES, st.integers(0, 80))
def test_what_is_within_a_length_is_some_of_the_lines(lines: list[Line], most: int) -> None:
    summary = Summary(tuple(lines))
    kept = within(summary, most, letters)
    assert letters(rendered(kept)) <= most
    assert all(line in lines for line in kept.lines)
    if letters(rendered(summary)) <= most:
        assert sorted(kept.lines, key=repr) == sorted(lines, key=repr)


def test_lines_are_added_removed_and_changed() -> None:
    old = Summary(
        (Line(Heading.FACTS, "Price is 400 euro", 3), Line(Heading.QUESTIONS, "Which colour?"), Line(Heading.FACTS, "gone"))
    )
    new = Summary(
        (Line(Heading.FACTS, "Price is 450 euro", 9), Line(Heading.DECISIONS, "Which colour?"), Line(Heading.STATE, "new"))
    )
    found = difference(old, new)
    assert [line.text for line in found.added] == ["new"]
    assert [line.text for line in found.removed] == ["gone"]
    assert {(before.text, after.text) for before, after in found.changed} == {
        ("Price is 400 euro", "Price is 450 euro"),
        ("Which colour?", "Which colour?"),
    }


def test_the_same_text_from_another_message_is_no_difference() -> None:
    found = difference(Summary((Line(Heading.FACTS, "a", 1),)), Summary((Line(Heading.FACTS, "a", 2),)))
    assert (found.added, found.removed, found.changed) == ((), (), ())


@given(LINES, LINES)
def test_a_difference_accounts_for_every_line(old: list[Line], new: list[Line]) -> None:
    found = difference(Summary(tuple(old)), Summary(tuple(new)))
    same = len(new) - len(found.added) - len(found.changed)
    assert same == len(old) - len(found.removed) - len(found.changed)
    assert difference(None, Summary(tuple(new))).added == tuple(new)
    assert difference(Summary(tuple(old)), None).removed == tuple(old)
