"""ports.Summarizer for sessions that hold log events: what repeats is counted, errors stay, by `core.summary.events`."""

from memsrv.adapters.beside import beside
from memsrv.core.summary.events import events
from memsrv.core.summary.summary import Count, Summary, Task


class EventSummarizer:
    """Counts and groups; asks no model."""

    name = "events"

    def __init__(self, *, count: Count):
        self._count = count

    async def summarise(self, task: Task) -> Summary:
        """The new summary, in place of `task.previous`."""
        return await beside(events, task, count=self._count)

    async def close(self) -> None:
        """Nothing is open."""
