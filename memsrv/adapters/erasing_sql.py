"""What goes when messages go: one place for a message, a stretch, and what an edit takes away.

(1) All in the caller's transaction: chunks (their vectors are listed for removal), receipts that quote them, the words and
    passages of every snapshot that covered them with the receipts that quote those, the task state they told, the digests of
    the requests that brought them.
(2) A request that is sent again after a message of it was deleted is refused: a late retry brings nothing back.
(3) The vector of a message holds the beginning of what was said before it; so those that follow are indexed anew.
(4) The session counts what was erased, so that an empty position is told from a lost message.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from memsrv.adapters.passages_sql import drop_passages, passage_numbers, passages_of
from memsrv.adapters.schema import (
    chunks,
    idempotency,
    messages,
    now_micros,
    receipt_sources,
    receipts,
    recuts,
    sessions,
    slices,
    snapshots,
    to_json,
    to_micros,
    vector_removals,
)
from memsrv.adapters.sessions_sql import drop_receipts
from memsrv.core.summary.taskstate import task_state_of
from memsrv.model import Forgotten, Stretch

SPEAKING = ("user", "assistant", "tool")
EMPTIED = {"stale": True, "text": "", "summary": None, "findings": "[]"}
UNMARKED = {"generation": 0, "digest": None}
"""A chunk that waits for its vector; the digest of the one before would tell what was said before it."""
FORGOTTEN_REQUEST = {"digest": "", "answer": "[]"}

Where = ColumnElement[bool]


def within(session_number: int, stretch: Stretch) -> Where:
    """The messages of a stretch."""
    bounds: list[Where] = [messages.c.session_number == session_number, messages.c.position > stretch.after]
    if stretch.before is not None:
        bounds.append(messages.c.position < stretch.before)
    if stretch.since is not None:
        bounds.append(messages.c.sent_at >= to_micros(stretch.since))
    if stretch.until is not None:
        bounds.append(messages.c.sent_at < to_micros(stretch.until))
    return and_(*bounds)


def toll(connection: Connection, session_number: int, which: Where) -> Forgotten:
    """What deleting these messages takes."""
    found = select(func.count(), func.min(messages.c.position)).where(which)
    count, first = connection.execute(found).one()
    if not count:
        return Forgotten()
    numbers = select(messages.c.number).where(which)
    emptied = covering(session_number, first)
    quoting = select(receipt_sources.c.receipt_number).where(
        or_(
            receipt_sources.c.message_number.in_(numbers),
            receipt_sources.c.message_number.in_(passage_numbers(session_number, emptied)),
        )
    )
    of_chunks = select(func.count()).select_from(chunks).where(chunks.c.message_number.in_(numbers))
    of_snapshots = select(func.count()).select_from(snapshots).where(emptied, snapshots.c.text != "")
    of_receipts = select(func.count()).select_from(receipts).where(receipts.c.number.in_(quoting))
    counted = (connection.execute(query).scalar_one() for query in (of_chunks, of_snapshots, of_receipts))
    return Forgotten(0, count, *counted)


def erase(connection: Connection, session_number: int, which: Where) -> Forgotten:
    """Take messages out with all that hangs on them; what went."""
    taken = toll(connection, session_number, which)
    if not taken.messages:
        return taken
    positions = connection.scalars(select(messages.c.position).where(which).order_by(messages.c.position)).all()
    numbers = select(messages.c.number).where(which)
    unsay(connection, session_number, which)
    take_out(connection, session_number, numbers, positions[0])
    connection.execute(delete(recuts).where(recuts.c.message_number.in_(numbers)))
    forget_requests(connection, session_number, positions)
    connection.execute(delete(messages).where(which))
    for last in run_ends(positions):
        renew_followers(connection, session_number, last)
    rewritten(connection, session_number, erased=len(positions))
    return taken


def take_out(connection: Connection, session_number: int, numbers: Any, first: int) -> None:
    """Delete the chunks of messages, the receipts that quote them, and the words of the snapshots that cover the first."""
    drop_chunks(connection, numbers)
    empty(connection, session_number, covering(session_number, first))
    drop_receipts(connection, receipt_sources.c.message_number.in_(numbers))


def empty(connection: Connection, session_number: int, which: Where) -> None:
    """Turn snapshots of a session stale, and take their words and passages out."""
    drop_passages(connection, passages_of(session_number, which))
    connection.execute(update(snapshots).where(snapshots.c.session_number == session_number, which).values(EMPTIED))


def drop_chunks(connection: Connection, numbers: Any) -> None:
    """Delete the chunks of messages and list their vectors for removal."""
    theirs = chunks.c.message_number.in_(numbers)
    connection.execute(insert(vector_removals).from_select(["chunk_number"], select(chunks.c.number).where(theirs)))
    connection.execute(delete(chunks).where(theirs))


def covering(session_number: int, position: int) -> Where:
    """The snapshots that cover a position."""
    return and_(snapshots.c.session_number == session_number, snapshots.c.covers_upto >= position)


def forget_requests(connection: Connection, session_number: int, positions: Sequence[int]) -> None:
    """Blank what is kept of the requests that stored messages at these positions; see (2)."""
    here = (idempotency.c.session_number == session_number, idempotency.c.digest != "")
    near = (idempotency.c.last_position >= positions[0], idempotency.c.first_position <= positions[-1])
    gone = frozenset(positions)
    known = connection.execute(select(idempotency.c.key, idempotency.c.answer).where(*here, *near)).all()
    keys = [key for key, answer in known if not gone.isdisjoint(position for _, position, _ in json.loads(answer))]
    for part in slices(keys):
        theirs = (idempotency.c.session_number == session_number, idempotency.c.key.in_(part))
        connection.execute(update(idempotency).where(*theirs).values(FORGOTTEN_REQUEST))


def run_ends(positions: Sequence[int]) -> Iterator[int]:
    """The last of each run of neighbouring positions."""
    following = frozenset(positions)
    return (position for position in positions if position + 1 not in following)


def renew_followers(connection: Connection, session_number: int, position: int) -> None:
    """Index anew the messages whose vectors hold what was said last up to this position; see (3)."""
    later = and_(messages.c.session_number == session_number, messages.c.position > position, messages.c.chunk_count > 0)
    speaker = connection.scalar(select(func.min(messages.c.position)).where(later, messages.c.role.in_(SPEAKING)))
    affected = later if speaker is None else and_(later, messages.c.position <= speaker)
    first = and_(chunks.c.message_number.in_(select(messages.c.number).where(affected)), chunks.c.ordinal == 0)
    connection.execute(update(chunks).where(first).values(UNMARKED))
    waits = {"generation": 0, "attempts": 0, "retry_at": 0, "reason": None, "set_aside": False}
    connection.execute(update(messages).where(affected).values(waits))


# --- task state -----------------------------------------------------------------------------------------------------


def unsay(connection: Connection, session_number: int, which: Where) -> None:
    """Take the session's task state away if one of these messages told it."""
    standing = meta_in(connection, session_number).get("task_state")
    if not standing:
        return
    told = select(messages.c.payload).where(which, messages.c.role == "assistant").order_by(messages.c.position.desc())
    if any(task_state_of(json.loads(payload)) == standing for payload in connection.scalars(told)):
        set_state(connection, session_number, None)


def set_state(connection: Connection, session_number: int, state: str | None) -> None:
    """Set the session's task state; the rest of its meta stays."""
    meta = meta_in(connection, session_number) | {"task_state": state}
    connection.execute(update(sessions).where(sessions.c.number == session_number).values(meta=to_json(meta)))


def meta_in(connection: Connection, session_number: int) -> dict[str, Any]:
    """The session's meta, as it is stored."""
    stored = connection.execute(select(sessions.c.meta).where(sessions.c.number == session_number))
    meta: dict[str, Any] = json.loads(stored.scalar_one())
    return meta


def rewritten(connection: Connection, session_number: int, *, erased: int = 0, last_chunk: int | None = None) -> None:
    """Tell the caches of a session's chunks that they no longer hold."""
    values: dict[str, Any] = {
        "rewrites": sessions.c.rewrites + 1,
        "erased": sessions.c.erased + erased,
        "changed_at": now_micros(),
    }
    if last_chunk is not None:
        values["last_chunk"] = last_chunk
    connection.execute(update(sessions).where(sessions.c.number == session_number).values(values))
