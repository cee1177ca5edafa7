"""Snapshots over SQL, and what the compaction has to know of sessions.

(1) A snapshot's version is one more than the last of its session, stale ones counted.
(2) A snapshot is stored only on the ground it was made on: no message was edited or deleted since its sources were read, and
    the snapshot it was folded from is still the newest sound one. So of two compactions at once one is stored.
(3) A try of a compaction is noted before it begins, and the note goes in the transaction that stores its snapshot: what kills
    the server is not tried without end.
"""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, delete, func, insert, select, update

from memsrv.adapters.database import Database
from memsrv.adapters.passages_sql import add_passages
from memsrv.adapters.schema import (
    compaction_tries,
    now_micros,
    sessions,
    snapshots,
    to_json,
    to_micros,
    to_moment,
)
from memsrv.core.text.content import without_nul
from memsrv.errors import SessionNotFound, SummaryConflict, SummaryNotFound, SummaryStale
from memsrv.model import Heading, Language, Line, NewSnapshot, SessionKey, Snapshot, Standing, Summary, Trigger

RETRY_S = 2.0
LONGEST_RETRY_S = 600.0
BROKEN_OFF = "it was broken off"

# Asked for every prompt, so they are put together only once.
LATEST = (
    select(snapshots)
    .where(snapshots.c.session_number == bindparam("session_number"), snapshots.c.stale.is_(False))
    .order_by(snapshots.c.version.desc())
    .limit(1)
)


class SqlSnapshots:
    """Stored summaries: immutable, but that they turn stale, and lose their text when a message they cover is deleted."""

    def __init__(self, database: Database):
        self._database = database

    async def latest(self, session_number: int) -> Snapshot | None:
        """The newest snapshot that is not stale."""
        return await self._database.read(lambda connection: newest_sound(connection, session_number))

    async def get(self, session_number: int, version: int) -> Snapshot:
        """One version. Raises SummaryNotFound."""
        return await self._database.read(lambda connection: snapshot_of(version_row(connection, session_number, version)))

    async def listing(self, session_number: int, *, after: int = 0, limit: int) -> list[Snapshot]:
        """Snapshots by version."""
        query = (
            select(snapshots)
            .where(snapshots.c.session_number == session_number, snapshots.c.version > after)
            .order_by(snapshots.c.version)
            .limit(limit)
        )
        return await self._database.read(lambda connection: [snapshot_of(row) for row in connection.execute(query)])

    async def add(self, session_number: int, new: NewSnapshot) -> Snapshot:
        """Store a new version; see (2). Raises SummaryConflict, or SessionNotFound if the session was forgotten meanwhile."""

        def run(connection: Connection) -> Snapshot:
            rewrites = rewrites_of(connection, session_number)
            base = newest_sound(connection, session_number)
            if rewrites != new.rewrites or (base.version if base else 0) != new.base:
                raise SummaryConflict("The session changed while it was summarised.")
            connection.execute(delete(compaction_tries).where(compaction_tries.c.session_number == session_number))
            made = insert_next(connection, session_number, values_of(new))
            add_passages(connection, session_number, made.version, to_micros(made.made_at), new.passages)
            return made

        return await self._database.write(run)

    async def restore(self, session_number: int, version: int) -> Snapshot:
        """Store a version's content and reach as a new version. Raises SummaryNotFound and SummaryStale."""

        def run(connection: Connection) -> Snapshot:
            rewrites_of(connection, session_number)
            old = version_row(connection, session_number, version)
            if old.stale or not old.text.strip():
                raise SummaryStale(f"Version {version} tells what was edited or deleted since.")
            newest = newest_sound(connection, session_number)
            kept = {name: getattr(old, name) for name in ("covers_from", "covers_upto", "summary", "text", "made_by", "findings")}
            changed = {"reason": Trigger.RESTORE.value, "base": newest.version if newest else 0}
            return insert_next(connection, session_number, kept | changed)

        return await self._database.write(run)


class SqlCompactions:
    """How far each session is summarised, and which compactions did not come to an end."""

    def __init__(self, database: Database):
        self._database = database

    async def standing(self, session_number: int) -> Standing | None:
        """How one session stands; None if it was forgotten."""
        of_session = {"session_number": session_number}
        row = await self._database.read(lambda connection: connection.execute(STANDING, of_session).one_or_none())
        return standing_of(row) if row else None

    async def behind(self, *, after: int, limit: int) -> list[Standing]:
        """Sessions, in order of number, that go on beyond their newest sound snapshot."""
        query = standings().where(sessions.c.number > after, sessions.c.last_position > covered())
        ordered = query.order_by(sessions.c.number).limit(limit)
        return await self._database.read(lambda connection: [standing_of(row) for row in connection.execute(ordered)])

    async def begin(self, session_number: int) -> None:
        """Note that a compaction is tried; until one is stored each note makes the next try wait twice as long."""

        def run(connection: Connection) -> None:
            rewrites_of(connection, session_number)
            here = compaction_tries.c.session_number == session_number
            before = connection.scalar(select(compaction_tries.c.tries).where(here)) or 0
            wait_s = min(RETRY_S * 2 ** min(before, 30), LONGEST_RETRY_S)
            values = {"tries": before + 1, "retry_at": now_micros() + int(wait_s * 1_000_000), "reason": BROKEN_OFF}
            connection.execute(delete(compaction_tries).where(here))
            connection.execute(insert(compaction_tries).values(values | {"session_number": session_number}))

        await self._database.write(run)

    async def failed(self, session_number: int, reason: str) -> None:
        """Say why the try that was begun failed."""
        here = compaction_tries.c.session_number == session_number
        change = update(compaction_tries).where(here).values(reason=without_nul(reason))
        await self._database.write(lambda connection: connection.execute(change) and None)

    async def settled(self, session_number: int) -> None:
        """Forget the tries: there is nothing to do any more, or what failed was no fault of the summary's."""
        here = delete(compaction_tries).where(compaction_tries.c.session_number == session_number)
        await self._database.write(lambda connection: connection.execute(here) and None)


# --- reading --------------------------------------------------------------------------------------------------------


def newest_sound(connection: Connection, session_number: int) -> Snapshot | None:
    row = connection.execute(LATEST, {"session_number": session_number}).one_or_none()
    return None if row is None else snapshot_of(row)


def version_row(connection: Connection, session_number: int, version: int) -> Row[Any]:
    """The row of a version, else SummaryNotFound."""
    query = select(snapshots).where(snapshots.c.session_number == session_number, snapshots.c.version == version)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise SummaryNotFound(f"There is no summary of version {version} in this session.")
    return row


def rewrites_of(connection: Connection, session_number: int) -> int:
    """The session's count of edits and deletes. Raises SessionNotFound."""
    query = select(sessions.c.rewrites).where(sessions.c.number == session_number)
    rewrites: int | None = connection.scalar(query)
    if rewrites is None:
        raise SessionNotFound("The session was deleted meanwhile.")
    return rewrites


def newest_sound_version() -> ColumnElement[int]:
    of_session = (snapshots.c.session_number == sessions.c.number, snapshots.c.stale.is_(False))
    newest = select(func.max(snapshots.c.version)).where(*of_session).correlate(sessions)
    return func.coalesce(newest.scalar_subquery(), 0)


def covered() -> ColumnElement[int]:
    """Up to which position the newest sound snapshot of a session reaches, as SQL."""
    of_session = (snapshots.c.session_number == sessions.c.number, snapshots.c.stale.is_(False))
    newest = select(snapshots.c.covers_upto).where(*of_session).order_by(snapshots.c.version.desc()).limit(1)
    return func.coalesce(newest.correlate(sessions).scalar_subquery(), 0)


def standings() -> Select[Any]:
    """Sessions with what a Standing needs."""
    stale = snapshots.alias()
    turned = (stale.c.session_number == sessions.c.number, stale.c.stale, stale.c.version > newest_sound_version())
    reached = select(func.max(stale.c.covers_upto)).where(*turned).correlate(sessions)
    return select(
        sessions.c.number,
        sessions.c.tenant,
        sessions.c.name,
        covered().label("covered_upto"),
        func.coalesce(reached.scalar_subquery(), 0).label("stale_upto"),
        func.coalesce(compaction_tries.c.tries, 0).label("tries"),
        func.coalesce(compaction_tries.c.retry_at, 0).label("retry_at"),
        func.coalesce(compaction_tries.c.reason, "").label("reason"),
    ).outerjoin(compaction_tries, compaction_tries.c.session_number == sessions.c.number)


STANDING = standings().where(sessions.c.number == bindparam("session_number"))  # asked after every append


def standing_of(row: Row[Any]) -> Standing:
    wait_s = max(0.0, (row.retry_at - now_micros()) / 1_000_000)
    key = SessionKey(row.tenant, row.name)
    return Standing(key, row.number, row.covered_upto, row.stale_upto, row.tries, wait_s, row.reason)


def snapshot_of(row: Row[Any]) -> Snapshot:
    return Snapshot(
        version=row.version,
        covers_upto=row.covers_upto,
        text=row.text,
        made_at=to_moment(row.made_at),
        stale=row.stale,
        covers_from=row.covers_from,
        summary=summary_from(row.summary) if row.summary else None,
        made_by=row.made_by,
        reason=Trigger(row.reason),
        base=row.base,
        findings=tuple(json.loads(row.findings)),
    )


def summary_from(written: str) -> Summary:
    """A summary from its column."""
    body = json.loads(written)
    lines = (
        Line(Heading(heading), text, position, None if sent_at is None else to_moment(sent_at))
        for heading, text, position, sent_at in body["lines"]
    )
    return Summary(tuple(lines), Language(body["language"]))


# --- writing --------------------------------------------------------------------------------------------------------


def insert_next(connection: Connection, session_number: int, values: Mapping[str, Any]) -> Snapshot:
    """Insert the next version."""
    of_session = snapshots.c.session_number == session_number
    last = connection.scalar(select(func.coalesce(func.max(snapshots.c.version), 0)).where(of_session)) or 0
    own = {"session_number": session_number, "version": last + 1, "made_at": now_micros(), "stale": False}
    connection.execute(insert(snapshots).values(own | dict(values)))
    return snapshot_of(version_row(connection, session_number, last + 1))


def values_of(new: NewSnapshot) -> dict[str, Any]:
    """The columns of a new snapshot."""
    return {
        "base": new.base,
        "covers_from": new.covers_from,
        "covers_upto": new.covers_upto,
        "summary": summary_json(new.summary),
        "text": without_nul(new.text),
        "made_by": without_nul(new.made_by),
        "reason": new.reason.value,
        "findings": to_json([dict(finding) for finding in new.findings]),
    }


def summary_json(summary: Summary) -> str:
    """A summary as its column holds it."""
    lines = [
        (line.heading.value, line.text, line.position, None if line.sent_at is None else to_micros(line.sent_at))
        for line in summary.lines
    ]
    return to_json({"language": summary.language.value, "lines": lines})
