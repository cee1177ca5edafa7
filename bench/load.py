"""Mixed load for as long as is asked: is anything lost, does memory stay flat, do the latencies drift?

    python -m bench.load [--minutes 60] [--writers 64] [--readers 8] [--embedder standin|bundled]

A real server on loopback. The writers write to one session together and each to one of its own: messages, edits, deletes,
compactions and switches of mode; the readers ask for prompts, recall and lists. A session that is full is compared with what
was acknowledged, then forgotten and made anew, so the data do not grow and flat memory is a fair demand; the server's caches
get small bounds for the same reason. The first `--settle` minutes, in which caches fill, are told but not judged.

The exit status is 1 on any 5xx or request without an answer, on any message that is lost, doubled or out of order, if `POST
/verify` finds anything, or if the memory of the last third is more than `MOST_GROWTH` times that of the first.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

from bench.crowd import Crowd, Own
from bench.machine import SERVER, STANDIN, Server, percentiles, server, show
from bench.talk import Talk

MOST_GROWTH = 1.1
SAMPLE_S = 5.0
SETTLED_S = 120.0
CACHES = {"MEMSRV_VECTOR_CACHE_MB": "16", "MEMSRV_LEXICAL_CACHE_MB": "16", "MEMSRV_LOG_LEVEL": "error"}
TOLD = ("post", "prompt", "recall", "list")
"""The kinds of requests that have columns of their own."""


@dataclass
class Load:
    """What is asked of the server, until the time is over or each writer has made so many `steps`, and how full a session
    becomes. `pause_s` is a client's mean rest between two requests."""

    seconds: float
    steps: int = sys.maxsize
    writers: int = 64
    readers: int = 8
    pause_s: float = 0.5
    own_most: int = 150
    crowd_most: int = 1500
    seed: int = 1


@dataclass
class Sample:
    """The server's process at a moment after the start."""

    at_s: float
    rss_mb: float
    threads: int
    files: int


@dataclass
class Report:
    """What came of it: latencies in ms by (kind, second), statuses by (kind, status), and what is wrong, counted."""

    spent: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    messages: int = 0
    sessions: int = 0


class Calls:
    """Requests that are timed and counted; `over` when no writer writes any more."""

    def __init__(self, http: httpx.AsyncClient, report: Report):
        self.http, self.report = http, report
        self.began = time.perf_counter()
        self.over = asyncio.Event()

    async def ask(self, kind: str, method: str, path: str, **options: Any) -> httpx.Response | None:
        """The answer; None if there was none."""
        began = time.perf_counter()
        try:
            answer = await self.http.request(method, path, **options)
        except httpx.TransportError as error:
            self.report.wrong[f"{kind}: {type(error).__name__}"] += 1
            return None
        now = time.perf_counter()
        self.report.spent[kind].append((now - self.began, (now - began) * 1000))
        self.report.statuses[kind, answer.status_code] += 1
        if answer.is_server_error:
            self.report.wrong[f"{kind}: {answer.status_code} {answer.json().get('code')}"] += 1
        return answer


async def writer(number: int, crowd: Crowd, calls: Calls, load: Load) -> Own:
    """Write to the crowd's session and to one's own in turn; what the own one must hold in the end."""
    rng, talk = random.Random(load.seed * 1000 + number), Talk(load.seed * 1000 + number)
    own = Own(f"own-{number}", calls, talk, rng, most=load.own_most)
    made = 0
    while made < load.steps and time.perf_counter() < calls.began + load.seconds:
        made += 1
        await asyncio.sleep(rng.uniform(0, 2 * load.pause_s))
        if rng.random() < 0.4:
            await crowd.post(number, list(talk.messages(rng.randint(1, 3))))
        else:
            await own.step()
    return own


async def reader(number: int, crowd: Crowd, calls: Calls, load: Load) -> None:
    """Ask for prompts, recall and lists, of every session."""
    rng, talk = random.Random(-1 - number), Talk(load.seed * 1000 + 500 + number)
    while not calls.over.is_set():
        await asyncio.sleep(rng.uniform(0, load.pause_s))
        session = crowd.name if rng.random() < 0.3 else f"own-{rng.randrange(load.writers)}"
        path = f"/context/{session}"
        kind = rng.choices(("prompt", "recall", "list"), (5, 2, 3))[0]
        if kind == "prompt":
            scope = rng.choice(("session", "session", "owner"))
            await calls.ask(kind, "GET", f"{path}/prompt", params={"query": talk.question(), "budget": 2000, "scope": scope})
        elif kind == "recall":
            await calls.ask(kind, "GET", f"{path}/recall", params={"query": talk.question(), "k": 20})
        else:
            listed = rng.choice((path, f"{path}/messages", f"{path}/summaries", f"{path}/receipts", "/context", "/metrics"))
            await calls.ask(kind, "GET", listed)


async def sampler(running: Server, calls: Calls) -> None:
    """Look at the server's process now and then, and tell each minute."""
    while not calls.over.is_set():
        now = Sample(time.perf_counter() - calls.began, running.rss_mb(), running.threads(), running.open_files())
        if calls.report.samples and now.at_s // 60 > calls.report.samples[-1].at_s // 60:
            asked = sum(calls.report.statuses.values())
            print(f"{now.at_s / 60:.0f} min: {asked:,} requests, {now.rss_mb:.0f} MB, {now.threads} threads", file=sys.stderr)
        calls.report.samples.append(now)
        with suppress(TimeoutError):
            await asyncio.wait_for(calls.over.wait(), SAMPLE_S)


async def loaded(running: Server, load: Load) -> Report:
    """Put the load on a server, then compare what it holds with what was acknowledged."""
    report = Report()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=str(running.http.base_url), timeout=60, limits=limits, trust_env=False) as http:
        calls = Calls(http, report)
        crowd = Crowd(calls, most=load.crowd_most)
        beside = asyncio.gather(sampler(running, calls), *(reader(n, crowd, calls, load) for n in range(load.readers)))
        owns = await asyncio.gather(*(writer(n, crowd, calls, load) for n in range(load.writers)))
        calls.over.set()
        await beside
        for own in owns:
            await own.check()
        await crowd.check()
        report.messages = crowd.posted + sum(own.posted for own in owns)
        report.sessions = crowd.filled + sum(own.filled for own in owns)
        await verified(calls)
    return report


async def verified(calls: Calls) -> None:
    """Wait until nothing waits for a vector, then let the server check itself."""
    deadline = time.monotonic() + SETTLED_S
    while (await calls.http.get("/readyz")).json()["pending_index"]:
        if time.monotonic() > deadline:
            calls.report.wrong["never at rest"] += 1
            return
        await asyncio.sleep(0.1)
    answer = (await calls.http.post("/verify", timeout=None)).json()
    for check in answer["checks"]:
        if check["wrong"]:
            calls.report.wrong[f"verify: {check['name']}"] += check["wrong"]


# --- what came of it --------------------------------------------------------------------------------------------------


def thirds(points: Sequence[tuple[float, float]], settle_s: float, seconds: float) -> tuple[float, float] | None:
    """The medians of the first and of the last third of (second, value) after `settle_s`; None if either is empty."""
    third = (seconds - settle_s) / 3
    first = [value for at, value in points if settle_s <= at < settle_s + third]
    last = [value for at, value in points if at >= seconds - third]
    return (float(np.median(first)), float(np.median(last))) if first and last else None


def by_minute(report: Report, seconds: float) -> list[list[object]]:
    """A row for each minute: requests a second, p50, p95 and p99 of each kind that is told, and the process."""
    rows: list[list[object]] = []
    for minute in range(max(1, round(seconds / 60))):

        def within(at: float, minute: int = minute) -> bool:
            return minute * 60 <= at < minute * 60 + 60

        spent = {kind: [ms for at, ms in points if within(at)] for kind, points in report.spent.items()}
        held = [sample for sample in report.samples if within(sample.at_s)]
        if not held:
            continue
        times = [
            "/".join(f"{value:.0f}" for value in percentiles(spent[kind]).values()) if spent.get(kind) else "-" for kind in TOLD
        ]
        rate = sum(map(len, spent.values())) / min(60.0, seconds - minute * 60)
        rows.append([minute + 1, rate, *times, float(np.mean([s.rss_mb for s in held])), held[-1].threads, held[-1].files])
    return rows


def growth(report: Report, settle_s: float, seconds: float) -> float:
    """Memory of the last third : the first; 1 if there is too little to tell."""
    found = thirds([(sample.at_s, sample.rss_mb) for sample in report.samples], settle_s, seconds)
    return found[1] / found[0] if found else 1.0


def tell(report: Report, load: Load, settle_s: float) -> bool:
    """Print it all; whether it is good."""
    columns = ("minute", "requests/s", *(f"{kind} p50/95/99 ms" for kind in TOLD), "RSS MB", "threads", "files")
    show(f"{load.writers} writers, {load.readers} readers", columns, by_minute(report, load.seconds))
    rows = []
    for kind, points in sorted(report.spent.items()):
        found = thirds(points, settle_s, load.seconds)
        statuses = {status: count for (own, status), count in sorted(report.statuses.items()) if own == kind}
        rows.append([kind, len(points), f"{found[1] / found[0]:.2f}" if found else "-", statuses])
    show("kinds of requests", ("", "requests", "p50, last third : first", "statuses"), rows)
    grown = growth(report, settle_s, load.seconds)
    print(f"{report.messages:,} messages acknowledged, {report.sessions:,} full sessions checked and forgotten")
    print(f"memory, last third : first third {grown:.3f} (at most {MOST_GROWTH}); wrong: {dict(report.wrong) or 'nothing'}")
    return not report.wrong and grown <= MOST_GROWTH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--settle", type=float, default=3, help="minutes that are not judged")
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--pause-ms", type=float, default=500)
    parser.add_argument("--own-most", type=int, default=150, help="messages of a writer's own session when it is full")
    parser.add_argument("--crowd-most", type=int, default=1500, help="messages of the common session when it is full")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--embedder", choices=("standin", "bundled"), default="standin")
    options = parser.parse_args()
    clients = {"writers": options.writers, "readers": options.readers, "pause_s": options.pause_ms / 1000}
    full = {"own_most": options.own_most, "crowd_most": options.crowd_most}
    load = Load(options.minutes * 60, **clients, **full, seed=options.seed)
    kind = STANDIN if options.embedder == "standin" else SERVER
    with server(kind, **CACHES) as running:
        report = asyncio.run(loaded(running, load))
    sys.exit(0 if tell(report, load, options.settle * 60) else 1)


if __name__ == "__main__":
    main()
