"""Check transcript, lexical rows, vectors, summaries and receipts against each other, mend what can be made anew, and purge.

(1) The transcript is the truth: what differs from it is made from it. What is missing in it cannot be mended, only told.
(2) Vectors are compared while the index is held still, so that work in hand is not taken for an error.
(3) A finding holds numbers, never text.
(4) Of several processes the one that leads can do it: it alone can hold the index still.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memsrv.core.text.content import digest, without_nul
from memsrv.errors import IndexDown, NotHere, StoreDown
from memsrv.model import StoredChunk, StoredMessage
from memsrv.ports import Analyzer, Checks, IndexQueue, Lead, VectorIndex
from memsrv.services.alone import ALONE
from memsrv.services.indexer import Indexer
from memsrv.services.recutting import chunks_of

PAGE = 500
BELOW_ALL = -(2**63 - 1)
"""The numbers of passages are below zero."""
NOT_MENDED = frozenset({"database", "sessions_that_lack_messages", "messages_that_changed", "index_not_readable"})


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked for, how many are wrong, and whether they were mended (or are being made anew)."""

    name: str
    wrong: int
    mended: bool = False


@dataclass(frozen=True, slots=True)
class Verified:
    """What was looked for; `waiting` messages and passages have no vectors yet, of which nothing can be said."""

    checks: tuple[Check, ...]
    waiting: int

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not any(check.wrong for check in self.checks)


class Verifier:
    """One verification or purge at a time; `fix` mends what is found."""

    def __init__(
        self,
        checks: Checks,
        queue: IndexQueue,
        index: VectorIndex,
        indexer: Indexer,
        analyzer: Analyzer,
        *,
        purge_wait_s: float = 600.0,
        lead: Lead = ALONE,
    ):
        self._lead = lead
        self._purge_wait_s = purge_wait_s
        self._checks, self._queue, self._index = checks, queue, index
        self._indexer, self._analyzer = indexer, analyzer
        self._one = asyncio.Lock()

    async def verify(self, *, fix: bool = False) -> Verified:
        """Look at everything; takes about as long as reading it all once. Raises NotHere if another process leads."""
        if not self._lead.held:
            raise NotHere(
                "Another process fills the index, and only that one can verify.", "Ask the one whose /readyz says that it leads."
            )
        async with self._one:
            found = {"database": len(await self._checks.integrity()), **await self._checks.counts()}
            if fix:
                await self._checks.repair()
            found |= await self._messages(fix=fix)
            async with self._indexer.still():
                found |= await self._vectors(fix=fix)
                waiting, _ = await self._queue.backlog()
            if fix:
                self._indexer.notify(uncut=True)
            checks = (Check(name, wrong, fix and wrong > 0 and name not in NOT_MENDED) for name, wrong in found.items())
            return Verified(tuple(checks), waiting)

    async def purge(self) -> None:
        """Take every trace of what was deleted out of the store's files, however large, and of removed generations out of the
        index's. Writes wait meanwhile. Raises NotHere where the database does that by itself, StoreDown if readers or a full
        disk stand in the way for long, and IndexDown."""
        async with self._one:
            try:
                async with asyncio.timeout(self._purge_wait_s):
                    await self._checks.purge()
            except TimeoutError:
                raise StoreDown(
                    "The files could not be written anew.", "Free some space on the disk of the data folder, then try again."
                ) from None
            async with self._indexer.still():
                await self._index.purge()

    async def _messages(self, *, fix: bool) -> dict[str, int]:
        """Every message against its digest, and its chunks against what the chunker and the analyzer give."""
        changed, differing, after = 0, 0, 0
        while page := await self._checks.messages(after=after, limit=PAGE):
            after = page[-1].message.number
            altered, miscut = await asyncio.to_thread(differences, page, self._analyzer)
            changed, differing = changed + altered, differing + len(miscut)
            if fix and miscut:
                await self._checks.recut(miscut)
        return {"messages_that_changed": changed, "messages_with_other_chunks": differing}

    async def _vectors(self, *, fix: bool) -> dict[str, int]:
        """Every chunk or passage that is marked against its vector, and every vector against what it is of."""
        generation = await self._queue.newest()
        if generation is None:
            return {}
        missing, strays, after = 0, 0, BELOW_ALL
        try:
            while numbers := await self._checks.marked(generation, after=after, limit=PAGE):
                after = numbers[-1]
                lacking = sorted(set(numbers).difference(await self._index.vectors(numbers)))
                lacking = await self._checks.living(lacking)  # the others were deleted while this was looked at
                missing += len(lacking)
                if fix:
                    await self._checks.unmark(lacking)
            held = await self._index.numbers()
            for start in range(0, len(held), PAGE):
                found = await self._checks.strays(held[start : start + PAGE])
                strays += len(found)
                if fix:
                    await self._checks.remove(found)
        except IndexDown:
            return {"index_not_readable": 1}
        return {"chunks_without_their_vector": missing, "vectors_without_a_chunk": strays}


def differences(page: Sequence[StoredMessage], analyzer: Analyzer) -> tuple[int, list[int]]:
    """How many messages read otherwise than when they were stored, and the numbers of those whose chunks differ."""
    changed, miscut = 0, []
    for stored in page:
        message = stored.message
        if digest(message.payload, message.sent_at, message.metadata) != stored.digest:
            changed += 1
        cut = chunks_of(message, analyzer)
        wanted = tuple(StoredChunk(one.span, without_nul(one.text), without_nul(" ".join(one.terms))) for one in cut)
        if stored.chunks != wanted:
            miscut.append(message.number)
    return changed, miscut
