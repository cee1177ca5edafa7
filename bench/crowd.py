"""Writers who know what they wrote: sessions that are filled, compared with what was acknowledged, forgotten and made anew."""

import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from bench.kills import Book
from bench.talk import Talk

OWNERS = 8
Read = list[tuple[int, str, str]]
"""Positions, ids and texts of a transcript."""


class Asking(Protocol):
    """Timed requests, and a place for what is wrong."""

    report: Any

    async def ask(self, kind: str, method: str, path: str, **options: Any) -> httpx.Response | None:
        """The answer; None if there was none."""
        ...


async def read_all(calls: Asking, session: str) -> Read:
    """A session's transcript, page by page."""
    read: Read = []
    after = 0
    while True:
        answer = await calls.ask("check", "GET", f"/context/{session}/messages", params={"after": after, "limit": 1000})
        page = answer.json() if answer is not None and answer.is_success else {}
        read += [(m["position"], m["id"], m["content"]) for m in page.get("messages", ())]
        if not page.get("next"):
            return read
        after = page["next"]


class Own:
    """A session with one writer."""

    def __init__(self, name: str, calls: Asking, talk: Talk, rng: random.Random, *, most: int):
        self.name, self.calls, self.talk, self.rng, self.most = name, calls, talk, rng, most
        self.path = f"/context/{name}"
        self.book = Book(name)
        self.posted = self.filled = 0
        self.unsure = False

    async def step(self) -> None:
        """Do something to it."""
        if len(self.book.texts) >= self.most:
            await self.check()
            await self.calls.ask("forget", "DELETE", self.path)
            self.book.texts, self.filled = {}, self.filled + 1
        elif not self.book.texts:
            await self.calls.ask("settings", "PUT", self.path, json={"owner": f"owner-{self.rng.randrange(OWNERS)}"})
            await self.append()
        else:
            await self.rng.choices((self.append, self.edit, self.delete, self.other), (80, 6, 6, 8))[0]()

    async def append(self) -> None:
        said = list(self.talk.messages(self.rng.randint(1, 4)))
        for message in said:
            self.book.made += 1
            message["id"] = f"{self.name}-{self.book.made}"
        after = self.book.texts | {message["id"]: message["content"] for message in said}
        if await self.write("post", "POST", "messages", after, json={"messages": said}):
            self.posted += len(said)

    async def edit(self) -> None:
        id = self.rng.choice(list(self.book.texts))
        [message] = self.talk.messages(1)
        after = self.book.texts | {id: message["content"]}
        await self.write("edit", "PATCH", f"messages/{id}", after, json={"content": message["content"]})

    async def delete(self) -> None:
        if len(self.book.texts) > 5:
            id = self.rng.choice(list(self.book.texts))
            after = {own: text for own, text in self.book.texts.items() if own != id}
            await self.write("delete", "DELETE", f"messages/{id}", after)

    async def other(self) -> None:
        """What changes no message."""
        if self.rng.random() < 0.5:
            await self.calls.ask("compact", "POST", f"{self.path}/compact", json={})
        else:
            mode = self.rng.choice(("hybrid", "window", "summary"))
            await self.calls.ask("mode", "POST", f"{self.path}/mode", json={"mode": mode, "reason": "load"})

    async def write(self, kind: str, method: str, path: str, after: dict[str, str], **options: Any) -> bool:
        """Whether it was acknowledged, and so the session holds this now. What was refused changed nothing."""
        self.book.expect(after)
        answer = await self.calls.ask(kind, method, f"{self.path}/{path}", **options)
        if answer is not None and answer.is_success:
            self.book.acknowledged()
            return True
        self.book.outcomes = []
        self.unsure = self.unsure or answer is None  # told as wrong already; it may have been done or not
        return False

    async def check(self) -> None:
        """Compare it with what was acknowledged."""
        faults = self.book.faults(await read_all(self.calls, self.name))
        self.calls.report.wrong.update(fault for fault in faults if not (self.unsure and fault == "lost or changed"))
        self.unsure = False


@dataclass
class Shared:
    """A session that all write to: what was acknowledged by position, ids that got no answer and may be there or not, and how
    many writes are on their way."""

    name: str
    held: dict[int, tuple[str, str]] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    begun: int = 0
    writers: int = 0

    def faults(self, read: Read) -> list[str]:
        """What is wrong with its transcript as it was read."""
        wrong = []
        if [position for position, _, _ in read] != list(range(1, len(read) + 1)):
            wrong.append("gap")
        if {position: (id, text) for position, id, text in read if id not in self.unsure} != self.held:
            wrong.append("lost or changed")
        made: dict[str, list[int]] = defaultdict(list)
        for _, id, _ in read:
            writer, _, number = id.partition("-")
            made[writer].append(int(number))
        if any(numbers != sorted(numbers) for numbers in made.values()):
            wrong.append("order")
        if len({id for _, id, _ in read}) < len(read):
            wrong.append("doubled")
        return wrong


class Crowd:
    """The session that all write to at the moment; one that is full is checked and forgotten when the last has written."""

    def __init__(self, calls: Asking, *, most: int):
        self.calls, self.most = calls, most
        self.posted = self.filled = 0
        self._made: dict[int, int] = defaultdict(int)
        self._now = Shared("crowd-0")

    @property
    def name(self) -> str:
        """The session's name."""
        return self._now.name

    async def post(self, writer: int, said: list[dict[str, Any]]) -> None:
        """Messages of one writer, who waits for the answer before the next."""
        if self._now.begun >= self.most:
            full, self._now = self._now, Shared(f"crowd-{self.filled + 1}")
            self.filled += 1
            if not full.writers:  # or else the last of them leaves it
                await self.leave(full)
        shared = self._now
        for message in said:
            self._made[writer] += 1
            message["id"] = f"{writer}-{self._made[writer]}"
        shared.begun += len(said)
        shared.writers += 1
        answer = await self.calls.ask("post", "POST", f"/context/{shared.name}/messages", json={"messages": said})
        shared.writers -= 1
        if answer is not None and answer.is_success:
            self.take(shared, said, answer.json()["messages"])
        elif answer is None:
            shared.unsure.update(message["id"] for message in said)
        if shared is not self._now and not shared.writers:
            await self.leave(shared)

    def take(self, shared: Shared, said: list[dict[str, Any]], stored: list[dict[str, Any]]) -> None:
        """Note what was acknowledged."""
        self.posted += len(said)
        for message, place in zip(said, stored, strict=True):
            if place["position"] in shared.held:
                self.calls.report.wrong["doubled"] += 1
            shared.held[place["position"]] = (message["id"], message["content"])

    async def leave(self, shared: Shared) -> None:
        """Check and forget a session that is full."""
        self.calls.report.wrong.update(shared.faults(await read_all(self.calls, shared.name)))
        await self.calls.ask("forget", "DELETE", f"/context/{shared.name}")

    async def check(self) -> None:
        """Compare the session with what was acknowledged."""
        self.calls.report.wrong.update(self._now.faults(await read_all(self.calls, self.name)))
