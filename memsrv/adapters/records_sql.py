"""Receipts and the log of switches over SQL.

(1) A mode and the record of its switch are changed together or not at all.
(2) A receipt is an account, not a promise: it is written behind the prompt it belongs to, and one that cannot be written
    is dropped and logged. Until it is written, `listing` shows it from memory.
(3) A receipt lives no longer than what it quotes: it is written only if every quoted chunk is still there (an edit makes other
    chunks), with a note of their messages, by which an edit, a delete or a forgetting finds it. A passage of a snapshot is
    noted as its own message.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from memsrv.adapters.database import Database
from memsrv.adapters.schema import (
    chunks,
    now_micros,
    passages,
    receipt_sources,
    receipts,
    sessions,
    slices,
    switches,
    to_json,
    to_micros,
    to_moment,
)
from memsrv.adapters.sessions_sql import session_of, session_row
from memsrv.core.merge import merged
from memsrv.core.text.content import without_nul
from memsrv.errors import BadRequest, DiskFull, Internal, ReceiptNotFound, StoreDown
from memsrv.model import Mode, SessionKey, Switch

log = structlog.get_logger()

MOST_WAITING = 1000
"""Receipts on their way to the store; the next prompt waits until they are being written."""
GATHER_S = 0.1  # receipts of prompts that follow each other so closely are written together

# Asked for every prompt, so they are put together only once.
KNOWN = select(sessions.c.number).where(sessions.c.number.in_(bindparam("numbers", expanding=True)))
QUOTED = select(chunks.c.number, chunks.c.message_number, chunks.c.session_number).where(
    chunks.c.number.in_(bindparam("numbers", expanding=True))
)
QUOTED_PASSAGES = select(-passages.c.number, -passages.c.number, passages.c.session_number).where(
    passages.c.number.in_(bindparam("numbers", expanding=True))
)
DELETE_SAME = delete(receipts).where(receipts.c.session_number == bindparam("of_session"), receipts.c.id == bindparam("of_id"))
INSERT = insert(receipts).returning(receipts.c.number, sort_by_parameter_order=True)
OWN_BEYOND = (
    select(receipts.c.number)
    .where(receipts.c.session_number == bindparam("of_session"))
    .order_by(receipts.c.number.desc())
    .offset(bindparam("kept"))
    .limit(1_000_000)  # SQLite takes an offset only with a limit
)
DELETE_BEYOND = delete(receipts).where(receipts.c.number.in_(OWN_BEYOND.scalar_subquery()))


class SqlSwitches:
    """Changes of a session's mode, on the record."""

    def __init__(self, database: Database):
        self._database = database

    async def add(self, key: SessionKey, before: Mode, after: Mode, reason: str, version: int | None) -> Switch:
        """Set the session's mode and note why. Raises SessionNotFound."""
        now = now_micros()

        def run(connection: Connection) -> Switch:
            session = session_of(session_row(connection, key))
            settings = to_json(merged(session.settings, {"mode": after.value}))
            here = sessions.c.number == session.number
            connection.execute(update(sessions).where(here).values(settings=settings, changed_at=now))
            values = {"before": before.value, "after": after.value, "reason": without_nul(reason), "version": version}
            connection.execute(insert(switches).values(values | {"session_number": session.number, "made_at": now}))
            return Switch(to_moment(now), before, after, without_nul(reason), version)

        return await self._database.write(run)

    async def listing(self, session_number: int, *, limit: int) -> list[Switch]:
        """The newest first."""
        query = (
            select(switches).where(switches.c.session_number == session_number).order_by(switches.c.number.desc()).limit(limit)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [Switch(to_moment(row.made_at), Mode(row.before), Mode(row.after), row.reason, row.version) for row in rows]


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

    def __init__(self, database: Database, *, kept: int, most_waiting: int = MOST_WAITING):
        self._database = database
        self._kept = kept
        self._waiting: dict[tuple[int, str], Kept] = {}
        self._in_hand: dict[tuple[int, str], Kept] = {}
        self._most_waiting, self._room = most_waiting, asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def add(
        self, session_number: int, id: str, body: Mapping[str, Any], *, quotes: Iterable[int], made_at: datetime
    ) -> None:
        """Keep a receipt; the same id again replaces it; the oldest beyond the bound go. Written a moment later."""
        while len(self._waiting) >= self._most_waiting:
            self._room.clear()
            self._write_soon()
            await self._room.wait()
        self._waiting.pop((session_number, id), None)
        self._waiting[session_number, id] = Kept(session_number, id, body, frozenset(quotes), made_at)
        self._write_soon()

    async def find(self, session_number: int, id: str) -> Mapping[str, Any]:
        """One by its id, also while it is on its way to the store, else ReceiptNotFound."""
        if (on_its_way := (self._in_hand | self._waiting).get((session_number, id))) is not None:
            return on_its_way.body
        query = select(receipts.c.body).filter_by(session_number=session_number, id=without_nul(id))
        body = await self._database.read(lambda connection: connection.scalar(query))
        if body is None:
            raise ReceiptNotFound(f"There is no receipt {id!r} in this session.")
        found: Mapping[str, Any] = json.loads(body)
        return found

    async def report(self, session_number: int, id: str) -> bool:
        """Note that the provider's count of this prompt came in; False if it had come before, or the receipt is gone."""
        if (session_number, id) in self._in_hand | self._waiting and self._writing is not None:
            await asyncio.shield(self._writing)
        here = receipts.c.session_number == session_number, receipts.c.id == without_nul(id), receipts.c.reported.is_(False)
        note = update(receipts).where(*here).values(reported=True)
        return await self._database.write(lambda connection: connection.execute(note).rowcount > 0)

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
        self._closing.set()
        if self._writing is not None:
            await self._writing
        self._closing.clear()

    def _write_soon(self) -> None:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
            self._writing.add_done_callback(lambda _: self._room.set())

    async def _write_all(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_S):
                    await self._closing.wait()
            self._in_hand, self._waiting = self._waiting, {}
            self._room.set()
            batch = list(self._in_hand.values())
            try:
                await self._database.write(partial(keep, batch=batch, kept=self._kept))
            except (StoreDown, DiskFull, BadRequest, Internal) as error:
                log.warning("receipts_dropped", count=len(batch), reason=error.code)
            self._in_hand = {}


def keep(connection: Connection, *, batch: Sequence[Kept], kept: int) -> None:
    """Write receipts, in order, each in place of one of the same id, and drop the oldest beyond the bound; those of forgotten
    sessions and those that quote a chunk that is gone are left out."""
    known = set(connection.scalars(KNOWN, {"numbers": [one.session_number for one in batch]}))
    quoted = {number: source for number, *source in quoted_chunks(connection, batch)}
    batch = [one for one in batch if one.session_number in known]
    if not batch:
        return
    connection.execute(DELETE_SAME, [{"of_session": one.session_number, "of_id": one.id} for one in batch])
    fresh = [one for one in batch if one.quotes <= quoted.keys()]
    if fresh:
        numbers = connection.scalars(INSERT, [row_of(one) for one in fresh]).all()
        sources = {(n, *quoted[chunk]) for n, one in zip(numbers, fresh, strict=True) for chunk in one.quotes}
        if sources:
            names = ("receipt_number", "message_number", "session_number")
            connection.execute(insert(receipt_sources), [dict(zip(names, source, strict=True)) for source in sorted(sources)])
    connection.execute(DELETE_BEYOND, [{"of_session": number, "kept": kept} for number in sorted(known)])


def quoted_chunks(connection: Connection, batch: Sequence[Kept]) -> Iterator[Sequence[Any]]:
    """Number, message and session of the quoted chunks that are still there."""
    for part in slices(sorted({number for one in batch for number in one.quotes})):
        yield from connection.execute(QUOTED, {"numbers": part})
        yield from connection.execute(QUOTED_PASSAGES, {"numbers": [-number for number in part if number < 0]})


def row_of(one: Kept) -> dict[str, Any]:
    """A receipt as a row."""
    return {
        "session_number": one.session_number,
        "id": one.id,
        "body": to_json(one.body),
        "made_at": to_micros(one.made_at),
    }
