"""Every dialogue of the evaluation set is sound, and its expectations are fair."""

from collections import Counter
from pathlib import Path

import pytest

from memsrv.adapters.tokens_tiktoken import TiktokenCounter, shipped_vocabularies
from memsrv.core.summary.scoring import LISTS, SENTENCE_END, Dialogue, Expectation, scored
from memsrv.core.summary.summary import Heading, Line, Summary
from memsrv.evaluate import dialogues_in, shipped_dialogues
from memsrv.services.evaluation import written_in

TOPICS = {"requirements", "support", "planning", "health", "code", "travel"}
TRAITS = {
    "condition",
    "correction of the assistant",
    "decision in passing",
    "double negation",
    "hypothetical",
    "irony",
    "joke",
    "language switch",
    "long",
    "names alike",
    "numbers that change",
    "proposal accepted",
    "proposal left open",
    "proposal rejected",
    "question answered later",
    "quoted plan of another",
    "reversal",
    "reversal of a reversal",
    "small talk",
    "to-do done later",
}
DIALOGUES = dialogues_in(shipped_dialogues())
TOKENS = TiktokenCounter("o200k_base", shipped_vocabularies())
every = pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda dialogue: dialogue.id)


def count(text: str) -> int:
    return TOKENS.count(text, None)


def must_keep(dialogue: Dialogue) -> tuple[Expectation, ...]:
    return dialogue.decisions + dialogue.exclusions


def sentences(dialogue: Dialogue) -> list[str]:
    return [part for message in dialogue.messages for part in SENTENCE_END.split(message.content) if part]


def spoken(dialogue: Dialogue, expectations: tuple[Expectation, ...]) -> Summary:
    """A summary that says what expectations mean."""
    return Summary(tuple(Line(Heading.DECISIONS, wanted.says) for wanted in expectations), written_in(dialogue))


def test_there_are_fifty_half_english_half_chinese_and_some_mixed():
    assert Counter(dialogue.language for dialogue in DIALOGUES) == {"en": 22, "zh": 22, "mixed": 6}


def test_every_topic_has_its_share_in_either_language():
    shares = Counter((dialogue.topic, dialogue.language) for dialogue in DIALOGUES if dialogue.language != "mixed")
    assert {topic for topic, _ in shares} == TOPICS
    assert min(shares.values()) >= 3


def test_every_trait_is_there_more_than_once():
    shares = Counter(trait for dialogue in DIALOGUES for trait in dialogue.traits)
    assert set(shares) == TRAITS
    assert min(shares.values()) >= 3


def test_ids_are_the_names_of_the_files():
    assert [dialogue.id for dialogue in DIALOGUES] == [path.stem for path in sorted(shipped_dialogues().glob("*.json"))]


def test_the_readme_tells_the_figures():
    readme = (Path(shipped_dialogues()) / "README.md").read_text(encoding="utf-8")
    kinds = ("decisions", "exclusions", "forbidden", "droppable")
    sums = {kind: sum(len(getattr(dialogue, kind)) for dialogue in DIALOGUES) for kind in kinds}
    told = "{decisions} decisions, {exclusions} exclusions, {forbidden} forbidden claims, {droppable} kinds of small talk"
    assert told.format(**sums) in readme


def test_what_made_a_claim_false_is_a_message_of_its_talk():
    talks = dialogues_in(shipped_dialogues().parent / "dialogues-training")
    told = [(one, len(talk.messages)) for talk in talks for one in talk.forbidden]
    assert sum(bool(one.since) for one, _ in told) > 400
    assert all(1 < at <= count for one, count in told for at in one.since)


@every
def test_people_talk_in_turns_and_the_user_begins(dialogue):
    roles = [message.role for message in dialogue.messages]
    assert roles[0] == "user"
    assert set(roles) == {"user", "assistant"}
    assert all(message.content.strip() == message.content != "" for message in dialogue.messages)


@every
def test_a_talk_is_long_enough_to_be_worth_a_summary(dialogue):
    assert sum(count(message.content) for message in dialogue.messages) >= 750


@every
def test_there_is_something_of_each_kind(dialogue):
    assert 2 <= len(dialogue.decisions) <= 6
    assert 1 <= len(dialogue.exclusions) <= 5
    assert len(dialogue.forbidden) >= 3
    assert dialogue.droppable


@every
def test_alternatives_are_written_as_the_readme_tells(dialogue):
    for wanted in must_keep(dialogue) + dialogue.forbidden + dialogue.droppable:
        for alternative in [*(word for group in wanted.all for word in group), *wanted.none]:
            assert alternative == alternative.strip() != ""
            assert alternative in LISTS or not alternative.startswith("@")
            assert "*" not in alternative[:-1]


@every
def test_what_is_meant_meets_its_own_expectation(dialogue):
    for wanted in must_keep(dialogue) + dialogue.forbidden + dialogue.droppable:
        assert wanted.met_by(wanted.says), wanted.says


@every
def test_a_summary_of_all_that_is_meant_is_perfect_and_fits(dialogue):
    ideal = scored(dialogue, spoken(dialogue, must_keep(dialogue)), max_tokens=200, count=count)
    assert all(item.met for item in ideal.decisions + ideal.exclusions)
    assert ideal.contradictions == 0
    assert ideal.droppable_lines == 0
    assert ideal.summary_tokens <= 200


@every
def test_a_summary_of_all_that_is_false_keeps_nothing(dialogue):
    wrong = scored(dialogue, spoken(dialogue, dialogue.forbidden), max_tokens=200, count=count)
    assert not any(item.met for item in wrong.decisions + wrong.exclusions)
    assert wrong.contradictions == len(dialogue.forbidden)


@every
def test_each_must_keep_is_said_in_one_sentence_that_claims_nothing_false(dialogue):
    sound = [said for said in sentences(dialogue) if not any(claim.met_by(said) for claim in dialogue.forbidden)]
    for wanted in must_keep(dialogue):
        assert any(wanted.met_by(said) for said in sound), wanted.says


@every
def test_small_talk_is_in_the_talk(dialogue):
    for talk in dialogue.droppable:
        assert any(talk.met_by(message.content) for message in dialogue.messages), talk.says


@every
def test_no_must_keep_is_met_by_most_of_the_talk(dialogue):
    said = sentences(dialogue)
    for wanted in must_keep(dialogue):
        assert sum(wanted.met_by(sentence) for sentence in said) <= len(said) / 8, wanted.says
