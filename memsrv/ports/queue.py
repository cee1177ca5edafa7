"""What waits for its vector."""

from collections.abc import Sequence
from typing import Protocol

from memsrv.model import Generation, PendingChunk


class IndexQueue(Protocol):
    """Which chunks still wait for a vector, and which vectors must go. Work is a mark, never a high-water number."""

    async def generation(self, fingerprint: str) -> tuple[Generation, bool]:
        """The generation that is filled, for this fingerprint, and whether it is new: another fingerprint than the last makes
        a new one, in which every message is unindexed. It is built beside the one that answers if both are of one space,
        else it answers at once. Another chunker than the last makes every message `Transcript.uncut`."""
        ...

    async def renew(self, fingerprint: str, *, beside: bool = False) -> Generation:
        """Begin a new generation although the fingerprint is the same: every message is unindexed, and none is set aside. It
        answers at once (the index was lost), or is built `beside` the one that does."""
        ...

    async def newest(self) -> Generation | None:
        """The generation that is filled; None before the first."""
        ...

    async def answering(self) -> Generation | None:
        """The generation that searches go to, by which messages count as indexed; None before the first."""
        ...

    async def swap(self, generation: Generation) -> None:
        """A generation that was built beside another answers from now on."""
        ...

    async def left(self, generation: Generation) -> tuple[int, int]:
        """How many messages and passages that were indexed before this generation misses still (those set aside not counted), and
        how many there are to index in all."""
        ...

    async def indexed_chunks(self, generation: Generation) -> int:
        """How many chunks are marked, also of messages that are not whole yet. The index holds at least as many vectors,
        or it was lost."""
        ...

    async def pending(self, generation: Generation, *, limit: int) -> list[PendingChunk]:
        """Chunks of unindexed messages that are due, whole messages, all sessions: first those that the generation that answers
        misses too (`fresh`), then the oldest; passages of snapshots likewise, after the messages that are as fresh as they; at
        most about `limit`."""
        ...

    async def mark_indexed(self, generation: Generation, chunks: Sequence[PendingChunk]) -> None:
        """The vectors of these chunks are in the index. A message of which every chunk was marked is indexed; chunks that
        are gone meanwhile (deleted, edited) are put on the list of vectors to remove."""
        ...

    async def embedded(self, generation: Generation, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Of each of these digests (`core.recall.view`) under which a chunk of this generation was marked, and is still, the
        number of such a chunk."""
        ...

    async def mark_failed(self, message_number: int, reason: str, *, most: int) -> bool:
        """Count a failed attempt and let the message wait longer each time. Whether it is set aside now, at the `most`-th:
        not tried again in this generation, counted and reported. An edit starts the count anew."""
        ...

    async def removals(self, limit: int) -> list[int]:
        """Numbers of chunks whose vectors must be removed."""
        ...

    async def clear_removals(self, chunk_numbers: Sequence[int]) -> None:
        """These are removed."""
        ...

    async def backlog(self) -> tuple[int, int]:
        """How many messages and passages the generation that answers misses, and how many are set aside, over all tenants."""
        ...

    async def next_due_s(self) -> float | None:
        """Seconds until a waiting message or passage is due again, or None if none waits."""
        ...
