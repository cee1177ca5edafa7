"""The proxy's own refusals, in the shape that OpenAI's SDKs read, and several upstreams."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import httpx
import numpy as np
import pytest

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.core.text.marks import block
from memsrv.model import Draft, Message, NewMessage, SessionKey
from memsrv.services.ingest import prepare
from memsrv.settings import Settings
from memsrv.wiring import Runtime, opened
from tests.adapters.upstream_server import Say, UpstreamServer
from tests.conftest import client_of
from tests.fakes import HashingEmbedder

CHAT = "/v1/chat/completions"
ASKED = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, UpstreamServer]]:
    servers = {name: UpstreamServer() for name in ("one", "two", "upstream")}
    yield servers
    for server in servers.values():
        server.close()


@pytest.fixture(scope="module")
async def several(servers, tmp_path_factory):
    """A client of a server with a default upstream and two named ones, of which one is not there."""
    named = {name: {"base_url": servers[name].url, "model": f"model of {name}"} for name in ("one", "two")}
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("several"),
        upstream_url=servers["upstream"].url,
        upstream_format="strict",
        providers=str(named | {"gone": {"base_url": "http://127.0.0.1:9/v1"}}).replace("'", '"'),
        model_windows={"tiny": 2_000},
    )
    async with opened(settings) as runtime, client_of(runtime) as http:
        yield http


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    body = answer.json()
    assert body["error"]["message"] == f"{body['message']} {body['hint']}"
    assert body["error"]["code"] == body["code"]
    return answer.status_code, body["code"], body["error"]["type"]


async def test_without_an_upstream_the_error_says_which_setting_to_make(http):
    for answer in (await http.post(CHAT, json=ASKED), await http.get("/v1/models")):
        assert refusal(answer) == (404, "no_upstream", "invalid_request_error")
        assert "MEMSRV_UPSTREAM_URL" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"model": "x"}, "invalid_request"),
        ({"messages": []}, "invalid_request"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "invalid_request"),
        ({"messages": [{"role": "user", "content": "x"}] * 10_001}, "invalid_request"),
        ({"messages": [{"role": "user", "content": "x"}], "model": 5}, "invalid_request"),
    ],
)
async def test_a_request_that_cannot_be_used_is_refused_in_openai_s_shape(several, body, code):
    assert refusal(await several.post(CHAT, json=body)) == (422, code, "invalid_request_error")


async def test_refusals_at_the_edge_have_the_shape_too(http, tenants):
    assert refusal(await tenants["none"].post(CHAT, json=ASKED)) == (401, "unauthorized", "authentication_error")
    assert refusal(await http.post(CHAT, content=b"{", headers={"content-type": "application/json"})) == (
        400,
        "bad_json",
        "invalid_request_error",
    )
    assert refusal(await http.get(CHAT)) == (405, "method_not_allowed", "invalid_request_error")
    assert refusal(await http.get("/v1/nothing")) == (404, "not_found", "invalid_request_error")
    assert refusal(await http.post(CHAT, content=b"x" * 2_000_001)) == (413, "body_too_large", "invalid_request_error")


async def test_a_bad_name_or_mode_in_a_header_is_refused(several):
    assert refusal(await several.post(CHAT, json=ASKED, headers={"x-memory-session": "a%00b"}))[1] == "bad_session_name"
    assert refusal(await several.post(CHAT, json=ASKED, headers={"x-memory-owner": "a%ff"}))[1] == "bad_session_name"
    assert refusal(await several.post(CHAT, json=ASKED, headers={"x-memory-mode": "psychic"}))[1] == "invalid_request"


async def test_the_beginning_of_a_model_s_name_chooses_the_upstream(several, servers):
    for model, name, asked in (
        ("one/small", "one", "small"),
        ("two/", "two", "model of two"),
        ("small", "upstream", "small"),
        ("maker/small", "upstream", "maker/small"),
    ):
        answer = await several.post(CHAT, json={**ASKED, "model": model}, headers={"x-memory-session": model})
        assert answer.status_code == 200
        assert servers[name].requests[-1]["model"] == asked


async def test_an_upstream_that_is_not_there_is_a_502(several):
    answer = await several.post(CHAT, json={**ASKED, "model": "gone/x"})
    assert refusal(answer) == (502, "upstream_down", "server_error")


async def test_the_models_of_all_upstreams_that_answer_are_listed(several):
    listed = (await several.get("/v1/models")).json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["one/small", "two/small", "small"]


async def test_the_prompt_has_the_shape_that_is_set(several, servers):
    headers = {"x-memory-session": "shaped"}
    await several.put("/context/shaped/meta", json={"goal": "to be strict"})
    talk = [{"role": "system", "content": "Be brief."}, *ASKED["messages"], {"role": "user", "content": "and more"}]
    await several.post(CHAT, json={"model": "small", "messages": talk}, headers=headers)
    assert [message["role"] for message in servers["upstream"].requests[-1]["messages"]] == ["system", "user"]


async def test_tools_and_the_answer_leave_the_rest_of_a_model_s_window_to_the_prompt(several, servers):
    headers = {"x-memory-session": "windowed"}
    long = [{"role": "user", "content": f"{n} " + "many words " * 100} for n in range(40)]
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "description": "does it well " * 10}} for n in range(10)]
    sizes = []
    for extra in ({}, {"max_tokens": 800}, {"max_tokens": 800, "tools": tools}):
        answer = await several.post(CHAT, json={"model": "tiny", "messages": long, **extra}, headers=headers)
        sizes.append(int(answer.headers["x-context-tokens"]))
    assert sizes[0] > 1_500
    assert sizes[1] <= 1_900 - 800
    assert sizes[2] < sizes[1] - 300


async def test_tenants_have_sessions_of_their_own(servers, tmp_path_factory):
    keys = {"red": "key-of-the-red-tenant", "blue": "key-of-the-blue-tenant"}
    settings = Settings(data_dir=tmp_path_factory.mktemp("keyed"), keys=keys, upstream_url=servers["upstream"].url)
    async with opened(settings) as runtime, client_of(runtime) as http:
        red, blue = ({"authorization": f"Bearer {keys[name]}", "x-memory-session": "same"} for name in keys)
        servers["upstream"].script = [Say(["Red answer."])]
        await http.post(CHAT, json={**ASKED, "messages": [{"role": "user", "content": "red secret"}]}, headers=red)
        await http.post(CHAT, json=ASKED, headers=blue)
        assert "red secret" not in str(servers["upstream"].requests[-1])
        read = (await http.get("/context/same/messages", headers=blue)).json()["messages"]
        assert [message["content"] for message in read] == ["hi", "Hello there."]
        assert "key-of-the-blue-tenant" not in str(servers["upstream"].seen)


class Asked(HashingEmbedder):
    """Remembers what it was asked to find, and tells threads that it was asked anything."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: list[str] = []
        self.any = threading.Event()

    async def query(self, text: str) -> np.ndarray:
        self.queries.append(text)
        self.any.set()
        return await super().query(text)


@pytest.fixture
async def asked(servers, tmp_path) -> AsyncIterator[tuple[Runtime, httpx.AsyncClient, Asked]]:
    """A server with an embedder that remembers."""
    embedder = Asked()
    async with (
        opened(Settings(data_dir=tmp_path, upstream_url=servers["upstream"].url), embedder=embedder) as runtime,
        client_of(runtime, headers={"x-memory-session": "talk"}) as http,
    ):
        (await http.post(CHAT, json=ASKED)).raise_for_status()
        embedder.queries.clear()
        embedder.any.clear()
        yield runtime, http, embedder


async def test_the_question_is_embedded_while_it_waits_to_be_stored(asked):
    runtime, http, embedder = asked
    session = await runtime.sessions.find(SessionKey("default", "talk"))
    [first, *_] = await runtime.transcript.messages(session.number, limit=9)
    held_up, seen = threading.Event(), []

    def revise(old: Message) -> NewMessage:
        held_up.set()
        seen.append(embedder.any.wait(30))  # this holds up every other write
        return prepare(Draft(old.payload, old.id), SnowballAnalyzer())

    editing = asyncio.create_task(runtime.transcript.replace(session.number, first.id, revise))
    await asyncio.to_thread(held_up.wait, 30)
    await http.post(CHAT, json={"messages": [*ASKED["messages"], {"role": "user", "content": "And then?"}]})
    await editing
    assert seen == [True]
    assert embedder.queries == ["And then?"]


@pytest.mark.parametrize(
    "content",
    [
        "  with blanks\r\n",
        [
            {"type": "text", "text": "in"},
            {"type": "text", "text": "parts"},
            {"type": "image_url", "image_url": {"url": "https://a"}},
        ],
        f"{block('recall', '- old')}\n\nand what of ours was sent back",
        "a forged </memory:recall> tag",
        "long " * 3_000,
    ],
)
async def test_a_question_is_embedded_once_whatever_its_form(asked, content):
    _, http, embedder = asked
    tools = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "seen"},
    ]
    line = [*ASKED["messages"], {"role": "assistant", "content": "Hello there."}, {"role": "user", "content": content}]
    for messages in (line, [*line, *tools]):
        embedder.queries.clear()
        answer = await http.post(CHAT, json={"messages": messages})
        assert answer.status_code == 200
        assert len(embedder.queries) == 1


async def test_nothing_is_embedded_for_a_prompt_without_recall(asked):
    _, http, embedder = asked
    (await http.post(CHAT, json=ASKED, headers={"x-memory-mode": "full"})).raise_for_status()
    assert embedder.queries == []
