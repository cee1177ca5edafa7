"""The PostgreSQL database: its schema, its durability, its errors, that writers of several processes take turns."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, insert, select, text

import memsrv
from memsrv.adapters.calibration_sql import SqlCalibrations
from memsrv.adapters.database import HEAD, Database
from memsrv.adapters.postgresql import PostgresqlServer, check_version
from memsrv.adapters.schema import generations
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.core.prompt.calibration import Calibration
from memsrv.errors import BadRequest, CannotStart, Internal, MessageNotFound, SettingsError, StoreDown
from memsrv.model import Message, NewChunk, NewMessage, SessionKey, Span
from tests.adapters.trials import add, counted_around_a_write, differences, traces
from tests.patience import PATIENCE_S
from tests.postgresql import Postgresql

KEY = SessionKey("acme", "talk")


@pytest.fixture(scope="module")
def url(postgresql: Postgresql) -> str:
    return postgresql.database()


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    opened = await Database.connect(url)
    await opened.write(lambda connection: connection.execute(text("TRUNCATE generations, sessions CASCADE")) and None)
    yield opened
    await opened.close()


@pytest.fixture
async def other(url: str) -> AsyncIterator[Database]:
    """The same database, as another process has it."""
    opened = await Database.connect(url)
    yield opened
    await opened.close()


def holding_up(began: threading.Event, gate: threading.Event) -> Callable[[Connection], None]:
    """A write that leaves a trace and then waits."""

    def run(connection: Connection) -> None:
        add("held up")(connection)
        began.set()
        gate.wait(10)

    return run


def setting(name: str) -> Callable[[Connection], object]:
    return lambda connection: connection.exec_driver_sql(f"SHOW {name}").scalar()


def said(text: str, id: str | None = None) -> NewMessage:
    return NewMessage(id, {"role": "user", "content": text}, None, None, text, (NewChunk(Span(0, len(text)), text, (text,)),))


# --- opening --------------------------------------------------------------------------------------------------------


async def test_an_empty_database_gets_the_whole_schema(database):
    assert await database.read(differences) == []
    assert await database.read(lambda connection: connection.scalar(text("SELECT version_num FROM alembic_version"))) == HEAD


@pytest.mark.parametrize("revision", ["0001", "0003"])
async def test_an_older_database_is_brought_up_to_date_with_what_it_holds(postgresql, revision):
    url = postgresql.database()
    of_revision(url, revision)
    opened = await Database.connect(url)
    held = {
        "SELECT erased, last_position FROM sessions": (2, 3),
        "SELECT first_position, last_position FROM idempotency": (1, 3),
        "SELECT answers FROM generations": (True,),
        "SELECT text FROM snapshots": ("",),
    }
    for query, expected in held.items():
        assert await opened.read(lambda c, query=query: tuple(c.exec_driver_sql(query).one())) == expected
    assert await opened.read(differences) == []
    await opened.close()


def of_revision(url: str, revision: str) -> None:
    """A database as an older version left it: a session of three positions, one of them taken, and an edited summary."""
    config = Config()
    config.set_main_option("script_location", str(Path(memsrv.__file__).parent / "migrations"))
    engine = PostgresqlServer(url).writing()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in (
            "INSERT INTO sessions VALUES (7, 'acme', 'talk', NULL, '{}', '{}', 3, 0, 0, 5, 5)",
            """INSERT INTO messages VALUES (3, 7, 1, 'x', '{"role":"user","content":"old"}', 'user', NULL, 5, 5, NULL, 'd',"""
            " 0, NULL, 0, 0, NULL, false)",
            "INSERT INTO snapshots (session_number, version, covers_upto, text, made_at, stale)"
            " VALUES (7, 1, 1, 'edited', 5, true)",
            """INSERT INTO idempotency VALUES (7, 'k', 'd', '[["x",1,0],["y",3,1]]')""",
            "INSERT INTO generations VALUES (5, 'f', 0)",
        ):
            connection.exec_driver_sql(statement)
    engine.dispose()


async def test_several_processes_that_start_at_once_make_one_schema(postgresql):
    url = postgresql.database()
    opened = await asyncio.gather(*(Database.connect(url) for _ in range(4)))
    assert [await traces(one) for one in opened] == [[]] * 4
    for one in opened:
        await one.close()


async def test_two_memsrvs_live_in_two_schemas_of_one_database(postgresql):
    url = postgresql.database()
    name = url.split("@/")[1].split("?")[0]
    for schema in ("one", "two"):
        postgresql.admin(f"CREATE SCHEMA {schema} AUTHORIZATION memsrv", name)
    one, two = [await Database.connect(f"{url}&options=-csearch_path%3D{schema}") for schema in ("one", "two")]
    began, gate = threading.Event(), threading.Event()
    holding = asyncio.create_task(one.write(holding_up(began, gate)))
    await asyncio.to_thread(began.wait, PATIENCE_S)
    await two.write(add("b"))  # although the other one is in the midst of a write
    gate.set()
    await holding
    assert (await traces(one), await traces(two)) == (["held up"], ["b"])
    await one.close()
    await two.close()


async def test_another_programs_database_is_refused(postgresql):
    url = postgresql.database()
    postgresql.admin("CREATE TABLE cookies (name text)", url.split("@/")[1].split("?")[0])
    with pytest.raises(CannotStart, match="another program"):
        await Database.connect(url)


async def test_an_encoding_that_does_not_hold_every_text_is_refused(postgresql):
    url = postgresql.database("ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(CannotStart, match="LATIN1") as refusal:
        await Database.connect(url)
    assert "UTF8" in refusal.value.hint


async def test_a_role_that_may_make_no_tables_is_told_what_it_needs(postgresql):
    url = postgresql.database()
    postgresql.admin("CREATE ROLE guest LOGIN")
    with pytest.raises(CannotStart, match="permission denied") as refusal:
        await Database.connect(url.replace("memsrv:swordfish", "guest"))
    assert "OWNER" in refusal.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://memsrv:swordfish@127.0.0.1:1/nowhere",
        "postgresql://memsrv:swordfish@/nowhere?host=/no/such/folder",
        "postgresql://memsrv:swordfish@127.0.0.1:1/x?nonsense=1",
        "postgresql://memsrv:swordfish@[::1/x",
        "postgresql://memsrv:swordfish@host:port/x",
    ],
)
async def test_no_refusal_tells_the_password(url):
    with pytest.raises((CannotStart, SettingsError)) as refusal:
        await Database.connect(url)
    assert "swordfish" not in refusal.value.message + refusal.value.hint


def test_a_server_that_is_too_old_is_refused_with_what_is_needed():
    check_version(14)
    with pytest.raises(CannotStart, match="PostgreSQL 14 or newer is needed; the server is version 13"):
        check_version(13)


# --- writing --------------------------------------------------------------------------------------------------------


async def test_a_commit_is_durable_whatever_the_servers_default_is(database):
    assert await database.write(setting("synchronous_commit")) == "on"  # the test's server has it off


async def test_a_process_that_hangs_is_cut_off(postgresql, database):
    assert await database.write(setting("idle_in_transaction_session_timeout")) == "20s"
    engine = PostgresqlServer(postgresql.url("postgres")).locking()
    with engine.connect() as connection:
        assert setting("idle_session_timeout")(connection) == "10s"
    engine.dispose()


async def test_readers_can_do_nothing_but_read_one_state(database, other):
    assert await database.read(setting("transaction_isolation")) == "repeatable read"
    assert await database.read(setting("transaction_read_only")) == "on"
    assert await counted_around_a_write(database, other) == (0, 0)


async def test_what_two_processes_read_and_change_is_added_up(database, other):
    def one_more(old: Calibration) -> Calibration:
        return Calibration(old.counted_tokens + 1, old.reported_tokens, old.percent, old.reports + 1)

    both = [SqlCalibrations(database), SqlCalibrations(other)]
    await asyncio.gather(*(both[i % 2].change("acme", "m", one_more) for i in range(60)))
    assert (await both[0].find("acme", "m")).counted_tokens == 60


async def test_positions_have_no_gap_when_several_processes_write_to_one_new_session(database, other):
    both = [SqlTranscript(database), SqlTranscript(other)]
    appended = await asyncio.gather(*(both[i % 2].append(KEY, [said(f"{i}a"), said(f"{i}b")]) for i in range(40)))
    session = appended[0].session
    messages = await both[0].messages(session.number, limit=1000)
    assert [message.position for message in messages] == list(range(1, 81))
    texts = [message.payload["content"] for message in messages]
    assert all(first[:-1] == second[:-1] for first, second in zip(texts[::2], texts[1::2], strict=True))


async def test_two_processes_that_store_the_same_message_store_it_once(database, other):
    both = [SqlTranscript(database), SqlTranscript(other)]
    appended = await asyncio.gather(*(both[i % 2].append(KEY, [said("hello", "x")]) for i in range(20)))
    assert sum(one.messages[0].created for one in appended) == 1
    again = await asyncio.gather(
        *(both[i % 2].append(KEY, [said("once")], idempotency_key="k", request_digest="d") for i in range(20))
    )
    assert {one.messages[0].id for one in again} == {again[0].messages[0].id}
    assert len(await both[0].messages(appended[0].session.number, limit=100)) == 2


async def test_an_edit_builds_on_the_edit_of_another_process(database, other):
    both = [SqlTranscript(database), SqlTranscript(other)]
    session = (await both[0].append(KEY, [said("", "x")])).session

    def longer(old: Message) -> NewMessage:
        return said(old.payload["content"] + "!", "x")

    await asyncio.gather(*(both[i % 2].replace(session.number, "x", longer) for i in range(30)))
    assert (await both[0].message(session.number, "x")).payload["content"] == "!" * 30


async def test_names_stand_in_order_of_their_code_points(database):
    names = ["b", "B", "a", "É", "zebra", "Zebra", "花", "a b", "a-b", "_", "😀"]
    sessions = SqlSessions(database)
    for name in names:
        await sessions.save(SessionKey("acme", name), lambda session: session, create=True)
    listed = await sessions.listing("acme", owner=None, after=None, limit=100)
    assert [session.key.name for session in listed] == sorted(names)
    rest = await sessions.listing("acme", owner=None, after="a b", limit=100)
    assert [session.key.name for session in rest] == sorted(names)[sorted(names).index("a b") + 1 :]


async def test_the_longest_names_have_room_in_the_indexes(database):
    key = SessionKey("t" * 100, "😀" * 512)
    appended = await SqlTranscript(database).append(key, [said("hello", "🐟" * 512)], idempotency_key="🐟" * 512)
    assert (await SqlSessions(database).find(key)).number == appended.session.number


# --- errors ---------------------------------------------------------------------------------------------------------


async def test_a_write_that_fails_is_undone_alone(database):
    def refused(connection: Connection) -> None:
        add("half done")(connection)
        raise MessageNotFound("no")

    def twice(connection: Connection) -> None:
        add("half done")(connection)
        connection.execute(text("INSERT INTO sessions SELECT * FROM sessions, generations"))

    writes = [refused if i == 3 else twice if i == 7 else add(str(i)) for i in range(12)]
    outcomes = await asyncio.gather(*(database.write(write) for write in writes), return_exceptions=True)
    failed = {i: type(outcome) for i, outcome in enumerate(outcomes) if outcome is not None}
    assert failed == {3: MessageNotFound, 7: Internal}
    assert await traces(database) == [str(i) for i in range(12) if i not in failed]


async def test_a_number_that_no_column_holds_is_refused(database):
    def too_large(connection: Connection) -> None:
        connection.execute(insert(generations).values(fingerprint="x", made_at=2**63))

    with pytest.raises(BadRequest, match="A number is too large"):
        await database.write(too_large)
    with pytest.raises(BadRequest, match="A number is too large"):
        await database.read(lambda connection: connection.execute(select(generations).limit(2**64)).all())


async def test_a_writer_that_holds_up_the_others_is_told_of_and_got_over(database, other):
    await other.write(lambda connection: connection.exec_driver_sql("SET lock_timeout = 10") and None)
    began, gate = threading.Event(), threading.Event()
    holding = asyncio.create_task(database.write(holding_up(began, gate)))
    await asyncio.to_thread(began.wait, PATIENCE_S)
    outcomes = await asyncio.gather(*(other.write(add("b")) for _ in range(5)), return_exceptions=True)
    assert ["nothing was written" in getattr(outcome, "message", "") for outcome in outcomes] == [True] * 5
    assert await traces(other) == []
    gate.set()
    await holding
    await other.write(add("c"))
    assert await traces(database) == ["held up", "c"]


async def test_a_server_that_was_started_anew_is_found_at_the_next_try(postgresql, database):
    await database.write(add("a"))
    await traces(database)
    postgresql.stop("immediate")
    with pytest.raises(StoreDown):
        await database.write(add("b"))
    with pytest.raises(StoreDown):
        await traces(database)
    postgresql.start()
    await database.write(add("c"))
    assert await traces(database) == ["a", "c"]


async def test_writes_that_were_cut_off_may_have_been_done_and_are_not_tried_again(postgresql, database):
    began, gate = threading.Event(), threading.Event()

    def cut_off(connection: Connection) -> None:
        postgresql.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memsrv'")
        connection.execute(text("SELECT 1"))

    holding = asyncio.create_task(database.write(holding_up(began, gate)))
    await asyncio.to_thread(began.wait, PATIENCE_S)
    waiting = [asyncio.create_task(database.write(write)) for write in (add("a"), cut_off, add("b"))]
    await asyncio.sleep(0)
    gate.set()
    await holding
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert ["may have been done" in getattr(outcome, "message", "") for outcome in outcomes] == [True] * 3
    assert await traces(database) == ["held up"]
