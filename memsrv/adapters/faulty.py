"""Faults on request, for tests only: wrappers around ports that fail as they are told.

They exist in a process only while MEMSRV_FAULTS is set. Targets: embedder, index (before a write), index.written (after it),
index.use (before a generation is opened, begun or swapped), index.query, after_transcript_commit, summarizer (every one, the
built-in too). Behaviours: raise, delay:<ms>, return_zero_vector, return_nan_vector, kill9, none; of a summarizer
return:<text> and raise_if_input_tokens_over:<n>.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from memsrv.core.summary.summary import Count, Heading, Line, Summary, Task, rendered
from memsrv.errors import BadRequest, EmbedderDown, IndexDown, MemsrvError, SummarizerDown
from memsrv.model import (
    Appended,
    CosineScale,
    Forgotten,
    Generation,
    Message,
    NewMessage,
    PendingChunk,
    Scope,
    Session,
    SessionKey,
    Stretch,
)
from memsrv.ports import Embedder, Summarizer, Transcript, VectorIndex, Vectors

TARGETS = frozenset({"embedder", "index", "index.written", "index.use", "index.query", "after_transcript_commit", "summarizer"})
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


class FaultySummarizer:
    """A summarizer that fails on request, or answers a text line for line."""

    def __init__(self, inner: Summarizer, faults: Faults, count: Count):
        self._inner = inner
        self._faults = faults
        self._count = count

    @property
    def name(self) -> str:
        return self._inner.name

    async def summarise(self, task: Task) -> Summary:
        await self._faults.strike("summarizer", SummarizerDown)
        behaviour, value = self._faults.of("summarizer")
        if behaviour == "return":
            lines = (Line(Heading.FACTS, line.strip()) for line in value.splitlines() if line.strip())
            return Summary(tuple(lines), task.language)
        if behaviour == "raise_if_input_tokens_over" and self._input_tokens(task) > int(value):
            raise SummarizerDown("The input is longer than the fault allows.", too_long=True)
        return await self._inner.summarise(task)

    async def close(self) -> None:
        await self._inner.close()

    def _input_tokens(self, task: Task) -> int:
        previous = rendered(task.previous) if task.previous else ""
        return sum(map(self._count, (previous, *(source.text for source in task.said))))


class FaultyVectors:
    """A vector index that fails on request."""

    def __init__(self, inner: VectorIndex, faults: Faults):
        self._inner = inner
        self._faults = faults

    async def use(self, generation: Generation, dimension: int, *, answering: Generation | None = None) -> None:
        await self._faults.strike("index.use", IndexDown)
        await self._inner.use(generation, dimension, answering=answering)

    async def build(self, generation: Generation) -> None:
        await self._faults.strike("index.use", IndexDown)
        await self._inner.build(generation)

    async def swap(self) -> None:
        await self._faults.strike("index.use", IndexDown)
        await self._inner.swap()

    async def follow(self, generation: Generation, dimension: int) -> None:
        await self._inner.follow(generation, dimension)

    async def put(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        await self._faults.strike("index", IndexDown)
        await self._inner.put(chunks, vectors)
        await self._faults.strike("index.written", IndexDown)

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        await self._faults.strike("index", IndexDown)
        await self._inner.remove(chunk_numbers)
        await self._faults.strike("index.written", IndexDown)

    async def open(self, scope: Scope) -> Vectors:
        await self._faults.strike("index.query", IndexDown)
        return await self._inner.open(scope)

    async def count(self) -> int:
        return await self._inner.count()

    async def numbers(self) -> list[int]:
        return await self._inner.numbers()

    async def purge(self) -> None:
        await self._inner.purge()

    async def vectors(self, chunk_numbers: Sequence[int]) -> Mapping[int, np.ndarray]:
        return await self._inner.vectors(chunk_numbers)

    async def close(self) -> None:
        await self._inner.close()


class FaultyTranscript:
    """A transcript after whose commit the process can be killed; all else is passed on."""

    def __init__(self, inner: Transcript, faults: Faults):
        self._inner = inner
        self._faults = faults

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[NewMessage],
        *,
        idempotency_key: str | None = None,
        request_digest: str = "",
        onto: Session | None = None,
    ) -> Appended:
        appended = await self._inner.append(
            key, messages, idempotency_key=idempotency_key, request_digest=request_digest, onto=onto
        )
        await self._faults.strike("after_transcript_commit", MemsrvError)
        return appended

    async def replace(self, session_number: int, id: str, revise: Callable[[Message], NewMessage]) -> Message:
        replaced = await self._inner.replace(session_number, id, revise)
        await self._faults.strike("after_transcript_commit", MemsrvError)
        return replaced

    async def delete(self, session_number: int, id: str, *, dry_run: bool = False) -> Forgotten:
        taken = await self._inner.delete(session_number, id, dry_run=dry_run)
        await self._faults.strike("after_transcript_commit", MemsrvError)
        return taken

    async def erase(self, session_number: int, stretch: Stretch, *, dry_run: bool = False) -> Forgotten:
        taken = await self._inner.erase(session_number, stretch, dry_run=dry_run)
        await self._faults.strike("after_transcript_commit", MemsrvError)
        return taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
