"""What of a summary can be recalled."""

from itertools import pairwise

import pytest

from memsrv.core.summary.passages import MOST_CHARS, asks_for_earlier, lines_of, passages_of
from memsrv.core.summary.summary import Heading, Language, Line, Summary


def summary(*lines: tuple[Heading, str], language: Language = Language.ENGLISH) -> Summary:
    return Summary(tuple(Line(heading, text) for heading, text in lines), language)


def test_a_passage_is_the_lines_of_a_heading_under_its_title():
    said = summary((Heading.DECISIONS, "Kyoto in May"), (Heading.DECISIONS, "by train"), (Heading.FACTS, "Ada is 40"))
    assert passages_of(said, None) == ["Decided:\n- Kyoto in May\n- by train", "Facts:\n- Ada is 40"]
    assert lines_of("Decided:\n- Kyoto in May\n- by train") == ["Kyoto in May", "by train"]


def test_titles_are_in_the_language_of_the_summary():
    assert passages_of(summary((Heading.GOAL, "去京都"), language=Language.CHINESE), None) == ["目标:\n- 去京都"]


def test_what_the_version_before_says_is_in_its_own_passages():
    first = summary((Heading.DECISIONS, "Kyoto in May"), (Heading.FACTS, "Ada is 40"))
    second = summary((Heading.DECISIONS, "Lisbon in June"), (Heading.FACTS, "Ada is 40"))
    assert passages_of(second, first) == ["Decided:\n- Lisbon in June"]
    assert passages_of(first, first) == []


def test_over_many_versions_each_line_is_in_one_passage():
    versions = [summary(*((Heading.FACTS, f"fact {n}") for n in range(first, first + 9))) for first in range(40)]
    told = [line for text in passages_of(versions[0], None) for line in lines_of(text)]
    told += [line for before, after in pairwise(versions) for text in passages_of(after, before) for line in lines_of(text)]
    assert told == [f"fact {n}" for n in range(48)]


def test_long_sections_are_several_passages_of_whole_lines():
    texts = [f"{n} " + "word " * 40 for n in range(6)]
    made = passages_of(summary(*((Heading.FACTS, text) for text in texts)), None)
    assert len(made) > 1
    assert [line for text in made for line in lines_of(text)] == texts
    assert all(sum(map(len, lines_of(text))) <= MOST_CHARS for text in made)


@pytest.mark.parametrize(
    "question",
    [
        "What was the plan we had last time?",
        "the original budget",
        "what did the previous summary say",
        "上次的计划？",
        "原来的预算",
    ],
)
def test_some_questions_ask_for_what_was_settled_earlier(question):
    assert asks_for_earlier(question)


@pytest.mark.parametrize("question", ["Where does Ada live?", "What did Ada do before the race?", "预算多少？", "明天几点开会"])
def test_most_questions_do_not(question):
    assert not asks_for_earlier(question)
