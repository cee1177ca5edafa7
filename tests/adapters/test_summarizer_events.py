"""The summarizer of event sessions."""

from datetime import UTC, datetime

from memsrv.adapters.summarizer_events import EventSummarizer
from memsrv.core.summary.summary import Heading, Source, Task, rendered

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def letters(text: str) -> int:
    return -(-len(text) // 4)


async def test_it_folds_windows_of_events_and_keeps_the_errors() -> None:
    summarizer = EventSummarizer(count=letters)
    said = tuple(Source(at, "user", "user", AT, f"ERROR db: refused {at}" if at == 3 else f"tick {at}") for at in range(1, 21))
    first = await summarizer.summarise(Task(None, said[:10], 60))
    second = await summarizer.summarise(Task(first, said[10:], 60))
    assert [line.text for line in second.under(Heading.QUESTIONS)] == ["2026-03-01T09:30:00Z ERROR db: refused 3"]
    assert [line.text for line in second.under(Heading.FACTS)] == ["2026-03-01T09:30:00Z tick * (×19, last 09:30:00Z)"]
    assert letters(rendered(second)) <= 60
    assert summarizer.name == "events"
    await summarizer.close()
