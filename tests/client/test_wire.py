"""Tries: what is sent again, what is not, and what is told in the end."""

import json

import httpx
import pytest

from memsrv.client import AsyncMemory, Busy, Failed, Invalid, Memory, Refused, Unreachable
from memsrv.client.wire import LONGEST_WAIT_S, retry_after_s
from tests.fakes_http import Scripted, refused

STORED = httpx.Response(
    201, json={"session": "s", "messages": [{"id": "m", "position": 1, "created": True, "chunks": 1}], "pending_index": 1}
)
DELETED = httpx.Response(200, json={"session": "s", "deleted": "m"})
LOST = httpx.ReadError("gone")


def session_of(script, **options):
    return Memory("http://memory.example", key="secret-key", backoff_s=0, transport=script.transport, **options).session("s")


@pytest.mark.parametrize(
    "first", [httpx.ConnectError("no"), LOST, refused(429), refused(503), httpx.Response(502, text="bad gateway")]
)
def test_an_add_is_tried_again_with_the_same_ids(first):
    script = Scripted(first, STORED)
    assert session_of(script).add("hello").messages[0].created
    once, again = script.requests
    assert once.content == again.content
    assert json.loads(once.content)["messages"][0]["id"]


def test_an_idempotency_key_is_sent_with_the_same_bytes_from_call_to_call():
    script = Scripted(STORED)
    for _ in range(2):
        session_of(script).add("hello", idempotency_key="k1")
    once, again = script.requests
    assert once.headers["idempotency-key"] == again.headers["idempotency-key"] == "k1"
    assert once.content == again.content


async def test_an_event_loop_tries_again_too():
    script = Scripted(refused(503), LOST, STORED)
    memory = AsyncMemory("http://memory.example", backoff_s=0, transport=script.transport)
    assert (await memory.session("s").add("hello")).messages[0].created
    assert len(script.requests) == 3


def test_what_may_have_been_done_is_not_done_twice():
    script = Scripted(LOST, DELETED)
    with pytest.raises(Unreachable) as told:
        session_of(script).delete("m")
    assert told.value.sent
    assert len(script.requests) == 1


@pytest.mark.parametrize("first", [httpx.ConnectError("no"), refused(503)])
def test_what_was_surely_not_done_is_tried_again(first):
    assert session_of(Scripted(first, DELETED)).delete("m").deleted == "m"


def test_a_refusal_is_told_at_once():
    script = Scripted(refused(422, "unknown_field"))
    with pytest.raises(Invalid) as told:
        session_of(script).add("hello")
    assert (told.value.code, told.value.message, told.value.hint, told.value.status) == ("unknown_field", "No.", "Wait.", 422)
    assert len(script.requests) == 1


def test_tries_are_counted():
    script = Scripted(refused(429, "too_many_waiting", **{"retry-after": "0"}))
    with pytest.raises(Busy):
        session_of(script, tries=3).add("hello")
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    "answer", [httpx.Response(200, text="<html>"), httpx.Response(200, json=[]), httpx.Response(200, json={"id": "m"})]
)
def test_another_server_is_not_taken_for_memsrv(answer):
    with pytest.raises(Unreachable, match=r"memory\.example does not answer as a memsrv does"):
        session_of(Scripted(answer), tries=1).message("m")


def test_an_error_of_something_between_is_told_by_its_status():
    with pytest.raises(Failed) as told:
        session_of(Scripted(httpx.Response(500, text="<html>"))).state()
    assert (told.value.code, told.value.status) == ("http_500", 500)


def test_no_key_and_no_text_stand_in_an_error():
    for answer in (LOST, httpx.Response(500, text="oops"), refused(503)):
        with pytest.raises(Refused) as told:
            session_of(Scripted(answer), tries=1).add("the password is swordfish")
        assert "swordfish" not in repr(told.value)
        assert "secret-key" not in repr(told.value)


def test_retry_after_is_read_as_seconds_or_as_a_date():
    assert retry_after_s({"retry-after": "7"}) == 7
    assert retry_after_s({"retry-after": "Wed, 21 Oct 2065 07:28:00 GMT"}) > LONGEST_WAIT_S
    assert retry_after_s({"retry-after": "soon"}) == retry_after_s({}) == 0


def test_what_json_has_no_word_for_is_refused_before_it_is_sent():
    script = Scripted(STORED)
    with pytest.raises(TypeError, match="set"):
        session_of(script).add({"role": "user", "content": "x", "metadata": {"a": {1}}})
    with pytest.raises(ValueError, match="Out of range"):
        session_of(script).add({"role": "user", "content": "x", "metadata": {"a": float("nan")}})
    assert script.requests == []


def test_a_query_that_no_address_can_hold_is_refused():
    with pytest.raises(Invalid, match="too long"):
        session_of(Scripted(STORED)).recall("key " * 50_000)


def test_fields_of_a_newer_server_do_no_harm():
    newer = httpx.Response(200, json={"session": "s", "deleted": "m", "colour": "green"})
    assert session_of(Scripted(newer)).delete("m").deleted == "m"
