"""The real server where its surroundings fail it: the disk, the clock, a stop in the midst of work."""

import contextlib
import itertools
import os
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.adapters.upstream_server import Say, UpstreamServer
from tests.command import memsrv
from tests.served import Served

YEAR_US = 365 * 24 * 3600 * 1_000_000
WRITERS = 8
PIECE = b"\0" * 65_536


def mounted(*options: str) -> bool:
    """Whether a mount was made; only root may, and not everywhere."""
    return os.geteuid() == 0 and subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of 400 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mounted("-t", "tmpfs", "-o", "size=400m", "tmpfs", str(folder)):
        pytest.skip("a disk of its own cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(file: Path) -> None:
    """Write a file until its disk is full."""
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as ballast:
        while ballast.write(PIECE):
            pass


def said(n):
    return {"role": "user", "content": f"fact {n}: drawer {n}"}


def transcript(server, session="s"):
    read = server.http.get(f"/context/{session}/messages", params={"limit": 1000}).json()["messages"]
    return [(one["position"], one["content"]) for one in read]


def test_a_full_disk_refuses_writes_and_loses_nothing_and_with_room_it_goes_on(small_disk):
    server = Served(small_disk / "data")
    taken = []
    try:
        server.http.post("/context/s/messages?wait_ms=30000", json=said(0))
        fill(small_disk / "ballast")
        for n in itertools.count(1):
            answer = server.http.post("/context/s/messages", json=said(n))
            if answer.status_code != 201:
                break
            taken.append(n)
        assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
        assert [position for position, _ in transcript(server)] == [1, *(n + 1 for n in taken)]
        assert server.http.get("/context/s/prompt", params={"query": "drawer"}).status_code == 200
        (small_disk / "ballast").unlink()
        assert server.http.post("/context/s/messages", json=said("last")).status_code == 201
    finally:
        server.kill()
    again = Served(small_disk / "data")
    try:
        expected = [said(n)["content"] for n in (0, *taken, "last")]
        assert transcript(again) == list(enumerate(expected, 1))
        again.wait_indexed("s")
    finally:
        again.stop()


def test_a_folder_that_cannot_be_written_is_told_in_one_line_and_left_alone(serve, tmp_path):
    server = serve()
    server.http.post("/context/s/messages", json=said(0))
    server.stop()
    locked = tmp_path / "locked"
    locked.mkdir()
    if not mounted("--bind", "-o", "ro", str(tmp_path / "data"), str(locked)):
        pytest.skip("a folder cannot be mounted read-only here")
    try:
        done = memsrv("serve", "--port", "0", "--data-dir", locked)
    finally:
        subprocess.run(["umount", str(locked)], check=True)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("memsrv: ")
    assert "--data-dir" in done.stderr
    assert transcript(serve()) == [(1, "fact 0: drawer 0")]


def test_a_clock_that_went_back_changes_no_order(serve, tmp_path):
    """What was stored while the clock was a year ahead stays before what is stored now."""
    server = serve(MEMSRV_SUMMARY_ENABLED="false")
    server.http.post("/context/s/messages?wait_ms=30000", json={"messages": [said(n) for n in range(3)]})
    server.stop()
    with sqlite3.connect(tmp_path / "data" / "memsrv.sqlite3") as database:
        database.execute("UPDATE messages SET stored_at = stored_at + ?, sent_at = sent_at + ?", (YEAR_US, YEAR_US))
    database.close()
    again = serve(MEMSRV_SUMMARY_ENABLED="false")
    for n in range(3, 6):
        assert again.http.post("/context/s/messages?wait_ms=30000", json=said(n)).status_code == 201
    assert transcript(again) == [(n + 1, said(n)["content"]) for n in range(6)]
    shown = again.http.get("/context/s/prompt", params={"query": "Which drawer?"}).json()["messages"]
    assert [one["content"] for one in shown if one["role"] == "user"] == [said(n)["content"] for n in range(6)]
    hits = again.http.get("/context/s/recall", params={"query": "fact 4: drawer 4"}).json()["recall"]
    assert hits[0]["text"] == "fact 4: drawer 4"


def test_a_stop_under_load_loses_nothing_that_was_acknowledged(serve):
    server = serve()
    acknowledged, some = set[str](), threading.Event()

    def write(writer: int) -> None:
        with httpx.Client(base_url=server.address, timeout=60, trust_env=False) as http:
            for n in itertools.count():
                text = f"{writer}-{n}"
                try:
                    answer = http.post("/context/s/messages", json={"role": "user", "content": text})
                except httpx.HTTPError:
                    return
                assert answer.status_code == 201
                acknowledged.add(text)
                if n == 5:
                    some.set()

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for one in writers:
        one.start()
    assert some.wait(60)
    assert server.stop(signal.SIGTERM) == 0
    for one in writers:
        one.join()
    stored = transcript(serve())
    assert acknowledged <= {text for _, text in stored}
    assert [position for position, _ in stored] == list(range(1, len(stored) + 1))
    assert len({text for _, text in stored}) == len(stored)


def test_an_answer_that_never_ends_does_not_hold_up_a_stop(serve):
    upstream, asked, over = UpstreamServer(), threading.Event(), threading.Event()
    upstream.script = [Say(["Half an answer", asked.set, lambda: over.wait(60)])]
    server = serve(MEMSRV_UPSTREAM_URL=upstream.url, MEMSRV_UPSTREAM_MODEL="small")
    body = {"messages": [{"role": "user", "content": "Tell me all."}], "stream": True}
    with server.http.stream("POST", "/v1/chat/completions", json=body, headers={"x-memory-session": "s"}) as answer:
        pieces = answer.iter_bytes()
        next(pieces)
        assert asked.wait(30)
        assert server.stop(signal.SIGTERM) == 0
    over.set()
    upstream.close()
    assert transcript(serve()) == [(1, "Tell me all."), (2, "Half an answer")]
