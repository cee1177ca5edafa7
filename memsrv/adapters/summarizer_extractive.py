"""ports.Summarizer without any model: what was said, word for word, chosen by `core.extract`."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import TimeoutError as NotInTime

import numpy as np
import structlog

from memsrv.core.extract import extract
from memsrv.core.summary import Count, Heading, Line, Summary, Task
from memsrv.errors import EmbedderDown
from memsrv.ports import Embedder

VECTORS_WAIT_S = 30.0

log = structlog.get_logger()


class ExtractiveSummarizer:
    """The built-in summarizer. The embedder's vectors tell what is central and what repeats; without them it goes by words."""

    name = "built-in"

    def __init__(self, embedder: Embedder, *, count: Count):
        self._embedder = embedder
        self._count = count

    async def summarise(self, task: Task) -> Summary:
        """The new summary, in place of `task.previous`."""
        loop = asyncio.get_running_loop()

        def vectors(texts: Sequence[str]) -> np.ndarray:
            asked = asyncio.run_coroutine_threadsafe(self._vectors(texts), loop)
            return asked.result(VECTORS_WAIT_S)

        def made() -> Summary:
            try:
                found = extract(task, count=self._count, vectors=vectors)
            except (EmbedderDown, NotInTime) as error:
                log.info("summarised without vectors", reason=type(error).__name__)
                found = extract(task, count=self._count)
            return found if found.lines else Summary(tuple(newest(task, self._count)), task.language)

        return await asyncio.to_thread(made)

    async def close(self) -> None:
        """Nothing: the embedder belongs to whoever opened it."""

    async def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        """A unit row for each text. Raises EmbedderDown, also for rows that say nothing."""
        rows = await self._embedder.passages(texts)
        if len(rows) != len(texts) or not np.isfinite(rows).all():
            raise EmbedderDown("The embedder answered no vectors that can be used.")
        return rows


def newest(task: Task, count: Count) -> Iterator[Line]:
    """Where a talk of which nothing is worth keeping stands: what the user said last, or whoever did."""
    said = [source for source in task.said if source.role == "user"] or list(task.said)
    for source in reversed(said):
        text = " ".join(source.text.split())
        while text and count(text) > task.max_tokens // 2:
            text = text[: len(text) * 2 // 3].rstrip()
        if text:
            yield Line(Heading.STATE, text, source.position, source.sent_at)
            return
