"""Sessions over SQL: settings, meta and pins; forgetting a session whole.

(1) Forgetting lists every vector of the session for removal in the same transaction; the rest goes by cascade.
(2) A name that was forgotten can be used again and starts empty, under another number.
(3) A mode that changes with the settings is on the record of switches in the same transaction.
(4) What the proxy took out of a session's line has the owner and the retention that the session has, whoever sets them.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import astuple
from operator import add
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, select, update

from memsrv.adapters.database import Database
from memsrv.adapters.schema import (
    answering_generation,
    chunks,
    messages,
    now_micros,
    passages,
    pins,
    receipt_sources,
    receipts,
    recuts,
    sessions,
    snapshots,
    switches,
    to_json,
    to_moment,
    vector_removals,
)
from memsrv.core.merge import merged
from memsrv.core.relay.resent import aside_name
from memsrv.core.text.content import without_nul
from memsrv.errors import PinNotFound, SessionNotFound
from memsrv.model import Forgotten, Meta, Mode, Pin, Scope, Session, SessionCounts, SessionKey

BY_SETTINGS = "settings"
"""The reason on record for a change of mode that came with other settings."""


class SqlSessions:
    """Sessions with their settings, meta and pins."""

    def __init__(self, database: Database):
        self._database = database

    async def find(self, key: SessionKey) -> Session:
        """The session, else SessionNotFound."""
        return await self._database.read(lambda connection: session_of(session_row(connection, key)))

    async def save(
        self,
        key: SessionKey,
        change: Callable[[Session], Session],
        *,
        create: bool,
        mode_of: Callable[[Session], Mode] | None = None,
    ) -> Session:
        """Store the owner (None clears it), settings and meta that `change` gives the session; a change of its mode goes on the
        record. Raises SessionNotFound."""
        now = now_micros()

        def run(connection: Connection) -> Session:
            before = session_of(session_row(connection, key, made_at=now if create else None))
            after = change(before)
            known = before.last_position or before.settings  # of a session that is just being made nothing is switched
            if mode_of and known and mode_of(before) is not mode_of(after):
                modes = {"before": mode_of(before).value, "after": mode_of(after).value}
                values = {"session_number": before.number, "made_at": now, "reason": BY_SETTINGS, "version": None}
                connection.execute(insert(switches).values(values | modes))
            if after == before:
                return before
            values = {"owner": after.owner, "settings": to_json(after.settings), "meta": meta_json(after.meta)}
            here = sessions.c.number == before.number
            connection.execute(update(sessions).where(here).values(values | {"changed_at": now}))
            take_along(connection, before, after)
            return session_of(session_row(connection, key))

        return await self._database.write(run)

    async def listing(self, tenant: str, *, owner: str | None, after: str | None, limit: int) -> list[Session]:
        """Sessions of a tenant (and owner) in order of name, after the given name."""
        query = select(sessions).where(sessions.c.tenant == tenant).order_by(sessions.c.name).limit(limit)
        if owner is not None:
            query = query.where(sessions.c.owner == owner)
        if after is not None:
            query = query.where(sessions.c.name > after)
        return await self._database.read(lambda connection: [session_of(row) for row in connection.execute(query)])

    async def changed_last(self, *, limit: int) -> list[tuple[Scope, int]]:
        """The scopes of the sessions with chunks that were changed last, the latest first, with their numbers of chunks."""
        own = select(func.count()).where(chunks.c.session_number == sessions.c.number).correlate(sessions).scalar_subquery()
        query = select(sessions.c.tenant, sessions.c.number, own).where(sessions.c.last_chunk > 0)
        latest = query.order_by(sessions.c.changed_at.desc()).limit(limit)
        rows = await self._database.read(lambda connection: connection.execute(latest).all())
        return [(Scope(tenant, (number,)), count) for tenant, number, count in rows]

    async def every(self, *, after: int, limit: int) -> list[Session]:
        """Sessions of every tenant numbered above `after`, in order of number."""
        query = select(sessions).where(sessions.c.number > after).order_by(sessions.c.number).limit(limit)
        return await self._database.read(lambda connection: [session_of(row) for row in connection.execute(query)])

    async def counts(self, session_number: int) -> SessionCounts:
        """What the session holds; `pending_index` counts the chunks that wait for their vectors."""
        of_session = {"session_number": session_number}
        return await self._database.read(lambda connection: SessionCounts(*connection.execute(COUNTS, of_session).one()))

    async def pending_index(self, session_number: int) -> int:
        """How many chunks wait for their vectors."""
        of_session = {"session_number": session_number}
        waiting: int = await self._database.read(lambda connection: connection.execute(PENDING, of_session).scalar_one())
        return waiting

    async def forget(self, key: SessionKey, *, dry_run: bool = False) -> Forgotten:
        """Delete the session and all that hangs on it, or only say what would go. Raises SessionNotFound."""

        def run(connection: Connection) -> Forgotten:
            return forget_all(connection, [session_row(connection, key).number], dry_run=dry_run)

        return await (self._database.read(run) if dry_run else self._database.write(run, erases=True))

    async def forget_owner(self, tenant: str, owner: str, *, dry_run: bool = False) -> Forgotten:
        """Delete every session of an owner, all at once, or only say what would go."""
        query = select(sessions.c.number).where(sessions.c.tenant == tenant, sessions.c.owner == owner)

        def run(connection: Connection) -> Forgotten:
            return forget_all(connection, connection.scalars(query).all(), dry_run=dry_run)

        return await (self._database.read(run) if dry_run else self._database.write(run, erases=True))

    async def scope(self, session: Session, *, owner_wide: bool) -> Scope:
        """The session's own scope, or that of all sessions of its owner (alone if it has none)."""
        tenant = session.key.tenant
        if not owner_wide or session.owner is None:
            return Scope(tenant, (session.number,))
        query = (
            select(sessions.c.number)
            .where(sessions.c.tenant == tenant, sessions.c.owner == session.owner)
            .order_by(sessions.c.number)
        )
        numbers = await self._database.read(lambda connection: connection.scalars(query).all())
        return Scope(tenant, tuple(numbers))

    async def pins(self, session_number: int) -> list[Pin]:
        """Pins, oldest first."""
        of_session = {"session_number": session_number}
        return await self._database.read(lambda connection: [pin_of(row) for row in connection.execute(PINS, of_session)])

    async def add_pin(self, session_number: int, text: str, kind: str) -> Pin:
        """Pin a text; pinning the same text again answers the pin that is there. Raises SessionNotFound."""
        id, kept = f"p_{secrets.token_hex(8)}", without_nul(text)

        def run(connection: Connection) -> Pin:
            same = select(pins).where(pins.c.session_number == session_number, pins.c.text == kept)
            if (known := connection.execute(same).first()) is not None:
                return pin_of(known)
            require_session(connection, session_number)
            values = {"session_number": session_number, "id": id, "text": kept, "kind": kind, "made_at": now_micros()}
            connection.execute(insert(pins).values(values))
            return pin_of(connection.execute(same).one())

        return await self._database.write(run)

    async def remove_pin(self, session_number: int, id: str) -> None:
        """Take a pin out, else PinNotFound."""

        def run(connection: Connection) -> None:
            gone = connection.execute(delete(pins).where(pins.c.session_number == session_number, pins.c.id == id))
            if not gone.rowcount:
                raise PinNotFound(f"There is no pin {id!r} in this session.")

        await self._database.write(run, erases=True)


# Asked for every prompt, so they are put together only once.
SESSION = select(sessions).where(sessions.c.tenant == bindparam("tenant"), sessions.c.name == bindparam("name"))
OWN_MESSAGES = messages.c.session_number == bindparam("session_number")
OWN_CHUNKS = chunks.c.session_number == bindparam("session_number")
WAITING = (OWN_MESSAGES, messages.c.set_aside.is_(False), messages.c.generation < answering_generation())
OWED = select(func.coalesce(func.sum(messages.c.chunk_count), 0)).where(*WAITING)
PAID = (  # only a message of several chunks can have some of them in the index
    select(func.count())
    .select_from(messages.join(chunks, chunks.c.message_number == messages.c.number))
    .where(*WAITING, messages.c.chunk_count > 1, chunks.c.generation >= answering_generation())
)
PENDING = select(OWED.scalar_subquery() - PAID.scalar_subquery())
COUNTS = select(
    select(func.count()).select_from(messages).where(OWN_MESSAGES).scalar_subquery(),
    select(func.count()).select_from(chunks).where(OWN_CHUNKS).scalar_subquery(),
    PENDING.scalar_subquery(),
    select(func.count()).select_from(messages).where(OWN_MESSAGES, messages.c.set_aside).scalar_subquery(),
)
HELD = select(  # as `Forgotten` tells it
    select(func.count()).select_from(messages).where(OWN_MESSAGES).scalar_subquery(),
    select(func.count()).select_from(chunks).where(OWN_CHUNKS).scalar_subquery(),
    *(
        select(func.count()).select_from(table).where(table.c.session_number == bindparam("session_number")).scalar_subquery()
        for table in (snapshots, receipts, pins)
    ),
)
PINS = select(pins).where(pins.c.session_number == bindparam("session_number")).order_by(pins.c.number)


def session_row(connection: Connection, key: SessionKey, *, made_at: int | None = None) -> Row[Any]:
    """The session's row; made if a time is given, else SessionNotFound if it is not there."""
    names = {"tenant": key.tenant, "name": key.name}
    row = connection.execute(SESSION, names).one_or_none()
    if row is not None:
        return row
    if made_at is None:
        raise SessionNotFound(f"There is no session {key.name!r}.")
    counters = {"last_position": 0, "last_chunk": 0, "rewrites": 0, "erased": 0, "made_at": made_at, "changed_at": made_at}
    connection.execute(insert(sessions).values(names | {"settings": "{}", "meta": "{}"} | counters))
    return connection.execute(SESSION, names).one()


def require_session(connection: Connection, session_number: int) -> None:
    """Raise SessionNotFound if the session was forgotten meanwhile."""
    query = select(sessions.c.number).where(sessions.c.number == session_number)
    if connection.scalar(query) is None:
        raise SessionNotFound("The session was deleted meanwhile.")


def take_along(connection: Connection, before: Session, after: Session) -> None:
    """Give the aside of a session, if it has one, the owner and the retention that the session has now; see (4)."""
    kept = after.settings.get("retention")
    if (before.owner, before.settings.get("retention")) == (after.owner, kept):
        return
    names = {"tenant": after.key.tenant, "name": aside_name(after.key.name)}
    if (aside := connection.execute(SESSION, names).one_or_none()) is not None:
        settings = merged(json.loads(aside.settings), {"retention": kept})
        here = sessions.c.number == aside.number
        connection.execute(update(sessions).where(here).values(owner=after.owner, settings=to_json(settings)))


def forget_all(connection: Connection, numbers: Sequence[int], *, dry_run: bool) -> Forgotten:
    """Delete sessions with all that hangs on them, or only count it; what went."""
    taken = Forgotten()
    for number in numbers:
        counts = connection.execute(HELD, {"session_number": number}).one()
        taken = Forgotten(*map(add, astuple(taken), (1, *counts)))
        if dry_run:
            continue
        vectors = select(chunks.c.number).where(chunks.c.session_number == number)
        of_snapshots = select(-passages.c.number).where(passages.c.session_number == number)
        for numbers_of in (vectors, of_snapshots):
            connection.execute(insert(vector_removals).from_select(["chunk_number"], numbers_of))
        drop_receipts(connection, receipt_sources.c.session_number == number)
        marked = select(messages.c.number).where(messages.c.session_number == number)
        connection.execute(delete(recuts).where(recuts.c.message_number.in_(marked)))
        connection.execute(delete(chunks).where(chunks.c.session_number == number))  # faster than a cascade by message
        connection.execute(delete(sessions).where(sessions.c.number == number))
    return taken


def drop_receipts(connection: Connection, source: ColumnElement[bool]) -> None:
    """Delete the receipts, of whatever session, that quote these sources."""
    quoting = select(receipt_sources.c.receipt_number).where(source)
    connection.execute(delete(receipts).where(receipts.c.number.in_(quoting)))


def session_of(row: Row[Any]) -> Session:
    return Session(
        number=row.number,
        key=SessionKey(row.tenant, row.name),
        owner=row.owner,
        settings=json.loads(row.settings),
        meta=Meta(**json.loads(row.meta)),
        last_position=row.last_position,
        made_at=to_moment(row.made_at),
        changed_at=to_moment(row.changed_at),
        rewrites=row.rewrites,
    )


def meta_json(meta: Meta) -> str:
    return to_json(
        {
            "system_prompt": meta.system_prompt,
            "profile": meta.profile,
            "goal": meta.goal,
            "task_state": meta.task_state,
            "extra": meta.extra,
        }
    )


def pin_of(row: Row[Any]) -> Pin:
    return Pin(id=row.id, text=row.text, kind=row.kind, made_at=to_moment(row.made_at))
