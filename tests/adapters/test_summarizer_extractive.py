"""The built-in summarizer with an embedder, without one, and of nothing worth keeping."""

from datetime import UTC, datetime, timedelta

import numpy as np

from memsrv.adapters.summarizer_extractive import ExtractiveSummarizer
from memsrv.core.summary import Heading, Line, Source, Summary, Task, rendered
from tests.fakes import HashingEmbedder, down

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


async def test_it_asks_the_embedder_what_is_central() -> None:
    embedder = HashingEmbedder()
    made = await ExtractiveSummarizer(embedder, count=letters).summarise(task(*DECISIONS))
    assert "Aurora" in rendered(made)
    assert embedder.calls


async def test_it_goes_on_without_an_embedder_that_is_down() -> None:
    embedder = HashingEmbedder()
    embedder.fail = down
    made = await ExtractiveSummarizer(embedder, count=letters).summarise(task(*DECISIONS))
    assert "Aurora" in rendered(made)
    assert "900" in rendered(made)


async def test_vectors_that_say_nothing_are_none() -> None:
    embedder = HashingEmbedder()
    embedder.spoil = lambda texts, vectors: np.full_like(vectors, np.nan)
    assert "Aurora" in rendered(await ExtractiveSummarizer(embedder, count=letters).summarise(task(*DECISIONS)))


async def test_of_a_talk_with_nothing_to_keep_the_last_words_stand() -> None:
    made = await ExtractiveSummarizer(HashingEmbedder(), count=letters).summarise(task("hm", "hm hm", "ok"))
    assert made.lines
    assert letters(rendered(made)) <= 200


async def test_the_last_words_are_cut_to_the_length() -> None:
    made = await ExtractiveSummarizer(HashingEmbedder(), count=letters).summarise(task("la " * 3000, most=40))
    assert made.lines
    assert letters(rendered(made)) <= 40


async def test_what_was_kept_before_is_kept() -> None:
    previous = Summary((Line(Heading.DECISIONS, "Hotel Aurora in Turin", 1, AT),))
    made = await ExtractiveSummarizer(HashingEmbedder(), count=letters).summarise(task("The weather is fine.", previous=previous))
    assert "Hotel Aurora in Turin" in rendered(made)
