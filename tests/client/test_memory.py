"""The client against a real server."""

import asyncio
import inspect
from datetime import UTC, datetime

import pytest

from memsrv.client import AsyncMemory, AsyncSession, Conflict, Denied, Invalid, Memory, NotFound, Session, Unreachable, calls
from tests.served import RED

SAID = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def test_what_was_added_is_in_the_prompt_and_can_be_recalled(memory):
    anna = memory.session("anna")
    added = anna.add({"role": "user", "content": "My spare key is under the blue flowerpot.", "sent_at": SAID}, wait_ms=30_000)
    assert ([message.position for message in added.messages], added.pending_index) == ([1], 0)
    prompt = anna.prompt("Where is the key?", budget=1000)
    assert "flowerpot" in prompt.messages[-1]["content"]
    assert prompt.total_tokens <= prompt.budget_tokens == 1000
    hit = anna.recall("where is the key", k=1).recall[0]
    assert (hit.text, hit.sent_at, hit.session) == ("My spare key is under the blue flowerpot.", SAID, "anna")
    assert anna.receipts()[0].id == prompt.receipt.id


def test_a_prompt_explains_what_it_considered_when_asked(memory):
    session = memory.session("explained")
    session.add("hello")
    assert session.prompt().receipt.considered is None
    assert session.prompt(explain=True, mode="window", format="strict").receipt.considered is not None


def test_texts_are_said_by_the_role_and_mappings_are_sent_as_they_are(memory):
    session = memory.session("mixed")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    session.add(["hello", {"role": "assistant", "content": None, "tool_calls": [call]}])
    session.add({"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "found"}], "metadata": {"n": 1}})
    session.add("fine", role="assistant")
    read = list(session.messages())
    assert [message.role for message in read] == ["user", "assistant", "tool", "assistant"]
    assert [message.text for message in read] == ["hello", "", "found", "fine"]
    assert read[1].payload["tool_calls"] == [call]
    assert read[2].metadata == {"n": 1}


def test_messages_are_walked_over_page_by_page(memory):
    session = memory.session("long")
    session.add([f"remark {n}" for n in range(25)])
    assert [message.position for message in session.messages(page=10)] == list(range(1, 26))
    assert [message.position for message in session.messages(after=5, before=9, page=2)] == [6, 7, 8]


def test_a_message_is_edited_and_deleted(memory):
    session = memory.session("edited")
    session.add({"role": "user", "content": "teh key", "id": "m/1"})
    edited = session.edit("m/1", content="the key")
    assert (edited.text, edited.chunks[0].text) == ("the key", "the key")
    assert session.message("m/1").content == "the key"
    assert session.delete("m/1").deleted == "m/1"
    with pytest.raises(NotFound) as refused:
        session.message("m/1")
    assert (refused.value.code, refused.value.status) == ("message_not_found", 404)
    assert refused.value.hint


def test_state_settings_meta_and_pins(memory):
    session = memory.session("kept")
    assert session.put_settings(owner="ada", window={"size": 4}).settings == {"window": {"size": 4}}
    assert session.patch_settings(mode="window").mode == "window"
    assert session.state().owner == "ada"
    assert session.put_meta(goal="Buy a bike", colour="green").own == {"colour": "green"}
    assert session.patch_meta(goal=None, system_prompt="Be brief.").goal is None
    assert session.meta().system_prompt == "Be brief."
    pin = session.pin("The budget is 900 euro.", "decision")
    assert session.pin("The budget is 900 euro.") == pin
    assert session.pins() == (pin,)
    session.unpin(pin.id)
    assert session.pins() == ()
    assert "kept" in [listed.session for listed in memory.sessions(owner="ada", page=1)]


def test_summaries_modes_and_handoff(memory):
    session = memory.session("plans")
    session.add(["We decided to take the night train to Vienna.", "No flights, please.", *(f"Remark {n}." for n in range(8))])
    made = session.compact(keep=2)
    assert made.made
    assert made.summary is not None
    assert [summary.version for summary in session.summaries()] == [made.summary.version]
    detail = session.summary(made.summary.version)
    assert any("night train" in line.text for line in detail.lines)
    assert session.suggested_pins()
    assert session.switch_mode("retrieval", "to try it").after == "retrieval"
    assert session.mode().switches[0].reason == "to try it"
    assert session.restore(made.summary.version).reason == "restore"
    handed = session.handoff("next agent")
    assert "night train" in handed.text
    assert any("night train" in pin.text for pin in memory.session("next agent").pins())


def test_what_a_provider_counted_is_reported(memory):
    session = memory.session("counted")
    session.add("hello")
    prompt = session.prompt(model="gpt-4o")
    usage = session.usage(prompt.total_tokens + 1, receipt=prompt.receipt.id)
    assert (usage.model, usage.reports) == ("gpt-4o", 1)


def test_forgetting_can_be_tried_first(memory):
    session = memory.session("gone")
    session.add("hello")
    assert session.forget(dry_run=True).messages == 1
    assert session.forget().messages == 1
    with pytest.raises(NotFound):
        session.state()


@pytest.mark.parametrize("name", ["telegram/a:b", "..", ".", "a?b#c%2F d", "安娜 🦊"])
def test_a_session_has_its_name_to_the_character(memory, name):
    session = memory.session(name)
    assert session.add("hello").session == name
    assert session.state().session == name
    session.forget()


def test_the_same_key_stores_once_and_refuses_another_request(memory):
    session = memory.session("repeated")
    first, again = (session.add("hello", idempotency_key="k1").messages[0] for _ in range(2))
    assert (again.id, first.created, again.created) == (first.id, True, False)
    with pytest.raises(Conflict):
        session.add("other", idempotency_key="k1")
    assert len(list(session.messages())) == 1


def test_two_calls_with_the_same_text_are_two_messages(memory):
    session = memory.session("twice")
    session.add("yes")
    session.add("yes")
    assert len(list(session.messages())) == 2


def test_a_request_that_cannot_be_used_is_refused_with_a_hint(memory):
    with pytest.raises(Invalid, match="colour") as refused:
        memory.session("bad").add({"role": "user", "content": "x", "colour": "red"})
    assert refused.value.code == "unknown_field"


def test_a_wrong_key_is_denied_and_not_told(server):
    with Memory(server.address, key="not-the-key-of-anyone") as memory, pytest.raises(Denied) as refused:
        memory.session("x").state()
    assert "not-the-key" not in str(refused.value)


def test_no_server_is_told_as_such():
    with Memory("http://127.0.0.1:9", tries=1) as memory, pytest.raises(Unreachable, match=r"No memsrv answers at http://127"):
        memory.session("x").state()


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://127.0.0.1", "http://", ""])
def test_an_address_that_cannot_be_used_is_refused_at_once(url):
    with pytest.raises(ValueError, match="address"):
        Memory(url)


async def test_the_same_works_in_an_event_loop(server):
    async with AsyncMemory(server.address, key=RED) as memory:
        ada = memory.session("async")
        await asyncio.gather(*(ada.add(f"remark {n}") for n in range(5)))
        assert (await ada.prompt("remark", budget=500)).total_tokens <= 500
        assert [message.position async for message in ada.messages(page=2)] == [1, 2, 3, 4, 5]
        assert "async" in [listed.session async for listed in memory.sessions()]
        with pytest.raises(NotFound):
            await memory.session("nobody").state()


def is_of_session(call):
    names = list(inspect.signature(call).parameters.values()) if inspect.isfunction(call) else []
    return bool(names) and names[0].name == "session" and names[0].kind is inspect.Parameter.POSITIONAL_ONLY


def test_both_handles_have_every_call():
    described = {name for name, call in vars(calls).items() if is_of_session(call)}
    assert described
    for handle in (Session, AsyncSession):
        assert {name for name in dir(handle) if name in described} == described


def test_a_method_is_documented_as_its_call_is():
    assert Session.add.__doc__ == calls.add.__doc__
    assert "recalled" in (Memory().session("x").add.__doc__ or "")
