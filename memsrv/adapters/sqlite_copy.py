"""A copy of a data folder's SQL store, made while its server runs or not; the folder stays as it was found.

A journal says that a server runs, or was killed: then SQLite reads as any other reader of the file would. Without one the
file is read as it is; an ordinary reader would make an empty journal and could not take it away.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from memsrv.adapters.sqlite import FILE
from memsrv.errors import CannotStart, SettingsError


def copy_store(folder: Path, into: Path) -> None:
    """Copy one committed state of the store. Raises SettingsError if there is none, CannotStart if it cannot be read."""
    source = (folder / FILE).absolute()
    if not source.is_file():
        raise SettingsError("The data folder holds no sessions: there is no database.", "Name the folder with --data-dir.")
    how = "mode=ro" if source.with_name(f"{FILE}-wal").exists() else "immutable=1"
    address = f"{source.as_uri()}?{how}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as reading, closing(sqlite3.connect(into / FILE)) as writing:
            reading.backup(writing)
    except sqlite3.Error as error:
        raise CannotStart(f"The file {FILE} in the data folder cannot be copied: {error}.") from error
