"""An indexer over small stores, which can be stopped and started."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from memsrv.errors import EmbedderDown
from memsrv.services.indexer import Indexer
from memsrv.services.lull import Lull
from tests.fakes import HashingEmbedder, MemoryQueue, MemoryVectors
from tests.patience import until


class World:
    """A queue, an index and an embedder, with an indexer that can be stopped and started."""

    def __init__(self) -> None:
        self.queue = MemoryQueue()
        self.index = MemoryVectors()
        self.embedder = HashingEmbedder()
        self.batch = 4
        self.window = 256
        self.most_removed = 20_000
        self.lull = Lull()
        self.indexer = self.made()

    def made(self) -> Indexer:
        waits = {"backoff_s": 0.001, "max_backoff_s": 0.002, "poll_s": 5}
        own = {"batch": self.batch, "attempts": 3, "most_removed": self.most_removed}
        return Indexer(self.queue, self.index, self.embedder, **own, **waits, window=self.window, lull=self.lull)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Indexer]:
        self.indexer = self.made()
        self.indexer.start()
        try:
            yield self.indexer
        finally:
            await self.indexer.close()

    async def all_indexed(self) -> None:
        await until(lambda: all(not message.unmarked or message.set_aside for message in self.queue.waiting.values()))


def refuses(word: str, *, poison: bool) -> Callable[[Sequence[str]], None]:
    """An embedder that fails on each call with this word in it."""

    def fail(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise EmbedderDown("It failed.", poison=poison)

    return fail
