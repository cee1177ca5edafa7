"""What leaves the window, and where the cut falls."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.prompt.policy import Defaults, Policy, resolve
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.prompt.turns import Turn, beyond, talk
from memsrv.core.summary.compacting import (
    Ground,
    Plan,
    asked,
    cost_bound,
    due,
    is_crowded,
    parts,
    sources,
    spoken_of,
    switching,
)
from memsrv.model import Message, Mode, PromptRequest, Source, Trigger
from tests.fakes_prompt import START, message

WIDE = {"budget": {"tokens": 10**9}}  # so that the window's share never counts


def letters(text: str) -> int:
    return -(-len(text) // 4)


def policy(**settings: Any) -> Policy:
    return resolve(Defaults(), WIDE | settings)


def chat(turns: int, text: str = "words") -> list[Message]:
    roles = ("user", "assistant") * turns
    return [message(at, {"role": role, "content": f"{text} {at}"}) for at, role in enumerate(roles, 1)]


def chat_payloads(turns: int) -> list[Mapping[str, Any]]:
    return [one.payload for one in chat(turns)]


def ground(messages: Sequence[Message], *, opens: bool = True, more: bool = False) -> Ground:
    return Ground(messages, 10_000, opens, more)


def called(position: int, *ids: str) -> Message:
    calls = [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id in ids]
    return message(position, {"role": "assistant", "content": None, "tool_calls": calls})


def result(position: int, id: str) -> Message:
    return message(position, {"role": "tool", "content": f"result {id}", "tool_call_id": id})


def said(*payloads: Mapping[str, Any]) -> list[Message]:
    return [message(at, payload) for at, payload in enumerate(payloads, 1)]


# --- by messages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("turns", "upto"), [(6, None), (7, 6), (20, 32)])
def test_more_messages_than_the_window_holds_leave_but_for_those_that_stay(turns: int, upto: int | None) -> None:
    plan = due(ground(chat(turns)), policy(), Sizes(letters))
    assert plan == (Plan(upto, Trigger.MESSAGES) if upto else None)


def test_the_thirteenth_message_is_one_too_many() -> None:
    assert due(ground(chat(7)[:13]), policy(), Sizes(letters)) == Plan(6, Trigger.MESSAGES)


def test_a_turn_is_never_cut_while_there_are_others() -> None:
    messages = [*chat(2), *(message(at, {"role": "assistant", "content": "on"}) for at in range(5, 16)), *chat(1)]
    messages[-2:] = [message(16, {"role": "user", "content": "q"}), message(17, {"role": "assistant", "content": "a"})]
    assert due(ground(messages), policy(), Sizes(letters)) == Plan(15, Trigger.MESSAGES)


def test_a_call_stays_with_its_results_even_if_they_come_a_turn_later() -> None:
    late = [*chat(3), called(7, "c"), *said_from(8, "user", "assistant", "user"), result(11, "c"), *said_from(12, *["user"] * 6)]
    plan = due(ground(late), policy(window={"size": 12, "keep": 8}), Sizes(letters))
    assert plan == Plan(4, Trigger.MESSAGES)  # after 7 only 11 would be a cut, and that leaves fewer than eight


def said_from(position: int, *roles: str) -> list[Message]:
    return [message(position + at, {"role": role, "content": f"{role} {position + at}"}) for at, role in enumerate(roles)]


def test_the_newest_user_message_never_leaves_by_itself() -> None:
    messages = [message(1, {"role": "user", "content": "go"})]
    for at in range(2, 40, 2):
        messages += [called(at, f"c{at}"), result(at + 1, f"c{at}")]
    plan = due(ground(messages), policy(), Sizes(letters))
    assert plan == Plan(31, Trigger.MESSAGES)  # four calls with their results stay
    left = talk(messages, system_prompt=None, max_tool_bytes=1000, opens=True).turns
    shown = beyond(left, 31, size=12)
    assert [unit.messages[0].position for unit in shown[0].units] == [1, 32, 34, 36, 38]


def test_the_system_prompt_is_no_message_of_the_window() -> None:
    opening = [message(1, {"role": "system", "content": "words " * 50})]
    messages = opening + [message(m.position + 1, m.payload) for m in chat(6)]
    assert due(ground(messages), policy(), Sizes(letters)) is None
    assert [source.position for source in sources(ground(messages), 3)] == [2, 3]


def test_a_window_of_none_keeps_the_newest_turn() -> None:
    assert due(ground(chat(2)), policy(window={"size": 0}), Sizes(letters)) == Plan(2, Trigger.MESSAGES)


# --- by tokens and shares -------------------------------------------------------------------------------------------


def test_by_tokens_the_messages_do_not_count() -> None:
    by_tokens = policy(summary={"trigger": {"type": "tokens", "value": 1000}})
    assert due(ground(chat(30)), by_tokens, Sizes(letters)) is None
    plan = due(ground(chat(10, "w" * 300)), by_tokens, Sizes(letters))
    assert plan == Plan(12, Trigger.TOKENS)


def test_a_threshold_below_everything_still_comes_to_rest() -> None:
    few = policy(summary={"trigger": {"type": "tokens", "value": 500}})
    assert due(ground(chat(10, "w" * 300)), few, Sizes(letters)) == Plan(16, Trigger.TOKENS)  # four are within two thirds of it
    tiny = policy(summary={"trigger": {"type": "tokens", "value": 10}})
    plan = due(ground(chat(5)), tiny, Sizes(letters))
    assert plan == Plan(8, Trigger.TOKENS)
    assert due(ground(chat(5)[8:], opens=False), tiny, Sizes(letters)) is None


def test_a_window_far_over_its_share_is_brought_back_to_it() -> None:
    shared = resolve(Defaults(), {"budget": {"tokens": 2000}})
    assert due(ground(chat(5, "w" * 500)), shared, Sizes(letters)) is None
    assert due(ground(chat(6, "w" * 500)), shared, Sizes(letters)) == Plan(6, Trigger.SHARE)
    turns = ground(chat(6, "w" * 500)).turns
    assert is_crowded(turns, shared, Sizes(letters))
    assert not is_crowded(turns, resolve(Defaults(), {"budget": {"tokens": 900}}), Sizes(letters))
    assert not is_crowded(turns[-1:], shared, Sizes(letters))


def test_one_giant_is_no_reason_to_begin_again_and_again() -> None:
    shared = resolve(Defaults(), {"budget": {"tokens": 2000}})
    messages = [*chat(2), *said_from(5, "user", "assistant")]
    messages[4] = message(5, {"role": "user", "content": "word " * 9000})
    assert due(ground(messages), shared, Sizes(letters)) == Plan(4, Trigger.SHARE)
    assert due(ground(messages[4:], opens=False), shared, Sizes(letters)) is None


@given(st.lists(st.text(max_size=60), max_size=6), st.integers(0, 3))
def test_the_cheap_bound_is_never_below_the_count(texts: list[str], calls: int) -> None:
    payloads = [{"role": "user", "content": text or "x", "name": text[:5] or "n"} for text in texts]
    messages = [*said(*payloads), called(90, *(f"call{n}" for n in range(calls)))]
    turns = [*ground(messages).turns, Turn(())]
    sizes = Sizes(lambda text: len(text.encode()))
    assert cost_bound(turns) >= sizes.messages(payload for turn in turns for unit in turn.units for payload in unit.payloads)


# --- by sections, on request, after edits, in a switch ----------------------------------------------------------------


def test_an_agent_is_cut_by_sections_and_not_by_messages() -> None:
    agent = policy(profile="agent")
    assert due(ground(chat(10)), agent, Sizes(letters)) is None
    assert due(ground(chat(11)), agent, Sizes(letters)) == Plan(20, Trigger.SECTIONS)
    assert due(ground(chat(3, "w" * 20_000)), agent, Sizes(letters)) == Plan(4, Trigger.SECTIONS)


def test_a_section_that_alone_is_too_long_is_cut_to_half_of_what_stays_whole() -> None:
    agent = policy(profile="agent", sections={"last_bytes": 1000})
    steps = [message(at, {"role": "assistant", "content": "w" * 100}) for at in range(2, 13)]
    messages = [message(1, {"role": "user", "content": "go " * 500}), *steps]
    assert due(ground(messages), agent, Sizes(letters)) == Plan(7, Trigger.SECTIONS)
    assert due(ground(messages[:-1]), agent, Sizes(letters)) is None
    assert due(ground(messages[7:], opens=False), agent, Sizes(letters)) is None


def test_a_window_that_the_session_sets_comes_before_sections() -> None:
    sized = policy(profile="agent", window={"size": 4, "keep": 2})
    assert due(ground(chat(3)), sized, Sizes(letters)) == Plan(4, Trigger.MESSAGES)


@pytest.mark.parametrize(("keep", "upto"), [(0, 12), (1, 10), (2, 10), (5, 8), (12, None), (99, None)])
def test_on_request_all_but_so_many_leave(keep: int, upto: int | None) -> None:
    plan = asked(ground(chat(6)), keep)
    assert plan == (Plan(upto, Trigger.ASKED) if upto else None)


def test_nothing_is_asked_of_an_empty_session() -> None:
    assert asked(ground([]), 0) is None
    assert due(ground([]), policy(), Sizes(letters), stale_upto=9) is None


def test_what_was_covered_before_an_edit_is_covered_again() -> None:
    assert due(ground(chat(3)), policy(), Sizes(letters), stale_upto=4) == Plan(4, Trigger.STALE)
    assert due(ground(chat(10)), policy(), Sizes(letters), stale_upto=4) == Plan(12, Trigger.MESSAGES)
    assert due(ground(chat(3)[4:]), policy(), Sizes(letters), stale_upto=4) is None


def test_what_is_covered_again_in_steps_is_cut_at_a_turn_too() -> None:
    wide = policy(summary={"trigger": {"type": "tokens", "value": 10**9}}, window={"size": 100, "keep": 100})
    page = said(
        *chat_payloads(2), {"role": "user", "content": "go"}, *({"role": "assistant", "content": f"{n}"} for n in range(5))
    )
    assert due(ground(page, more=True), wide, Sizes(letters), stale_upto=30) == Plan(4, Trigger.STALE)
    assert due(ground(page), wide, Sizes(letters), stale_upto=30) == Plan(10, Trigger.STALE)


def test_a_turn_that_is_longer_than_a_step_is_cut_between_units_to_cover_it_again() -> None:
    page = said({"role": "user", "content": "go"}, *({"role": "assistant", "content": f"{n}"} for n in range(5)))
    assert due(ground(page, more=True), policy(), Sizes(letters), stale_upto=30) == Plan(5, Trigger.STALE)


@pytest.mark.parametrize(
    ("mode", "upto"),
    [(Mode.FULL, None), (Mode.WINDOW, 8), (Mode.RETRIEVAL, 14), (Mode.SUMMARY, 12), (Mode.HYBRID, 12)],
)
def test_a_switch_takes_out_what_the_new_mode_would_not_show(mode: Mode, upto: int | None) -> None:
    after = resolve(Defaults(), WIDE, PromptRequest(mode=mode))
    plan = switching(ground(chat(10)), after, Sizes(letters))
    assert plan == (Plan(upto, Trigger.SWITCH) if upto else None)


def test_a_session_without_summaries_switches_without_one() -> None:
    assert switching(ground(chat(10)), policy(mode="window", summary={"enabled": False}), Sizes(letters)) is None


def test_of_a_long_backlog_only_what_is_read_leaves() -> None:
    assert asked(ground(chat(20), more=True), 0) == Plan(38, Trigger.ASKED)
    assert due(ground(chat(5), more=True), policy(), Sizes(letters)) == Plan(2, Trigger.MESSAGES)


# --- properties -----------------------------------------------------------------------------------------------------

ROLES = st.lists(st.sampled_from(["user", "user", "assistant", "assistant", "call", "system"]), max_size=60)


def conversation(roles: list[str]) -> list[Message]:
    """Messages of these roles; a call is followed by its result."""
    messages: list[Message] = []
    for role in roles:
        at = len(messages) + 1
        if role == "call":
            messages += [called(at, f"c{at}"), result(at + 1, f"c{at}")]
        else:
            messages.append(message(at, {"role": role, "content": f"{role} {at}"}))
    return messages


@given(ROLES, st.integers(0, 20), st.integers(0, 20))
def test_a_plan_makes_progress_and_then_there_is_none(roles: list[str], size: int, keep: int) -> None:
    messages, rules = conversation(roles), policy(window={"size": size, "keep": keep})
    plan = due(ground(messages), rules, Sizes(letters))
    if plan is None:
        return
    assert messages[0].position <= plan.upto < messages[-1].position
    rest = [m for m in messages if m.position > plan.upto]
    assert due(ground(rest, opens=False), rules, Sizes(letters)) is None
    users = [m.position for m in messages if m.role == "user"]
    first = rest[0]
    assert first.role in ("user", "system") or first.position > users[-1] if users else True
    assert first.role != "tool"


@given(ROLES, st.integers(0, 9))
def test_every_message_is_in_the_window_or_shown_to_the_summarizer(roles: list[str], keep: int) -> None:
    messages = conversation(roles)
    plan = asked(ground(messages), keep)
    upto = plan.upto if plan else 0
    told = {source.position for source in sources(ground(messages), upto)}
    turns = talk(messages, system_prompt=None, max_tool_bytes=1000, opens=True)
    shown = {m.position for turn in beyond(turns.turns, upto, size=12) for unit in turn.units for m in unit.messages}
    opening = [m.position for m in messages[: next((n for n, m in enumerate(messages) if m.role != "system"), len(messages))]]
    assert told | shown | set(opening) == {m.position for m in messages}


# --- what a summarizer is shown -------------------------------------------------------------------------------------


def test_calls_and_results_are_short_notes_and_reasoning_is_none() -> None:
    messages = [
        message(
            1, {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}]}
        ),
        message(2, {"role": "assistant", "content": "I look", "reasoning_content": "secret thought"}),
        called(3, "c"),
        message(4, {"role": "tool", "content": "r" * 5000, "tool_call_id": "c"}),
        message(5, {"role": "assistant", "content": "  "}),
    ]
    found = {source.position: source.text for source in sources(ground(messages), 9)}
    assert found[1] == "see\n[image]"
    assert found[2] == "I look"
    assert found[3] == "[called look({})]"
    assert len(found[4]) < 700
    assert "left out" in found[4]
    assert 5 not in found


@given(st.lists(st.text(st.sampled_from("ab .\n"), min_size=1, max_size=900), max_size=8), st.integers(40, 300))
def test_parts_hold_everything_in_order_within_their_limit(texts: list[str], limit: int) -> None:
    given_sources = [Source(at, "user", "user", START, text) for at, text in enumerate(texts, 1) if text.strip()]
    found = list(parts(given_sources, limit, letters))
    together = [source for part in found for source in part]
    assert [s.position for s in together] == sorted(s.position for s in together)
    for source in given_sources:
        pieces = "".join(s.text for s in together if s.position == source.position)
        assert pieces.split() == source.text.split() or "".join(pieces.split()) == "".join(source.text.split())
    for part in found:
        assert len(part) == 1 or sum(letters(s.text) for s in part) <= limit


def test_only_pins_that_were_said_go_into_a_summary() -> None:
    talked = [Source(1, "user", "user", START, "So: the  Budget is 900 euro, agreed?")]
    assert spoken_of(["the budget is 900 euro", "no chrome", " "], talked) == ["the budget is 900 euro"]
