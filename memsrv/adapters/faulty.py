"""Faults on request, for tests only: wrappers around ports that fail as they are told.

They exist in a process only while MEMSRV_FAULTS is set. Targets: embedder, index (writes), index.query,
after_transcript_commit. Behaviours: raise, delay:<ms>, return_zero_vector, return_nan_vector, kill9, none. Those of a
summarizer (return:<text>, raise_if_input_tokens_over:<n>) are taken and wait for one.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from memsrv.errors import BadRequest, EmbedderDown, IndexDown, MemsrvError
from memsrv.model import Appended, CosineScale, Generation, NewMessage, PendingChunk, Scope, SessionKey
from memsrv.ports import Embedder, Scored, Transcript, VectorIndex

TARGETS = frozenset({"embedder", "index", "index.query", "after_transcript_commit", "summarizer"})
BEHAVIOURS = (
    "raise",
    "return",
    "delay",
    "raise_if_input_tokens_over",
    "return_zero_vector",
    "return_nan_vector",
    "kill9",
    "none",
)


class Faults:
    """The faults in force, by target."""

    def __init__(self, faults: Mapping[str, str]):
        self._faults: dict[str, str] = {}
        self.update(faults)

    def update(self, faults: Mapping[str, str]) -> None:
        """Put faults in force; `none` lifts one. Raises BadRequest on an unknown target or behaviour."""
        for target, behaviour in faults.items():
            if target not in TARGETS or behaviour.partition(":")[0] not in BEHAVIOURS:
                raise BadRequest(f"{target}={behaviour[:40]} is no fault.", f"Targets: {', '.join(sorted(TARGETS))}.")
        self._faults.update(faults)

    def of(self, target: str) -> tuple[str, str]:
        """(behaviour, its value) in force for a target; ("none", "") where there is none."""
        name, _, value = self._faults.get(target, "none").partition(":")
        return name, value

    async def strike(self, target: str, error: Callable[[str], MemsrvError]) -> None:
        """Do to the caller what is in force for the target."""
        name, value = self.of(target)
        if name == "raise":
            raise error("A fault was asked for.")
        if name == "delay":
            await asyncio.sleep(int(value) / 1000)
        if name == "kill9":
            os.kill(os.getpid(), signal.SIGKILL)


class FaultyEmbedder:
    """An embedder that fails on request."""

    def __init__(self, inner: Embedder, faults: Faults):
        self._inner = inner
        self._faults = faults

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimension(self) -> int | None:
        return self._inner.dimension

    @property
    def cosine_scale(self) -> CosineScale | None:
        return self._inner.cosine_scale

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        await self._faults.strike("embedder", EmbedderDown)
        return self._spoilt(await self._inner.passages(texts))

    async def query(self, text: str) -> np.ndarray:
        await self._faults.strike("embedder", EmbedderDown)
        return self._spoilt(await self._inner.query(text))

    async def close(self) -> None:
        await self._inner.close()

    def _spoilt(self, vectors: np.ndarray) -> np.ndarray:
        values = {"return_zero_vector": 0.0, "return_nan_vector": np.nan}
        name, _ = self._faults.of("embedder")
        return np.full_like(vectors, values[name]) if name in values else vectors


class FaultyVectors:
    """A vector index that fails on request."""

    def __init__(self, inner: VectorIndex, faults: Faults):
        self._inner = inner
        self._faults = faults

    async def use(self, generation: Generation, dimension: int) -> None:
        await self._inner.use(generation, dimension)

    async def put(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        await self._faults.strike("index", IndexDown)
        await self._inner.put(chunks, vectors)

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        await self._faults.strike("index", IndexDown)
        await self._inner.remove(chunk_numbers)

    async def search(self, scope: Scope, vector: np.ndarray, *, limit: int, also: Sequence[int] | np.ndarray = ()) -> Scored:
        await self._faults.strike("index.query", IndexDown)
        return await self._inner.search(scope, vector, limit=limit, also=also)

    async def count(self) -> int:
        return await self._inner.count()

    async def close(self) -> None:
        await self._inner.close()


class FaultyTranscript:
    """A transcript after whose commit the process can be killed; all else is passed on."""

    def __init__(self, inner: Transcript, faults: Faults):
        self._inner = inner
        self._faults = faults

    async def append(
        self, key: SessionKey, messages: Sequence[NewMessage], *, idempotency_key: str | None = None, request_digest: str = ""
    ) -> Appended:
        appended = await self._inner.append(key, messages, idempotency_key=idempotency_key, request_digest=request_digest)
        await self._faults.strike("after_transcript_commit", MemsrvError)
        return appended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
