"""What a store says of its own soundness, in whatever database it is."""

import pytest
from sqlalchemy import text

from memsrv.adapters.checks_sql import SqlChecks
from memsrv.adapters.database import Database
from memsrv.adapters.queue_sql import SqlIndexQueue
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.errors import NotHere
from memsrv.model import Session, SessionKey
from tests.contracts.conftest import MakeMessage

BROKEN = {
    "UPDATE sessions SET last_position = 9": "sessions_that_lack_messages",
    "UPDATE messages SET chunk_count = 7 WHERE position = 1": "messages_with_another_number_of_chunks",
    "UPDATE messages SET generation = 5 WHERE position = 1": "messages_marked_before_their_chunks",
}


@pytest.fixture
async def session(database: Database, key: SessionKey, message: MakeMessage) -> Session:
    """A session of three messages, one of them deleted, in an index of one generation."""
    transcript = SqlTranscript(database)
    await SqlIndexQueue(database).generation("space|8|view1|chunks1")
    made = (await transcript.append(key, [message(f"remark {n}", id=f"m{n}") for n in range(3)])).session
    await transcript.delete(made.number, "m1")
    return made


async def wrong(checks: SqlChecks) -> dict[str, int]:
    return {name: count for name, count in (await checks.counts()).items() if count}


async def test_what_was_stored_and_deleted_is_sound(database: Database, session: Session) -> None:
    checks = SqlChecks(database)
    assert (await checks.integrity(), await wrong(checks)) == ([], {})
    assert [stored.message.id for stored in await checks.messages(after=0, limit=9)] == ["m0", "m2"]


@pytest.mark.parametrize(("statement", "name"), BROKEN.items())
async def test_what_is_wrong_is_counted_and_mended(database: Database, session: Session, statement: str, name: str) -> None:
    checks = SqlChecks(database)
    await database.write(lambda connection: connection.execute(text(statement)) and None)
    assert await wrong(checks) == {name: 1}
    await checks.repair()
    lost = name == "sessions_that_lack_messages"
    recut = [found.id for found in await SqlTranscript(database).uncut(9)]
    assert (await wrong(checks) == {name: 1}) == (lost or bool(recut))


async def test_chunks_are_told_from_numbers_that_are_no_chunks(database: Database, session: Session) -> None:
    checks, queue = SqlChecks(database), SqlIndexQueue(database)
    generation = await queue.newest()
    assert generation is not None
    pending = await queue.pending(generation, limit=9)
    await queue.mark_indexed(generation, pending)
    numbers = [chunk.number for chunk in pending]
    assert await checks.marked(generation, after=0, limit=9) == numbers
    assert await checks.living([*numbers, 999]) == numbers
    assert await checks.strays([*numbers, 999]) == [999]
    await checks.unmark(numbers[:1])
    assert [chunk.number for chunk in await queue.pending(generation, limit=9)] == numbers[:1]


async def test_a_purge_is_refused_where_the_database_clears_away_by_itself(database: Database) -> None:
    if database.keeps_traces:
        await SqlChecks(database).purge()
    else:
        with pytest.raises(NotHere, match="autovacuum"):
            await SqlChecks(database).purge()
