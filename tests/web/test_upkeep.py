"""Rebuild and verification over HTTP, over real stores."""

import sqlite3

import pytest

from memsrv.settings import Settings
from memsrv.wiring import opened
from tests.conftest import client_of
from tests.patience import until

TALK = {"messages": [{"role": ("user", "assistant")[n % 2], "content": f"Remark {n} on the harbour."} for n in range(8)]}


@pytest.fixture
async def house(tmp_path, models):
    """A server with one indexed session: its folder and its client."""
    (tmp_path / "models").symlink_to(models)
    async with opened(Settings(data_dir=tmp_path, window_size=4, window_keep=2)) as runtime, client_of(runtime) as http:
        await http.post("/context/s/messages?wait_ms=30000", json=TALK)
        await http.post("/context/s/compact")
        await until(lambda: indexed(http))
        await http.get("/context/s/prompt?query=harbour")
        await runtime.receipts.close()
        yield tmp_path, http


async def indexed(http):
    return not (await http.get("/readyz")).json()["pending_index"]


def change(folder, *statements):
    """What no server would do."""
    with sqlite3.connect(folder / "memsrv.sqlite3") as database:
        for statement in statements:
            database.execute(statement)
    database.close()


async def wrong(http, *, fix=False):
    """What a verification finds wrong."""
    answer = (await http.post("/verify", params={"fix": fix})).json()
    assert answer["good"] == (not any(check["wrong"] for check in answer["checks"]))
    return {check["name"]: check["wrong"] for check in answer["checks"] if check["wrong"]}


async def mended(http):
    """Return when nothing is wrong any more: messages are cut and indexed anew in the background."""

    async def sound():
        return not await wrong(http)

    await until(sound)


async def test_a_rebuild_ends_with_another_generation_that_answers_as_before(house):
    _, http = house
    before = (await http.get("/reindex")).json()
    asked = {"query": "harbour", "k": 3}
    found = (await http.get("/context/s/recall", params=asked)).json()["recall"]
    begun = await http.post("/reindex")
    assert (begun.status_code, begun.json()["running"]) == (202, True)

    async def done():
        now = (await http.get("/reindex")).json()
        during = (await http.get("/context/s/recall", params=asked)).json()
        assert (len(during["recall"]), during["degraded"]) == (3, [])
        return not now["running"] and now

    now = await until(done)
    assert (now["left"], now["messages"]) == (0, 9)  # one is a passage of the summary
    assert now["answers"] == now["generation"] > before["answers"]
    assert (await http.get("/context/s/recall", params=asked)).json()["recall"] == found


async def test_a_sound_store_verifies(house):
    _, http = house
    await http.delete("/context/s/messages?after=2&before=5")
    assert await wrong(http) == {}


async def test_a_receipt_of_a_passage_has_its_source(house):
    folder, http = house
    prompt = await http.get("/context/s/prompt", params={"query": "What did we settle last time?", "mode": "retrieval"})
    assert any(hit["summary_version"] for hit in prompt.json()["receipt"]["recall"])
    await until(lambda: quoted_passages(folder))
    assert await wrong(http) == {}


def quoted_passages(folder):
    """How often receipts quote a passage."""
    with sqlite3.connect(folder / "memsrv.sqlite3") as database:
        (count,) = database.execute("SELECT count(*) FROM receipt_sources WHERE message_number < 0").fetchone()
    database.close()
    return count


BROKEN = {
    "a piece of a text": ("UPDATE chunks SET text = 'other' WHERE number = 3", "messages_with_other_chunks"),
    "search terms": ("UPDATE chunks SET terms = '' WHERE number = 3", "messages_with_other_chunks"),
    "a mark without its vector": ("UPDATE chunks SET number = 900 WHERE number = 3", "chunks_without_their_vector"),
    "a passage's mark without its vector": ("UPDATE passages SET number = 900", "chunks_without_their_vector"),
    "a passage of no summary": ("UPDATE passages SET version = 99", "passages_without_their_summary"),
    "a mark before its chunk": ("UPDATE chunks SET generation = 0 WHERE number = 3", "messages_marked_before_their_chunks"),
    "a summary of what was not said": ("UPDATE snapshots SET covers_upto = 99", "unsound_summaries"),
    "a receipt of what is gone": (
        "UPDATE receipt_sources SET message_number = 99 WHERE message_number = 3",
        "receipts_without_their_source",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_what_is_broken_is_found_and_mended(house, what):
    folder, http = house
    statement, name = BROKEN[what]
    change(folder, statement)
    assert name in await wrong(http)
    assert name in await wrong(http, fix=True)
    await mended(http)


async def test_a_vector_without_a_chunk_is_found_and_removed(house):
    folder, http = house
    change(folder, "DELETE FROM chunks WHERE message_number = 3", "UPDATE messages SET chunk_count = 0 WHERE number = 3")
    assert (await wrong(http))["vectors_without_a_chunk"] == 1
    await wrong(http, fix=True)
    await mended(http)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("DELETE FROM messages WHERE number = 4", "sessions_that_lack_messages"),
        ("""UPDATE messages SET payload = '{"role":"user","content":"x"}' WHERE number = 3""", "messages_that_changed"),
    ],
)
async def test_what_the_transcript_lost_is_told_and_not_called_mended(house, statement, name):
    folder, http = house
    change(folder, statement)
    checks = (await http.post("/verify?fix=true")).json()["checks"]
    assert {"name": name, "wrong": 1, "mended": False} in checks
    assert name in await wrong(http)
