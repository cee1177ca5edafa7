"""Tool traffic stays together, turns stay in order, and the window is cut between turns."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from memsrv.core.prompt.turns import Talk, talk, window
from memsrv.core.text.marks import block
from memsrv.model import Payload
from tests.fakes_prompt import START, message


def call(*ids: str, content: str | None = None) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(call_id: str, content: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def of(*payloads: Mapping[str, Any], system_prompt: str | None = None, late: Mapping[int, timedelta] | None = None) -> Talk:
    messages = [
        message(n, payload, sent_at=START + timedelta(minutes=n) - (late or {}).get(n, timedelta(0)))
        for n, payload in enumerate(payloads, 1)
    ]
    return talk(messages, system_prompt=system_prompt, max_tool_bytes=16_384, opens=True)


def shown(found: Talk | tuple[Any, ...]) -> list[Payload]:
    turns = found.turns if isinstance(found, Talk) else found
    return [payload for turn in turns for unit in turn.units for payload in unit.payloads]


def texts(found: Talk | tuple[Any, ...]) -> list[Any]:
    return [payload["content"] for payload in shown(found)]


# --- tool traffic ---------------------------------------------------------------------------------------------------


def test_results_stand_behind_their_call_in_the_order_of_the_calls() -> None:
    found = of(user("q"), call("a", "b"), result("b", "B"), result("a", "A"), said("done"))
    assert texts(found) == ["q", None, "A", "B", "done"]


def test_a_message_that_came_in_between_follows_the_results() -> None:
    found = of(user("q"), call("a"), user("hurry"), result("a", "A"))
    assert texts(found) == ["q", None, "A", "hurry"]


def test_a_call_that_lacks_a_result_keeps_only_its_text() -> None:
    found = of(user("q"), call("a", "b", content="let me look"), result("a"))
    assert texts(found) == ["q", "let me look"]
    assert [note["position"] for note in found.set_aside] == [2, 3]


def test_a_result_without_a_call_is_set_aside() -> None:
    found = of(user("q"), result("nobody"), said("hi"))
    assert texts(found) == ["q", "hi"]
    assert found.set_aside[0]["why"] == "result without its call"


def test_an_id_may_be_used_again_by_a_later_call() -> None:
    found = of(user("q"), call("a"), result("a", "first"), call("a"), result("a", "second"), result("a", "third"))
    assert texts(found) == ["q", None, "first", None, "second"]
    assert [note["position"] for note in found.set_aside] == [6]


def test_calls_that_no_provider_takes_are_not_sent() -> None:
    found = of(
        user("q"), call("a", "a", content="twice"), result("a"), {**said("odd"), "tool_calls": [{"id": "", "function": {}}]}
    )
    assert texts(found) == ["q", "twice", "odd"]
    assert all("tool_calls" not in payload for payload in shown(found))


def test_a_long_tool_result_is_cut_visibly() -> None:
    messages = [
        message(n, payload) for n, payload in enumerate([user("q"), call("a"), result("a", "head " + "x" * 9_000 + " tail")], 1)
    ]
    found = talk(messages, system_prompt=None, max_tool_bytes=200, opens=True)
    content = texts(found)[-1]
    assert len(content.encode()) <= 200
    assert content.startswith("head ")
    assert content.endswith(" tail")
    assert "left out" in content


# --- what is not shown ----------------------------------------------------------------------------------------------


def test_blank_messages_are_not_shown() -> None:
    blank = [user(""), said(" \n"), user(None), user([]), user([{"type": "text", "text": ""}])]
    assert texts(of(*blank, user("real"))) == ["real"]


def test_only_provider_fields_are_sent() -> None:
    odd = {"role": "developer", "content": "d", "reasoning_content": "r", "metadata": {"a": 1}, "id": "x"}
    assert shown(of(user("q"), odd))[1] == {"role": "system", "content": "d"}


def test_our_own_blocks_are_not_shown_again() -> None:
    posted = {"role": "system", "content": block("recall", "- x")}
    headed = user(block("state", "Goal: y") + "\n\nwhat now?")
    assert texts(of(user("q"), posted, headed)) == ["q", "what now?"]


def test_the_first_system_messages_are_the_system_prompt() -> None:
    found = of({"role": "system", "content": "Be kind."}, {"role": "developer", "content": "Be brief."}, user("q"))
    assert found.opening == "Be kind.\n\nBe brief."
    assert texts(found) == ["q"]


def test_a_later_system_message_stays_where_it_is() -> None:
    found = of({"role": "system", "content": "Be kind."}, user("q"), {"role": "system", "content": "Be brief."}, user("r"))
    assert texts(found) == ["q", "Be brief.", "r"]


def test_a_later_system_message_that_repeats_is_shown_once() -> None:
    again = {"role": "system", "content": "Be kind.\n\nBe brief."}
    found = of(
        user("q"),
        {"role": "system", "content": "Be brief."},
        again,
        {"role": "system", "content": "Be kind."},
        system_prompt="Be kind.",
    )
    assert texts(found) == ["q", "Be brief."]


# --- order ----------------------------------------------------------------------------------------------------------


def test_messages_stand_as_they_arrived() -> None:
    found = of(user("A"), user("B"), said("to B"), said("to A"), late={3: timedelta(minutes=2)})
    assert texts(found) == ["A", "B", "to B", "to A"]


def test_a_backfilled_message_is_not_the_current_turn() -> None:
    found = of(user("A"), said("to A"), user("old remark"), late={3: timedelta(hours=12)})
    assert texts(found) == ["old remark", "A", "to A"]


def test_an_answer_with_a_time_of_its_own_after_a_backfill_stays_with_its_question() -> None:
    late = {2: timedelta(hours=12), 3: timedelta(hours=12), 4: timedelta(seconds=1)}
    found = of(user("A"), user("old remark"), said("old answer"), said("to A"), late=late)
    assert texts(found) == ["old remark", "old answer", "A", "to A"]


def test_an_answer_without_a_time_of_its_own_goes_with_the_backfill_before_it() -> None:
    found = of(user("A"), user("old remark"), said("old answer"), late={2: timedelta(hours=12)})
    assert texts(found) == ["old remark", "old answer", "A"]


def test_a_message_without_a_time_of_its_own_is_current_though_the_clock_was_put_back() -> None:
    back = START - timedelta(days=365)
    before = [message(n, user(f"before {n}"), sent_at=START) for n in (1, 2)]
    after = [message(n, user(f"after {n}"), sent_at=back, stored_at=back) for n in (3, 4)]
    late = message(5, user("backfilled"), sent_at=back - timedelta(days=1), stored_at=back)
    found = talk([*before, *after, late], system_prompt=None, max_tool_bytes=16_384, opens=True)
    assert texts(found)[-1] == "after 4"
    assert [text for text in texts(found) if text != "backfilled"] == ["before 1", "before 2", "after 3", "after 4"]


def test_the_first_year_is_a_time_like_any_other() -> None:
    first_year = START - datetime(1, 1, 1, tzinfo=UTC)
    late = {n: first_year + timedelta(minutes=n) for n in (1, 2, 3)}
    assert texts(of(user("A"), user("B"), said("to B"), late=late)) == ["A", "B", "to B"]


def test_a_user_whose_clock_is_slow_is_not_backfilling() -> None:
    slow = timedelta(hours=5)
    found = of(user("A"), said("to A"), user("B"), said("to B"), late={1: slow, 3: slow})
    assert texts(found) == ["A", "to A", "B", "to B"]


def test_a_time_in_the_future_holds_nothing_back() -> None:
    found = of(user("A"), user("B"), late={1: timedelta(days=-1000)})
    assert texts(found) == ["A", "B"]


# --- window ---------------------------------------------------------------------------------------------------------


def turns_of_two(count: int) -> Talk:
    return of(*(payload for n in range(count) for payload in (user(f"u{n}"), said(f"a{n}"))))


def test_a_window_of_four_is_the_last_two_turns() -> None:
    assert texts(window(turns_of_two(3).turns, size=4)) == ["u1", "a1", "u2", "a2"]


def test_a_window_is_cut_before_a_user_message() -> None:
    found = of(user("u0"), said("a0"), user("u1"), said("a1"), user("u2"))
    assert texts(window(found.turns, size=4)) == ["u1", "a1", "u2"]


def test_a_turn_longer_than_the_window_keeps_its_user_message_and_its_end() -> None:
    found = of(user("q"), call("a"), result("a", "A"), call("b"), result("b", "B"), said("done"))
    assert texts(window(found.turns, size=4)) == ["q", None, "B", "done"]


def test_no_window_means_no_answered_turn() -> None:
    assert window(turns_of_two(3).turns, size=0) == ()


def test_no_window_still_shows_the_open_question() -> None:
    assert texts(window(of(user("u"), said("a"), user("q")).turns, size=0)) == ["q"]


def test_what_a_summary_covers_need_not_be_in_the_window() -> None:
    assert texts(window(turns_of_two(4).turns, size=12, covered_upto=4)) == ["u2", "a2", "u3", "a3"]


def test_the_newest_turn_is_shown_even_if_a_summary_covers_it() -> None:
    assert texts(window(turns_of_two(4).turns, size=12, covered_upto=8)) == ["u3", "a3"]
