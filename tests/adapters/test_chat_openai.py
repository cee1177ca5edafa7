"""A chat endpoint on loopback: what is asked, what is understood, and what is done when it fails."""

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memsrv.adapters.chat_openai import OpenAIChat
from memsrv.adapters.openai_http import Circuit, Failed, retry_after_s
from memsrv.core.relay.providers import Provider
from memsrv.core.summary.asking import Completion
from memsrv.errors import UpstreamDown
from tests.adapters.chat_server import ChatServer
from tests.patience import PATIENCE_S

KEY = "sk-secret-of-this-test"
HEADER = "secret-of-a-header"
PRIVATE = "a very private text"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()


def chat_of(server: ChatServer, *, model: str = "m1", timeout_s: float = PATIENCE_S, **options: Any) -> OpenAIChat:
    provider = Provider("main", server.url, KEY, {"x-team": HEADER}, model, timeout_s)
    return OpenAIChat(provider, **({"wait_s": 0.001} | options))


async def asked(chat: OpenAIChat, text: str = PRIVATE, **fields: Any) -> Completion:
    try:
        messages = [{"role": "user", "content": text}]
        return await chat.complete(messages, **({"model": None, "parameters": {}, "max_tokens": 100} | fields))
    finally:
        await chat.close()


async def refused(chat: OpenAIChat, **fields: Any) -> UpstreamDown:
    with pytest.raises(UpstreamDown) as caught:
        await asked(chat, **fields)
    return caught.value


# --- what is asked ----------------------------------------------------------------------------------------------------


async def test_key_headers_model_parameters_and_limit_are_sent(server: ChatServer) -> None:
    await asked(chat_of(server), parameters={"temperature": 0.3, "top_p": 0.9})
    assert server.requests == [
        {
            "max_tokens": 100,
            "temperature": 0.3,
            "top_p": 0.9,
            "model": "m1",
            "messages": [{"role": "user", "content": PRIVATE}],
        }
    ]
    assert server.seen[0]["authorization"] == f"Bearer {KEY}"
    assert server.seen[0]["x-team"] == HEADER


async def test_the_model_that_is_named_goes_before_the_providers_own(server: ChatServer) -> None:
    await asked(chat_of(server), model="m2")
    assert server.requests[0]["model"] == "m2"


async def test_no_model_at_all_is_said_before_anything_is_sent(server: ChatServer) -> None:
    assert "no model" in (await refused(chat_of(server, model=""))).message
    assert server.requests == []


async def test_parameters_cannot_change_who_is_asked_what_or_that_one_whole_answer_comes(server: ChatServer) -> None:
    await asked(chat_of(server), parameters={"model": "m9", "messages": [], "stream": True, "n": 5, "stream_options": {}})
    assert set(server.requests[0]) == {"max_tokens", "model", "messages"}
    assert server.requests[0]["model"] == "m1"
    assert server.requests[0]["messages"]


async def test_a_limit_in_the_parameters_goes_before_ours(server: ChatServer) -> None:
    await asked(chat_of(server), parameters={"max_completion_tokens": 900})
    assert server.requests[0]["max_completion_tokens"] == 900
    assert "max_tokens" not in server.requests[0]


async def test_half_characters_do_not_keep_a_text_from_being_sent(server: ChatServer) -> None:
    assert (await asked(chat_of(server), "half \ud83d of a face")).text


async def test_a_model_that_wants_the_limit_under_its_newer_name_gets_it_and_is_remembered(server: ChatServer) -> None:
    server.script = [{"status": 400, "said": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}]
    chat = chat_of(server)
    for _ in range(2):
        await chat.complete([{"role": "user", "content": "x"}], model=None, parameters={}, max_tokens=100)
    await chat.close()
    assert [set(request) & {"max_tokens", "max_completion_tokens"} for request in server.requests] == [
        {"max_tokens"},
        {"max_completion_tokens"},
        {"max_completion_tokens"},
    ]


async def test_a_model_that_takes_no_temperature_gets_none(server: ChatServer) -> None:
    server.script = [{"status": 400, "said": "Unsupported value: 'temperature' does not support 0.2 with this model."}]
    await asked(chat_of(server), parameters={"temperature": 0.2})
    assert ["temperature" in request for request in server.requests] == [True, False]


# --- what is understood -----------------------------------------------------------------------------------------------


async def test_text_tokens_and_why_it_ended_are_told(server: ChatServer) -> None:
    server.script = [{"content": "Goal: x", "finish_reason": "length"}]
    assert await asked(chat_of(server)) == Completion("Goal: x", "", 120, 30, "length", "m1")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_a_thought_in_a_field_of_its_own_is_no_part_of_the_text(server: ChatServer, field: str) -> None:
    server.script = [{"content": "Goal: x", field: "let me think"}]
    found = await asked(chat_of(server))
    assert (found.text, found.reasoning) == ("Goal: x", "let me think")


async def test_a_thought_in_the_text_is_taken_out(server: ChatServer) -> None:
    server.script = ["<think>\nlet me think\n</think>\n\nGoal: x"]
    found = await asked(chat_of(server))
    assert found.text == "Goal: x"
    assert "let me think" in found.reasoning


async def test_a_thought_alone_is_a_blank_text(server: ChatServer) -> None:
    server.script = [{"content": None, "reasoning_content": "Goal: x"}]
    assert (await asked(chat_of(server))).text == ""


async def test_a_content_of_parts_is_read_without_its_thoughts(server: ChatServer) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Goal: x"}]
    server.script = [{"content": parts}]
    assert (await asked(chat_of(server))).text == "Goal: x"


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "9"}, {"prompt_tokens": True}, [1]])
async def test_a_provider_that_counts_nothing_is_understood(server: ChatServer, usage: object) -> None:
    server.script = [{"content": "Goal: x", "usage": usage}]
    found = await asked(chat_of(server))
    assert (found.text, found.prompt_tokens, found.completion_tokens) == ("Goal: x", 0, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b"7",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": 7}]}',
        b"[" * 9999,
    ],
)
async def test_an_answer_that_makes_no_sense_is_a_failure(server: ChatServer, body: bytes) -> None:
    server.script = [body]
    await refused(chat_of(server))
    assert len(server.requests) == 1


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
async def test_a_passing_failure_is_tried_again(server: ChatServer, status: int) -> None:
    server.script = [status, status, "Goal: x"]
    assert (await asked(chat_of(server))).text == "Goal: x"


async def test_a_broken_connection_is_tried_again(server: ChatServer) -> None:
    server.drop = 2
    assert (await asked(chat_of(server))).text


async def test_a_failure_that_a_gateway_reports_in_the_body_is_tried_again(server: ChatServer) -> None:
    server.script = [b'{"error": {"code": 502, "message": "upstream"}}', "Goal: x"]
    assert (await asked(chat_of(server))).text == "Goal: x"


async def test_what_fails_every_time_is_given_up(server: ChatServer) -> None:
    server.otherwise = 503
    assert "503" in (await refused(chat_of(server))).message
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
async def test_a_lasting_failure_is_not_tried_again(server: ChatServer, status: int) -> None:
    server.headers = {"location": "http://127.0.0.1:1/"}
    server.otherwise = status
    assert str(status) in (await refused(chat_of(server))).message
    assert len(server.requests) == 1


async def test_a_time_that_the_server_asks_to_wait_is_waited(server: ChatServer) -> None:
    server.script, server.headers = [429, "Goal: x"], {"retry-after": "1"}
    started = time.monotonic()
    await asked(chat_of(server))
    assert time.monotonic() - started > 0.9


def test_a_time_to_wait_is_read_in_seconds_and_as_a_date() -> None:
    assert retry_after_s({"retry-after": "7"}) == 7.0
    assert retry_after_s({"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}) > 1e6
    assert [retry_after_s({"retry-after": value}) for value in ("-3", "soon", "")] == [0.0, 0.0, 0.0]
    assert retry_after_s({}) == 0.0


async def test_an_answer_that_does_not_come_in_time_is_a_failure(server: ChatServer) -> None:
    server.delay_s = 0.5
    assert "takes longer than 0.05 seconds" in (await refused(chat_of(server, timeout_s=0.05))).message


async def test_an_endpoint_that_is_not_there_is_down(server: ChatServer) -> None:
    gone = ChatServer()
    gone.close()
    assert "cannot be reached" in (await refused(chat_of(gone))).message


@pytest.mark.parametrize(
    "said", ["This model's maximum context length is 4096 tokens.", "the prompt is too long", "exceeds the context window"]
)
async def test_an_input_that_is_too_long_is_told_apart(server: ChatServer, said: str) -> None:
    server.script = [{"status": 400, "said": said}, {"status": 400, "said": "unknown field"}]
    assert (await refused(chat_of(server))).too_long
    assert not (await refused(chat_of(server))).too_long


async def test_an_endpoint_that_fails_repeatedly_is_left_alone(server: ChatServer) -> None:
    chat = chat_of(server, rest_s=3600.0)
    server.script = [401] * 3
    said = [await down(chat) for _ in range(5)]
    assert [("401" in text, "left alone" in text) for text in said] == [(True, False)] * 3 + [(False, True)] * 2
    assert len(server.requests) == 3
    await chat.close()


async def test_an_endpoint_that_was_left_alone_is_tried_again_after_a_rest(server: ChatServer) -> None:
    chat = chat_of(server, rest_s=0.01)
    server.script = [401] * 3
    for _ in range(3):
        await down(chat)
        await asyncio.sleep(0.02)
    assert (await asked(chat)).text
    assert len(server.requests) == 4


async def down(chat: OpenAIChat) -> str:
    """The message of a call that fails; the chat stays open."""
    with pytest.raises(UpstreamDown) as caught:
        await chat.complete([{"role": "user", "content": "x"}], model=None, parameters={}, max_tokens=9)
    return caught.value.message


def test_after_a_rest_one_call_may_try_and_the_others_wait_for_it() -> None:
    now = 0.0
    circuit = Circuit("It", 5.0, lambda: now)
    for _ in range(3):
        circuit.failed()
    now = 5.0
    circuit.check()
    with pytest.raises(Failed, match="left alone"):
        circuit.check()
    circuit.worked()
    circuit.check()


async def test_a_refused_input_says_nothing_against_the_endpoint(server: ChatServer) -> None:
    chat = chat_of(server)
    server.script = [400] * 5
    assert ["400" in await down(chat) for _ in range(5)] == [True] * 5
    await chat.close()


async def test_a_model_that_is_not_there_says_nothing_against_the_endpoint(server: ChatServer) -> None:
    chat = chat_of(server)
    server.script = [404] * 5
    assert ["404" in await down(chat) for _ in range(5)] == [True] * 5
    assert (await asked(chat)).text


async def test_only_so_many_calls_go_out_at_once(server: ChatServer) -> None:
    server.delay_s = 0.05
    chat = chat_of(server, concurrency=2)
    messages = [{"role": "user", "content": "x"}]
    await asyncio.gather(*(chat.complete(messages, model=None, parameters={}, max_tokens=9) for _ in range(6)))
    await chat.close()
    assert server.most_at_once == 2
    assert len(server.requests) == 6


@pytest.mark.parametrize("reply", [400, 401, 404, 500, b"<html>"])
async def test_neither_secret_nor_text_stands_in_an_error_or_a_log(
    server: ChatServer, reply: int | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.otherwise = reply
    error = await refused(chat_of(server))
    shown = f"{error} {error.hint} {error.__cause__} {error.__suppress_context__} {caplog.text}"
    assert not [secret for secret in (KEY, HEADER, PRIVATE) if secret in shown]
