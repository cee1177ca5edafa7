"""Keys in one small file of the data folder, apart from the database.

(1) Every change is a new file that takes the old one's place, on disk when it is told: a reader sees the keys before or after,
    never half of them. Changes wait for each other.
(2) Every look finds what is in force: a command can make and revoke keys while a server runs, and needs neither its lock nor
    its database. A look costs one `stat`.
(3) A file that has become unreadable opens nothing new: the keys that were known stay. Of a file that is gone none stays.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import structlog

from memsrv.core.keys import as_json, from_json
from memsrv.errors import CannotStart
from memsrv.model import AccessKey

FILE = "keys.json"
READ_ERRORS = (OSError, ValueError, KeyError, TypeError)

log = structlog.get_logger()


class FileKeys:
    """The keys of a data folder. `lock` keeps processes that change them apart."""

    def __init__(self, folder: Path, lock: AbstractContextManager[Any]):
        self._path = folder / FILE
        self._lock = lock
        self._keys: dict[str, AccessKey] = {}
        self._stamp: object = None

    def open(self) -> None:
        """Read the keys for the first time. Raises CannotStart when the file is there and cannot be read."""
        try:
            self._read()
        except READ_ERRORS:
            raise CannotStart(f"The file {FILE} in the data folder cannot be read.", "Restore it, or move it away.") from None

    def all(self) -> tuple[AccessKey, ...]:
        """Every key, revoked ones too, in the order in which they were made."""
        self._look()
        return tuple(self._keys.values())

    def find(self, id: str) -> AccessKey | None:
        """The key of this id."""
        self._look()
        return self._keys.get(id)

    def add(self, key: AccessKey) -> None:
        """Keep a new key."""
        with self._changing():
            self._write([*self._keys.values(), key])

    def replace(self, key: AccessKey) -> None:
        """Put a changed key in the place of the old one; nothing if it is not there."""
        with self._changing():
            self._write([key if old.id == key.id else old for old in self._keys.values()])

    # --- the file -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Alone, on the newest keys. Raises CannotStart when the folder takes no file."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock:
                self.open()
                yield
        except OSError as error:
            raise CannotStart(f"The keys cannot be written: {error.strerror or 'the file is locked'}.") from None

    def _look(self) -> None:
        try:
            self._read()
        except READ_ERRORS as error:
            log.error("keys cannot be read", error=type(error).__name__)

    def _read(self) -> None:
        """Read the file if it has changed."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._keys, self._stamp = {}, None
            return
        stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
        if stamp != self._stamp:
            keys = [from_json(written) for written in json.loads(self._path.read_text(encoding="utf-8"))["keys"]]
            self._keys, self._stamp = {key.id: key for key in keys}, stamp

    def _write(self, keys: Iterable[AccessKey]) -> None:
        """For its owner only: the hashes tell nothing, but the names of tenants may."""
        text = json.dumps({"keys": [as_json(key) for key in keys]}, ensure_ascii=False, indent=1)
        new = self._path.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        sync_folder(self._path.parent)
        self._read()


def sync_folder(folder: Path) -> None:
    """A new name in a folder is on disk only when the folder is."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
