"""Texts to vectors for the index: each text once, and no answer taken unchecked.

A vector that is not finite or zero would never be found again, so such an answer counts as a failure.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from memsrv.core.recall.view import passage
from memsrv.errors import EmbedderDown
from memsrv.model import PendingChunk
from memsrv.ports import Embedder

PROBE = "Is anybody there?"
REMEMBERED = 4096
"""Vectors of so many texts are kept by a hash of the text: what is said, edited or imported twice is embedded once."""

Batch = Sequence[tuple[str, Sequence[PendingChunk]]]
"""Texts, each with the chunks that have it."""


def batches(chunks: Sequence[PendingChunk], size: int) -> list[Batch]:
    """Texts with the chunks that have them, each text once; texts of like length go together, which pads least."""
    by_text: dict[str, list[PendingChunk]] = {}
    for chunk in chunks:
        by_text.setdefault(passage(chunk), []).append(chunk)
    texts = sorted(by_text.items(), key=lambda item: (len(item[0]), item[0]))
    return [texts[start : start + size] for start in range(0, len(texts), size)]


class Embedding:
    """An embedder whose answers are checked, and remembered for a while."""

    def __init__(self, embedder: Embedder):
        self._embedder = embedder
        self._known: dict[bytes, np.ndarray] = {}

    def forget(self) -> None:
        """The embedder may be another one now."""
        self._known.clear()

    async def probe(self) -> None:
        """Raise EmbedderDown if it does not answer."""
        await self._embed([PROBE])

    async def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """A unit row for each text, float32. One that was embedded lately is not embedded again. Raises EmbedderDown."""
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        known = {key: row for key in keys if (row := self._known.get(key)) is not None}
        new = [at for at, key in enumerate(keys) if key not in known]
        if new:
            known |= zip((keys[at] for at in new), await self._embed([texts[at] for at in new]), strict=True)
        self._remember(known)
        return np.stack([known[key] for key in keys])

    def _remember(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        self._known |= vectors
        for key in list(self._known)[: max(0, len(self._known) - REMEMBERED)]:
            del self._known[key]

    async def _embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = await self._embedder.passages(texts)
        if vectors.shape != (len(texts), self._embedder.dimension):
            raise EmbedderDown(f"The embedder answered an array of shape {vectors.shape}.")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise EmbedderDown("The embedder answered a vector that is zero or not finite.", poison=True)
        return np.asarray(vectors / norms, np.float32)
