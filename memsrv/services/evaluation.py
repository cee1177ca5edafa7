"""Run a summarizer over dialogues as a compaction would, and score what it keeps.

(1) A summarizer sees a message once. Of what it saw before, it has its own last summary and nothing else.
(2) A talk is cut before a user message only.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby

import regex

from memsrv.core.summary.scoring import SENTENCE_END, Dialogue, Score, scored
from memsrv.core.summary.summary import Count, Heading, Language, Line, Source, Summary, Task, rendered
from memsrv.errors import SummarizerDown

Summarize = Callable[[Task], Awaitable[Summary]]
"""What writes a summary: the built-in summarizer, one with a model behind it, any other."""

STARTED_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
APART = timedelta(minutes=1)
HAN = regex.compile(r"\p{Han}")
LATIN_WORD = regex.compile(r"\p{Latin}+")


async def evaluated(
    dialogues: Iterable[Dialogue], summarize: Summarize, *, max_tokens: int, folds: int, count: Count
) -> AsyncIterator[Score]:
    """Scores in the order of the dialogues, each as soon as it is known."""
    for dialogue in dialogues:
        summary = await summarized(dialogue, summarize, max_tokens=max_tokens, folds=folds)
        yield scored(dialogue, summary, max_tokens=max_tokens, count=count)


async def summarized(dialogue: Dialogue, summarize: Summarize, *, max_tokens: int, folds: int) -> Summary:
    """The last of the summaries, each made of the one before and the next part of the talk."""
    language = written_in(dialogue)
    summary: Summary | None = None
    for part in parts(sources(dialogue), folds):
        summary = await summarize(Task(summary, part, max_tokens, language))
    return summary or Summary(language=language)


def sources(dialogue: Dialogue) -> tuple[Source, ...]:
    """The messages as a compaction hands them over, a minute apart."""
    return tuple(
        Source(position, said.role, said.name or said.role, STARTED_AT + position * APART, said.content)
        for position, said in enumerate(dialogue.messages, 1)
    )


def parts(said: Sequence[Source], folds: int) -> list[tuple[Source, ...]]:
    """At most `folds` parts of about as many messages each, see (2)."""
    begins = 0

    def part(source: Source) -> int:
        nonlocal begins
        if source.role == "user":
            begins = source.position - said[0].position
        return begins * folds // len(said)

    return [tuple(group) for _, group in groupby(said, part)]


def written_in(dialogue: Dialogue) -> Language:
    """The language that a summary should have: that of the larger part of the talk, a Han character weighing as much as
    half a word."""
    if dialogue.language in tuple(Language):
        return Language(dialogue.language)
    text = " ".join(message.content for message in dialogue.messages)
    return Language.CHINESE if len(HAN.findall(text)) > 2 * len(LATIN_WORD.findall(text)) else Language.ENGLISH


@dataclass
class Failing:
    """A summarizer that may be down, or not up to it: then the summary before stands. `failures` tells why, time by time."""

    summarize: Summarize
    failures: list[str] = field(default_factory=list)

    async def __call__(self, task: Task) -> Summary:
        """See `Summarize`."""
        try:
            return await self.summarize(task)
        except SummarizerDown as error:
            self.failures.append(error.message)
            return task.previous or Summary(language=task.language)


def newest(count: Count) -> Summarize:
    """The last sentences that fit, whatever they say: what is left of a talk that is cut and not summarised. Any summarizer
    is worth as much as it does better than this."""

    async def summarize(task: Task) -> Summary:
        kept: tuple[Line, ...] = task.previous.lines if task.previous else ()
        kept += tuple(Line(Heading.FACTS, text, said.position) for said in task.said for text in sentences(said.text))
        while count(rendered(Summary(kept, task.language))) > task.max_tokens:
            kept = kept[1:]
        return Summary(kept, task.language)

    return summarize


def sentences(text: str) -> list[str]:
    """Sentences without blanks around them."""
    return [sentence for part in SENTENCE_END.split(text) if (sentence := part.strip())]
