"""Nothing in the data folder holds what was deleted, edited away or forgotten: every byte of every file is looked at."""

import json
from pathlib import Path

import pytest

from memsrv.model import PendingChunk, Said
from memsrv.services.embedding import Embedding
from memsrv.settings import Settings
from memsrv.wiring import opened
from tests.conftest import client_of
from tests.patience import until

SECRET = "Zyxquorblat"
HAN = "赑屃饕餮"
SAID = [
    {"role": "user", "content": f"We decided that the {SECRET} stays in the cellar. 我们决定了{HAN}。", "id": f"id-{SECRET}"},
    {
        "role": "assistant",
        "content": f"Good: the {SECRET} stays there.\nTask state: {SECRET} is stored",
        "name": SECRET,
        "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": json.dumps({"at": SECRET})}}],
        "metadata": {"note": [SECRET, HAN]},
    },
    {"role": "tool", "tool_call_id": "c1", "content": f"{SECRET} found, {HAN} too"},
]
OTHER = [{"role": ("user", "assistant")[n % 2], "content": f"The weather of day {n} was fine by the river."} for n in range(12)]


def forms(word: str) -> set[bytes]:
    """The word as files may hold it."""
    return {word.encode(), word.encode("utf-16-le"), word.encode("utf-16-be"), json.dumps(word)[1:-1].encode()}


def holding(folder: Path, word: str) -> list[str]:
    """The files that hold a word in whatever case, the names of the files included."""
    wanted = {form.lower() for form in forms(word)}
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "models"]
    return [path.name for path in files if any(form in path.read_bytes().lower() or word in path.name for form in wanted)]


@pytest.fixture
async def house(tmp_path, models):
    """A folder with its server's client; it has the models' folder of the whole run."""
    (tmp_path / "models").symlink_to(models)
    async with opened(Settings(data_dir=tmp_path, window_size=6, window_keep=2)) as runtime, client_of(runtime) as http:
        yield tmp_path, runtime, http


async def talk(http, session="s"):
    """A session that is recalled from, summarised, receipted and owned."""
    await http.put(f"/context/{session}", json={"owner": "ann"})
    said = {"messages": SAID + OTHER}
    posted = await http.post(f"/context/{session}/messages?wait_ms=30000", json=said, headers={"idempotency-key": "k"})
    assert posted.json()["pending_index"] == 0
    assert (await http.post(f"/context/{session}/compact", json={"keep": 2})).status_code == 200
    for query in (SECRET, HAN, "weather"):
        assert (await http.get(f"/context/{session}/prompt", params={"query": query, "explain": True})).status_code == 200
    assert (await http.get(f"/context/{session}")).json()["summary"]


async def purged(runtime, http, folder):
    """After everything that is going on has come to its end."""

    async def quiet() -> bool:
        return runtime.compaction.idle and not (await http.get("/readyz")).json()["pending_index"]

    await until(quiet)
    await runtime.receipts.close()
    assert (await http.post("/purge")).json() == {"purged": True}


async def rebuilt(http):
    return not (await http.get("/reindex")).json()["running"]


WAYS = {
    "messages one by one": [("DELETE", f"/context/s/messages/id-{SECRET}"), ("DELETE", "/context/s/messages?after=1&before=4")],
    "a stretch by position": [("DELETE", "/context/s/messages?before=4")],
    "the session": [("DELETE", "/context/s")],
    "the owner": [("DELETE", "/context?owner=ann")],
}


@pytest.mark.parametrize("way", WAYS)
async def test_no_byte_of_the_folder_holds_what_was_deleted(house, way):
    folder, runtime, http = house
    await talk(http)
    assert holding(folder, SECRET)
    assert holding(folder, HAN)
    for method, path in WAYS[way]:
        assert (await http.request(method, path)).status_code == 200
    await purged(runtime, http, folder)
    assert (holding(folder, SECRET), holding(folder, HAN)) == ([], [])


async def test_no_byte_of_the_folder_holds_what_was_edited_away(house):
    folder, runtime, http = house
    await http.post("/context/s/messages?wait_ms=30000", json={"messages": [{**SAID[0], "id": "x"}, *OTHER]})
    await http.post("/context/s/compact", json={"keep": 2})
    await http.get("/context/s/prompt", params={"query": SECRET})
    assert holding(folder, SECRET)
    edited = await http.patch("/context/s/messages/x", json={"content": "We decided to say nothing of it."})
    assert edited.status_code == 200
    await purged(runtime, http, folder)
    assert (holding(folder, SECRET), holding(folder, HAN)) == ([], [])


async def test_after_a_rebuild_no_byte_of_the_folder_holds_the_vector_of_what_was_deleted(house):
    folder, runtime, http = house
    await http.post("/context/s/messages?wait_ms=30000", json=SAID[0])
    [chunk] = (await http.get(f"/context/s/messages/id-{SECRET}")).json()["chunks"]
    pending = PendingChunk(1, 1, 1, "default", Said("user", chunk["text"]), None)
    [batch] = Embedding(runtime.embedder).batches([pending], 1)
    part = (await Embedding(runtime.embedder).vectors(batch))[0].tobytes()[:64]

    def held():
        return [path.name for path in (folder / "chroma").rglob("*") if path.is_file() and part in path.read_bytes()]

    assert held()
    await http.delete(f"/context/s/messages/id-{SECRET}")
    await http.post("/reindex")
    await until(lambda: rebuilt(http))
    assert (await http.post("/purge")).json() == {"purged": True}
    assert held() == []
