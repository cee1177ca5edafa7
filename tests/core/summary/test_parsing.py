"""Our own summaries come back exactly, a model's in whatever dress it puts them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.summary.asking import shape
from memsrv.core.summary.parsing import parsed, summary_of
from memsrv.core.summary.summary import TITLES, ordered, rendered
from memsrv.core.summary.titles import heading_named
from memsrv.model import Heading, Language, Line, Summary

ROW = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1, max_size=60)
LINES = st.lists(st.builds(Line, st.sampled_from(Heading), ROW), min_size=1, max_size=12)
SUMMARIES = st.builds(lambda lines, language: Summary(ordered(lines), language), LINES, st.sampled_from(Language))


def told(answer: str) -> list[tuple[str, str]]:
    """Heading and text of each line in an answer."""
    summary = summary_of(answer)
    assert summary is not None
    return [(line.heading.value, line.text) for line in summary.lines]


# --- our own ----------------------------------------------------------------------------------------------------------


@given(SUMMARIES)
def test_what_was_rendered_comes_back(summary: Summary) -> None:
    assert parsed(rendered(summary)) == summary


def test_a_summary_of_nothing_comes_back() -> None:
    assert parsed(rendered(Summary())) == Summary()


def test_an_item_that_looks_like_a_title_stays_an_item() -> None:
    lines = (Line(Heading.DECISIONS, "Goal: ten orders a day"), Line(Heading.DECISIONS, "Facts:"), Line(Heading.STATE, "- half"))
    assert parsed(rendered(Summary(lines))).lines == lines


def test_a_statement_of_several_rows_stays_one() -> None:
    lines = (Line(Heading.FACTS, "an address:\n7 Hill Road\nKent"), Line(Heading.FACTS, "a name"))
    assert parsed(rendered(Summary(lines))).lines == lines


@pytest.mark.parametrize("text", ["hello", "Goals: x", "- an item", "Decided: x", "goal: x", "Goal:x"])
def test_what_memsrv_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no summary"):
        parsed(text)


# --- shapes -----------------------------------------------------------------------------------------------------------

TRIP = [("goal", "see Rome"), ("decisions", "fly in May"), ("decisions", "stay a week"), ("constraints", "no cars")]
DRESSES = {
    "as asked": "Goal: see Rome\nDecided:\n- fly in May\n- stay a week\nConstraints and exclusions:\n- no cars",
    "with words around": "Sure! Here it is:\n\nGoal: see Rome\nDecided:\n- fly in May\n- stay a week\n"
    "Constraints and exclusions:\n- no cars\n\nLet me know if you need more!",
    "bold": "**Goal:** see Rome\n\n**Decided:**\n- fly in **May**\n- stay a week\n\n**Constraints**\n- no cars",
    "bold, the colon after": "**Goal**: see Rome\n**Decided**:\n* fly in May\n* stay a week\n**Exclusions**:\n* no cars",
    "markdown": "# Summary\n## Goal\nsee Rome\n\n## Confirmed decisions\n- fly in May\n- stay a week\n## Constraints\n- no cars",
    "numbered headings": "### 1. Goal\nsee Rome\n### 2. Decisions\n- fly in May\n- stay a week\n### 3. Constraints\n- no cars",
    "numbered": "1. **Goal**: see Rome\n2. **Decisions**:\n   - fly in May\n   - stay a week\n3. **Constraints**:\n   - no cars",
    "numbered items": "Goal: see Rome\nDecided:\n1. fly in May\n2. stay a week\nConstraints:\n1. no cars",
    "bulleted": "- **Goal:** see Rome\n- **Decided:**\n  - fly in May\n  - stay a week\n- **Constraints:**\n  - no cars",
    "in capitals": "GOAL\nsee Rome\n\nDECISIONS\n• fly in May\n• stay a week\n\nCONSTRAINTS & EXCLUSIONS\n• no cars",
    "with remarks": "Goal (what the user wants): see Rome\nDecisions (confirmed):\n- fly in May\n- stay a week\n"
    "What was ruled out:\n- no cars",
    "with pictures": "🎯 Goal: see Rome\n✅ Decided:\n- [x] fly in May\n- [x] stay a week\n🚫 Constraints:\n- no cars",
    "fenced": "```markdown\nGoal: see Rome\nDecided:\n- fly in May\n- stay a week\nConstraints:\n- no cars\n```",
    "ruled": "Goal: see Rome\n---\nDecided:\n- fly in May\n- stay a week\n***\nConstraints:\n- no cars\n---",
    "quoted": "> Goal: see Rome\n> Decided:\n> - fly in May\n> - stay a week\n> Constraints:\n> - no cars",
    "with a dash": "Goal — see Rome\nDecided:\n– fly in May\n– stay a week\nConstraints:\n– no cars",
    "thought over": "<think>Goal: wrong\nI should...</think>\nGoal: see Rome\nDecided:\n- fly in May\n- stay a week\n"
    "Exclusions:\n- no cars",
    "with control marks": "<|im_start|>Goal: see Rome\nDecided:\n- fly in May\n- stay a week\nExcluded:\n- no cars<|im_end|>",
    "JSON": '{"goal": "see Rome", "decisions": ["fly in May", "stay a week"], "constraints": ["no cars"]}',
    "JSON, fenced": 'Here:\n```json\n{"goal": "see Rome",\n "confirmed_decisions": ["fly in May", "stay a week"],\n'
    ' "constraints_and_exclusions": "no cars"}\n```\nDone.',
    "JSON, wrapped": '{"summary": {"Goal": ["see Rome"], "Decided": [{"text": "fly in May"}, {"text": "stay a week"}],'
    ' "Excluded": ["no cars"], "Facts": [], "Now": null}}',
    "JSON that was cut off": '{\n"goal": "see Rome",\n"decisions": [\n"fly in May",\n"stay a week"\n],\n"constraints": ["no cars',
    "in another order": "Constraints:\n- no cars\nDecided:\n- fly in May\n- stay a week\nGoal: see Rome",
    "again and again": "Goal: see Rome\nDecided:\n- fly in May\n- stay a week\n- stay a week\n- Stay a week\n"
    "Constraints:\n- no cars\n- no cars",
    "with nothing under some": "Goal: see Rome\nDecided:\n- fly in May\n- stay a week\nConstraints:\n- no cars\n"
    "Open:\n- None.\nFacts: N/A\nNow: (none)",
    "Windows line ends": "Goal: see Rome\r\nDecided:\r\n- fly in May\r\n- stay a week\r\nConstraints:\r\n- no cars\r\n",
    "items of two rows": "Goal: see Rome\nDecided:\n- fly in\n  May\n- stay\n  a week\nConstraints:\n- no cars",
}  # fmt: skip


@pytest.mark.parametrize("answer", DRESSES.values(), ids=DRESSES.keys())
def test_a_summary_is_found_in_any_dress(answer: str) -> None:
    assert told(answer) == TRIP


HAN_TRIP = [("goal", "去京都旅行"), ("decisions", "五月三日出发"), ("decisions", "住六晚"), ("constraints", "不住青年旅舍")]
HAN_DRESSES = {
    "as asked": "目标: 去京都旅行\n已确认:\n- 五月三日出发\n- 住六晚\n约束与排除:\n- 不住青年旅舍",
    "full-width colons": "目标：去京都旅行\n已确认：\n- 五月三日出发\n- 住六晚\n约束与排除：\n- 不住青年旅舍",
    "in brackets": "【目标】去京都旅行\n【已确认的决定】\n1、五月三日出发\n2、住六晚\n【约束与排除】\n1、不住青年旅舍",
    "numbered": "一、目标：去京都旅行\n二、已确认：\n- 五月三日出发\n- 住六晚\n三、约束：\n- 不住青年旅舍",
    "markdown": "摘要：\n### 目标\n去京都旅行\n### 决定\n- **五月三日**出发\n- 住六晚\n### 约束\n- 不住青年旅舍\n希望有用",
    "JSON": '{"目标": "去京都旅行", "已确认": ["五月三日出发", "住六晚"], "约束与排除": ["不住青年旅舍"], "待定": "无"}',
    "English titles": "Goal: 去京都旅行\nDecided:\n- 五月三日出发\n- 住六晚\nConstraints and exclusions:\n- 不住青年旅舍",
}


@pytest.mark.parametrize("answer", HAN_DRESSES.values(), ids=HAN_DRESSES.keys())
def test_a_chinese_summary_is_found_in_any_dress(answer: str) -> None:
    assert told(answer) == HAN_TRIP
    summary = summary_of(answer)
    assert summary is not None
    assert summary.language is Language.CHINESE


@pytest.mark.parametrize(
    "answer",
    [
        "", " \n", "I'm sorry, but I can't help with that.", "The user wants to see Rome and flies in May.", "[]", "{}", "null",
        '{"weather": "fine"}', "<think>Goal: x</think>", "<think>Goal: x", "Goal:\nDecided:\n- none", "我不能帮忙。",
        "{" * 100_000, '{"a":' * 100_000,
    ],
)  # fmt: skip
def test_an_answer_without_the_shape_is_no_summary(answer: str) -> None:
    assert summary_of(answer) is None


@pytest.mark.parametrize("language", Language)
def test_an_echo_of_what_was_asked_for_is_no_summary(language: Language) -> None:
    assert summary_of(shape(language)) is None


def test_a_title_word_at_the_head_of_an_item_is_no_title() -> None:
    answer = "Goal: a shop\nDecided:\n- Final decision: Postgres\n- Goal: ten orders\nFacts:\n- Status: paid"
    assert told(answer) == [
        ("goal", "a shop"),
        ("decisions", "Final decision: Postgres"),
        ("decisions", "Goal: ten orders"),
        ("facts", "Status: paid"),
    ]


def test_json_inside_a_statement_is_not_taken_for_the_summary() -> None:
    assert told('Goal: a parser\nFacts:\n- the input is {"goal": "x"}') == [
        ("goal", "a parser"),
        ("facts", 'the input is {"goal": "x"}'),
    ]


@pytest.mark.parametrize("text", ["3.5 million yen at most", "-5 °C at night", "2 * 3 * 4 cells", "file __init__.py"])
def test_figures_and_code_are_not_taken_for_layout(text: str) -> None:
    assert told(f"Facts:\n- {text}\nNow: on") == [("facts", text), ("state", "on")]
    assert told(f"Facts:\n{text}\nNow: {text}") == [("facts", text), ("state", text)]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("no cars [#7]", 7), ("no cars [#7].", 7), ("no cars[#7]", 7), ("no cars [#7, #9]", 7), ("no cars [#7] [#9]", 7),
        ("[#7] no cars", 7), ("no cars 【#7】", 7), ("no cars (message 7)", 7), ("no cars", 0),
    ],
)  # fmt: skip
def test_the_number_of_a_message_becomes_the_position(text: str, position: int) -> None:
    summary = summary_of(f"Constraints:\n- {text}")
    assert summary is not None
    assert [(line.text.rstrip("."), line.position) for line in summary.lines] == [("no cars", position)]


def test_the_number_of_a_pull_request_stays_in_the_text() -> None:
    assert told("Facts:\n- fixed in the request (#42)") == [("facts", "fixed in the request (#42)")]


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("Goal", Heading.GOAL), ("The user's goals", Heading.GOAL), ("Objective", Heading.GOAL), ("总目标", Heading.GOAL),
        ("Key decisions made", Heading.DECISIONS), ("Confirmed", Heading.DECISIONS), ("已确认的决定", Heading.DECISIONS),
        ("Constraints / Exclusions", Heading.CONSTRAINTS), ("Ruled out", Heading.CONSTRAINTS), ("限制 条件", Heading.CONSTRAINTS),
        ("Open", Heading.QUESTIONS), ("Open questions & to-dos", Heading.QUESTIONS), ("Next steps", Heading.QUESTIONS),
        ("Action items", Heading.QUESTIONS), ("待办事项", Heading.QUESTIONS), ("Confirmed facts", Heading.FACTS),
        ("Facts (names, numbers, dates)", Heading.FACTS), ("关键事实", Heading.FACTS), ("Current state", Heading.STATE),
        ("Where things stand", Heading.STATE), ("Current status", Heading.STATE), ("当前状态", Heading.STATE),
        ("Facts that Anna told", None), ("Summary", None), ("Goal 2", None), ("", None), ("今天", None), ("x" * 200, None),
    ],
)  # fmt: skip
def test_a_title_is_known_by_its_words(name: str, heading: Heading | None) -> None:
    assert heading_named(name) is heading


@pytest.mark.parametrize("language", Language)
def test_our_own_titles_are_known(language: Language) -> None:
    assert {heading_named(title): heading for heading, title in TITLES[language].items()} == {
        heading: heading for heading in Heading
    }


PIECES = [
    "Goal:",
    "Facts",
    "- ",
    "* ",
    "1. ",
    "**",
    "\n",
    " ",
    "{",
    "}",
    '"',
    ":",
    "[#3]",
    "目标",
    "<think>",
    "</think>",
    "```",
    "a",
    "\x00",
    "🎯",
]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text())
def test_whatever_a_model_answers_there_is_a_summary_with_lines_or_none(answer: str) -> None:
    summary = summary_of(answer)
    assert summary is None or (summary.lines and all(line.text.strip() for line in summary.lines))


@pytest.mark.parametrize(
    "piece", ["Goal: ", "- ", "* ", "**a", "[#1] ", "<a", "{", '{"a":', "Goal\n", "Facts:\n- x\n", "_", "= ", "(", "1."]
)
def test_any_answer_is_read_in_linear_time(piece: str) -> None:
    started = time.thread_time()
    summary_of("Goal: x\nFacts:\n" + piece * (200_000 // len(piece)))
    assert time.thread_time() - started < 5
