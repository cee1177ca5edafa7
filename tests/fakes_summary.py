"""Small real summarizers, and snapshots to store."""

import asyncio
from collections.abc import Callable

from memsrv.core.summary.summary import Heading, Line, Summary, Task
from memsrv.errors import SummarizerDown
from memsrv.model import NewSnapshot, Trigger


def snapshot(text: str, covers_upto: int, *, base: int = 0, rewrites: int = 0) -> NewSnapshot:
    """A snapshot about to be stored, of one line."""
    summary = Summary((Line(Heading.FACTS, text, covers_upto),))
    return NewSnapshot(base, 1, covers_upto, summary, text, "by hand", Trigger.MESSAGES, rewrites)


class Listing:
    """A summarizer that tells everything, a line for each message. `fail` is asked before each call and may raise; `gate`, if
    there is one, is waited for; while it is `blank` it tells nothing."""

    def __init__(self, name: str = "listing"):
        self.name = name
        self.tasks: list[Task] = []
        self.running = self.most_running = 0
        self.fail: Callable[[Task], None] = lambda task: None
        self.gate: asyncio.Event | None = None
        self.blank = False

    async def summarise(self, task: Task) -> Summary:
        self.tasks.append(task)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(0)
            if self.gate is not None:
                await self.gate.wait()
            self.fail(task)
        finally:
            self.running -= 1
        if self.blank:
            return Summary((), task.language)
        before = task.previous.lines if task.previous else ()
        said = tuple(Line(Heading.FACTS, source.text, source.position, source.sent_at) for source in task.said)
        return Summary((*before, *said), task.language)

    async def close(self) -> None:
        pass


def down(_: Task) -> None:
    """For `Listing.fail`: it answers nobody."""
    raise SummarizerDown("It is down.")
