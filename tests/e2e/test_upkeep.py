"""`memsrv reindex`, `verify`, `purge`, `backup` and `restore`, beside a running server and without one."""

import json
import signal
import sqlite3

from tests.command import memsrv
from tests.patience import wait_until

TALK = [{"role": ("user", "assistant")[n % 2], "content": f"Remark {n}: the ferry leaves at {n}."} for n in range(20)]


def content(server):
    read = server.http.get("/context/s/messages", params={"limit": 100}).json()["messages"]
    return [(one["position"], one["content"]) for one in read]


def test_a_running_server_is_rebuilt_verified_backed_up_and_comes_back_from_it(serve, tmp_path):
    server = serve()
    assert server.http.post("/context/s/messages?wait_ms=30000", json={"messages": TALK}).status_code == 201
    rebuilt = memsrv("reindex", "--json", "--url", server.address)
    assert rebuilt.returncode == 0
    assert json.loads(rebuilt.stdout)["left"] == 0
    verified = memsrv("verify", "--url", server.address)
    assert verified.returncode == 0
    assert "chunks without their vector" in verified.stdout
    backed_up = memsrv("backup", str(tmp_path / "b.zip"), "--json", "--data-dir", str(tmp_path / "data"))
    assert json.loads(backed_up.stdout)["messages"] == 20
    before = content(server)
    refused = memsrv("restore", str(tmp_path / "b.zip"), "--force", "--data-dir", str(tmp_path / "data"))
    assert (refused.returncode, refused.stderr.count("\n")) == (3, 1)
    server.kill()
    (tmp_path / "data" / "memsrv.sqlite3").write_bytes(b"")
    assert memsrv("restore", str(tmp_path / "b.zip"), "--data-dir", str(tmp_path / "data")).returncode == 2
    restored = memsrv("restore", str(tmp_path / "b.zip"), "--force", "--data-dir", str(tmp_path / "data"))
    assert (restored.returncode, f"restored into {tmp_path / 'data'}: " in restored.stdout) == (0, True)
    again = serve()
    assert content(again) == before
    wait_until(lambda: again.http.get("/readyz").json()["status"] == "ok")
    hits = again.http.get("/context/s/recall", params={"query": "when does ferry 7 leave?", "k": 3}).json()
    assert hits["degraded"] == []
    assert hits["recall"][0]["score"] is not None


def test_a_folder_whose_vectors_are_not_made_yet_says_how_many_wait(serve, tmp_path):
    silent = {"MEMSRV_EMBEDDER": "openai", "MEMSRV_EMBEDDER_URL": "http://127.0.0.1:9/v1", "MEMSRV_EMBEDDER_MODEL": "none"}
    server = serve(MEMSRV_SUMMARY_ENABLED="false", **silent)
    server.http.post("/context/s/messages", json={"messages": TALK})
    told = server.http.post("/verify").json()
    assert (told["good"], told["waiting"]) == (True, 20)
    assert "20 messages wait for their vectors" in memsrv("verify", "--url", server.address).stdout


def test_a_stopped_folder_is_verified_mended_rebuilt_and_purged(serve, tmp_path):
    server, folder = serve(), tmp_path / "data"
    server.http.post("/context/s/messages?wait_ms=30000", json={"messages": TALK})
    server.stop(signal.SIGTERM)
    with sqlite3.connect(folder / "memsrv.sqlite3") as database:
        database.execute("UPDATE chunks SET text = 'wrong' WHERE number = 3")
    database.close()
    assert memsrv("verify", "--data-dir", str(folder)).returncode == 1
    mended = json.loads(memsrv("verify", "--fix", "--json", "--data-dir", str(folder)).stdout)
    assert {"name": "messages_with_other_chunks", "wrong": 1, "mended": True} in mended["checks"]
    rebuilt = json.loads(memsrv("reindex", "--json", "--data-dir", str(folder)).stdout)
    assert (rebuilt["left"], rebuilt["running"]) == (0, False)
    assert rebuilt["messages"] >= 20  # passages count too, if the summary was made before the stop
    assert memsrv("verify", "--data-dir", str(folder)).returncode == 0
    assert memsrv("purge", "--data-dir", str(folder)).returncode == 0
