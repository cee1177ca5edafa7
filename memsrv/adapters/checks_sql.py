"""What the database can say of its own soundness, and the repairs that are made there.

A finding is told by numbers alone: no text of a message stands in one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, func, insert, or_, select, update

from memsrv.adapters.database import Database
from memsrv.adapters.erasing_sql import UNMARKED, empty, rewritten
from memsrv.adapters.passages_sql import OWN_VERSION, drop_passages
from memsrv.adapters.queue_sql import held, list_removals
from memsrv.adapters.schema import (
    chunks,
    generations,
    messages,
    passages,
    receipt_sources,
    receipts,
    recuts,
    sessions,
    slices,
    snapshots,
    vector_removals,
)
from memsrv.adapters.transcript_rows import MESSAGES_BY_NUMBER, message_of
from memsrv.errors import NotHere
from memsrv.model import Generation, Span, StoredChunk, StoredMessage


class SqlChecks:
    """ports.Checks over SQL."""

    def __init__(self, database: Database):
        self._database = database

    async def integrity(self) -> list[str]:
        """What the database finds wrong with its own files."""
        return await self._database.integrity()

    async def counts(self) -> Mapping[str, int]:
        """How many of each wrong thing the tables hold."""

        def run(connection: Connection) -> dict[str, int]:
            counted = {name: connection.execute(query).scalar_one() for name, query in WRONG.items()}
            return counted | {"unsound_summaries": len(unsound(connection))}

        return await self._database.read(run)

    async def messages(self, *, after: int, limit: int) -> list[StoredMessage]:
        """Messages by number, each with its chunks as they are stored."""
        query = MESSAGES_BY_NUMBER.add_columns(messages.c.digest).where(messages.c.number > after)
        page = query.order_by(messages.c.number).limit(limit)

        def run(connection: Connection) -> list[StoredMessage]:
            rows = connection.execute(page).all()
            cut = chunks_by_message(connection, [row.number for row in rows])
            return [StoredMessage(message_of(row[:-1]), row.digest, cut.get(row.number, ())) for row in rows]

        return await self._database.read(run)

    async def marked(self, generation: Generation, *, after: int, limit: int) -> list[int]:
        """Numbers of the chunks and (negated) passages that are marked as indexed, in order."""
        own = passages.c.number
        of_passages = select(-own).where(passages.c.generation == generation.number, own < -after).order_by(own.desc())
        of_chunks = select(chunks.c.number).where(chunks.c.generation == generation.number, chunks.c.number > after)

        def run(connection: Connection) -> list[int]:
            found = list(connection.scalars(of_passages.limit(limit))) if after < 0 else []
            return [*found, *connection.scalars(of_chunks.order_by(chunks.c.number).limit(limit - len(found)))]

        return await self._database.read(run)

    async def living(self, numbers: Sequence[int]) -> list[int]:
        """Those of these numbers that are a chunk's or a passage's."""
        return await self._database.read(lambda connection: sorted(held(connection, numbers)))

    async def strays(self, numbers: Sequence[int]) -> list[int]:
        """Those of these numbers that are no chunk's or passage's and are not listed for removal."""

        def run(connection: Connection) -> list[int]:
            known = held(connection, numbers)
            for part in slices(numbers):
                listed = select(vector_removals.c.chunk_number).where(vector_removals.c.chunk_number.in_(part))
                known.update(connection.scalars(listed))
            return [number for number in numbers if number not in known]

        return await self._database.read(run)

    async def recut(self, message_numbers: Sequence[int]) -> None:
        """Mark messages to be cut anew."""

        def run(connection: Connection) -> None:
            known = set(connection.scalars(select(recuts.c.message_number)))
            fresh = [{"message_number": number} for number in message_numbers if number not in known]
            if fresh:
                connection.execute(insert(recuts), fresh)

        await self._database.write(run)

    async def unmark(self, chunk_numbers: Sequence[int]) -> None:
        """Mark chunks, and the messages that they are of, or passages, as unindexed."""

        def run(connection: Connection) -> None:
            for part in slices(chunk_numbers):
                connection.execute(update(chunks).where(chunks.c.number.in_(part)).values(UNMARKED))
                theirs = select(chunks.c.message_number).where(chunks.c.number.in_(part))
                connection.execute(update(messages).where(messages.c.number.in_(theirs)).values(WAITING))
                own = [-number for number in part if number < 0]
                connection.execute(update(passages).where(passages.c.number.in_(own)).values(WAITING))

        await self._database.write(run)

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        """List vectors for removal."""
        await self._database.write(lambda connection: list_removals(connection, chunk_numbers))

    async def purge(self) -> None:
        """Take every trace of deleted text out of the files, however large. Raises NotHere where they are not ours."""
        if not self._database.keeps_traces:
            raise NotHere(
                "What was deleted leaves the files of this database by its own autovacuum.",
                "Its backups and write-ahead log hold it for as long as they are kept; docs/growing.md.",
            )
        await self._database.purge()

    async def repair(self) -> None:
        """Mend what `counts` finds, as far as the tables alone tell how."""

        def run(connection: Connection) -> None:
            for mend in MENDED:
                mend(connection)

        await self._database.write(run, erases=True)


WAITING = {"generation": 0, "attempts": 0, "retry_at": 0, "reason": None, "set_aside": False}


def chunks_by_message(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[StoredChunk, ...]]:
    """The chunks of messages, in order."""
    found: dict[int, list[StoredChunk]] = {}
    for part in slices(numbers):
        query = select(chunks).where(chunks.c.message_number.in_(part)).order_by(chunks.c.message_number, chunks.c.ordinal)
        for row in connection.execute(query):
            found.setdefault(row.message_number, []).append(StoredChunk(Span(row.begins, row.ends), row.text, row.terms))
    return {number: tuple(own) for number, own in found.items()}


# --- what is wrong, as SQL ------------------------------------------------------------------------------------------


def count_of(query: Select[Any]) -> Select[Any]:
    return select(func.count()).select_from(query.subquery())


newest = select(func.coalesce(func.max(generations.c.number), 1)).scalar_subquery()
own_messages = select(func.count()).select_from(messages).where(messages.c.session_number == sessions.c.number)
last = select(func.coalesce(func.max(messages.c.position), 0)).where(messages.c.session_number == sessions.c.number)
LOST = select(sessions.c.number).where(
    or_(
        sessions.c.last_position - sessions.c.erased != own_messages.correlate(sessions).scalar_subquery(),
        sessions.c.last_position < last.correlate(sessions).scalar_subquery(),
    )
)
unmarked = and_(chunks.c.message_number == messages.c.number, chunks.c.generation < messages.c.generation)
MISMARKED = select(messages.c.number).where(exists().where(unmarked))
pieces = select(func.count()).select_from(chunks).where(chunks.c.message_number == messages.c.number)
MISCOUNTED = select(messages.c.number).where(messages.c.chunk_count != pieces.correlate(messages).scalar_subquery())
LOOSE = select(chunks.c.number).where(~exists().where(messages.c.number == chunks.c.message_number))
reach = select(sessions.c.last_position).where(sessions.c.number == snapshots.c.session_number).correlate(snapshots)
base = snapshots.alias()
has_base = exists().where(base.c.session_number == snapshots.c.session_number, base.c.version == snapshots.c.base)
UNSOUND = select(snapshots.c.session_number, snapshots.c.version).where(
    snapshots.c.stale.is_(False),
    or_(
        snapshots.c.covers_upto > reach.scalar_subquery(),
        snapshots.c.covers_from > snapshots.c.covers_upto + 1,
        and_(snapshots.c.base > 0, ~has_base),
        func.trim(snapshots.c.text) == "",
    ),
)
of_message = exists().where(messages.c.number == receipt_sources.c.message_number)
of_passage = exists().where(passages.c.number == -receipt_sources.c.message_number)
UNSOURCED = select(receipt_sources.c.receipt_number).where(~of_message, ~of_passage).distinct()
SAID_BY_NONE = ~exists().where(OWN_VERSION, snapshots.c.stale.is_(False))
WRONG: Mapping[str, Select[Any]] = {
    "sessions_that_lack_messages": count_of(LOST),
    "messages_marked_before_their_chunks": count_of(MISMARKED),
    "messages_with_another_number_of_chunks": count_of(MISCOUNTED),
    "chunks_without_a_message": count_of(LOOSE),
    "passages_without_their_summary": select(func.count()).select_from(passages).where(SAID_BY_NONE),
    "receipts_without_their_source": count_of(UNSOURCED),
}


def unsound(connection: Connection) -> set[tuple[int, int]]:
    """Session and version of the sound snapshots that reach too far, say nothing, or cite a message that is not there."""
    found = {(row.session_number, row.version) for row in connection.execute(UNSOUND)}
    columns = (snapshots.c.session_number, snapshots.c.version, snapshots.c.summary)
    told = select(*columns).where(snapshots.c.stale.is_(False), snapshots.c.summary.is_not(None))
    for session_number, version, summary in connection.execute(told):
        cited = {position for _, _, position, _ in json.loads(summary)["lines"] if position}
        there: set[int] = set()
        for part in slices(sorted(cited)):
            here = and_(messages.c.session_number == session_number, messages.c.position.in_(part))
            there.update(connection.scalars(select(messages.c.position).where(here)))
        if cited - there:
            found.add((session_number, version))
    return found


def unmark_messages(connection: Connection) -> None:
    connection.execute(update(messages).where(messages.c.number.in_(MISMARKED)).values(WAITING))


def recut_messages(connection: Connection) -> None:
    there = select(recuts.c.message_number)
    connection.execute(insert(recuts).from_select(["message_number"], MISCOUNTED.where(messages.c.number.not_in(there))))


def drop_loose(connection: Connection) -> None:
    numbers = list(connection.scalars(LOOSE))
    list_removals(connection, numbers)
    for part in slices(numbers):
        connection.execute(chunks.delete().where(chunks.c.number.in_(part)))


def empty_unsound(connection: Connection) -> None:
    for session_number, version in unsound(connection):
        empty(connection, session_number, snapshots.c.version == version)
        rewritten(connection, session_number)


def drop_unsaid(connection: Connection) -> None:
    theirs = list(connection.scalars(select(passages.c.session_number).where(SAID_BY_NONE).distinct()))
    drop_passages(connection, SAID_BY_NONE)
    for session_number in theirs:
        rewritten(connection, session_number)


def drop_unsourced(connection: Connection) -> None:
    connection.execute(receipts.delete().where(receipts.c.number.in_(UNSOURCED)))


MENDED: Sequence[Callable[[Connection], None]] = (
    unmark_messages,
    recut_messages,
    drop_loose,
    empty_unsound,
    drop_unsaid,
    drop_unsourced,
)
