"""The SQL store: one writer, a few readers, vendor errors mapped at this one edge.

(1) A write is on the disk when `write` returns, by a commit that the vendor makes durable.
(2) Writes that wait together are committed together, each in a savepoint: one fsync for all, and one that fails takes
    nothing of the others with it.
(3) Writes happen one after the other, in the order of the calls, those of other processes in between; a read sees one
    committed state.
(4) Deleted text leaves SQLite's files soon after; a note in the same transaction sees to it, also after a crash.
(5) A schema that this version does not know is never touched.
(6) While the store is out of reach no write is tried again by itself: one whose commit was cut off may have been done, and
    what waits behind a lock would wait once more for each.

The tables and statements of the other adapters are plain SQL; what only one database knows is in `sqlite` and `postgresql`.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import structlog
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from memsrv.adapters.postgresql import PostgresqlServer
from memsrv.adapters.sqlite import SqliteFile
from memsrv.errors import BadRequest, CannotStart, MemsrvError, StoreDown

T = TypeVar("T")
log = structlog.get_logger()

HEAD = "0008"  # the newest revision in memsrv/migrations, here so that a start need not load Alembic
READERS = 4
MAX_TOGETHER = 64  # writes in one commit
RETRY_PAUSES_S = (0.05, 0.2, 1.0, 10.0)  # before each new try to purge; the last one repeats
REST = 20  # a purge is followed by a rest so many times as long: at most a twentieth of the time goes into purging
VACUUM_UPTO_BYTES = 256_000_000  # what is vacuumed unasked: the writer stands still for about two seconds


class Vendor(Protocol):
    """What only one kind of database knows."""

    @property
    def name(self) -> str:
        """What a refusal calls it."""
        ...

    def writing(self) -> Engine:
        """For transactions that are durable and of which there is one at a time, whatever process begins it."""
        ...

    def reading(self, connections: int) -> Engine:
        """For transactions that see one committed state."""
        ...

    def check(self, connection: Connection) -> None:
        """Raise CannotStart for a database that would not keep what is promised."""
        ...

    def describe(self, connection: Connection) -> str:
        """What it is, for people."""
        ...

    def integrity(self, connection: Connection) -> list[str]:
        """What it finds wrong with its own files; none is good."""
        ...

    def in_our_words(self, error: DBAPIError) -> MemsrvError:
        """A driver's error as one of ours."""
        ...

    def not_usable(self, error: DBAPIError) -> CannotStart:
        """An error that met the start."""
        ...

    @property
    def keeps_traces(self) -> bool:
        """Whether deleted text stays in its files until it is purged."""
        ...

    def note_traces(self, connection: Connection) -> None:
        """Note, in the transaction that deletes text, that traces of it are left."""
        ...

    def has_traces(self, engine: Engine) -> bool:
        """Whether there is such a note."""
        ...

    def purge(self, engine: Engine, upto_bytes: int | None) -> bool:
        """Whether the traces are out of the files now, as far as that is ours to do."""
        ...


@dataclass(slots=True)
class Write:
    """One write on its way. `settled` once a commit holds its outcome; `alone` after a commit that failed for all."""

    run: Callable[[Connection], Any]
    answer: Any = None
    refusal: MemsrvError | None = None
    settled: bool = False
    alone: bool = False
    given_up: bool = False


class Database:
    """A SQLite file or a PostgreSQL database. `write` and `read` raise StoreDown and DiskFull, and BadRequest for a
    value that no column holds, besides what their function raises."""

    def __init__(self, vendor: Vendor):
        self._vendor = vendor
        self._writing = vendor.writing()
        self._reading = vendor.reading(READERS)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="sql-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sql-reader")
        self._waiting: deque[Write] = deque()
        self._erased = False
        self._purging: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, folder: Path) -> Self:
        """Open the SQLite file of a folder, made if it is missing, and bring its schema up to date. Raises CannotStart."""
        return await cls(SqliteFile(folder))._prepared()

    @classmethod
    async def connect(cls, url: str) -> Self:
        """Open the PostgreSQL database at a URL and bring its schema up to date. Raises CannotStart, which does not tell the
        URL's password."""
        return await cls(PostgresqlServer(url))._prepared()

    async def _prepared(self) -> Self:
        try:
            if await self._on_writer(self._prepare):
                self._purge_soon()  # what a server that was killed has left
        except CannotStart:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Let the writes in hand end, then close; the journal goes, and the traces of what was deleted."""
        if self._purging is not None and not self._purging.done():
            self._purging.cancel()
            await self._on_writer(self._purge, VACUUM_UPTO_BYTES)
        for pool in (self._writer, self._readers):
            await asyncio.to_thread(pool.shutdown)
        self._reading.dispose()
        self._writing.dispose()

    async def write(self, run: Callable[[Connection], T], *, erases: bool = False) -> T:
        """Run the function in a transaction; what it did is durable when this returns, or undone when this raises.

        The function may be run more than once, so it has no effect but on the connection. `erases`: it deletes text
        that must leave the files too; this is seen to soon after.
        """
        write = Write(partial(self._run_erasing, run) if erases else run)
        self._waiting.append(write)
        try:
            answer: T = await self._on_writer(self._take_turn, write)
            return answer
        finally:
            write.given_up = not write.settled
            if erases:
                self._purge_soon()

    async def read(self, run: Callable[[Connection], T]) -> T:
        """Run the function on one committed state of the database."""
        return await asyncio.wrap_future(self._readers.submit(self._read, run))

    async def describe(self) -> str:
        """What it is, for people. Raises StoreDown."""
        return await self.read(self._vendor.describe)

    async def integrity(self) -> list[str]:
        """What the database finds wrong with its own files; none is good."""
        return await self.read(self._vendor.integrity)

    @property
    def keeps_traces(self) -> bool:
        """Whether deleted text stays in its files until it is purged."""
        return self._vendor.keeps_traces

    async def purge(self, *, upto_bytes: int | None = None) -> None:
        """Take what was deleted out of the files; returns when it is done. Writes wait meanwhile, a second or so for each
        100 MB. A file of more than `upto_bytes` only has its journal emptied."""
        for pause_s in chain(RETRY_PAUSES_S, repeat(RETRY_PAUSES_S[-1])):
            if await self._on_writer(self._purge, upto_bytes):
                return
            await asyncio.sleep(pause_s)

    async def _on_writer(self, run: Callable[..., T], *arguments: object) -> T:
        return await asyncio.wrap_future(self._writer.submit(run, *arguments))

    def _purge_soon(self) -> None:
        self._erased = True
        if self._purging is None or self._purging.done():
            self._purging = asyncio.create_task(self._purge_all())

    async def _purge_all(self) -> None:
        while self._erased:
            self._erased = False
            began = time.monotonic()
            await self.purge(upto_bytes=VACUUM_UPTO_BYTES)
            await asyncio.sleep(REST * (time.monotonic() - began))

    # --- in the threads ---------------------------------------------------------------------------------------------

    def _prepare(self) -> bool:
        """Whether traces of deleted text are left from before."""
        try:
            with self._writing.begin() as connection:
                self._vendor.check(connection)
                migrate(connection, self._vendor.name)
        except DBAPIError as error:
            raise self._vendor.not_usable(error) from error
        return self._vendor.has_traces(self._writing)

    def _read(self, run: Callable[[Connection], T]) -> T:
        with self._mapped(), self._reading.begin() as connection:
            return run(connection)

    def _take_turn(self, write: Write) -> Any:
        """Commit this write with those that wait behind it, unless an earlier turn has done so already."""
        if not write.settled and not write.alone:
            self._commit_together(self._next_batch())
        if not write.settled:
            with self._mapped(), self._writing.begin() as connection:
                return write.run(connection)
        if write.refusal is not None:
            raise write.refusal
        return write.answer

    def _next_batch(self) -> list[Write]:
        batch: list[Write] = []
        while self._waiting and len(batch) < MAX_TOGETHER:
            write = self._waiting.popleft()
            if not write.given_up:
                batch.append(write)
        return batch

    def _commit_together(self, batch: list[Write]) -> None:
        """Run each in a savepoint. When a statement or our own code fails, nothing is settled: each tries alone then, so that an
        error meets the one it belongs to. A store that is out of reach is so for all."""
        for write in batch:
            write.alone = True
        if len(batch) < 2:
            return
        try:
            with self._writing.begin() as connection:
                for write in batch:
                    run_in_savepoint(connection, write)
        except DBAPIError as error:
            if isinstance(self._vendor.in_our_words(error), StoreDown):
                for write in batch:
                    write.refusal, write.settled = self._vendor.in_our_words(error), True
            return
        except (
            SQLAlchemyError,
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ):
            return
        for write in batch:
            write.settled = True

    def _run_erasing(self, run: Callable[[Connection], T], connection: Connection) -> T:
        """Run a function that deletes text, and note that traces of it are left in the files."""
        answer = run(connection)
        self._vendor.note_traces(connection)
        return answer

    def _purge(self, upto_bytes: int | None) -> bool:
        """Whether it is done; not if a reader or a full disk stands in the way."""
        return self._vendor.purge(self._writing, upto_bytes)

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._vendor.in_our_words(error) from error
        except OverflowError as error:  # the driver's, for a number of more than 64 bits, which SQLAlchemy passes on as it is
            raise BadRequest("A number is too large.") from error


def run_in_savepoint(connection: Connection, write: Write) -> None:
    """Note the function's answer, or its refusal and undo what it did. Other errors go on."""
    write.answer = write.refusal = None
    try:
        with connection.begin_nested():
            write.answer = write.run(connection)
    except MemsrvError as refusal:
        write.refusal = refusal


def revisions() -> frozenset[str]:
    """Those of the schema that this version can open."""
    from alembic import config, script

    settings = config.Config()
    settings.set_main_option("script_location", str(Path(__file__).parent.parent / "migrations").replace("%", "%%"))
    return frozenset(one.revision for one in script.ScriptDirectory.from_config(settings).walk_revisions())


def migrate(connection: Connection, name: str) -> None:
    """Bring the schema to HEAD, inside the caller's transaction. Raises CannotStart for one that is newer or foreign."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables and tables:
        raise CannotStart(f"{name} is another program's database.")
    stored = connection.scalar(text("SELECT version_num FROM alembic_version")) if tables else None
    if stored == HEAD:
        return
    from alembic import command, config, script, util  # only a changed schema pays for loading it

    settings = config.Config()
    settings.set_main_option("script_location", str(Path(__file__).parent.parent / "migrations").replace("%", "%%"))
    settings.attributes["connection"] = connection
    try:
        script.ScriptDirectory.from_config(settings).get_revision(stored or HEAD)
    except util.CommandError:
        raise CannotStart(
            f"The database has schema {stored}, this version knows up to {HEAD}: it was made by a newer memsrv.",
            "Install the newer memsrv again, or choose another folder with --data-dir (database with MEMSRV_DATABASE_URL).",
        ) from None
    command.upgrade(settings, HEAD)
