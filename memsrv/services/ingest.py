"""Take messages in: cut them into chunks, find their search terms, and store all of it at once.

(1) What was answered is on disk. (2) A batch is stored whole or not at all. (3) Only so many writes wait (see
`pressure`); the next one is told to come back. (4) Nothing is written to a session whose gate is frozen.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from memsrv.core.relay.resent import NOTE, aside_name
from memsrv.core.summary.taskstate import task_state_of
from memsrv.core.text.chunking import spans
from memsrv.core.text.content import digest, text_of
from memsrv.core.text.marks import blocks
from memsrv.errors import SessionNotFound
from memsrv.model import Appended, Draft, Forgotten, Message, NewChunk, NewMessage, Session, SessionKey, Span, Stretch
from memsrv.ports import Analyzer, Sessions, Transcript
from memsrv.services.compaction import Compaction
from memsrv.services.gates import Gates
from memsrv.services.indexer import Indexer
from memsrv.services.pressure import Pressure
from memsrv.threads import off_loop

SMALL_MESSAGES, SMALL_CHARS = 8, 1000
PLAIN = frozenset({"role", "content"})


class Ingest:
    """The writing side of a session's transcript."""

    def __init__(
        self,
        transcript: Transcript,
        sessions: Sessions,
        analyzer: Analyzer,
        indexer: Indexer,
        compaction: Compaction,
        gates: Gates,
        *,
        pressure: Pressure,
    ):
        self._transcript = transcript
        self._sessions = sessions
        self._analyzer = analyzer
        self._indexer = indexer
        self._compaction = compaction
        self._gates = gates
        self._pressure = pressure

    async def append(
        self,
        key: SessionKey,
        drafts: Sequence[Draft],
        *,
        idempotency_key: str | None = None,
        request_digest: str = "",
        onto: Session | None = None,
    ) -> Appended:
        """Store the messages in order, all or none; see `Transcript.append` for ids, conflicts and `onto`. Raises Busy."""
        async with self._turn(key):
            new = await off_loop(lambda: [prepare(draft, self._analyzer) for draft in drafts], small=is_small(drafts))
            appended = await self._transcript.append(
                key, new, idempotency_key=idempotency_key, request_digest=request_digest, onto=onto
            )
        self._indexer.notify()
        self._compaction.notify(appended.session, new)
        return appended

    async def edit(self, session: Session, id: str, revise: Callable[[Message], Draft]) -> Message:
        """Put a revised message in the old one's place; chunks, terms and vectors follow.

        A long text is looked into before the write, which holds up all others, and again in it only if another edit came first.
        """
        async with self._turn(session.key):
            seen = await self._transcript.message(session.number, id)
            ready = await asyncio.to_thread(lambda: prepare(revise(seen), self._analyzer))
            message = await self._transcript.replace(
                session.number, id, lambda old: ready if same(old, seen) else prepare(revise(old), self._analyzer)
            )
        self._indexer.notify()
        self._compaction.notify(session)
        return message

    async def delete(self, session: Session, id: str) -> Forgotten:
        """Take a message out; chunks, terms and vectors follow."""
        async with self._turn(session.key):
            taken = await self._transcript.delete(session.number, id)
        self._indexer.notify()
        self._compaction.notify(session)
        return taken

    async def erase(self, session: Session, stretch: Stretch) -> Forgotten:
        """Take out the messages of a stretch, all or none."""
        async with self._turn(session.key):
            taken = await self._transcript.erase(session.number, stretch)
        self._indexer.notify()
        self._compaction.notify(session)
        return taken

    async def forget(self, key: SessionKey) -> Forgotten:
        """Forget a session whole, with what the proxy took out of its line."""
        async with self._turn(key):
            taken = await self._sessions.forget(key)
            with suppress(SessionNotFound):
                await self._sessions.forget(SessionKey(key.tenant, aside_name(key.name)))
        self._indexer.notify()
        return taken

    async def forget_owner(self, tenant: str, owner: str) -> Forgotten:
        """Forget every session of an owner. No gate holds this up: a switch in the midst finds its session gone."""
        with self._pressure.turn():
            taken = await self._sessions.forget_owner(tenant, owner)
        self._indexer.notify()
        return taken

    async def wait_indexed(self, session: Session, wait_ms: int) -> int:
        """Wait up to `wait_ms` until every message of the session can be recalled; how many can't be yet."""
        deadline = time.monotonic() + wait_ms / 1000
        while True:
            pending = await self._sessions.pending_index(session.number)
            left_s = deadline - time.monotonic()
            if not pending or left_s <= 0:
                return pending
            await self._indexer.progress(left_s)

    @asynccontextmanager
    async def _turn(self, key: SessionKey) -> AsyncIterator[None]:
        # the gate first: who waits for a frozen session must not use up the room of the others
        async with self._gates.writing(key):
            with self._pressure.turn():
                yield


def is_small(drafts: Sequence[Draft]) -> bool:
    """Whether these are a few short texts with nothing beside them, as a chat brings them one by one."""
    if len(drafts) > SMALL_MESSAGES:
        return False
    plain = all(draft.payload.keys() <= PLAIN and (draft.metadata or {}).keys() <= {NOTE} for draft in drafts)
    return plain and sum(len(str(draft.payload.get("content") or "")) for draft in drafts) <= SMALL_CHARS


def prepare(draft: Draft, analyzer: Analyzer) -> NewMessage:
    """A draft with its digest and chunks; the speaker's name is a term of each chunk. Our own blocks, in a prompt that was
    posted back, are kept but not indexed."""
    text, speaker = text_of(draft.payload), str(draft.payload.get("name") or "")
    named = analyzer.terms(speaker) if speaker.strip() else []
    chunks = [
        NewChunk(span, text[span.start : span.end], (*named, *analyzer.terms(text[span.start : span.end])))
        for span in spans(text, within=outside(blocks(text), len(text)))
    ]
    return NewMessage(
        id=draft.id,
        payload=draft.payload,
        sent_at=draft.sent_at,
        metadata=draft.metadata,
        digest=digest(draft.payload, draft.sent_at, draft.metadata),
        chunks=tuple(chunks),
        task_state=task_state_of(draft.payload),
    )


def same(one: Message, other: Message) -> bool:
    """Whether two readings of a message say the same."""
    return (one.payload, one.sent_at, one.metadata) == (other.payload, other.sent_at, other.metadata)


def outside(inner: Sequence[Span], length: int) -> list[Span]:
    """The stretches of a text of `length` characters that none of the (ordered, disjoint) spans covers."""
    edges = [0, *(edge for span in inner for edge in (span.start, span.end)), length]
    return [Span(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
