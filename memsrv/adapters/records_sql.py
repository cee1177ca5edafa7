"""Snapshots and receipts over SQL.

(1) A snapshot's version is one more than the last of its session, stale ones counted.
(2) A receipt is an account, not a promise: it is written behind the prompt it belongs to, and one that cannot be written
    is dropped and logged. Until it is written, `listing` shows it from memory.
(3) A receipt lives no longer than what it quotes: it is written only if every quoted chunk is still there (an edit makes other
    chunks), with a note of their messages, by which an edit, a delete or a forgetting finds it.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select

from memsrv.adapters.database import Database
from memsrv.adapters.schema import (
    chunks,
    now_micros,
    receipt_sources,
    receipts,
    sessions,
    slices,
    snapshots,
    to_json,
    to_micros,
    to_moment,
    without_nul,
)
from memsrv.adapters.sessions_sql import require_session
from memsrv.errors import BadRequest, DiskFull, Internal, StoreDown
from memsrv.model import Snapshot

log = structlog.get_logger()

# Asked for every prompt, so they are put together only once.
LATEST = (
    select(snapshots)
    .where(snapshots.c.session_number == bindparam("session_number"), snapshots.c.stale.is_(False))
    .order_by(snapshots.c.version.desc())
    .limit(1)
)
QUOTED = select(chunks.c.message_number, chunks.c.session_number).where(chunks.c.number.in_(bindparam("numbers", expanding=True)))


class SqlSnapshots:
    """Stored summaries: immutable, but that they turn stale, and lose their text when a message they cover is deleted."""

    def __init__(self, database: Database):
        self._database = database

    async def latest(self, session_number: int) -> Snapshot | None:
        """The newest snapshot that is not stale."""
        of_session = {"session_number": session_number}
        row = await self._database.read(lambda connection: connection.execute(LATEST, of_session).one_or_none())
        return None if row is None else snapshot_of(row)

    async def listing(self, session_number: int, *, after: int = 0, limit: int) -> list[Snapshot]:
        """Snapshots by version."""
        query = (
            select(snapshots)
            .where(snapshots.c.session_number == session_number, snapshots.c.version > after)
            .order_by(snapshots.c.version)
            .limit(limit)
        )
        return await self._database.read(lambda connection: [snapshot_of(row) for row in connection.execute(query)])

    async def add(self, session_number: int, text: str, covers_upto: int) -> Snapshot:
        """Store a new version. Raises SessionNotFound if the session was forgotten meanwhile."""

        def run(connection: Connection) -> Snapshot:
            require_session(connection, session_number)
            of_session = snapshots.c.session_number == session_number
            last = connection.scalar(select(func.coalesce(func.max(snapshots.c.version), 0)).where(of_session)) or 0
            values = {
                "session_number": session_number,
                "version": last + 1,
                "covers_upto": covers_upto,
                "text": without_nul(text),
                "made_at": now_micros(),
                "stale": False,
            }
            connection.execute(insert(snapshots).values(values))
            return snapshot_of(connection.execute(select(snapshots).where(of_session, snapshots.c.version == last + 1)).one())

        return await self._database.write(run)


def snapshot_of(row: Row[Any]) -> Snapshot:
    return Snapshot(row.version, row.covers_upto, row.text, to_moment(row.made_at), row.stale)


@dataclass(frozen=True, slots=True)
class Kept:
    """A receipt on its way to the store."""

    session_number: int
    id: str
    body: Mapping[str, Any]
    quotes: frozenset[int]
    made_at: datetime


class SqlReceipts:
    """The accounts of the last prompts, at most `kept` a session."""

    def __init__(self, database: Database, *, kept: int):
        self._database = database
        self._kept = kept
        self._waiting: dict[tuple[int, str], Kept] = {}
        self._in_hand: dict[tuple[int, str], Kept] = {}
        self._writing: asyncio.Task[None] | None = None

    async def add(
        self, session_number: int, id: str, body: Mapping[str, Any], *, quotes: Iterable[int], made_at: datetime
    ) -> None:
        """Keep a receipt; the same id again replaces it; the oldest beyond the bound go. Written a moment later."""
        self._waiting.pop((session_number, id), None)
        self._waiting[session_number, id] = Kept(session_number, id, body, frozenset(quotes), made_at)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())

    async def listing(self, session_number: int, limit: int) -> list[Mapping[str, Any]]:
        """The newest first, those still on their way to the store included."""
        on_their_way = [one for one in (self._in_hand | self._waiting).values() if one.session_number == session_number]
        query = (
            select(receipts.c.id, receipts.c.body)
            .where(receipts.c.session_number == session_number)
            .order_by(receipts.c.number.desc())
            .limit(min(limit, self._kept))
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        newest = {one.id: one.body for one in reversed(on_their_way)}
        stored = {row.id: json.loads(row.body) for row in rows if row.id not in newest}
        return list((newest | stored).values())[: min(limit, self._kept)]

    async def close(self) -> None:
        """Write what is on its way."""
        if self._writing is not None:
            await self._writing

    async def _write_all(self) -> None:
        while self._waiting:
            self._in_hand, self._waiting = self._waiting, {}
            batch = list(self._in_hand.values())
            try:
                await self._database.write(partial(keep, batch=batch, kept=self._kept))
            except (StoreDown, DiskFull, BadRequest, Internal) as error:
                log.warning("receipts_dropped", count=len(batch), reason=error.code)
            self._in_hand = {}


def keep(connection: Connection, *, batch: list[Kept], kept: int) -> None:
    """Write receipts, in order, and drop the oldest beyond the bound; those of forgotten sessions are left out."""
    known: set[int] = set()
    for part in slices(sorted({one.session_number for one in batch})):
        known.update(connection.scalars(select(sessions.c.number).where(sessions.c.number.in_(part))))
    for one in batch:
        if one.session_number in known:
            keep_one(connection, one)
    for number in known:
        newest = select(receipts.c.number).where(receipts.c.session_number == number).order_by(receipts.c.number.desc())
        beyond = newest.offset(kept).limit(1_000_000)
        connection.execute(delete(receipts).where(receipts.c.number.in_(beyond.scalar_subquery())))


def keep_one(connection: Connection, one: Kept) -> None:
    """Write a receipt and what it quotes, in place of one of the same id; left out if a quoted chunk is gone."""
    own = {"session_number": one.session_number, "id": one.id}
    connection.execute(delete(receipts).filter_by(**own))
    quoted = [row for part in slices(sorted(one.quotes)) for row in connection.execute(QUOTED, {"numbers": part})]
    if len(quoted) < len(one.quotes):
        return
    values = own | {"body": to_json(one.body), "made_at": to_micros(one.made_at)}
    number = connection.execute(insert(receipts).values(values).returning(receipts.c.number)).scalar_one()
    sources = {(row.message_number, row.session_number) for row in quoted}
    if sources:
        rows = [{"receipt_number": number, "message_number": m, "session_number": s} for m, s in sorted(sources)]
        connection.execute(insert(receipt_sources), rows)
