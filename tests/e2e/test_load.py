"""Many at once: all is kept in order, who is too many is told so, and what is slow slows nothing else; `bench/load.py` is the
long form."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.crowd import Shared
from bench.killable import Killable
from bench.load import Load, Report, growth, loaded, thirds
from bench.load import Sample as At
from bench.machine import Server

WRITERS = 64
HOUR = "delay:3600000"
LATE = 8
"""Threads that their pools had no need of before."""

Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a server with these faults and settings; it is killed at the end."""
    running: list[tuple[Killable, httpx.Client]] = []

    def started(faults: dict[str, str] | None = None, **settings: Any) -> Server:
        one = Killable(tmp_path, "load", faults or {}, **settings)
        one.answering()
        running.append((one, httpx.Client(base_url=one.address, timeout=60, trust_env=False)))
        return Server(one.pid, running[-1][1], 0.0)

    yield started
    for one, http in running:
        http.close()
        one.kill()


def said(text: str, **fields: str) -> dict[str, str]:
    return {"role": "user", "content": text, **fields}


async def posted(running: Server, *requests: tuple[str, list[dict[str, str]]]) -> list[httpx.Response]:
    """The answers to posts that are made at once, (session, messages) each."""
    limits, address = httpx.Limits(max_connections=None), running.http.base_url
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits, trust_env=False) as http:
        posts = (http.post(f"/context/{session}/messages", json={"messages": messages}) for session, messages in requests)
        return await asyncio.gather(*posts)


def test_64_writers_of_one_session_leave_no_gap(start):
    running = start()
    requests = [("crowd", [said(f"{writer}-{n}", id=f"{writer}-{n}")]) for n in range(3) for writer in range(WRITERS)]
    answers = asyncio.run(posted(running, *requests))
    assert [answer.status_code for answer in answers] == [201] * len(requests)
    read = running.http.get("/context/crowd/messages", params={"limit": 1000}).json()["messages"]
    acknowledged = {stored["position"]: stored["id"] for answer in answers for stored in answer.json()["messages"]}
    assert [message["position"] for message in read] == list(range(1, len(requests) + 1))
    assert {message["position"]: message["id"] for message in read} == acknowledged


def test_mixed_load_loses_nothing_and_meets_no_server_error(start):
    report = asyncio.run(loaded(start(), Load(600, steps=5, writers=WRITERS, pause_s=0, own_most=4, crowd_most=40)))
    assert not report.wrong
    assert report.messages
    assert report.sessions
    assert {status for _, status in report.statuses} <= {200, 201, 404, 409}


def test_who_comes_when_too_many_wait_is_told_to_come_back_and_nothing_acknowledged_is_lost(start):
    running = start(max_waiting_writes=2)
    requests = [("busy", [said(f"text {n}", id=f"m{n}")]) for n in range(WRITERS)]
    answers = asyncio.run(posted(running, *requests))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert {answer.status_code for answer in answers} == {201, 429}
    assert {(answer.json()["code"], answer.headers["retry-after"]) for answer in refused} == {("too_many_waiting", "1")}
    acknowledged = {answer.json()["messages"][0]["id"] for answer in answers if answer.status_code == 201}
    read = running.http.get("/context/busy/messages", params={"limit": 100}).json()["messages"]
    assert {message["id"] for message in read} == acknowledged
    assert running.http.post("/context/busy/messages", json=said("Now there is room.")).status_code == 201


@pytest.mark.parametrize("slow", ["summarizer", "embedder", "index"])
def test_what_is_slow_slows_no_post_and_no_read(start, slow):
    running = start({slow: HOUR}, window_size=4, window_keep=2)
    talk = [said(f"The lamp of room {n} is green.") for n in range(6)]
    answers = asyncio.run(posted(running, *((f"s{n % 8}", talk) for n in range(WRITERS))))
    assert [answer.status_code for answer in answers] == [201] * WRITERS
    prompts = [running.http.get(f"/context/s{n}/prompt", params={"mode": "window"}).json() for n in range(8)]
    assert all("The lamp of room 5 is green." in prompt["messages"][-1]["content"] for prompt in prompts)
    state = running.http.get("/context/s0").json()
    assert state["messages"] == 6 * WRITERS // 8
    undone = state["summary"] is None if slow == "summarizer" else state["pending_index"] > 0
    assert undone, "the slow part has not come to an end meanwhile"


def test_a_burst_of_messages_leaves_no_thread_behind(start):
    running = start()

    def burst(messages: int) -> int:
        batch = [said(f"remark {n}") for n in range(messages)]
        answers = asyncio.run(posted(running, *((f"s{n}", batch) for n in range(WRITERS))))
        assert {answer.status_code for answer in answers} == {201}
        return running.threads()

    before = burst(10)
    assert burst(160) <= before + LATE


# --- what is wrong is seen --------------------------------------------------------------------------------------------


def test_a_gap_a_loss_and_a_wrong_order_are_seen():
    shared = Shared("s", {1: ("0-1", "a"), 2: ("0-2", "b")})
    assert shared.faults([(1, "0-1", "a"), (2, "0-2", "b")]) == []
    assert shared.faults([(1, "0-1", "a")]) == ["lost or changed"]
    assert shared.faults([(1, "0-1", "a"), (3, "0-2", "b")]) == ["gap", "lost or changed"]
    assert shared.faults([(1, "0-2", "b"), (2, "0-1", "a")]) == ["lost or changed", "order"]
    assert shared.faults([(1, "0-1", "a"), (2, "0-1", "a")]) == ["lost or changed", "doubled"]


def test_memory_that_grows_is_seen_and_what_comes_before_is_left_out():
    assert thirds([(at, at) for at in range(100)], 10, 100) == (24.5, 84.5)
    assert thirds([(1, 1.0)], 10, 100) is None
    grows = Report(samples=[At(at, 100 + at, 1, 1) for at in range(100)])
    flat = Report(samples=[At(at, 300 if at < 10 else 100, 1, 1) for at in range(100)])
    assert growth(grows, 10, 100) == pytest.approx(184.5 / 124.5)
    assert growth(flat, 10, 100) == 1
