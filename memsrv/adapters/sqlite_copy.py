"""A copy of a data folder's SQL store, made while its server runs or not; the folder stays as it was found.

A journal says that a server runs, or was killed: then SQLite reads as any other reader of the file would. Without one the
file is read as it is; an ordinary reader would make an empty journal and could not take it away.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from memsrv.adapters.sqlite import FILE
from memsrv.errors import CannotStart, SettingsError


@dataclass(frozen=True, slots=True)
class Held:
    """What a store holds: the revision of its schema, and how many of each."""

    revision: str
    sessions: int
    messages: int


def copy_store(folder: Path, into: Path) -> None:
    """Copy one committed state of the store. Raises SettingsError if there is none, CannotStart if it cannot be read."""
    with reader(folder) as reading, closing(sqlite3.connect(into / FILE)) as writing:
        reading.backup(writing)


def copy_without_traces(folder: Path, into: Path) -> None:
    """As `copy_store`, but every page is written anew, so that nothing that was deleted goes along."""
    with reader(folder) as reading:
        reading.execute("VACUUM INTO ?", (str(into / FILE),))
    with closing(sqlite3.connect(into / FILE)) as copy:
        copy.execute("PRAGMA user_version=0")  # a note of traces, which are not here


@contextmanager
def reader(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing."""
    source = (folder / FILE).absolute()
    if not source.is_file():
        raise SettingsError("The data folder holds no sessions: there is no database.", "Name the folder with --data-dir.")
    how = "mode=ro" if source.with_name(f"{FILE}-wal").exists() else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{source.as_uri()}?{how}", uri=True)) as reading:
            yield reading
    except sqlite3.Error as error:
        raise CannotStart(f"The file {FILE} in the data folder cannot be copied: {error}.") from error


def inspected(file: Path) -> Held:
    """What a copy holds, after a look at its integrity. Raises CannotStart if it is damaged or no store of ours."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?immutable=1", uri=True)) as reading:
            sound = reading.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            [revision] = reading.execute("SELECT version_num FROM alembic_version").fetchone()
            [sessions] = reading.execute("SELECT count(*) FROM sessions").fetchone()
            [messages] = reading.execute("SELECT count(*) FROM messages").fetchone()
    except (sqlite3.Error, TypeError) as error:
        raise CannotStart("The copy is damaged, or no store of memsrv.", "Take another backup.") from error
    if not sound:
        raise CannotStart("The copy is damaged.", "Take another backup.")
    return Held(revision, sessions, messages)
