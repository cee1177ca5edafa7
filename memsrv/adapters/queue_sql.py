"""The indexer's work list over SQL.

(1) A message waits while its generation is older than the newest; only `mark_indexed` lifts it, and only when every
    one of its chunks was marked.
(2) A vector whose chunk is gone is on the list of removals: put there by the transaction that took the chunk out, and
    once more by `mark_indexed` if the vector was made meanwhile.
(3) A generation that is built beside another does not answer until `swap`. Meanwhile what the other lacks too comes first.
(4) A message of thousands of chunks is handed out in parts and leaves room for others.
(5) A passage of a snapshot waits as a message of one chunk does, by numbers below zero, and comes after the messages that wait
    as it does. What cuts messages anew does not concern it.
(6) A chunk that is marked holds the digest of what was embedded; whatever unmarks it takes the digest, which tells of what was
    said before it too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, bindparam, delete, func, insert, select, update

from memsrv.adapters.database import Database
from memsrv.adapters.erasing_sql import SPEAKING
from memsrv.adapters.passages_sql import due_passages, pending_passage
from memsrv.adapters.schema import (
    answering_generation,
    chunks,
    generations,
    messages,
    newest_generation,
    now_micros,
    passages,
    recuts,
    sessions,
    slices,
    vector_removals,
)
from memsrv.core.recall.view import digest
from memsrv.core.text.content import without_nul
from memsrv.model import Generation, PendingChunk, Said

RETRY_S = 1.0
LONGEST_RETRY_S = 300.0


class SqlIndexQueue:
    """Which chunks still wait for a vector, and which vectors must go."""

    def __init__(self, database: Database):
        self._database = database

    async def generation(self, fingerprint: str) -> tuple[Generation, bool]:
        """The newest generation, for this fingerprint, and whether it is new. It is built beside the one that answers if that
        is of the same space; another chunker marks every message to be cut anew."""

        def run(connection: Connection) -> tuple[Generation, bool]:
            newest = newest_row(connection)
            if newest is not None and newest.fingerprint == fingerprint:
                return newest, False
            answering = answering_row(connection)
            new = Generation(0, fingerprint)
            if newest is not None and newest.chunker != new.chunker:
                mark_all_uncut(connection)
            beside = answering is not None and answering.space == new.space
            return begin_generation(connection, fingerprint, beside=beside), True

        return await self._database.write(run)

    async def renew(self, fingerprint: str, *, beside: bool = False) -> Generation:
        """Begin a new generation although the fingerprint is the same."""
        return await self._database.write(lambda connection: begin_generation(connection, fingerprint, beside=beside))

    async def newest(self) -> Generation | None:
        """The generation that is filled."""
        return await self._database.read(newest_row)

    async def answering(self) -> Generation | None:
        """The generation that searches go to."""
        return await self._database.read(answering_row)

    async def swap(self, generation: Generation) -> None:
        """This generation answers from now on."""

        def run(connection: Connection) -> None:
            connection.execute(update(generations).values(answers=generations.c.number == generation.number))

        await self._database.write(run)

    async def left(self, generation: Generation) -> tuple[int, int]:
        """How many messages and passages that are indexed elsewhere this generation misses still, and how many there are to
        index."""
        older = {table: (table.c.generation > 0) & (table.c.generation < generation.number) for table in (messages, passages)}
        missing = [counted(table, table.c.set_aside.is_(False), which) for table, which in older.items()]
        every = [counted(table, table.c.generation.is_not(None)) for table in older]
        query = select(missing[0] + missing[1], every[0] + every[1])
        row = await self._database.read(lambda connection: connection.execute(query).one())
        return row[0], row[1]

    async def indexed_chunks(self, generation: Generation) -> int:
        """How many chunks are marked, also of messages that are not whole yet."""
        marked = [counted(table, table.c.generation == generation.number) for table in (chunks, passages)]
        count: int = await self._database.read(lambda connection: connection.execute(select(marked[0] + marked[1])).scalar_one())
        return count

    async def pending(self, generation: Generation, *, limit: int) -> list[PendingChunk]:
        """Chunks of unindexed messages that are due, those that cannot be searched yet first, then the oldest; a message of
        more than half the limit in parts. Passages likewise, after the messages that can be searched as little as they."""

        def run(connection: Connection) -> list[PendingChunk]:
            answering = connection.scalar(select(answering_generation())) or 0
            due = due_messages(connection, generation.number, limit, first_below=answering)
            due += due_passages(connection, generation.number, limit, first_below=answering)
            first = sorted(due, key=lambda row: row.generation >= answering)[:limit]
            return [
                pending
                for row, room in shared(first, limit)
                for pending in waiting_chunks(connection, row, generation.number, room, answering)
            ]

        return await self._database.read(run)

    async def mark_indexed(self, generation: Generation, chunks: Sequence[PendingChunk]) -> None:
        """The vectors of these chunks are in the index; those whose chunk is gone meanwhile must leave it."""
        numbers = [chunk.number for chunk in chunks]
        touched = sorted({chunk.message_number for chunk in chunks})
        digests = {chunk.number: digest(chunk) for chunk in chunks if chunk.number > 0}

        def run(connection: Connection) -> None:
            list_removals(connection, gone(connection, numbers))
            mark(connection, generation.number, digests, numbers, touched)

        await self._database.write(run)

    async def embedded(self, generation: Generation, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Of each of these digests that a marked chunk has, the number of the newest such chunk."""

        def run(connection: Connection) -> dict[bytes, int]:
            found: dict[bytes, int] = {}
            for part in slices(digests):
                rows = connection.execute(NEWEST_EMBEDDED, {"digests": part, "generation": generation.number})
                found.update((row.digest, row.number) for row in rows)
            return found

        return await self._database.read(run)

    async def mark_failed(self, message_number: int, reason: str, *, most: int) -> bool:
        """Count a failed attempt; the message waits twice as long each time, and is set aside for this generation at the
        `most`-th. Whether it is set aside now."""

        def run(connection: Connection) -> bool:
            table = messages if message_number > 0 else passages
            here = table.c.number == abs(message_number)
            before = connection.scalar(select(table.c.attempts).where(here))
            if before is None:
                return False  # deleted meanwhile
            wait_s = min(RETRY_S * 2 ** min(before, 30), LONGEST_RETRY_S)
            retry_at, set_aside = now_micros() + int(wait_s * 1_000_000), bool(before + 1 >= most)
            values = {"attempts": before + 1, "retry_at": retry_at, "reason": without_nul(reason), "set_aside": set_aside}
            connection.execute(update(table).where(here).values(values))
            return set_aside

        return await self._database.write(run)

    async def removals(self, limit: int) -> list[int]:
        """Numbers of chunks whose vectors must be removed."""
        query = select(vector_removals.c.chunk_number).order_by(vector_removals.c.chunk_number).limit(limit)
        return list(await self._database.read(lambda connection: connection.scalars(query).all()))

    async def clear_removals(self, chunk_numbers: Sequence[int]) -> None:
        """These are removed."""
        await self._database.write(lambda connection: unlist_removals(connection, chunk_numbers))

    async def backlog(self) -> tuple[int, int]:
        """How many messages and passages the generation that answers misses and how many are set aside, over all tenants."""
        unindexed = [counted(table, *waiting(table, answering_generation())) for table in (messages, passages)]
        set_aside = [counted(table, table.c.set_aside) for table in (messages, passages)]
        query = select(unindexed[0] + unindexed[1], set_aside[0] + set_aside[1])
        row = await self._database.read(lambda connection: connection.execute(query).one())
        return row[0], row[1]

    async def next_due_s(self) -> float | None:
        """Seconds until a waiting message or passage is due again (0 if one is), or None if none waits."""
        queries = [
            select(func.min(table.c.retry_at)).where(*waiting(table, newest_generation())) for table in (messages, passages)
        ]
        dues = await self._database.read(lambda connection: [connection.scalar(query) for query in queries])
        due_at = min((due for due in dues if due is not None), default=None)
        return None if due_at is None else max(0.0, (due_at - now_micros()) / 1_000_000)


def counted(table: Table, *which: ColumnElement[bool]) -> ColumnElement[int]:
    """How many rows there are, as SQL."""
    return select(func.count()).select_from(table).where(*which).scalar_subquery()


def newest_row(connection: Connection) -> Generation | None:
    """The generation that is filled."""
    row = connection.execute(NEWEST).one_or_none()
    return Generation(row.number, row.fingerprint) if row else None


def answering_row(connection: Connection) -> Generation | None:
    """The generation that searches go to."""
    row = connection.execute(ANSWERING).one_or_none()
    return Generation(row.number, row.fingerprint) if row else None


NEWEST = select(generations).order_by(generations.c.number.desc()).limit(1)
ANSWERING = NEWEST.where(generations.c.answers)


def begin_generation(connection: Connection, fingerprint: str, *, beside: bool) -> Generation:
    """Insert it, and give every message that failed before a fresh start. It answers at once, unless it is built beside
    the one that does."""
    if not beside:
        connection.execute(update(generations).values(answers=False))
    connection.execute(insert(generations).values(fingerprint=fingerprint, made_at=now_micros(), answers=not beside))
    for table in (messages, passages):
        failed = table.c.set_aside | (table.c.attempts > 0)
        connection.execute(update(table).where(failed).values(attempts=0, retry_at=0, reason=None, set_aside=False))
    number = connection.scalar(select(func.max(generations.c.number)))
    assert number is not None
    return Generation(number, fingerprint)


def mark_all_uncut(connection: Connection) -> None:
    """Mark every message to be cut anew."""
    connection.execute(delete(recuts))
    connection.execute(insert(recuts).from_select(["message_number"], select(messages.c.number)))


# --- handing out ----------------------------------------------------------------------------------------------------


def waiting(table: Table, generation: ColumnElement[int]) -> tuple[ColumnElement[bool], ...]:
    """Messages, or passages, that a generation misses and that are not set aside."""
    return table.c.set_aside.is_(False), table.c.generation < generation


def due_messages(connection: Connection, generation: int, limit: int, *, first_below: int) -> list[Row[Any]]:
    """At most `limit` messages that wait and are due: those of generations before `first_below`, then the oldest.

    One query for each older generation (there are few): inside one, the index has them in order already.
    """
    found: list[Row[Any]] = []
    least = connection.scalar(LEAST_WAITING, {"above": -1, "below": generation})
    while least is not None:
        found.extend(connection.execute(DUE_OF, {"generation": least, "now": now_micros(), "most": limit}))
        least = connection.scalar(LEAST_WAITING, {"above": least, "below": generation})
    return sorted(found, key=lambda row: (row.generation >= first_below, row.number))[:limit]


# Asked in every round, so they are put together only once.
LEAST_WAITING = select(func.min(messages.c.generation)).where(
    messages.c.set_aside.is_(False), messages.c.generation > bindparam("above"), messages.c.generation < bindparam("below")
)
DUE_COLUMNS = ("number", "session_number", "position", "chunk_count", "role", "name", "attempts", "generation")
DUE_OF = (
    select(*(messages.c[name] for name in DUE_COLUMNS), sessions.c.tenant)
    .join(sessions, sessions.c.number == messages.c.session_number)
    .where(
        messages.c.set_aside.is_(False),
        messages.c.generation == bindparam("generation"),
        messages.c.retry_at <= bindparam("now"),
    )
    .order_by(messages.c.number)
    .limit(bindparam("most"))
)


def shared(due: Sequence[Row[Any]], limit: int) -> list[tuple[Row[Any], int]]:
    """Messages with the number of chunks each may hand out, about `limit` in all.

    Giants (more than half the limit) share what the others leave, but never less than half, so that neither stops the other.
    """
    half = max(1, limit // 2)
    giants = [row for row in due if row.chunk_count > half]
    chosen: list[tuple[Row[Any], int]] = []
    room = limit - half if giants else limit
    for row in due:
        if row.chunk_count <= half and room > 0:
            chosen.append((row, row.chunk_count))
            room -= row.chunk_count
    room = limit - sum(share for _, share in chosen)
    for row in giants:
        if room > 0:
            chosen.append((row, min(row.chunk_count, room)))
            room -= row.chunk_count
    return chosen


# Asked once for each message that is handed out, so they are put together only once.
FIRST_WAITING = select(func.min(chunks.c.ordinal)).where(
    chunks.c.message_number == bindparam("message_number"), chunks.c.generation < bindparam("generation")
)
NEARBY = (
    select(chunks.c.number, chunks.c.ordinal, chunks.c.text, chunks.c.generation)
    .where(chunks.c.message_number == bindparam("message_number"), chunks.c.ordinal >= bindparam("first"))
    .order_by(chunks.c.ordinal)
    .limit(bindparam("count"))
)
SAID_BEFORE = (
    select(messages.c.role, messages.c.name, chunks.c.text)
    .join(chunks, (chunks.c.message_number == messages.c.number) & (chunks.c.ordinal == messages.c.chunk_count - 1))
    .where(messages.c.session_number == bindparam("session_number"), messages.c.position < bindparam("position"))
    .where(messages.c.chunk_count > 0, messages.c.role.in_(SPEAKING))
    .order_by(messages.c.position.desc())
    .limit(1)
)


def waiting_chunks(connection: Connection, message: Row[Any], generation: int, room: int, answering: int) -> list[PendingChunk]:
    """The first `room` chunks of a message that wait, each with what was said before it; a passage is its own chunk."""
    if message.number < 0:
        return [pending_passage(message, answering)]
    own = {"message_number": message.number}
    first = connection.scalar(FIRST_WAITING, own | {"generation": generation})
    if first is None:
        return []
    before = None if first else said_before(connection, message)
    found = []
    for row in connection.execute(NEARBY, own | {"first": first - 1, "count": 1 + room}):
        said = Said(message.name or message.role, row.text)
        if row.generation < generation:
            of_message = (message.session_number, message.number, message.tenant)
            fresh = row.generation < answering
            found.append(PendingChunk(row.number, *of_message, said, before, message.attempts, fresh))
        before = said
    return found[:room]


def said_before(connection: Connection, message: Row[Any]) -> Said | None:
    """The last chunk of the message before this one that says something."""
    place = {"session_number": message.session_number, "position": message.position}
    row = connection.execute(SAID_BEFORE, place).one_or_none()
    return Said(row.name or row.role, row.text) if row else None


# --- marking --------------------------------------------------------------------------------------------------------

NEWEST_EMBEDDED = (
    select(chunks.c.digest, func.max(chunks.c.number).label("number"))
    .where(chunks.c.digest.in_(bindparam("digests", expanding=True)), chunks.c.generation == bindparam("generation"))
    .group_by(chunks.c.digest)
)
MARK = update(chunks).where(chunks.c.number == bindparam("own")).values(generation=bindparam("now"), digest=bindparam("of"))


def gone(connection: Connection, numbers: Sequence[int]) -> list[int]:
    """Those of the chunks that are no longer there."""
    there = held(connection, numbers)
    return [number for number in numbers if number not in there]


def held(connection: Connection, numbers: Sequence[int]) -> set[int]:
    """Those of the numbers that are a chunk's, or (negated) a passage's."""
    there: set[int] = set()
    for part in slices(numbers):
        there.update(connection.scalars(select(chunks.c.number).where(chunks.c.number.in_(part))))
        own = [-number for number in part if number < 0]
        there.update(connection.scalars(select(-passages.c.number).where(passages.c.number.in_(own))) if own else ())
    return there


def mark(
    connection: Connection,
    generation: int,
    digests: Mapping[int, bytes],
    numbers: Sequence[int],
    message_numbers: Sequence[int],
) -> None:
    """Mark chunks, each with its digest, and passages; then those of the messages that have none left unmarked."""
    if digests:
        connection.execute(MARK, [{"own": own, "now": generation, "of": of} for own, of in digests.items()])
    unmarked = (
        select(chunks.c.number).where(chunks.c.message_number == messages.c.number, chunks.c.generation < generation).exists()
    )
    done = {"generation": generation, "attempts": 0, "retry_at": 0, "reason": None}
    for part in slices([-number for number in numbers if number < 0]):
        connection.execute(update(passages).where(passages.c.number.in_(part)).values(done))
    for part in slices(message_numbers):
        whole = messages.c.number.in_(part) & messages.c.generation.is_not(None) & ~unmarked
        connection.execute(update(messages).where(whole).values(done))


def list_removals(connection: Connection, numbers: Sequence[int]) -> None:
    unlist_removals(connection, numbers)  # some may be on the list already
    if numbers:
        connection.execute(insert(vector_removals), [{"chunk_number": number} for number in numbers])


def unlist_removals(connection: Connection, numbers: Sequence[int]) -> None:
    for part in slices(numbers):
        connection.execute(delete(vector_removals).where(vector_removals.c.chunk_number.in_(part)))
