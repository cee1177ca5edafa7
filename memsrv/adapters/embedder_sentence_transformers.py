"""Any model of sentence-transformers, by name or by path.

One thread serves the model: its tokenizer must not be used by two at once. Passages go in small batches, so that a query
waits for one of them at most.
"""

import asyncio
import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from memsrv.core.text.cleaning import clean
from memsrv.errors import EmbedderDown, SettingsError

MAX_CHARS = 20_000
"""The model itself cuts at its `max_seq_length` tokens; this bounds the time of its tokenizer."""
BATCH = 16
FAILURES = (RuntimeError, ValueError, OSError, MemoryError, IndexError, TypeError)
"""What torch and the tokenizers raise, being out of memory on a device included."""


class SentenceTransformersEmbedder:
    """ports.Embedder over a loaded model. A prefix that is given is used in place of the model's own prompt."""

    def __init__(self, engine: Any, model: str, *, query_prefix: str = "", passage_prefix: str = ""):
        self._engine = engine
        self._query_prefix, self._passage_prefix = query_prefix, passage_prefix
        self._thread = ThreadPoolExecutor(1, "embed")
        self._dimension = dimension_of(engine)
        self.model = model

    @classmethod
    def open(cls, model: str, *, query_prefix: str = "", passage_prefix: str = "") -> "SentenceTransformersEmbedder":
        """Load a model, on a GPU if there is one. SettingsError if the package or the model is missing."""
        try:
            package = importlib.import_module("sentence_transformers")
        except ImportError:
            raise SettingsError(
                "MEMSRV_EMBEDDER is sentence-transformers, which is not installed.", "pip install 'memsrv[sentence-transformers]'"
            ) from None
        try:
            engine = package.SentenceTransformer(model)
        except FAILURES as error:
            raise SettingsError(
                f"MEMSRV_EMBEDDER_MODEL: the model {model} cannot be loaded ({type(error).__name__}).",
                "Give the name of a model on the hub, or the path of a folder that holds one.",
            ) from error
        return cls(engine, model, query_prefix=query_prefix, passage_prefix=passage_prefix)

    @property
    def fingerprint(self) -> str:
        """The model's name (a folder's: its name and what it holds, so that it may move), its length and the prefix."""
        prefix = sha256(self._passage_prefix.encode()).hexdigest()[:8]
        return f"sentence-transformers|{identity(self.model)}|{self._engine.max_seq_length}|{prefix}"

    @property
    def dimension(self) -> int | None:
        return self._dimension

    @property
    def cosine_scale(self) -> None:
        """Not measured: every model has its own."""
        return None

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows, float32, shape (len(texts), dimension)."""
        prepared = [clean(text, max_chars=MAX_CHARS) for text in texts]
        rows = np.empty((len(prepared), self._dimension), np.float32)
        for start in range(0, len(prepared), BATCH):
            part = prepared[start : start + BATCH]
            rows[start : start + len(part)] = await self._run(self._engine.encode_document, self._passage_prefix, part)
        return rows

    async def query(self, text: str) -> np.ndarray:
        """One unit vector, float32, shape (dimension,)."""
        prepared = clean(text, max_chars=MAX_CHARS)
        rows = await self._run(self._engine.encode_query, self._query_prefix, [prepared])
        return np.asarray(rows[0], np.float32)

    async def close(self) -> None:
        """Let the call that runs end; those that wait are dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, encode: Callable[..., Any], prefix: str, texts: list[str]) -> np.ndarray:
        options = {"prompt": prefix} if prefix else {}

        def call() -> np.ndarray:
            try:
                rows = encode(
                    texts, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True, batch_size=BATCH, **options
                )
            except FAILURES as error:
                raise EmbedderDown(f"The embedding model failed ({type(error).__name__}).") from error
            return np.asarray(rows, np.float32)

        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def dimension_of(engine: Any) -> int:
    """Dimensions of its vectors; the method was renamed between versions."""
    ask = getattr(engine, "get_embedding_dimension", None) or engine.get_sentence_embedding_dimension
    return int(ask())


def identity(model: str) -> str:
    """A name as it is; a folder as its own name and a digest of its files' names and sizes."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    files = sorted((path.relative_to(folder).as_posix(), path.stat().st_size) for path in folder.rglob("*") if path.is_file())
    return f"{folder.resolve().name}-{sha256(repr(files).encode()).hexdigest()[:12]}"
