"""Things that a number tells apart: what is said of one corrects nothing that was said of the other."""

from datetime import UTC, datetime, timedelta

import pytest

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.adapters.summarizer_extractive import shipped_weights
from memsrv.core.claims.numbered import apart
from memsrv.core.guard.check import check
from memsrv.core.guard.judge import Kind
from memsrv.core.summary.extract import extract, heard
from memsrv.core.summary.summary import Heading, Language, Line, Source, Summary, Task, rendered

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TERMS = SnowballAnalyzer().terms


def count(text: str) -> int:
    return -(-len(text) // 3)


def task(*texts: str, language: Language = Language.ENGLISH) -> Task:
    said = (Source(at, "user", "user", START + timedelta(minutes=10 * at), text) for at, text in enumerate(texts, 1))
    return Task(None, tuple(said), 400, language)


def told(*texts: str, language: Language = Language.ENGLISH) -> str:
    return rendered(extract(task(*texts, language=language), count=count, learned=shipped_weights()))


@pytest.mark.parametrize(
    ("one", "other", "nouns"),
    [
        ("Flat 3 has a balcony", "flat 5 has none", {"flat"}),
        ("Order No. 1201", "order #1202", {"order"}),
        ("PR-12 is merged", "PR-13 is open", {"pr"}),
        ("3号楼", "5号楼", {"楼"}),
        ("订单1201", "订单 1202", {"订单"}),
        ("flat 3 and flat 5", "flat 5", set()),
        ("flat 3", "room 5", set()),
        ("order 12.5 kg", "order 13 %", set()),
        ("it costs 900", "it costs 1100", set()),
        ("gizmo 20: it is free", "Gizmo 21: it is free", {"gizmo"}),
        ("#20: the gizmo is free", "#21: the gizmo is free", {"#"}),
        ("9:30 is too early", "10:30 is fine", set()),
    ],
)
def test_things_are_told_apart_by_the_number_after_what_they_are(one, other, nouns):
    assert apart(one, other) == apart(other, one) == nouns


def test_what_is_settled_of_one_flat_stands_beside_what_is_settled_of_another():
    text = told("We decided that flat 3 costs 900 euros a month.", "We decided that flat 5 costs 1100 euros a month.")
    assert "flat 3 costs 900" in text
    assert "flat 5 costs 1100" in text
    assert "replaces" not in text


@pytest.mark.parametrize(
    "form", ["fact {0}: bay {0} is free", "Bay {0} is free", "#{0}: bay {0} free", "gizmo {0}: the light is green"]
)
def test_of_things_that_are_counted_up_none_takes_the_place_of_another(form):
    texts = [form.format(at) for at in range(18, 24)]
    assert [entry.line.text for entry in heard(task(*texts))[1]] == texts


def test_no_order_is_given_what_was_settled_for_another():
    text = told("The budget for order 1201 is 500 euros.", "The budget for order 1202 is now 700 euros.")
    assert "order 1202 is 500" not in text
    assert "order 1201 is 500" in text
    assert "order 1202 is now 700" in text


@pytest.mark.parametrize(
    "texts",
    [
        ("3号房的租金是900元。", "5号房的租金是1100元。"),
        ("订单1201定在周一发货。", "订单1202定在周五发货。"),
    ],
)
def test_the_same_in_chinese(texts):
    text = told(*texts, language=Language.CHINESE)
    assert "取代" not in text
    assert "5号房的租金是900" not in text


@pytest.mark.parametrize(
    ("texts", "now", "language"),
    [
        (("We decided: the meeting is in room 3 on Monday.", "Change: the meeting is in room 5 on Monday."), "room 5", "en"),
        (("The rent for flat 3 is 900 euros.", "The rent for flat 3 is now 950 euros."), "flat 3 is 950", "en"),
        (("会议定在3号会议室。", "改一下，会议改到5号会议室。"), "会议定在5号会议室", "zh"),
        (("3号房的租金是900元。", "3号房的租金改成950元。"), "3号房的租金是950元", "zh"),
    ],
)
def test_a_number_that_is_the_value_itself_is_still_corrected(texts, now, language):
    assert now in told(*texts, language=Language(language))


@pytest.mark.parametrize(
    ("texts", "mixed", "language"),
    [
        (("The rent for flat 3 is 900 euros.", "The rent for flat 5 is 1100 euros."), "The rent for flat 3 is 1100 euros", "en"),
        (("Order 1201 ships on May 4.", "Order 1202 ships on May 9."), "Order 1201 ships on May 9", "en"),
        (("3号房的租金是900元。", "5号房的租金是1100元。"), "3号房的租金是1100元", "zh"),
    ],
)
def test_the_guard_drops_a_line_that_takes_its_values_from_two_sources(texts, mixed, language):
    asked = task(*texts, language=Language(language))
    lines = (Line(Heading.FACTS, mixed), *(Line(Heading.FACTS, text.strip(".。")) for text in texts))
    checked = check(Summary(lines, asked.language), asked, count=count, terms=TERMS)
    assert [(finding.kind, finding.line) for finding in checked.findings] == [(Kind.NUMBER, mixed)]
    assert checked.summary is not None
    assert [line.text for line in checked.summary.lines] == [text.strip(".。") for text in texts]
