"""Several real servers on one PostgreSQL and one Chroma server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chroma_server import chroma_server
from tests.patience import wait_until
from tests.postgresql import Postgresql
from tests.served import Served


@pytest.fixture(scope="module")
def pair(postgresql: Postgresql, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """Two servers; the first of them leads, until the last test that asks for them kills it."""
    with chroma_server(tmp_path_factory.mktemp("chroma")) as chroma_url:
        shared = {"MEMSRV_DATABASE_URL": postgresql.database(), "MEMSRV_CHROMA_URL": chroma_url, "MEMSRV_FAULTS": "{}"}
        folder = tmp_path_factory.mktemp("several")
        servers = [Served(folder, **shared) for _ in range(2)]
        yield servers[0], servers[1]
        for server in servers:
            server.stop()


def talk(colour: str) -> list[dict[str, str]]:
    roles = ("user", "assistant") * 10
    return [{"role": role, "content": f"We decided to paint room {n} {colour}."} for n, role in enumerate(roles)]


def leads(server: Served) -> bool:
    return bool(server.http.get("/readyz").json()["leads"])


def shown(server: Served, session: str, asked: dict[str, str]) -> str:
    """What a prompt says."""
    return str(server.http.get(f"/context/{session}/prompt", params=asked).json()["messages"])


def recalled(server: Served, session: str, query: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = server.http.get(f"/context/{session}/recall", params={"query": query}).json()["recall"]
    return hits


def test_one_of_them_leads(pair):
    assert [leads(server) for server in pair] == [True, False]


def test_positions_have_no_gap_when_both_are_written_to_at_once(pair):
    def post(n: int) -> int:
        message = {"role": ("user", "assistant")[n % 2], "content": f"Fact {n}: the drawer of number {n} holds folder {n * 7}."}
        answer = pair[n % 2].http.post("/context/s/messages", json=message)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["messages"][0]["position"])

    with ThreadPoolExecutor(8) as writers:
        positions = list(writers.map(post, range(40)))
    assert sorted(positions) == list(range(1, 41))
    read = [server.http.get("/context/s/messages", params={"limit": 100}).json()["messages"] for server in pair]
    assert read[0] == read[1]
    assert [message["position"] for message in read[0]] == list(range(1, 41))


def test_a_message_stored_through_one_is_known_to_the_other_and_recalled_by_both(pair):
    key = {"role": "user", "content": "My spare key is under the blue flowerpot.", "id": "key"}
    leading, other = pair
    assert other.http.post("/context/k/messages?wait_ms=30000", json=key).json()["pending_index"] == 0
    assert leading.http.post("/context/k/messages", json=key).json()["messages"][0]["created"] is False
    for server in pair:
        wait_until(
            lambda server=server: any(hit["score"] and "flowerpot" in hit["text"] for hit in recalled(server, "k", "the key?"))
        )


def test_what_one_changes_is_in_the_next_prompt_of_the_other(pair):
    one, other = pair
    asked = {"query": "Where is the bicycle?", "mode": "hybrid"}
    one.http.post("/context/p/messages", json={"role": "user", "content": "The bicycle is in the cellar.", "id": "where"})
    assert all("cellar" in shown(server, "p", asked) for server in pair)
    other.http.patch("/context/p/messages/where", json={"content": "The bicycle is in the attic."})
    one.http.patch("/context/p/meta", json={"goal": "Find the bicycle."})
    for server in pair:
        prompt = shown(server, "p", asked)
        assert "attic" in prompt
        assert "cellar" not in prompt
        assert "Find the bicycle." in prompt
    one.http.delete("/context/p/messages/where")
    assert "attic" not in shown(other, "p", asked)


def test_a_receipt_and_what_the_provider_counted_are_known_to_both(pair):
    one, other = pair
    one.http.post("/context/r/messages", json={"role": "user", "content": "Good morning."})
    prompt = one.http.get("/context/r/prompt", params={"model": "m"}).json()
    wait_until(lambda: other.http.get("/context/r/receipts").json()["receipts"])
    usage = {"receipt": prompt["receipt"]["id"], "prompt_tokens": prompt["total_tokens"] * 2}
    assert [server.http.post("/context/r/usage", json=usage).json()["reports"] for server in (other, one, other)] == [1, 1, 1]


def test_a_process_summarises_what_is_written_through_it(pair):
    pair[1].http.post("/context/m/messages", json={"messages": talk("green")})
    wait_until(lambda: pair[0].http.get("/context/m/summaries").json()["summaries"])


def test_a_rebuild_asked_of_the_one_that_looks_on_is_done_by_the_one_that_leads_while_both_answer(pair):
    boat = {"role": "user", "content": "The boat is moored at pier nine."}
    pair[1].http.post("/context/b/messages?wait_ms=30000", json=boat)
    before = pair[1].http.get("/reindex").json()["answers"]
    assert pair[1].http.post("/reindex").json()["running"] is True

    def done() -> bool:
        for server in pair:
            assert any("pier nine" in hit["text"] for hit in recalled(server, "b", "Where is the boat?"))
        told = [server.http.get("/reindex").json() for server in pair]
        return all(not now["running"] and (now["answers"] or 0) > before for now in told)

    wait_until(done)
    assert pair[0].http.post("/verify").json()["good"] is True


def test_what_another_process_or_the_database_does_is_refused(pair):
    refused = [pair[1].http.post("/verify"), *(server.http.post("/purge") for server in pair)]
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(409, "not_here")] * 3


def test_when_the_one_that_leads_is_killed_the_other_makes_its_vectors_and_summaries(pair):
    leading, other = pair
    leading.http.put("/_faults", json={"embedder": "raise", "summarizer": "delay:600000"})
    leading.http.post("/context/left/messages", json={"messages": talk("yellow")})
    wait_until(lambda: "embedder" in leading.http.get("/readyz").json()["degraded"])
    leading.kill()
    wait_until(lambda: leads(other))
    other.wait_indexed("left")
    assert any(hit["score"] for hit in recalled(other, "left", "Which colour has room 3?"))
    assert wait_until(lambda: other.http.get("/context/left/summaries").json()["summaries"])[0]["covers_upto"] >= 8
