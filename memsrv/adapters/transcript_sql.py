"""Transcript over SQL.

(1) A batch is one transaction: its messages, their chunks, the session's last position and the idempotency key.
(2) A position is given once: `last_position` never goes down, not even when the newest message is deleted.
(3) What an edit or delete takes out is listed for removal from the vector index in the same transaction; the snapshots that
    covered it turn stale and lose their words and passages, the receipts that quote it go (see `erasing_sql`).
(4) What is held of a session's newest messages is what is committed: see `outsets_sql`.
(5) A task state is set by the newest of the messages that an append stores, and by no other. One that an edit or delete
    takes out goes with it, and no older one takes its place.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from memsrv.adapters.database import Database
from memsrv.adapters.ends_sql import Ends, HeldEnds, read_ends
from memsrv.adapters.erasing_sql import (
    drop_chunks,
    erase,
    meta_in,
    renew_followers,
    rewritten,
    set_state,
    take_out,
    toll,
    within,
)
from memsrv.adapters.passages_sql import passage_chunks
from memsrv.adapters.schema import (
    chunks,
    idempotency,
    messages,
    now_micros,
    recuts,
    sessions,
    slices,
    to_json,
    to_micros,
)
from memsrv.adapters.sessions_sql import session_of, session_row
from memsrv.adapters.transcript_rows import (
    CHUNKS,
    LAST,
    MESSAGES,
    MESSAGES_BY_NUMBER,
    NEWEST_FIRST,
    OLDEST_FIRST,
    chunk_of,
    chunk_query,
    message_of,
    message_row,
)
from memsrv.core.summary.taskstate import task_state_of
from memsrv.core.text.content import without_nul
from memsrv.errors import IdempotencyConflict, MessageConflict, SessionMoved
from memsrv.model import Appended, Chunk, Forgotten, Message, NewChunk, NewMessage, Scope, Session, SessionKey, Stored, Stretch


class SqlTranscript:
    """The truth: every message, verbatim, in order."""

    def __init__(self, database: Database, held: HeldEnds | None = None):
        self._database = database
        self._held = held or HeldEnds()

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[NewMessage],
        *,
        idempotency_key: str | None = None,
        request_digest: str = "",
        onto: Session | None = None,
    ) -> Appended:
        """Store all messages or none. Raises MessageConflict, IdempotencyConflict and SessionMoved."""
        arrived_at = now_micros()

        def run(connection: Connection) -> Appended:
            session = session_row(connection, key, made_at=arrived_at)
            if onto is not None and (session.number, session.last_position, session.rewrites) != moment_of(onto):
                raise SessionMoved("The session went on meanwhile.")
            if (known := answered(connection, session.number, idempotency_key, request_digest)) is not None:
                return Appended(session_of(session), known)
            stored, session = store(connection, session, messages, arrived_at)
            remember(connection, session.number, idempotency_key, request_digest, stored)
            return Appended(session_of(session), stored)

        return await self._database.write(run)

    async def newest(self, key: SessionKey, *, most: int) -> tuple[Session, list[Message]]:
        """See `ports.Transcript`; of a session that was read lately only what came since is read."""

        def run(connection: Connection) -> tuple[Session, Ends]:
            session = session_of(session_row(connection, key))
            return session, read_ends(connection, session, self._held.get(session.number), most=most, opening=0)

        session, ends = await self._database.read(run)
        self._held.hold(session.number, ends)
        return session, list(ends.newest[:most][::-1])

    async def messages(
        self, session_number: int, *, after: int = 0, before: int | None = None, limit: int, newest_first: bool = False
    ) -> list[Message]:
        """Messages with after < position < before, in order of position (or from the newest back)."""
        query = NEWEST_FIRST if newest_first else OLDEST_FIRST
        which = {"session_number": session_number, "after": after, "before": LAST if before is None else before, "most": limit}
        return await self._database.read(lambda connection: [message_of(row) for row in connection.execute(query, which)])

    async def message(self, session_number: int, id: str) -> Message:
        """One message by its id, else MessageNotFound."""
        return await self._database.read(lambda connection: message_of(message_row(connection, session_number, id)))

    async def found(self, session_number: int, ids: Sequence[str]) -> dict[str, Message]:
        """Those of these messages that are there, by id."""

        def run(connection: Connection) -> dict[str, Message]:
            return {
                message.id: message
                for part in slices(ids)
                for message in map(
                    message_of, connection.execute(MESSAGES.where(messages.c.id.in_(part)), {"session_number": session_number})
                )
            }

        return await self._database.read(run)

    async def replace(self, session_number: int, id: str, revise: Callable[[Message], NewMessage]) -> Message:
        """Put other content in a message's place. Without a `sent_at` the old one stays. Raises MessageNotFound."""

        def run(connection: Connection) -> Message:
            old = message_row(connection, session_number, id)
            new = revise(message_of(old))
            take_out(connection, session_number, (old.number,), old.position)
            connection.execute(delete(recuts).where(recuts.c.message_number == old.number))
            fields = content_fields(new, sent_at=old.sent_at) | waiting_fields(new.chunks)
            connection.execute(update(messages).where(messages.c.number == old.number).values(fields))
            last_chunk = add_chunks(connection, [(old.number, session_number, new.chunks)])
            renew_followers(connection, session_number, old.position)
            unsay_state(connection, session_number, message_of(old), kept=new.task_state)
            rewritten(connection, session_number, last_chunk=last_chunk)
            return message_of(message_row(connection, session_number, id))

        return await self._database.write(run, erases=True)

    async def delete(self, session_number: int, id: str, *, dry_run: bool = False) -> Forgotten:
        """Take a message out, or only say what would go. Raises MessageNotFound."""

        def run(connection: Connection) -> Forgotten:
            which = messages.c.number == message_row(connection, session_number, id).number
            return toll(connection, session_number, which) if dry_run else erase(connection, session_number, which)

        return await (self._database.read(run) if dry_run else self._database.write(run, erases=True))

    async def erase(self, session_number: int, stretch: Stretch, *, dry_run: bool = False) -> Forgotten:
        """Take the messages of a stretch out, all at once, or only say what would go."""
        which = within(session_number, stretch)
        if dry_run:
            return await self._database.read(lambda connection: toll(connection, session_number, which))
        return await self._database.write(lambda connection: erase(connection, session_number, which), erases=True)

    async def uncut(self, limit: int) -> list[Message]:
        """Messages that must be cut anew, oldest first."""
        marked = MESSAGES_BY_NUMBER.where(messages.c.number.in_(select(recuts.c.message_number)))
        query = marked.order_by(messages.c.number).limit(limit)
        return await self._database.read(lambda connection: [message_of(row) for row in connection.execute(query)])

    async def recut(self, cut: Sequence[tuple[Message, Sequence[NewChunk]]]) -> None:
        """Put these chunks in the place of the messages' own; what was edited or deleted meanwhile is left alone."""

        def run(connection: Connection) -> None:
            for message, new in cut:
                marked = connection.execute(delete(recuts).where(recuts.c.message_number == message.number))
                if marked.rowcount:
                    put_chunks(connection, message.number, new)

        await self._database.write(run)

    async def chunks(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Chunks by number; those that are gone or out of the scope are left out."""
        allowed = frozenset(scope.session_numbers)

        def run(connection: Connection) -> dict[int, Chunk]:
            rows = [
                row for part in slices(numbers) for row in connection.execute(CHUNKS, {"numbers": part, "tenant": scope.tenant})
            ]
            found = [chunk for chunk in map(chunk_of, rows) if chunk.session_number in allowed]
            of_snapshots = passage_chunks(connection, scope.tenant, numbers, allowed)
            return {chunk.number: chunk for chunk in (*found, *of_snapshots)}

        return await self._database.read(run)

    async def chunks_of(self, message: Message) -> list[Chunk]:
        """A message's chunks, in order."""
        query = chunk_query().where(chunks.c.message_number == message.number).order_by(chunks.c.ordinal)
        return await self._database.read(lambda connection: [chunk_of(row) for row in connection.execute(query)])


# --- appending ------------------------------------------------------------------------------------------------------


def moment_of(session: Session) -> tuple[int, int, int]:
    """What changes whenever something is added to a session, or is edited or deleted in it."""
    return session.number, session.last_position, session.rewrites


# Asked with every write, so they are put together only once.
TAKEN = select(messages.c.id, messages.c.position, messages.c.digest, messages.c.chunk_count).where(
    messages.c.session_number == bindparam("session_number"), messages.c.id.in_(bindparam("ids", expanding=True))
)
ADD_MESSAGES = insert(messages).returning(messages.c.number, sort_by_parameter_order=True)
ADD_CHUNKS = insert(chunks).returning(chunks.c.number)
MOVE_ON = (
    update(sessions)
    .where(sessions.c.number == bindparam("of_session"))
    .values({name: bindparam(f"new_{name}") for name in ("last_position", "last_chunk", "changed_at")})
    .returning(*sessions.c)
)


def answered(connection: Connection, session_number: int, key: str | None, digest: str) -> tuple[Stored, ...] | None:
    """What this idempotency key was answered with (nothing is created now), or None if it is new. Raises
    IdempotencyConflict."""
    if not key:
        return None
    query = select(idempotency).where(idempotency.c.session_number == session_number, idempotency.c.key == key)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    if not row.digest:
        raise IdempotencyConflict(f"The Idempotency-Key {key!r} was used for messages that were deleted since.")
    if row.digest != digest:
        raise IdempotencyConflict(f"The Idempotency-Key {key!r} was used for another request.")
    return tuple(Stored(id, position, False, chunks) for id, position, chunks in json.loads(row.answer))


def remember(connection: Connection, session_number: int, key: str | None, digest: str, stored: Sequence[Stored]) -> None:
    """Keep the answer under its idempotency key."""
    if key:
        answer = to_json([(one.id, one.position, one.chunks) for one in stored])
        positions = [one.position for one in stored]
        values = {"session_number": session_number, "key": key, "digest": digest, "answer": answer}
        values |= {"first_position": min(positions), "last_position": max(positions)}
        connection.execute(insert(idempotency).values(values))


def store(
    connection: Connection, session: Row[Any], new: Sequence[NewMessage], arrived_at: int
) -> tuple[tuple[Stored, ...], Row[Any]]:
    """Store those that are not there yet, and answer for all; the session's row as it is then."""
    known = known_ids(connection, session.number, [one.id for one in new if one.id is not None])
    answer, fresh, position = [], [], session.last_position
    for one in new:
        if one.id in known:
            digest, stored = known[one.id]
            if digest != one.digest:
                raise MessageConflict(f"The id {one.id!r} is taken by a message with other content.")
            answer.append(stored)
            continue
        position += 1
        stored = Stored(one.id or f"m_{secrets.token_hex(8)}", position, True, len(one.chunks))
        known[stored.id] = one.digest, Stored(stored.id, position, False, stored.chunks)
        answer.append(stored)
        fresh.append((stored, one))
    return tuple(answer), add_messages(connection, session, fresh, arrived_at) if fresh else session


def known_ids(connection: Connection, session_number: int, ids: Sequence[str]) -> dict[str, tuple[str, Stored]]:
    """Those of the ids that are taken: digest of the message, and how it is answered for."""
    return {
        row.id: (row.digest, Stored(row.id, row.position, False, row.chunk_count))
        for part in slices(ids)
        for row in connection.execute(TAKEN, {"session_number": session_number, "ids": part})
    }


def add_messages(
    connection: Connection, session: Row[Any], fresh: Sequence[tuple[Stored, NewMessage]], arrived_at: int
) -> Row[Any]:
    """Insert messages and their chunks, and move the session on; its row as it is then."""
    rows = [
        {"session_number": session.number, "id": stored.id, "position": stored.position, "stored_at": arrived_at}
        | content_fields(new, sent_at=arrived_at)
        | waiting_fields(new.chunks)
        for stored, new in fresh
    ]
    numbers = connection.scalars(ADD_MESSAGES, rows).all()
    owned = [(number, session.number, new.chunks) for number, (_, new) in zip(numbers, fresh, strict=True)]
    last_chunk = add_chunks(connection, owned) or session.last_chunk
    told = [new.task_state for _, new in fresh if new.task_state]
    if told:
        set_state(connection, session.number, told[-1])
    moved = {"new_last_position": fresh[-1][0].position, "new_last_chunk": last_chunk, "new_changed_at": arrived_at}
    return connection.execute(MOVE_ON, {"of_session": session.number} | moved).one()


def add_chunks(connection: Connection, owned: Sequence[tuple[int, int, Sequence[NewChunk]]]) -> int | None:
    """Insert chunks, given as (message number, session number, chunks); the last one's number, None if there are none."""
    rows = [
        {
            "message_number": message_number,
            "session_number": session_number,
            "ordinal": ordinal,
            "begins": chunk.span.start,
            "ends": chunk.span.end,
            "text": without_nul(chunk.text),
            "terms": without_nul(" ".join(chunk.terms)),
            "generation": 0,
        }
        for message_number, session_number, new in owned
        for ordinal, chunk in enumerate(new)
    ]
    if not rows:
        return None
    last: int = max(connection.scalars(ADD_CHUNKS, rows))
    return last


def content_fields(new: NewMessage, *, sent_at: int) -> dict[str, Any]:
    """Columns that hold what was said."""
    name = new.payload.get("name")
    return {
        "payload": to_json(new.payload),
        "role": str(new.payload["role"]),
        "name": without_nul(str(name)) if name else None,
        "sent_at": sent_at if new.sent_at is None else to_micros(new.sent_at),
        "metadata": None if new.metadata is None else to_json(new.metadata),
        "digest": new.digest,
        "chunk_count": len(new.chunks),
    }


def waiting_fields(new: Sequence[NewChunk]) -> dict[str, Any]:
    """Columns that say that a message waits for its vectors; without chunks it never does."""
    waits = {"attempts": 0, "retry_at": 0, "reason": None, "set_aside": False}
    return waits | {"generation": 0 if new else None}


# --- editing --------------------------------------------------------------------------------------------------------


def put_chunks(connection: Connection, message_number: int, new: Sequence[NewChunk]) -> None:
    """Give a message other chunks; it is unindexed then."""
    session_number = connection.scalar(select(messages.c.session_number).where(messages.c.number == message_number))
    assert session_number is not None, "the mark of a message goes with it"
    drop_chunks(connection, (message_number,))
    last_chunk = add_chunks(connection, [(message_number, session_number, new)])
    fields = waiting_fields(new) | {"chunk_count": len(new)}
    connection.execute(update(messages).where(messages.c.number == message_number).values(fields))
    rewritten(connection, session_number, last_chunk=last_chunk)


def unsay_state(connection: Connection, session_number: int, old: Message, *, kept: str | None) -> None:
    """Take the session's task state away if it is the one that a message told and tells no more."""
    told = task_state_of(old.payload)
    if told and told != kept and meta_in(connection, session_number).get("task_state") == told:
        set_state(connection, session_number, None)
