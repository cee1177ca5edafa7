"""The adapter that passes requests on, against a real server."""

import json
from collections.abc import Iterator

import pytest

from memsrv.adapters.upstream_openai import OpenAIUpstream
from memsrv.core.relay.providers import Provider
from memsrv.errors import UpstreamDown
from tests.adapters.model_server import ModelServer
from tests.adapters.upstream_server import DIE, Refuse, Say, UpstreamServer

ASKED = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def server() -> Iterator[UpstreamServer]:
    server = UpstreamServer()
    yield server
    server.close()


@pytest.fixture
def lists() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
async def upstream(server):
    upstream = OpenAIUpstream(Provider("local", server.url, api_key="secret-key", headers={"x-team": "blue"}))
    yield upstream
    await upstream.close()


async def all_of(reply) -> bytes:
    try:
        return b"".join([piece async for piece in reply.content()])
    finally:
        await reply.close()


async def test_key_and_headers_of_the_provider_go_with_every_request(server, upstream):
    await all_of(await upstream.ask(ASKED))
    assert server.seen[-1]["authorization"] == "Bearer secret-key"
    assert server.seen[-1]["x-team"] == "blue"
    assert server.requests[-1] == ASKED


async def test_an_error_comes_back_as_it_is_and_is_not_tried_again(server, upstream):
    server.script = [Refuse(429, {"error": {"message": "slow down"}}, {"Retry-After": "3", "x-ratelimit-limit-tokens": "9"})]
    reply = await upstream.ask(ASKED)
    assert reply.status == 429
    assert json.loads(await all_of(reply)) == {"error": {"message": "slow down"}}
    assert (reply.headers["retry-after"], reply.headers["x-ratelimit-limit-tokens"]) == ("3", "9")
    assert len(server.requests) == 1


async def test_headers_that_are_no_business_of_the_client_stay_here(server, upstream):
    server.script = [Refuse(400, {}, {"Set-Cookie": "a=b", "Server": "x"})]
    reply = await upstream.ask(ASKED)
    await all_of(reply)
    assert set(reply.headers) == {"content-type"}


async def test_a_cookie_that_one_request_is_given_does_not_go_with_the_next(server, upstream):
    server.script = [Refuse(400, {}, {"Set-Cookie": "affinity=one-tenant; Path=/"})]
    await all_of(await upstream.ask(ASKED))
    await all_of(await upstream.ask(ASKED))
    assert "cookie" not in server.seen[-1]


async def test_a_stream_that_breaks_off_says_so_after_what_came(server, upstream):
    server.script = [Say(["so far", DIE])]
    reply = await upstream.ask({**ASKED, "stream": True})
    came: list[bytes] = []

    async def read() -> None:
        async for piece in reply.content():
            came.append(piece)

    with pytest.raises(UpstreamDown, match="local"):
        await read()
    await reply.close()
    assert b"so far" in b"".join(came)


async def test_an_endpoint_that_is_not_there_is_named_without_its_address():
    upstream = OpenAIUpstream(Provider("local", "http://127.0.0.1:9/v1"))
    with pytest.raises(UpstreamDown) as caught:
        await upstream.ask(ASKED)
    with pytest.raises(UpstreamDown):
        await upstream.models()
    await upstream.close()
    assert "local" in caught.value.message
    assert "127.0.0.1" not in caught.value.message


async def test_one_that_is_silent_for_too_long_is_given_up(server):
    upstream = OpenAIUpstream(Provider("local", server.url, timeout_s=0.05))
    server.script = [Say([lambda: server.gone.wait(5)])]
    with pytest.raises(UpstreamDown, match="takes too long"):
        await upstream.ask(ASKED)
    server.gone.set()
    await upstream.close()


async def test_models_are_listed_and_nonsense_is_an_error(lists):
    upstream = OpenAIUpstream(Provider("local", lists.url))
    lists.answers = lambda: (200, b'{"data": [{"id": "a", "owned_by": "x"}, {"name": "no id"}, 5]}')
    assert await upstream.models() == [{"id": "a", "owned_by": "x"}]
    for status, body in ((200, b"<html>"), (200, b'{"data": 5}'), (500, b"{}")):
        lists.answers = lambda status=status, body=body: (status, body)
        with pytest.raises(UpstreamDown):
            await upstream.models()
    await upstream.close()


async def test_a_redirect_is_not_followed(lists):
    transport_calls = []
    lists.answers = lambda: transport_calls.append(1) or (302, b"")
    upstream = OpenAIUpstream(Provider("local", lists.url))
    with pytest.raises(UpstreamDown, match="302"):
        await upstream.models()
    await upstream.close()
    assert len(transport_calls) == 1


async def test_half_a_surrogate_pair_can_be_sent(server, upstream):
    await all_of(await upstream.ask({**ASKED, "stop": "\ud83d"}))
    assert server.requests[-1]["stop"] == "\N{REPLACEMENT CHARACTER}"
