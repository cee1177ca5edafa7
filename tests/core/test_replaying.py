"""What counts as going back to an earlier message, what counts as its being shown, and how samples add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.replaying import (
    LEAST_SHARED,
    MOST_REFERENCES,
    Answered,
    History,
    Reference,
    Remark,
    Sample,
    answered,
    figures,
    outermost,
    words,
)
from memsrv.model import Mode, Prompt, Receipt, RegionName
from tests.fakes_prompt import hit, message

TERMS = ("ab", "cd", "ef", "gh", "ij", "kl", "mn")
CHATTER = [f"chatter{n} about{n}" for n in range(20)]


def terms(text: str) -> list[str]:
    return text.lower().split()


def history(*said: str) -> History:
    """`history("u:hello", "a:hi", "t:result")`."""
    roles = {"u": "user", "a": "assistant", "t": "tool"}
    remarks = [Remark(n, roles[text[0]], text[2:], words(text[2:], terms)) for n, text in enumerate(said, 1)]
    return History(remarks)


def gone_back(*said: str, window_size: int = 2) -> list[int]:
    """The positions that the last message goes back to."""
    talk = history(*said)
    return [reference.remark.position for reference in talk.references(len(said), window_size=window_size)]


def padded(*said: str, between: int = 10) -> list[str]:
    """Messages, with others that have nothing to do with them before the last."""
    return [*said[:-1], *(f"a:{text}" for text in CHATTER[:between]), said[-1]]


# --- what is gone back to -------------------------------------------------------------------------------------------


def test_a_message_goes_back_to_one_that_shares_two_rare_terms():
    assert gone_back(*padded("u:the ferry leaves oslo", "u:when does that ferry leave oslo")) == [1]


def test_one_shared_term_is_none():
    assert gone_back(*padded("u:the ferry leaves oslo", "u:is oslo nice")) == []


def test_what_the_window_holds_is_no_reference():
    assert gone_back("u:ferry oslo", "u:when ferry oslo", window_size=2) == []
    assert gone_back("u:ferry oslo", "u:when ferry oslo", window_size=1) == [1]


def test_a_term_that_the_window_says_anyway_does_not_count():
    assert gone_back(*padded("u:ferry oslo"), "a:that ferry", "u:when ferry oslo") == []


def test_terms_that_many_messages_hold_do_not_count():
    assert gone_back("u:ferry oslo", *["a:ferry oslo"] * 4, *padded("u:ferry oslo")) == []


def test_a_long_message_that_shares_little_goes_back_to_nothing():
    long = " ".join(f"word{n}" for n in range(100))
    assert gone_back(*padded("u:ferry oslo", f"u:ferry oslo {long}")) == []


def test_a_tool_result_is_not_gone_back_to():
    assert gone_back(*padded("t:ferry oslo", "u:when ferry oslo")) == []
    assert gone_back(*padded("a:ferry oslo", "u:when ferry oslo")) == [1]


def test_the_message_that_shares_the_most_comes_first_and_of_equals_the_later():
    assert gone_back(*padded("u:ferry oslo pier", "u:ferry oslo", "u:when ferry oslo pier")) == [1, 2]
    assert gone_back(*padded("u:ferry oslo", "u:ferry oslo", "u:when ferry oslo pier")) == [2, 1]


def test_no_more_than_three_are_taken():
    said = [f"u:k{n} l{n}" for n in range(5)] + ["u:" + " ".join(f"k{n} l{n}" for n in range(5))]
    assert len(gone_back(*said)) == MOST_REFERENCES


def test_a_term_inside_another_is_the_same_term():
    assert outermost(["完全", "完全同意", "同意", "oslo"]) == {"完全同意", "oslo"}
    assert gone_back(*padded("u:完全 完全同意", "u:完全 完全同意")) == []


def test_a_single_character_is_no_term():
    assert words("a 我 ab 我们", terms) == {"ab", "我们"}


@given(st.lists(st.lists(st.sampled_from(TERMS), max_size=4), min_size=1, max_size=30), st.integers(0, 10))
def test_a_reference_lies_before_the_window_and_rests_on_terms_of_both(said, window_size):
    talk = history(*(f"u:{' '.join(each)}" for each in said))
    shown = talk.remarks[max(0, len(said) - max(1, window_size)) : -1]
    references = talk.references(len(said), window_size=window_size)
    assert len(references) <= MOST_REFERENCES
    for reference in references:
        assert reference.remark.position <= len(said) - window_size
        assert len(reference.terms) >= LEAST_SHARED
        assert reference.terms <= reference.remark.terms & talk.remarks[-1].terms
        assert not any(reference.terms & remark.terms for remark in shown)


# --- what a prompt shows --------------------------------------------------------------------------------------------

FERRY = "The ferry leaves at nine."
LONG = "The ferry leaves at nine. " + "It is slow and wet and there is nothing on board to eat or drink. " * 4


def prompt(*said: tuple[str, str], recall=()) -> Prompt:
    messages = tuple({"role": role, "content": text} for role, text in said)
    receipt = Receipt("r1", (), tuple(recall), None, ())
    return Prompt("s", Mode.HYBRID, None, 1000, 10, messages, receipt)


def shown(made: Prompt, text: str = FERRY, shared: str = "ferry nine.") -> tuple[int, int]:
    """Of a message gone back to and its shared terms, what is shown and told."""
    reference = Reference(Remark(3, "user", text, words(text, terms)), frozenset(shared.split()))
    found = answered(made, [reference], terms)
    assert (found.referenced, found.terms) == (1, len(shared.split()))
    return found.shown, found.told


def test_a_message_that_stands_whole_in_the_prompt_is_shown_and_told():
    assert shown(prompt(("user", FERRY), ("assistant", "Noted."), ("user", "Which ferry?"))) == (1, 2)


def test_blanks_make_no_difference():
    assert shown(prompt(("user", "The ferry\n leaves at  nine."), ("user", "Which ferry?"))) == (1, 2)


def test_the_question_itself_shows_and_tells_nothing():
    assert shown(prompt(("system", "Be brief."), ("user", f"You said: {FERRY}"))) == (0, 0)


def test_a_summary_tells_what_it_does_not_show():
    assert shown(prompt(("system", "facts: ferry at nine."), ("user", "Which ferry?"))) == (0, 2)


def piece(text: str, position: int = 3):
    return hit(message(position, {"role": "user", "content": LONG}), text=text)


@pytest.mark.parametrize(
    ("text", "recalled", "expected"),
    [
        (LONG, LONG[:130], 1),
        (LONG, LONG[:119], 0),
        (LONG, LONG[30:200], 0),
        (FERRY, FERRY, 1),
    ],
    ids=["a long piece", "a short piece", "a piece about something else", "all of a short message"],
)
def test_a_recalled_piece_shows_its_message_if_it_is_long_enough_and_to_the_point(text, recalled, expected):
    assert shown(prompt(("user", "Which?"), recall=[piece(recalled)]), text)[0] == expected


def test_a_piece_of_another_message_shows_nothing():
    assert shown(prompt(("user", "Which?"), recall=[piece(LONG[:130], position=4)]), LONG)[0] == 0


def test_what_goes_back_to_nothing_asks_for_nothing():
    assert answered(prompt(("user", "Hello")), [], terms) == Answered()


# --- figures --------------------------------------------------------------------------------------------------------


def sample(mode: Mode = Mode.WINDOW, session: str = "s", **fields) -> Sample:
    usual = {"position": 1, "total_tokens": 10, "region_tokens": {}, "summaries": 0, "took_ms": 1.0, "answered": Answered()}
    return Sample(session=session, mode=mode, **(usual | fields))


def test_each_mode_has_its_figures_in_the_order_of_the_modes():
    assert [row.mode for row in figures([sample(Mode.HYBRID), sample(Mode.FULL)])] == [Mode.FULL, Mode.HYBRID]
    assert figures([]) == []


def test_tokens_are_means_and_a_region_that_is_missing_has_none():
    samples = [
        sample(total_tokens=10, region_tokens={RegionName.WINDOW: 8, RegionName.RECALL: 4}),
        sample(total_tokens=20, region_tokens={RegionName.WINDOW: 10}),
    ]
    (row,) = figures(samples)
    assert (row.prompts, row.total_tokens, row.most_tokens) == (2, 15, 20)
    assert row.region_tokens[RegionName.WINDOW] == 9
    assert row.region_tokens[RegionName.RECALL] == 2


def test_summaries_are_those_of_the_last_prompt_of_each_session():
    samples = [sample(summaries=1), sample(summaries=3), sample(session="other", summaries=2)]
    assert figures(samples)[0].summaries == 5


def test_recall_is_over_all_that_was_gone_back_to():
    samples = [sample(answered=Answered(1, 1, 2, 2)), sample(answered=Answered(3, 0, 6, 2)), sample()]
    assert (figures(samples)[0].recall, figures(samples)[0].telling) == (0.25, 0.5)


def test_recall_of_nothing_is_not_a_number():
    assert (figures([sample()])[0].recall, figures([sample()])[0].telling) == (None, None)


def test_time_is_the_median_and_degraded_prompts_are_counted():
    samples = [sample(took_ms=1.0), sample(took_ms=5.0, degraded=True), sample(took_ms=100.0)]
    assert (figures(samples)[0].p50_ms, figures(samples)[0].degraded) == (5.0, 1)
