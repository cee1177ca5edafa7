"""Texts to vectors for the index: each text once, and no answer taken unchecked.

(1) A vector that is not finite or zero would never be found again, so such an answer counts as a failure.
(2) A text goes by its digest, which its tenant has a part in, so what is remembered serves no other.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memsrv.core.recall.view import digest, passage
from memsrv.errors import EmbedderDown
from memsrv.model import PendingChunk
from memsrv.ports import Embedder

PROBE = "Is anybody there?"
REMEMBERED = 4096
"""Vectors of so many texts are kept in memory."""


class Text(NamedTuple):
    """What is embedded, under its digest (`core.recall.view`), and the chunks that have it."""

    digest: bytes
    text: str
    chunks: Sequence[PendingChunk]


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

    def strange(self, chunks: Sequence[PendingChunk]) -> list[bytes]:
        """The digests of chunks whose text is not remembered, each once."""
        return [one for one in dict.fromkeys(map(digest, chunks)) if one not in self._known]

    def learn(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Remember unit vectors by their digests."""
        for key, row in vectors.items():
            self._known.pop(key, None)  # what is used again is the last to go
            self._known[key] = row.copy()  # not a whole batch for the sake of one row
        for key in list(self._known)[: max(0, len(self._known) - REMEMBERED)]:
            del self._known[key]

    def batches(self, chunks: Sequence[PendingChunk], size: int) -> list[Sequence[Text]]:
        """Texts with the chunks that have them, each text of a tenant once: those that are remembered first, so that they take
        no room in the calls of the embedder; then texts of like length together, which pads least."""
        by_digest: dict[bytes, list[PendingChunk]] = {}
        for chunk in chunks:
            by_digest.setdefault(digest(chunk), []).append(chunk)
        texts = [Text(one, passage(own[0]), own) for one, own in by_digest.items()]
        texts.sort(key=lambda one: (one.digest not in self._known, len(one.text), one.text))
        return [texts[start : start + size] for start in range(0, len(texts), size)]

    async def vectors(self, texts: Sequence[Text]) -> np.ndarray:
        """A unit row for each text, float32. One that is remembered is not embedded. Raises EmbedderDown."""
        known = {one.digest: row for one in texts if (row := self._known.get(one.digest)) is not None}
        new = [one for one in texts if one.digest not in known]
        if new:
            known |= zip((one.digest for one in new), await self._embed([one.text for one in new]), strict=True)
        self.learn(known)
        return np.stack([known[one.digest] for one in texts])

    async def _embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = await self._embedder.passages(texts)
        if vectors.shape != (len(texts), self._embedder.dimension):
            raise EmbedderDown(f"The embedder answered an array of shape {vectors.shape}.")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise EmbedderDown("The embedder answered a vector that is zero or not finite.", poison=True)
        return np.asarray(vectors / norms, np.float32)
