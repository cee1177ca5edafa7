"""How the transcript's rows read as nouns."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select

from memsrv.adapters.schema import answering_generation, chunks, messages, sessions, to_moment
from memsrv.errors import MessageNotFound
from memsrv.model import Chunk, Message, Span

LAST = 2**63 - 1  # no position is as high

# Asked for every prompt, so they are put together only once.
READ = ("number", "id", "position", "payload", "sent_at", "stored_at", "metadata", "chunk_count", "generation")
MESSAGES_BY_NUMBER = select(*(messages.c[name] for name in READ), answering_generation().label("current"))
MESSAGES = MESSAGES_BY_NUMBER.where(messages.c.session_number == bindparam("session_number"))
MESSAGE = MESSAGES.where(messages.c.id == bindparam("id"))
STRETCH = MESSAGES.where(messages.c.position > bindparam("after"), messages.c.position < bindparam("before")).limit(
    bindparam("most")
)
OLDEST_FIRST = STRETCH.order_by(messages.c.position)
NEWEST_FIRST = STRETCH.order_by(messages.c.position.desc())


def message_row(connection: Connection, session_number: int, id: str) -> Row[Any]:
    """The row of one message, else MessageNotFound."""
    row: Row[Any] | None = connection.execute(MESSAGE, {"session_number": session_number, "id": id}).one_or_none()  # type: ignore[assignment]
    if row is None:
        raise MessageNotFound(f"There is no message {id!r} in this session.")
    return row


def message_of(row: Sequence[Any]) -> Message:
    """Unpacked at once, in the order of `MESSAGES`: looked up by name, dozens of rows would cost more than their query."""
    number, id, position, payload, sent_at, stored_at, metadata, chunk_count, generation, current = tuple(row)
    return Message(
        number=number,
        id=id,
        position=position,
        payload=json.loads(payload),
        sent_at=to_moment(sent_at),
        stored_at=to_moment(stored_at),
        metadata=None if metadata is None else json.loads(metadata),
        chunk_count=chunk_count,
        indexed=generation is None or generation >= current,
    )


def chunk_query() -> Select[Any]:
    """Chunks with what a Chunk needs."""
    return (
        select(
            chunks.c.number,
            chunks.c.session_number,
            chunks.c.message_number,
            chunks.c.ordinal,
            chunks.c.begins,
            chunks.c.ends,
            chunks.c.text,
            sessions.c.name.label("session"),
            messages.c.id.label("message_id"),
            messages.c.position,
            messages.c.role,
            messages.c.name,
            messages.c.sent_at,
        )
        .join(messages, messages.c.number == chunks.c.message_number)
        .join(sessions, sessions.c.number == chunks.c.session_number)
    )


# Asked for every recall, so it is put together only once.
CHUNKS = chunk_query().where(chunks.c.number.in_(bindparam("numbers", expanding=True)), sessions.c.tenant == bindparam("tenant"))


def chunk_of(row: Row[Any]) -> Chunk:
    """Unpacked at once, in the order of `chunk_query`: looked up by name, hundreds of rows would cost more than their query."""
    number, session_number, message_number, ordinal, begins, ends, text, session, message_id, position, role, name, sent_at = (
        tuple(row)
    )
    return Chunk(
        number=number,
        session_number=session_number,
        session=session,
        message_number=message_number,
        message_id=message_id,
        position=position,
        ordinal=ordinal,
        role=role,
        name=name,
        sent_at=to_moment(sent_at),
        span=Span(begins, ends),
        text=text,
    )
