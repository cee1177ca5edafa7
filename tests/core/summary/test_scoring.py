"""What meets an expectation, and how expectations add up."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.summary.scoring import Dialogue, Expectation, Utterance, claims, grouped, normalised, scored, totals
from memsrv.core.summary.summary import Heading, Line, Summary


def expecting(*groups: str, none: str = "") -> Expectation:
    """`expecting("a|b", "c", none="d")`: groups of alternatives."""
    return Expectation(
        says="", all=tuple(tuple(group.split("|")) for group in groups), none=tuple(none.split("|")) if none else ()
    )


def dialogue(language="en", *, decisions=(), exclusions=(), forbidden=(), droppable=()) -> Dialogue:
    return Dialogue(
        id="00-test",
        language=language,
        topic="code",
        traits=("a", "b"),
        messages=(Utterance("user", "one two three four"),),
        decisions=tuple(map(expecting, decisions)),
        exclusions=tuple(expecting("@not", word) for word in exclusions),
        forbidden=tuple(map(expecting, forbidden)),
        droppable=tuple(map(expecting, droppable)),
    )


def score(talk: Dialogue, *lines: str, max_tokens: int = 200):
    summary = Summary(tuple(Line(Heading.FACTS, line) for line in lines))
    return scored(talk, summary, max_tokens=max_tokens, count=lambda text: len(text.split()))


def test_a_line_must_hold_one_of_each_group():
    wanted = expecting("redis|valkey", "cache")
    assert wanted.met_by("The cache is Valkey.")
    assert not wanted.met_by("The cache is memcached.")


def test_a_line_that_holds_one_of_the_none_does_not_meet_it():
    wanted = expecting("sqlite", none="postgres")
    assert wanted.met_by("SQLite it is.")
    assert not wanted.met_by("Postgres in place of SQLite.")


def test_two_lines_with_half_each_do_not_meet_it():
    assert score(dialogue(decisions=()), "x").decisions == ()
    talk = Dialogue(**{name: getattr(dialogue(), name) for name in Dialogue.__slots__} | {"decisions": (expecting("a1", "b1"),)})
    assert not score(talk, "only a1", "only b1").decisions[0].met
    assert score(talk, "a1 and b1").decisions[0].met


@pytest.mark.parametrize(
    ("alternative", "line"),
    [
        ("postgres*", "We use PostgreSQL"),
        ("anna", "Anna's budget"),
        ("14 days", "within 14  days"),
        ("10500", "a budget of 10,500 euros"),
        ("600", "p99 is 600ms"),
        ("16kg", "with 16KG"),
        ("don't", "we don’t"),
        ("11-13", "June 11–13"),
        ("3天", "保留 3 天"),
        ("vlan 51", "绑定VLAN 51。"),
        ("Redis", "用Redis做缓存"),
        ("5.1", "版本5.1，5.3以后再说"),
        ("1500", "每天1500千卡"),
        ("swift", "Use **Swift**."),
    ],
)
def test_writing_makes_no_difference(alternative, line):
    assert expecting(alternative).met_by(line)


@pytest.mark.parametrize(
    ("alternative", "line"),
    [
        ("anna", "Joanna pays"),
        ("oat", "a goat"),
        ("600", "1,600 in all"),
        ("600", "600k in all"),
        ("30", "at 9:30"),
        ("5", "version 5.1"),
        ("5天", "15天"),
        ("20", "20万"),
        ("user", "the user_id"),
        ("postgres", "PostgreSQL"),
    ],
)
def test_a_part_of_a_word_or_number_is_not_the_word(alternative, line):
    assert not expecting(alternative).met_by(line)


@pytest.mark.parametrize(
    "line",
    [
        "No Redis.",
        "We won't use Redis",
        "do not use redis",
        "Redis is out",
        "Redis was ruled out",
        "without redis",
        "不用Redis",
        "别上Redis",
        "Redis不要",
        "Redis已被否决",
        "未采用Redis",
    ],
)
def test_a_negation_is_seen(line):
    assert expecting("@not", "redis").met_by(line)


@pytest.mark.parametrize(
    "line",
    [
        "Use Redis.",
        "No, use Redis.",
        "No problem, Redis it is",
        "not only Redis",
        "we can't not have Redis",
        "Never without Redis",
        "Redis不错",
        "特别适合用Redis",
        "别忘了Redis",
        "无论如何用Redis",
        "不得不用Redis",
        "要不要上Redis都行",
        "Redis能不能用都看你",
    ],
)
def test_what_only_looks_like_a_negation_is_none(line):
    assert not expecting("@not", "redis").met_by(line)


def test_a_question_claims_nothing():
    assert not expecting("redis").met_by("Shall we take Redis?")
    assert not expecting("redis").met_by("用Redis吗？")
    assert expecting("redis").met_by("Is it slow? Redis is fast.")
    assert expecting("redis").met_by("慢吗？Redis很快。")


def test_what_was_so_and_what_is_open_are_told_apart_from_what_is():
    old = expecting("12 may", none="@past|@open|@when")
    assert old.met_by("It takes place on 12 May.")
    assert not old.met_by("Moved from 12 May to 19 May.")
    assert not old.met_by("12 May was proposed.")
    assert not old.met_by("12 May if it rains.")
    assert not expecting("5月2日", none="@past|@open|@when").met_by("原定5月2日，后改为5月4日")


@given(st.text(alphabet=string.ascii_letters + " '.,，。?？!0123456789天不用改—“”\n", max_size=60))
def test_normalising_twice_changes_nothing_more(text):
    assert normalised(normalised(text)) == normalised(text)


@given(st.lists(st.sampled_from(["Use it.", "Is it?", "用它。", "是吗？"]), max_size=6))
def test_claims_holds_the_statements_and_no_question(sentences):
    left = claims(" ".join(sentences))
    assert "?" not in left
    assert left.count("use it") == sentences.count("Use it.")
    assert left.count("用它") == sentences.count("用它。")


def test_a_score_tells_what_was_kept_and_by_which_line():
    talk = dialogue(decisions=["tea", "milk"], exclusions=["sugar"], forbidden=["coffee"], droppable=["weather"])
    made = score(talk, "Tea for all.", "Nice weather", "no sugar", "Coffee for Ann")
    assert [item.line for item in made.decisions] == ["Tea for all.", None]
    assert [item.line for item in made.exclusions] == ["no sugar"]
    assert made.contradictions == 1
    assert (made.lines, made.droppable_lines, made.talk_tokens) == (4, 1, 4)


def test_totals_run_over_expectations_and_not_over_dialogues():
    many = score(dialogue(decisions=["a1", "a2", "a3"]), "a1 a2 a3")
    one = score(dialogue(decisions=["b1"]), "nothing")
    assert totals([many, one]).decision_retention == 0.75


def test_contradictions_are_counted_by_claim_and_by_dialogue():
    twice = score(dialogue(forbidden=["a1", "a2"]), "a1", "a2")
    sums = totals([twice, score(dialogue(forbidden=["a1"]), "b1")])
    assert (sums.contradictions, sums.contradicted, sums.contradiction_rate) == (2, 1, 0.5)


def test_density_and_compression_follow_from_the_tokens():
    sums = totals([score(dialogue(decisions=["a1"]), "a1 b1")])
    assert sums.summary_tokens == 4  # with the heading and the mark of the list
    assert sums.density == 25
    assert sums.compression == 1


def test_a_summary_that_is_too_long_is_counted():
    assert totals([score(dialogue(), "a b c d", max_tokens=3), score(dialogue(), "a", max_tokens=3)]).over == 1


def test_nothing_expected_is_all_kept():
    sums = totals([])
    assert (sums.decision_retention, sums.exclusion_retention, sums.contradiction_rate, sums.compression) == (1, 1, 0, 0)


def test_a_dialogue_counts_under_each_of_its_keys():
    scores = [score(dialogue("en", decisions=["a1"]), "a1"), score(dialogue("zh", decisions=["a1"]), "b1")]
    by_trait = grouped(scores, lambda talk: talk.traits)
    assert {name: sums.dialogues for name, sums in by_trait.items()} == {"a": 2, "b": 2}
    assert grouped(scores, lambda talk: [talk.language])["en"].decision_retention == 1
