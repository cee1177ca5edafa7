"""Embed a question while it is being stored: recall, which comes later, finds its vector done or on its way.

(1) Whoever asks for a text that was begun gets that very answer, or its error; any other text is embedded as ever.
(2) What was begun is kept no longer than the request that began it, asked for or not; who waits for it then still gets it.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from memsrv.model import CosineScale
from memsrv.ports import Embedder


class Ahead:
    """ports.Embedder with queries that are begun ahead."""

    def __init__(self, embedder: Embedder):
        self._embedder = embedder
        self._begun: dict[str, asyncio.Task[np.ndarray]] = {}
        self._running: set[asyncio.Task[np.ndarray]] = set()

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int | None:
        return self._embedder.dimension

    @property
    def cosine_scale(self) -> CosineScale | None:
        return self._embedder.cosine_scale

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """See `ports.Embedder`."""
        return await self._embedder.passages(texts)

    async def close(self) -> None:
        await self._embedder.close()

    async def query(self, text: str) -> np.ndarray:
        """See `ports.Embedder`."""
        if (task := self._begun.get(text)) is not None:
            return await asyncio.shield(task)
        return await self._embedder.query(text)

    @contextmanager
    def request(self) -> Iterator[Callable[[str], None]]:
        """Inside, what is given begins to be embedded, if it says anything."""
        own: list[str] = []

        def begin(text: str) -> None:
            if text.strip() and text not in self._begun:
                own.append(text)
                self._begun[text] = task = asyncio.create_task(self._embedder.query(text))
                self._running.add(task)
                task.add_done_callback(self._heard)

        try:
            yield begin
        finally:
            for text in own:
                del self._begun[text]

    def _heard(self, task: asyncio.Task[np.ndarray]) -> None:
        """Take note of how it ended, for nobody may ask."""
        self._running.discard(task)
        if not task.cancelled():
            task.exception()
