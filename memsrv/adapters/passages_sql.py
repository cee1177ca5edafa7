"""The passages of snapshots over SQL: they come with their snapshot and go with it.

(1) A passage is stored in the transaction that stores its snapshot, waiting for its vector.
(2) When a snapshot turns stale, its passages go in the same transaction, their vectors are listed for removal, and the
    receipts that quote them go too.
(3) Outside this table a passage goes by its number negated (see `model.Scope`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, delete, func, insert, literal, select

from memsrv.adapters.schema import (
    now_micros,
    passages,
    receipt_sources,
    sessions,
    slices,
    snapshots,
    to_moment,
    vector_removals,
)
from memsrv.adapters.sessions_sql import drop_receipts
from memsrv.core.text.content import without_nul
from memsrv.model import SUMMARY, Chunk, NewPassage, PendingChunk, Said, Span

OWN_VERSION = and_(snapshots.c.session_number == passages.c.session_number, snapshots.c.version == passages.c.version)
READ = (
    select(passages, snapshots.c.covers_upto, sessions.c.name)
    .join(sessions, sessions.c.number == passages.c.session_number)
    .join(snapshots, OWN_VERSION)
    .where(passages.c.number.in_(bindparam("numbers", expanding=True)), sessions.c.tenant == bindparam("tenant"))
)


def add_passages(connection: Connection, session_number: int, version: int, made_at: int, new: Sequence[NewPassage]) -> None:
    """Insert the passages of a snapshot."""
    own = {"session_number": session_number, "version": version, "made_at": made_at, "generation": 0}
    waits = {"attempts": 0, "retry_at": 0, "reason": None, "set_aside": False}
    rows = [own | waits | {"text": without_nul(one.text), "terms": without_nul(" ".join(one.terms))} for one in new]
    if rows:
        connection.execute(insert(passages), rows)


def drop_passages(connection: Connection, which: ColumnElement[bool]) -> None:
    """Delete passages; see (2)."""
    numbers = select(-passages.c.number).where(which)
    drop_receipts(connection, receipt_sources.c.message_number.in_(numbers))
    connection.execute(insert(vector_removals).from_select(["chunk_number"], numbers))
    connection.execute(delete(passages).where(which))


def passages_of(session_number: int, which: ColumnElement[bool]) -> ColumnElement[bool]:
    """The passages of these snapshots of a session, as SQL."""
    versions = select(snapshots.c.version).where(snapshots.c.session_number == session_number, which)
    return and_(passages.c.session_number == session_number, passages.c.version.in_(versions))


def passage_numbers(session_number: int, which: ColumnElement[bool]) -> Select[tuple[int]]:
    """Their negated numbers, as SQL."""
    return select(-passages.c.number).where(passages_of(session_number, which))


def passage_chunks(connection: Connection, tenant: str, numbers: Sequence[int], allowed: frozenset[int]) -> Iterator[Chunk]:
    """Those of the passages (negated numbers) that are there and in sessions of the scope (negated too)."""
    for part in slices([-number for number in numbers if number < 0]):
        for row in connection.execute(READ, {"numbers": part, "tenant": tenant}):
            if -row.session_number in allowed:
                yield passage_of(row)


def passage_of(row: Any) -> Chunk:
    """A passage as what can be recalled."""
    return Chunk(
        number=-row.number,
        session_number=row.session_number,
        session=row.name,
        message_number=-row.number,
        message_id="",
        position=row.covers_upto,
        ordinal=0,
        role=SUMMARY,
        name=None,
        sent_at=to_moment(row.made_at),
        span=Span(0, len(row.text)),
        text=row.text,
        summary_version=row.version,
    )


def due_passages(connection: Connection, generation: int, limit: int, *, first_below: int) -> list[Row[Any]]:
    """At most `limit` passages that wait and are due, by their negated numbers, each as a message of one chunk: those of
    generations before `first_below`, then the oldest."""
    which = {"below": generation, "now": now_micros(), "first_below": first_below, "most": limit}
    return list(connection.execute(DUE_PASSAGES, which))


def pending_passage(row: Row[Any], answering: int) -> PendingChunk:
    """A passage that is due, to be embedded."""
    own = (row.number, row.session_number, row.number, row.tenant)
    return PendingChunk(*own, Said(SUMMARY, row.text), None, row.attempts, row.generation < answering)


DUE = (
    (-passages.c.number).label("number"),
    (-passages.c.session_number).label("session_number"),
    literal(1).label("chunk_count"),
    *(passages.c[name] for name in ("text", "attempts", "generation")),
)


# Asked in every round of the indexer, so it is put together only once.
DUE_PASSAGES = (
    select(*DUE, sessions.c.tenant)
    .join(sessions, sessions.c.number == passages.c.session_number)
    .where(
        passages.c.set_aside.is_(False),
        passages.c.generation < bindparam("below"),
        passages.c.retry_at <= bindparam("now"),
    )
    .order_by(passages.c.generation >= bindparam("first_below"), passages.c.number)
    .limit(bindparam("most"))
)

# Asked for every recall, so it is put together only once.
NEWEST = (
    select(-passages.c.session_number, func.max(passages.c.number), sessions.c.rewrites)
    .join(sessions, sessions.c.number == passages.c.session_number)
    .where(sessions.c.tenant == bindparam("tenant"), passages.c.session_number.in_(bindparam("numbers", expanding=True)))
    .group_by(passages.c.session_number, sessions.c.rewrites)
)


def newest_passages(connection: Connection, tenant: str, session_numbers: Sequence[int]) -> Iterator[Row[Any]]:
    """Of each session that has passages: its number negated, its newest passage, how often it was edited."""
    for part in slices(session_numbers):
        yield from connection.execute(NEWEST, {"tenant": tenant, "numbers": part})  # type: ignore[misc]
