"""A data folder with a compaction over the real store, which can be stopped and started."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memsrv.adapters.database import Database
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.snapshots_sql import SqlCompactions, SqlSnapshots
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.core.prompt.policy import Defaults
from memsrv.core.summary.summary import Count, Summary, Task
from memsrv.model import NewMessage, SessionKey, Snapshot
from memsrv.services.compaction import Compaction
from memsrv.services.deriving import Deriver
from memsrv.services.writing import SummaryWriter
from tests.fakes_prompt import LetterCounter
from tests.fakes_summary import Listing
from tests.patience import until

KEY = SessionKey("acme", "talk")
LONG = Defaults(summary_tokens=100_000, summary_input_tokens=10**7, budget_tokens=10**7)


async def trusting(summary: Summary, task: Task, count: Count) -> tuple[Summary | None, Sequence[dict[str, Any]]]:
    return summary, ()


def new(text: str, role: str = "user", id: str | None = None) -> NewMessage:
    return NewMessage(id, {"role": role, "content": text}, None, None, text, ())


class House:
    """A data folder with a compaction over it, which can be stopped and started."""

    def __init__(self, folder: Path, *, defaults: Defaults = LONG, tries: int = 3):
        self.folder, self.defaults, self.tries = folder, defaults, tries
        self.listing = Listing()
        self.said = 0

    async def open(self, *, start: bool = True) -> "House":
        self.database = await Database.open(self.folder)
        self.transcript, self.sessions = SqlTranscript(self.database), SqlSessions(self.database)
        self.snapshots, self.compactions = SqlSnapshots(self.database), SqlCompactions(self.database)
        writer = SummaryWriter(self.listing, trusting, LetterCounter())
        parts = (self.transcript, self.sessions, self.snapshots, self.compactions, writer, LetterCounter(), self.defaults)
        self.deriver = Deriver(*parts, terms=str.split, wake_indexer=lambda: None)
        self.compaction = Compaction(self.deriver, self.sessions, self.compactions, tries=self.tries)
        if start:
            self.compaction.start()
        return self

    async def close(self, grace_s: float = 3.0) -> None:
        await self.compaction.close(grace_s)
        await self.database.close()

    async def say(self, count: int, key: SessionKey = KEY, *, notify: bool = True) -> None:
        """So many messages in one append, user and assistant in turn."""
        texts = [f"message {self.said + at}" for at in range(1, count + 1)]
        roles = [("user", "assistant")[(self.said + at) % 2] for at in range(count)]
        self.said += count
        messages = [new(text, role, text.replace(" ", "")) for text, role in zip(texts, roles, strict=True)]
        appended = await self.transcript.append(key, messages)
        if notify:
            self.compaction.notify(appended.session, messages)

    async def settled(self) -> list[Snapshot]:
        """The snapshots, when nothing is being done any more."""
        await until(lambda: self.compaction.idle)
        session = await self.sessions.find(KEY)
        return await self.snapshots.listing(session.number, limit=1000)

    async def until_made(self, least: int = 1) -> list[Snapshot]:
        """The snapshots, when there are so many."""

        async def enough() -> list[Snapshot]:
            made = await self.settled()
            return made if len(made) >= least else []

        made: list[Snapshot] = await until(enough)
        return made

    async def number(self) -> int:
        return (await self.sessions.find(KEY)).number


def told(snapshot: Snapshot) -> list[int]:
    """Which messages a snapshot of the listing summarizer tells, by their numbers."""
    assert snapshot.summary is not None
    return [int(line.text.split()[1]) for line in snapshot.summary.lines]
