"""The built-in summarizer: of decisions, and of nothing worth keeping."""

from datetime import UTC, datetime, timedelta

from memsrv.adapters.summarizer_extractive import ExtractiveSummarizer
from memsrv.core.summary.summary import Heading, Line, Source, Summary, Task, rendered

AT = datetime(2026, 3, 1, tzinfo=UTC)
DECISIONS = (
    "We decided to book the hotel Aurora in Turin.",
    "We decided to take the train at 09:15.",
    "We decided on a budget of 900 euro.",
    "No flights, please.",
)


def letters(text: str) -> int:
    return -(-len(text) // 4)


def task(*texts: str, previous: Summary | None = None, most: int = 200) -> Task:
    said = tuple(Source(at, "user", "user", AT + timedelta(minutes=at), text) for at, text in enumerate(texts, 1))
    return Task(previous, said, most)


async def test_it_keeps_what_was_decided() -> None:
    made = await ExtractiveSummarizer(count=letters).summarise(task(*DECISIONS))
    assert "Aurora" in rendered(made)
    assert "900" in rendered(made)
    assert "No flights" in rendered(made)


async def test_of_a_talk_with_nothing_to_keep_the_last_words_stand() -> None:
    made = await ExtractiveSummarizer(count=letters).summarise(task("hm", "hm hm", "ok"))
    assert made.lines
    assert letters(rendered(made)) <= 200


async def test_the_last_words_are_cut_to_the_length() -> None:
    made = await ExtractiveSummarizer(count=letters).summarise(task("la " * 3000, most=40))
    assert made.lines
    assert letters(rendered(made)) <= 40


async def test_what_was_kept_before_is_kept() -> None:
    previous = Summary((Line(Heading.DECISIONS, "Hotel Aurora in Turin", 1, AT),))
    made = await ExtractiveSummarizer(count=letters).summarise(task("The weather is fine.", previous=previous))
    assert "Hotel Aurora in Turin" in rendered(made)
