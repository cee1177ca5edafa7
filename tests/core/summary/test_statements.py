"""What the sentences of a talk settle, rule out, leave open or tell."""

from datetime import UTC, datetime

import pytest

from memsrv.core.summary.acts import asks, excludes, folded, negated
from memsrv.core.summary.clauses import bare, clauses, plain, sentences, shortened
from memsrv.core.summary.statements import heading_of, statements
from memsrv.core.summary.subjects import terms, values
from memsrv.core.summary.summary import Heading, Source

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def of(*turns):
    roles = {"u": "user", "a": "assistant"}
    return statements([Source(at, roles[turn[0]], roles[turn[0]], NOW, turn[3:]) for at, turn in enumerate(turns, 1)])


@pytest.mark.parametrize("text", ["we can't have gas", "no ryokan", "don't call me", "不要香菜", "不坐飞机", "别碰 master 分支"])
def test_an_exclusion_is_known(text):
    assert excludes(folded(text))


@pytest.mark.parametrize(
    "text", ["no problem", "not sure yet", "why not", "we don't not want it", "不错", "要不要辣", "没问题", "不得不改", "没关系"]
)
def test_what_only_sounds_like_a_negation_denies_nothing(text):
    assert not negated(folded(text))


@pytest.mark.parametrize("text", ["Friday afternoon?", "要不要爬山", "which one do you want", "可以吗？"])
def test_a_question_is_known_with_its_mark_and_without(text):
    assert asks(folded(text))


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("we'll go with the barn", Heading.DECISIONS),
        ("就用 MySQL 吧", Heading.DECISIONS),
        ("the budget is 4,000 at most", Heading.CONSTRAINTS),
        ("no passwords stored on our side", Heading.CONSTRAINTS),
        ("maybe we add dark mode", Heading.QUESTIONS),
        ("someone has to ask priya about vat", Heading.QUESTIONS),
        ("玉龙雪山再看看吧", Heading.QUESTIONS),
        ("router is a netgear r7000", Heading.FACTS),
    ],
)
def test_a_sentence_finds_its_heading(text, heading):
    found = heading_of(text, answers=False)
    assert found is not None
    assert found[0] is heading


def test_the_echo_of_the_assistant_replaces_words_that_say_less():
    [found] = of("u: port 8081 please", "a: Noted: the service listens on port 8081.")
    assert found.text == "the service listens on port 8081"
    assert "echoed" in found.marks


def test_a_yes_with_a_condition_keeps_the_condition():
    [found] = of("a: Shall we book the Hilton?", "u: ok, but only if breakfast is included")
    assert found.text == "book the Hilton, only if breakfast is included"


def test_a_no_to_an_advice_against_something_agrees_with_it():
    found = of("a: 睡前喝酒不建议。", "u: 不喝酒")
    assert all("不采用" not in one.text for one in found)


def test_the_option_that_is_picked_by_its_place_is_the_decision():
    found = of("a: Do you want the Hilton or the Ritz?", "u: ok, the second one")
    assert [one.text for one in found] == ["the Ritz"]


def test_a_plan_of_somebody_else_counts_only_if_it_is_taken_up():
    assert not of("u: My neighbour says we should paint the fence black.")
    assert [one.text for one in of("u: My neighbour says we should paint the fence black. Good idea.")] == [
        "User: My neighbour says we should paint the fence black"
    ]


def test_a_deferred_answer_takes_its_question_along():
    [found] = of("a: Do you want me to look into a rail pass?", "u: not sure yet")
    assert found.heading is Heading.QUESTIONS
    assert "rail pass" in found.text


def test_chats_with_small_letters_after_points_have_sentences():
    assert list(sentences("fine. essay on bees, 1,200 words. e.g. honey at 9 a.m. sharp")) == [
        "fine.",
        "essay on bees, 1,200 words.",
        "e.g. honey at 9 a.m. sharp",
    ]
    assert list(sentences("好的。第一站大理，怎么样？行！")) == ["好的。", "第一站大理，怎么样？", "行！"]


def test_code_and_quoted_lines_are_no_talk():
    assert plain("look\n```\nuse flask\n```\n> we use flask\nok").split() == ["look", "ok"]


def test_fillers_and_thanks_are_stripped():
    assert bare("ok so, let's take the barn then, thanks!") == "let's take the barn"
    assert bare("好的，那就住束河吧。") == "住束河"


@pytest.mark.parametrize(
    "text", ["no copyright notice, only alright", "make it bright", "小黎测webhook", "用scrapy-playwright", "I must book"]
)
def test_the_end_of_a_word_is_no_filler(text):
    assert bare(text) == text


def test_a_comma_in_a_number_ends_no_clause():
    assert len(clauses("1,200 words, by Friday")) == 2


def test_only_clauses_with_nothing_to_hold_on_to_are_dropped():
    text = "we take the vineyard in the hills behind the town because it is so lovely there in the evening light"
    assert shortened(text) == "we take the vineyard in the hills behind the town"
    kept = "we take the vineyard in the hills behind the town because we do not want rain at the barn"
    assert shortened(kept) == kept


def test_values_are_the_same_in_other_words():
    def key(text):
        return [value.key for value in values(text)]

    assert key("$4,000") == key("4000 dollars")
    assert key("5月4号") == key("5月4日")
    assert key("三晚") == key("3晚")


def test_terms_leave_out_the_words_of_grammar():
    assert terms("we will use the barn") == {"barn"}
    assert "婚礼" in terms("婚礼定在湖边")
