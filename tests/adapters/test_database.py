"""The SQLite file: its schema, its durability, its errors, and that what was deleted is gone from it."""

import asyncio
import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, select, text

import memsrv
from memsrv.adapters import sqlite
from memsrv.adapters.database import HEAD, MAX_TOGETHER, Database
from memsrv.adapters.records_sql import SqlSwitches
from memsrv.adapters.schema import generations
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.snapshots_sql import SqlCompactions, SqlSnapshots
from memsrv.adapters.sqlite import FILE, check_version
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.errors import BadRequest, CannotStart, DiskFull, Internal, MessageNotFound, StoreDown
from memsrv.model import Mode, NewChunk, NewMessage, SessionKey, Span
from tests.adapters.trials import add, counted_around_a_write, differences, traces
from tests.patience import until


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path)
    yield opened
    await opened.close()


def refused(connection: Connection) -> None:
    add("half done")(connection)
    raise MessageNotFound("no")


def broken(connection: Connection) -> None:
    add("half done")(connection)
    raise ZeroDivisionError


# --- opening --------------------------------------------------------------------------------------------------------


async def test_an_empty_folder_gets_the_whole_schema(database):
    assert await database.read(differences) == []
    assert await database.read(lambda connection: connection.scalar(text("SELECT version_num FROM alembic_version"))) == HEAD


def test_the_head_named_in_the_code_is_that_of_the_revisions():
    config = Config()
    config.set_main_option("script_location", str(Path(memsrv.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def of_revision(folder: Path, revision: str) -> None:
    """A database as an older version left it, with one session of one message and one snapshot."""
    config = Config()
    config.set_main_option("script_location", str(Path(memsrv.__file__).parent / "migrations"))
    engine = sqlite.engine(folder, "BEGIN IMMEDIATE", connections=1)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in (
            "INSERT INTO sessions VALUES (7, 'acme', 'talk', NULL, '{}', '{}', 1, 0, 0, 5, 5)",
            "INSERT INTO messages VALUES (3, 7, 1, 'x', '{\"role\":\"user\",\"content\":\"old\"}', 'user', NULL, 5, 5, NULL, 'd',"
            " 0, NULL, 0, 0, NULL, 0)",
            "INSERT INTO snapshots VALUES (7, 1, 1, 'an old summary', 5, 0)",
        ):
            connection.exec_driver_sql(statement)
    engine.dispose()


async def test_a_database_of_the_first_version_is_brought_up_to_date_with_what_it_holds(tmp_path):
    of_revision(tmp_path, "0001")
    database = await Database.open(tmp_path)
    session = await SqlSessions(database).find(SessionKey("acme", "talk"))
    [message] = await SqlTranscript(database).messages(session.number, limit=9)
    assert message.payload["content"] == "old"
    [old] = await SqlSnapshots(database).listing(session.number, limit=9)
    assert (old.text, old.covers_from, old.covers_upto, old.base, old.summary, old.findings) == (
        "an old summary",
        1,
        1,
        0,
        None,
        (),
    )
    await SqlSwitches(database).add(session.key, Mode.HYBRID, Mode.FULL, "", None)
    await SqlCompactions(database).begin(session.number)
    assert await database.read(differences) == []
    await database.close()


async def test_an_older_database_is_told_what_forgetting_has_to_know(tmp_path):
    of_revision(tmp_path, "0001")
    with sqlite3.connect(tmp_path / FILE) as old:
        old.execute("UPDATE sessions SET last_position = 4")
        old.execute("INSERT INTO snapshots VALUES (7, 2, 1, 'edited away', 5, 1)")
        old.execute("""INSERT INTO idempotency VALUES (7, 'k', 'd', '[["x",1,0],["y",3,1]]')""")
        old.execute("INSERT INTO generations VALUES (5, 'f', 0)")
    old.close()
    database = await Database.open(tmp_path)
    held = {
        "SELECT erased FROM sessions": (3,),
        "SELECT first_position, last_position FROM idempotency": (1, 3),
        "SELECT answers FROM generations": (1,),
        "SELECT text FROM snapshots WHERE version = 2": ("",),
    }
    for query, expected in held.items():
        assert await database.read(lambda c, query=query: tuple(c.exec_driver_sql(query).one())) == expected
    assert await gone(tmp_path, b"edited away")
    await database.close()


async def test_what_was_written_is_there_after_opening_again(tmp_path):
    for expected in ([], ["a"]):
        database = await Database.open(tmp_path)
        assert await traces(database) == expected
        await database.write(add("a"))
        await database.close()


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path):
    database = await Database.open(tmp_path)
    await database.write(lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '9999'")) and None)
    await database.close()
    with pytest.raises(CannotStart, match=r"9999.*newer"):
        await Database.open(tmp_path)
    with sqlite3.connect(tmp_path / FILE) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    connection.close()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    (tmp_path / FILE).write_bytes(b"my holiday pictures " * 1000)
    with pytest.raises(CannotStart, match="not a database"):
        await Database.open(tmp_path)
    assert (tmp_path / FILE).read_bytes() == b"my holiday pictures " * 1000


async def test_another_programs_database_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("CREATE TABLE sessions (cookie TEXT)")
    connection.close()
    with pytest.raises(CannotStart, match="another program"):
        await Database.open(tmp_path)


async def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CannotStart) as refusal:
        await Database.open(tmp_path / "missing")
    assert str(tmp_path) not in refusal.value.message


def test_an_sqlite_that_is_too_old_is_refused_on_one_line_that_names_what_is_needed():
    check_version((3, 35, 0))
    with pytest.raises(CannotStart) as refusal:
        check_version((3, 34, 1))
    assert refusal.value.message == "SQLite 3.35 or newer is needed; this Python comes with 3.34.1."


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("secure_delete", 1), ("temp_store", 2)],
)
async def test_connections_are_set_up_for_durable_writes(database, pragma, value):
    def ask(connection: Connection) -> object:
        return connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()

    assert (await database.write(ask), await database.read(ask)) == (value, value)


# --- writing --------------------------------------------------------------------------------------------------------


async def test_a_write_is_seen_by_another_process_when_it_returns(database, tmp_path):
    await database.write(add("a"))
    other = sqlite3.connect(tmp_path / FILE)
    assert other.execute("SELECT fingerprint FROM generations").fetchall() == [("a",)]
    other.close()


async def test_writes_that_wait_together_run_in_order_and_each_gets_its_own_answer(database):
    count = 3 * MAX_TOGETHER

    def numbered(i: int) -> Callable[[Connection], int]:
        return lambda connection: add(str(i))(connection) or i

    assert await asyncio.gather(*(database.write(numbered(i)) for i in range(count))) == list(range(count))
    assert await traces(database) == [str(i) for i in range(count)]


@pytest.mark.parametrize(("failing", "error"), [(refused, MessageNotFound), (broken, ZeroDivisionError)])
async def test_a_write_that_fails_is_undone_alone(database, failing, error):
    outcomes = await asyncio.gather(
        *(database.write(failing if i == 20 else add(str(i))) for i in range(40)), return_exceptions=True
    )
    assert [i for i, outcome in enumerate(outcomes) if isinstance(outcome, error)] == [20]
    assert sum(outcome is None for outcome in outcomes) == 39
    assert sorted(await traces(database), key=int) == [str(i) for i in range(40) if i != 20]


async def test_a_statement_the_database_refuses_is_undone_alone(database):
    def twice(connection: Connection) -> None:
        add("half done")(connection)
        connection.execute(insert(generations).values(number=1, fingerprint="x", made_at=0))

    await database.write(add("first"))
    outcomes = await asyncio.gather(*(database.write(twice if i == 5 else add("ok")) for i in range(10)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(Internal) == 1
    assert await traces(database) == ["first"] + ["ok"] * 9


async def test_a_write_given_up_before_its_turn_is_not_done(database):
    began, gate = threading.Event(), threading.Event()
    holding = asyncio.create_task(database.write(lambda connection: began.set() or (gate.wait() and None)))
    await until(began.is_set)
    given_up, kept = asyncio.create_task(database.write(add("given up"))), asyncio.create_task(database.write(add("kept")))
    await asyncio.sleep(0.01)
    given_up.cancel()
    await asyncio.wait([given_up])
    gate.set()
    await asyncio.gather(holding, kept)
    assert await traces(database) == ["kept"]


async def test_a_read_sees_one_state_while_writes_go_on(database):
    assert await counted_around_a_write(database, database) == (0, 0)


async def test_closing_lets_the_writes_in_hand_end(tmp_path):
    database = await Database.open(tmp_path)
    writes = [asyncio.create_task(database.write(add("a"))) for _ in range(20)]
    await asyncio.sleep(0)
    await database.close()
    await asyncio.gather(*writes)
    again = await Database.open(tmp_path)
    assert len(await traces(again)) == 20
    await again.close()


# --- errors ---------------------------------------------------------------------------------------------------------


async def test_a_full_disk_is_said_so_and_gets_over_without_a_restart(database):
    def limit(pages: int) -> Callable[[Connection], object]:
        return lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count={pages}").scalar()

    pages = await database.write(lambda connection: connection.exec_driver_sql("PRAGMA page_count").scalar())
    await database.write(limit(pages + 4))
    outcomes = await asyncio.gather(*(database.write(add("x" * 9000)) for _ in range(8)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {type(None), DiskFull}
    assert len(await traces(database)) == outcomes.count(None)
    await database.write(limit(100_000))
    await database.write(add("space again"))
    assert (await traces(database))[-1] == "space again"


async def test_a_store_locked_by_another_process_is_down_for_writes_and_open_for_reads(database, tmp_path):
    await database.write(lambda connection: connection.exec_driver_sql("PRAGMA busy_timeout=1") and None)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreDown):
        await database.write(add("a"))
    assert await traces(database) == []
    other.execute("ROLLBACK")
    other.close()
    await database.write(add("b"))
    assert await traces(database) == ["b"]


async def test_a_read_only_store_is_down_for_writes(database):
    await database.write(lambda connection: connection.exec_driver_sql("PRAGMA query_only=ON") and None)
    with pytest.raises(StoreDown) as refusal:
        await database.write(add("a"))
    assert "INSERT" not in refusal.value.message


# --- deleted text ---------------------------------------------------------------------------------------------------


def said(text: str, id: str) -> NewMessage:
    chunk = NewChunk(Span(0, len(text)), text, tuple(text.split()))
    return NewMessage(id, {"role": "user", "content": text}, None, None, "d", (chunk,))


def files_with(folder: Path, word: bytes) -> list[str]:
    return [path.name for path in folder.iterdir() if word in path.read_bytes()]


async def gone(folder: Path, word: bytes) -> bool:
    """Whether a word leaves the files."""
    return bool(await until(lambda: not files_with(folder, word)))


@pytest.mark.parametrize("how", ["delete", "edit", "forget"])
async def test_deleted_text_leaves_the_files_by_itself(database, tmp_path, how):
    transcript, key = SqlTranscript(database), SessionKey("acme", "talk")
    session = (await transcript.append(key, [said("Passport ZX-0099182", "x"), said("stays", "y")])).session
    assert files_with(tmp_path, b"ZX-0099182")
    if how == "delete":
        await transcript.delete(session.number, "x")
    elif how == "edit":
        await transcript.replace(session.number, "x", lambda _: said("Passport removed", "x"))
    else:
        await SqlSessions(database).forget(key)
    assert await gone(tmp_path, b"ZX-0099182")
    assert bool(files_with(tmp_path, b"stays")) == (how != "forget")


async def test_deleted_text_leaves_the_files_while_readers_come_and_go(database, tmp_path):
    transcript = SqlTranscript(database)
    session = (await transcript.append(SessionKey("acme", "talk"), [said("Passport ZX-0099182", "x")])).session
    done = asyncio.Event()

    async def read() -> None:
        while not done.is_set():
            await transcript.messages(session.number, limit=10)

    readers = [asyncio.create_task(read()) for _ in range(3)]
    await transcript.delete(session.number, "x")
    assert await gone(tmp_path, b"ZX-0099182")
    done.set()
    await asyncio.gather(*readers)


async def test_no_copy_of_a_deleted_row_stays_between_the_rows_that_are_left(database, tmp_path):
    chance = random.Random(0)
    transcript, key = SqlTranscript(database), SessionKey("acme", "talk")
    ids = [f"id{i}" for i in range(400)]
    new = [said(f"needle-{id}-end " + "x" * chance.choice([5, 50, 300, 2000, 9000]), id) for id in ids]
    session = (await transcript.append(key, new)).session
    chance.shuffle(ids)
    await asyncio.gather(*(transcript.delete(session.number, id) for id in ids[:300]))
    await database.purge()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [id for id in ids[:300] if f"needle-{id}-end".encode() in content] == []
    assert all(f"needle-{id}-end".encode() in content for id in ids[300:])


async def test_what_a_killed_server_deleted_leaves_the_files_at_the_next_start(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    database = await Database.open(before)
    transcript = SqlTranscript(database)
    session = (await transcript.append(SessionKey("acme", "talk"), [said("Passport ZX-0099182", "x")])).session
    began, gate = threading.Event(), threading.Event()

    def read(connection: Connection) -> None:
        connection.scalar(text("SELECT 1 FROM messages"))
        began.set()
        gate.wait()

    reader = asyncio.create_task(database.read(read))
    await until(began.is_set)
    await transcript.delete(session.number, "x")
    for path in before.iterdir():  # as a killed server leaves them
        (after / path.name).write_bytes(path.read_bytes())
    gate.set()
    await reader
    await database.close()
    assert files_with(after, b"ZX-0099182")
    again = await Database.open(after)
    assert await gone(after, b"ZX-0099182")
    await again.close()


@pytest.mark.parametrize(("upto_bytes", "left"), [(1, True), (None, False)])
async def test_a_file_over_the_limit_only_has_its_journal_emptied(database, tmp_path, upto_bytes, left):
    await database.write(sqlite.note_traces)
    await database.purge(upto_bytes=upto_bytes)
    assert (tmp_path / f"{FILE}-wal").stat().st_size == 0
    other = sqlite3.connect(tmp_path / FILE)
    assert sqlite.has_traces(other) == left
    other.close()


# --- values that no column holds ------------------------------------------------------------------------------------


async def test_a_number_of_more_than_64_bits_is_refused_and_takes_nothing_from_the_others(database):
    def too_large(connection: Connection) -> None:
        connection.execute(insert(generations).values(fingerprint="x", made_at=2**63))

    outcomes = await asyncio.gather(*(database.write(write) for write in (add("a"), too_large, add("b"))), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), BadRequest, type(None)]
    assert await traces(database) == ["a", "b"]
    with pytest.raises(BadRequest, match="A number is too large"):
        await database.read(lambda connection: connection.execute(select(generations).limit(2**64)).all())


async def test_a_text_of_more_than_the_store_takes_is_refused(database):
    with pytest.raises(BadRequest, match="too long"):
        await database.read(lambda connection: connection.execute(text("SELECT zeroblob(2000000000)")).all())
