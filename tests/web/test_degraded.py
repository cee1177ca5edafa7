"""What a client sees while a part is down."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from memsrv.settings import Settings
from memsrv.wiring import opened
from tests.conftest import client_of
from tests.patience import until


@pytest.fixture(scope="module")
async def faulty(tmp_path_factory) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose parts fail on request, with one session of a fact and much else after it."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("faulty"), faults="{}")
    async with opened(settings) as runtime, client_of(runtime) as http:
        talk = [{"role": "user", "content": "The silver whistle is in locker 650."}]
        talk += [{"role": "user", "content": f"Remark {n}: nothing of note."} for n in range(20)]
        await http.put("/context/s", json={"summary": {"enabled": False}})  # or the window would show all until there is one
        answer = await http.post("/context/s/messages", json={"messages": talk}, params={"wait_ms": 60000})
        assert answer.json()["pending_index"] == 0
        yield http


@pytest.fixture(autouse=True)
async def mended(faulty) -> AsyncIterator[None]:
    yield
    await faulty.put("/_faults", json={"embedder": "none", "index": "none", "index.query": "none", "summarizer": "none"})


@pytest.mark.parametrize(
    "fault",
    [{"embedder": "raise"}, {"embedder": "return_zero_vector"}, {"embedder": "return_nan_vector"}, {"index.query": "raise"}],
)
async def test_a_prompt_still_comes_with_what_words_can_find(faulty, fault):
    assert (await faulty.put("/_faults", json=fault)).status_code == 200
    prompt = (await faulty.get("/context/s/prompt", params={"query": "silver whistle", "budget": 800})).json()
    assert prompt["receipt"]["degraded"] == ["recall"]
    assert "The silver whistle is in locker 650." in [hit["text"] for hit in prompt["receipt"]["recall"]]
    assert prompt["total_tokens"] <= 800


async def test_messages_are_taken_while_the_index_is_down_and_found_when_it_is_back(faulty):
    await faulty.put("/_faults", json={"index": "raise"})
    posted = await faulty.post(
        "/context/later/messages", json={"role": "user", "content": "The porcelain teapot is in locker 690."}
    )
    assert posted.status_code == 201
    assert posted.json()["pending_index"] == 1
    await faulty.put("/_faults", json={"index": "none"})
    await faulty.post("/context/later/messages", json={"role": "user", "content": "And more."}, params={"wait_ms": 60000})
    hits = (await faulty.get("/context/later/recall", params={"query": "Where is the teapot?"})).json()
    assert hits["degraded"] == []
    assert {hit["text"]: hit["score"] is not None for hit in hits["recall"]}["The porcelain teapot is in locker 690."]


@pytest.mark.parametrize("fault", ["raise", "return:", "return: \n ", "raise_if_input_tokens_over:1"])
async def test_without_a_summarizer_nothing_is_covered_and_the_prompt_shows_what_it_can(faulty, fault):
    session = f"/context/no-summary-{abs(hash(fault))}"
    assert (await faulty.put("/_faults", json={"summarizer": fault})).status_code == 200
    talk = [{"role": "user", "content": f"Remark {n}: the whistle is red."} for n in range(20)]
    assert (await faulty.post(f"{session}/messages", json={"messages": talk})).status_code == 201
    answer = await faulty.post(f"{session}/compact", json={"keep": 2})
    assert (answer.status_code, answer.json()["code"]) == (503, "summarizer_down")
    refused = await faulty.post(f"{session}/mode", json={"mode": "retrieval"})
    assert refused.status_code == 503
    assert (await faulty.get(session)).json()["mode"] == "hybrid"

    async def summaries() -> dict[str, Any]:
        return (await faulty.get(f"{session}/summaries")).json()

    async def failing() -> dict[str, Any]:
        return (await summaries())["failing"]

    assert (await until(failing))["tries"] >= 1  # the background tries too, in a lull
    assert (await summaries())["summaries"] == []
    prompt = (await faulty.get(f"{session}/prompt", params={"mode": "summary"})).json()
    assert [message["content"] for message in prompt["messages"]] == [message["content"] for message in talk]
    await faulty.put("/_faults", json={"summarizer": "none"})
    assert (await faulty.post(f"{session}/compact", json={"keep": 2})).json()["summary"]["covers_upto"] == 18


async def test_a_vectorless_summary_is_made_while_the_embedder_is_down(faulty):
    await faulty.put("/_faults", json={"embedder": "raise"})
    talk = [{"role": "user", "content": f"We decided on hotel number {n} in Turin."} for n in range(6)]
    await faulty.post("/context/vectorless/messages", json={"messages": talk})
    assert (await faulty.post("/context/vectorless/compact", json={"keep": 0})).json()["made"] is True


async def test_an_unknown_fault_is_refused(faulty):
    assert (await faulty.put("/_faults", json={"embeder": "raise"})).status_code == 422


async def test_without_the_setting_there_is_no_such_route(http):
    assert (await http.put("/_faults", json={})).status_code == 404
