"""Small in-memory stores for prompts: they keep what the ports promise and no more."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memsrv.core.text.content import text_of
from memsrv.core.text.marks import blocks
from memsrv.errors import SessionNotFound
from memsrv.model import Chunk, Message, Meta, Outset, Pin, Reach, Recall, Recalls, Session, SessionKey, Snapshot, Span, Wanted

START = datetime(2026, 1, 10, 9, 0, tzinfo=UTC)
KEY = SessionKey("default", "s")


def message(
    position: int, payload: Mapping[str, Any], *, sent_at: datetime | None = None, stored_at: datetime | None = None
) -> Message:
    """A stored message; a minute passes from one position to the next."""
    stored_at = stored_at or START + timedelta(minutes=position)
    return Message(
        number=1000 + position,
        id=f"m{position}",
        position=position,
        payload=payload,
        sent_at=sent_at or stored_at,
        stored_at=stored_at,
        metadata=None,
        chunk_count=1,
        indexed=True,
    )


def chunk(source: Message, text: str | None = None, *, session: str = "s", ordinal: int = 0) -> Chunk:
    """A piece of a message."""
    said = text if text is not None else text_of(source.payload)
    return Chunk(
        number=source.number * 10 + ordinal,
        session_number=1,
        session=session,
        message_number=source.number,
        message_id=source.id,
        position=source.position,
        ordinal=ordinal,
        role=source.role,
        name=source.name,
        sent_at=source.sent_at,
        span=Span(0, len(said)),
        text=said,
    )


def hit(source: Message, *, score: float | None = 0.8, rank: float = 1.0, text: str | None = None, session: str = "s") -> Recall:
    """A found piece."""
    return Recall(chunk(source, text, session=session), score, rank, {"dense": score or 0.0})


class Store:
    """One session's transcript, meta, pins, snapshots and receipts."""

    def __init__(
        self, payloads: Sequence[Mapping[str, Any]] = (), *, meta: Meta | None = None, settings: Mapping[str, Any] | None = None
    ):
        self.stored = [message(position, payload) for position, payload in enumerate(payloads, 1)]
        self.meta = meta or Meta()
        self.settings = settings or {}
        self.pinned: list[Pin] = []
        self.snapshots: list[Snapshot] = []
        self.accounts: list[Mapping[str, Any]] = []
        self.messages_read = 0

    def say(self, role: str, content: Any, *, sent_at: datetime | None = None, **fields: Any) -> Message:
        self.stored.append(message(len(self.stored) + 1, {"role": role, "content": content, **fields}, sent_at=sent_at))
        return self.stored[-1]

    def pin(self, text: str) -> None:
        self.pinned.append(Pin(f"p{len(self.pinned)}", text, "fact", START))

    def summarise(self, text: str, covers_upto: int) -> None:
        self.snapshots.append(Snapshot(len(self.snapshots) + 1, covers_upto, text, START))

    # ports

    async def read(self, key: SessionKey, wanted: Callable[[Session], Wanted], *, opening: int) -> Outset:
        if key != KEY:
            raise SessionNotFound(f"No session '{key.name}'.")
        session = Session(1, key, None, self.settings, self.meta, len(self.stored), START, START)
        most = wanted(session).newest
        messages = await self.messages(1, limit=most, newest_first=True)
        first = await self.messages(1, before=messages[-1].position, limit=opening) if len(messages) == most else []
        snapshot = next((snapshot for snapshot in reversed(self.snapshots) if not snapshot.stale), None)
        return Outset(session, tuple(self.pinned), snapshot, tuple(messages), tuple(first))

    async def messages(
        self, session_number: int, *, after: int = 0, before: int | None = None, limit: int, newest_first: bool = False
    ) -> list[Message]:
        found = [m for m in self.stored if m.position > after and (before is None or m.position < before)]
        page = (found[::-1] if newest_first else found)[:limit]
        self.messages_read += len(page)
        return page

    async def add(
        self, session_number: int, id: str, body: Mapping[str, Any], *, quotes: Iterable[int], made_at: datetime
    ) -> None:
        self.accounts.append(body)


class WordRecall:
    """Recall by shared words over a store."""

    def __init__(self, store: Store, *, degraded: tuple[str, ...] = ()):
        self._store = store
        self.degraded = degraded
        self.asked: list[tuple[str, Reach, frozenset[int]]] = []

    async def find(
        self,
        session: Session,
        query: str,
        *,
        k: int,
        reach: Reach,
        min_score: float,
        without: frozenset[int] = frozenset(),
        told: Collection[str] = (),
    ) -> Recalls:
        self.asked.append((query, reach, without))
        words = set(query.lower().split())
        hits = []
        for stored in self._store.stored:
            text = text_of(stored.payload)
            shared = len(words & set(text.lower().split()))
            if shared and stored.number not in without and not blocks(text):
                hits.append(hit(stored, score=min(1.0, shared / len(words)), rank=shared, text=text[:400]))
        hits.sort(key=lambda found: (-found.rank_score, found.chunk.number))
        return Recalls(tuple(hits[:k]), self.degraded)


class LetterCounter:
    """A token for every four characters, rounded up."""

    def count(self, text: str, model: str | None) -> int:
        return -(-len(text) // 4)

    def encoding_name(self, model: str | None) -> str:
        return "letters"

    def head(self, text: str, tokens: int, model: str | None) -> str:
        return text[: tokens * 4]
