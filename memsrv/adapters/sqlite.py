"""What only SQLite knows: how a connection is set up, what its errors mean, how deleted text leaves its file.

Deleting alone leaves words in three places. `secure_delete` overwrites what a row occupied. The journal keeps old pages
until it is emptied. And where SQLite has moved rows between pages, copies of them stay in the unused middle of a page;
only VACUUM, which writes every page anew, takes them out.
"""

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.pool import QueuePool

from memsrv.errors import BadRequest, CannotStart, DiskFull, Internal, MemsrvError, StoreDown

log = structlog.get_logger()

FILE = "memsrv.sqlite3"
NEEDED = (3, 35)  # RETURNING
LOCK_WAIT_MS = 5000
JOURNAL_WAIT_MS = 200  # how long the writer stands still for readers that need the journal
LITTLE_SPACE_BYTES = 1_000_000
SET_UP = (
    f"busy_timeout={LOCK_WAIT_MS}",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
    "temp_store=MEMORY",
)
OUT_OF_REACH = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PROTOCOL,
    }
)


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """database.Vendor for the file of a data folder."""

    folder: Path
    name = f"The file {FILE} in the data folder"
    keeps_traces = True

    def writing(self) -> Engine:
        """Made for one process: the data folder is locked. Raises CannotStart when Python's SQLite is too old."""
        check_version(sqlite3.sqlite_version_info)
        return engine(self.folder, "BEGIN IMMEDIATE", connections=1)

    def reading(self, connections: int) -> Engine:
        return engine(self.folder, "BEGIN", connections=connections)

    def check(self, connection: Connection) -> None:
        """Every SQLite that is new enough will do."""

    def describe(self, connection: Connection) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    def integrity(self, connection: Connection) -> list[str]:
        """The lines of `integrity_check` and of `foreign_key_check`, at most a hundred; none is good."""
        lines = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check(100)") if row[0] != "ok"]
        broken = {(row[0], row[2]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(100)}
        return lines + [f"rows of {table} refer to rows of {parent} that are not there" for table, parent in sorted(broken)]

    def in_our_words(self, error: DBAPIError) -> MemsrvError:
        return in_our_words(error, self.folder)

    def not_usable(self, error: DBAPIError) -> CannotStart:
        return CannotStart(f"{self.name} cannot be used: {error.orig}.")

    def note_traces(self, connection: Connection) -> None:
        note_traces(connection)

    def has_traces(self, engine: Engine) -> bool:
        return on_driver(engine, has_traces)

    def purge(self, engine: Engine, upto_bytes: int | None) -> bool:
        """A file of more than `upto_bytes` only has its journal emptied."""
        size_bytes = (self.folder / FILE).stat().st_size
        if upto_bytes is not None and size_bytes > upto_bytes:
            log.warning("not_vacuumed", size_bytes=size_bytes, most_bytes=upto_bytes)
            return on_driver(engine, empty_journal)
        return on_driver(engine, purge)


def check_version(found: tuple[int, ...]) -> None:
    """Raise CannotStart when Python's SQLite is too old."""
    if found < NEEDED:
        needed, version = (".".join(map(str, numbers)) for numbers in (NEEDED, found))
        raise CannotStart(f"SQLite {needed} or newer is needed; this Python comes with {version}.")


def engine(folder: Path, begin: str, *, connections: int) -> Engine:
    """An engine whose every connection is set up for durable writes, and whose transactions open with `begin`."""
    made = create_engine(f"sqlite:///{folder / FILE}", poolclass=QueuePool, pool_size=connections, max_overflow=0)

    def set_up(driver: Any, _: object) -> None:
        driver.isolation_level = None  # the driver's own BEGIN would come too late
        for pragma in SET_UP:
            driver.execute(f"PRAGMA {pragma}")

    event.listen(made, "connect", set_up)
    event.listen(made, "begin", lambda connection: connection.exec_driver_sql(begin))
    return made


def in_our_words(error: DBAPIError, folder: Path) -> MemsrvError:
    """A driver's error as one of ours."""
    if isinstance(error, DataError):
        return BadRequest("A number is too large, or a text too long.")
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    little_space = shutil.disk_usage(folder).free < LITTLE_SPACE_BYTES
    if code == sqlite3.SQLITE_FULL or (code in OUT_OF_REACH and little_space):
        return DiskFull("The disk is full; nothing was written.")
    if code in OUT_OF_REACH:
        return StoreDown("The store cannot be used at the moment; nothing was written.")
    return Internal("The store refused what the server asked of it.")


# --- deleted text ---------------------------------------------------------------------------------------------------


def note_traces(connection: Connection) -> None:
    """Note, in the transaction that deletes text, that traces of it are left; the note outlives a crash."""
    connection.exec_driver_sql("PRAGMA user_version=1")


def has_traces(driver: Any) -> bool:
    """Whether there is such a note."""
    return bool(driver.execute("PRAGMA user_version").fetchone()[0])


def purge(driver: Any) -> bool:
    """Take every trace of deleted text out of the files; False if a reader still needs the journal."""
    if has_traces(driver):
        vacuum(driver)
    return empty_journal(driver)


def vacuum(driver: Any) -> None:
    """Write every page anew; the note goes. Readers go on meanwhile."""
    driver.execute("PRAGMA temp_store=FILE")  # a copy of the whole database is too much for the memory
    try:
        driver.execute("VACUUM")
        driver.execute("PRAGMA user_version=0")
    finally:
        driver.execute("PRAGMA temp_store=MEMORY")


def empty_journal(driver: Any) -> bool:
    """Move the whole journal into the database file and cut it to nothing; False if a reader still needs it."""
    driver.execute(f"PRAGMA busy_timeout={JOURNAL_WAIT_MS}")
    try:
        busy: int = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return busy == 0
    finally:
        driver.execute(f"PRAGMA busy_timeout={LOCK_WAIT_MS}")


def on_driver(made: Engine, run: Callable[[Any], bool]) -> bool:
    """Run a function on the driver's own connection, outside a transaction; False if the database fails it."""
    try:
        with made.connect() as connection:
            return run(connection.connection)
    except (DBAPIError, sqlite3.Error):
        return False
