"""Kill the server again and again, and see whether anything it acknowledged is lost, doubled or beyond recall.

    python -m bench.kills [--kills 300] [--sessions 6] [--seed 1]

Each round starts the server on the same data folder (embedder: `bench.standin`), checks all that was acknowledged before,
writes to every session at once (messages, edits, deletes, compactions, switches of mode), and kills it with SIGKILL: at a
random moment, or at a chosen point (`POINTS`). One writer a session knows what was acknowledged; what was on its way may be
there or not, but whole. The exit status is 1 if anything was wrong.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.progress import Progress

from bench.killable import Killable
from bench.machine import show
from bench.talk import Talk

POINTS = (
    "random",
    "after_transcript_commit",
    "embedder",
    "index",
    "index.written",
    "index.use",
    "summarizer",
)
LONGEST_ROUND_S = 1.2
ASKED = 4
"""Messages of each session that recall is asked for in each round."""
SETTLE_S = 60.0

Text = dict[str, str]


@dataclass
class Book:
    """What a session must hold: texts by id, in order of arrival; and what the write on its way may make of it."""

    name: str
    texts: Text = field(default_factory=dict)
    outcomes: list[Text] = field(default_factory=list)
    made: int = 0

    def expect(self, after: Text) -> None:
        """A write is on its way that makes this of it."""
        self.outcomes = [after]

    def acknowledged(self) -> None:
        """It is done."""
        [self.texts] = self.outcomes
        self.outcomes = []

    def faults(self, read: list[tuple[int, str, str]]) -> list[str]:
        """What is wrong with a transcript as it was read: (position, id, text). What is right is taken over."""
        found = {id: text for _, id, text in read}
        wrong = []
        if len(found) < len(read):
            wrong.append("doubled")
        if [position for position, _, _ in read] != sorted({position for position, _, _ in read}):
            wrong.append("order")
        if not any(list(found.items()) == list(outcome.items()) for outcome in (self.texts, *self.outcomes)):
            wrong.append("lost or changed")
        self.texts, self.outcomes = found, []
        return wrong


class Writer:
    """Works on one session until the server is gone."""

    def __init__(self, http: httpx.AsyncClient, book: Book, talk: Talk, rng: random.Random):
        self.http, self.book, self.talk, self.rng = http, book, talk, rng
        self.path = f"/context/{book.name}"

    async def run(self) -> None:
        """One write after another; returns when one was not answered."""
        with suppress(httpx.TransportError):
            while True:
                await self.rng.choices((self.append, self.edit, self.delete, self.other), (70, 8, 8, 14))[0]()

    async def append(self) -> None:
        said = list(self.talk.messages(self.rng.randint(1, 4)))
        for message in said:
            self.book.made += 1
            message["id"] = f"{self.book.name}-{self.book.made}"
        self.book.expect(self.book.texts | {message["id"]: message["content"] for message in said})
        await self.write("POST", "messages", json={"messages": said})

    async def edit(self) -> None:
        if not self.book.texts:
            return
        id = self.rng.choice(list(self.book.texts))
        [message] = self.talk.messages(1)
        self.book.expect(self.book.texts | {id: message["content"]})
        await self.write("PATCH", f"messages/{id}", json={"content": message["content"]})

    async def delete(self) -> None:
        if len(self.book.texts) < 5:
            return
        id = self.rng.choice(list(self.book.texts))
        self.book.expect({own: text for own, text in self.book.texts.items() if own != id})
        await self.write("DELETE", f"messages/{id}")

    async def other(self) -> None:
        """What changes no message."""
        what = self.rng.choice(("compact", "mode", "prompt"))
        if what == "compact":
            await self.http.post(f"{self.path}/compact", json={})
        elif what == "mode":
            mode = self.rng.choice(("hybrid", "window", "summary"))
            await self.http.post(f"{self.path}/mode", json={"mode": mode, "reason": "kills"})
        else:
            await self.http.get(f"{self.path}/prompt", params={"query": self.talk.question()})

    async def write(self, method: str, path: str, **options: Any) -> None:
        answer = await self.http.request(method, f"{self.path}/{path}", **options)
        assert answer.is_success, answer.text
        self.book.acknowledged()


async def check(http: httpx.AsyncClient, book: Book, rng: random.Random) -> list[str]:
    """What is wrong with a session of a server that has come to rest."""
    path, read, after = f"/context/{book.name}", [], 0
    while True:
        page = (await http.get(f"{path}/messages", params={"after": after, "limit": 1000})).json()
        read += [(m["position"], m["id"], m["content"]) for m in page.get("messages", ())]
        if not page.get("next"):
            break
        after = page["next"]
    wrong = book.faults(read)
    for id, text in rng.sample(list(book.texts.items()), min(ASKED, len(book.texts))):
        hits = (await http.get(f"{path}/recall", params={"query": text[:400], "k": 10})).json()["recall"]
        if not any(hit["message_id"] == id and hit["score"] is not None for hit in hits):
            wrong.append("beyond recall")
    listed = (await http.get(f"{path}/summaries", params={"limit": 1000})).json().get("summaries", [])
    if not all(summary["stale"] or summary["text"].strip() for summary in listed):
        wrong.append("blank summary")
    if [summary["version"] for summary in listed] != list(range(1, len(listed) + 1)):
        wrong.append("gap in summaries")
    return wrong


async def at_rest(http: httpx.AsyncClient) -> bool:
    """Wait until nothing waits for a vector; whether that came about."""
    for _ in range(int(SETTLE_S / 0.1)):
        state = (await http.get("/readyz")).json()
        if not state["pending_index"] and not state["degraded"]:
            return True
        await asyncio.sleep(0.1)
    return False


async def writing(address: str, books: list[Book], point: str, rng: random.Random, server: Killable) -> None:
    """Write to every session until the server is gone."""
    async with httpx.AsyncClient(base_url=address, timeout=30) as http:
        writers = [Writer(http, book, Talk(rng.randrange(10**6)), random.Random(rng.random())) for book in books]
        tasks = [asyncio.create_task(writer.run()) for writer in writers]
        await asyncio.sleep(rng.uniform(0.02, LONGEST_ROUND_S))
        if point != "random":
            with suppress(httpx.TransportError):
                await http.put("/_faults", json={point: "kill9"})
            await asyncio.wait(tasks, timeout=LONGEST_ROUND_S)
        server.kill()
        await asyncio.gather(*tasks)


async def checked(address: str, books: list[Book], rng: random.Random) -> Counter[str]:
    """What is wrong, counted."""
    wrong: Counter[str] = Counter()
    async with httpx.AsyncClient(base_url=address, timeout=60) as http:
        if not await at_rest(http):
            wrong["never at rest"] += 1
        for book in books:
            if book.texts or book.outcomes:
                wrong.update(await check(http, book, rng))
    return wrong


def rounds(folder: Path, kills: int, sessions: int, seed: int) -> tuple[Counter[str], Counter[str], list[Book]]:
    """Faults found, kills by point, and what the sessions hold in the end."""
    rng = random.Random(seed)
    books = [Book(f"s{n}") for n in range(sessions)]
    wrong, done = Counter[str](), Counter[str]()
    fingerprint = 0
    with Progress(disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("killing", total=kills)
        for number in range(kills + 1):
            point = POINTS[number % len(POINTS)]
            if point == "index.use" and number < kills:  # a new generation, and the kill comes while it is opened
                fingerprint += 1
                Killable(folder, f"f{fingerprint}", {point: "kill9"}).ended()
            else:
                server = Killable(folder, f"f{fingerprint}", {})
                server.answering()
                wrong += asyncio.run(checked(server.address, books, rng))
                if number < kills:
                    asyncio.run(writing(server.address, books, point, rng, server))
                server.kill()
            if number < kills:
                done[point] += 1
                progress.advance(task)
    return wrong, done, books


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--sessions", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong, done, books = rounds(Path(folder), options.kills, options.sessions, options.seed)
    show("kills", ("point", "kills"), [[point, count] for point, count in done.items()])
    messages, made = sum(len(book.texts) for book in books), sum(book.made for book in books)
    print(
        f"{sum(done.values())} kills, {made:,} messages written, {messages:,} held in the end; wrong: {dict(wrong) or 'nothing'}"
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
