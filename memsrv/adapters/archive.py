"""A backup: one zip file with a copy of the store and what else of a data folder cannot be made anew.

(1) The copy is one committed state, taken while a server runs or not, without traces of what was deleted.
(2) It is looked at before it counts: SQLite's own check, then a digest that a restore compares.
(3) `chroma/` and `models/` are made from the store and are left out. What stands beside it as a plain file (keys) is in it.
(4) A backup comes into being whole or not at all, and a restore replaces nothing before all of it was checked.
"""

import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memsrv import __version__
from memsrv.adapters.sqlite import FILE
from memsrv.adapters.sqlite_copy import Held, copy_without_traces, inspected
from memsrv.errors import CannotStart, SettingsError

MANIFEST = "manifest.json"
LOCK = "lock"
JOURNALS = (f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal")
LEFT_OUT = frozenset({FILE, *JOURNALS, LOCK, MANIFEST})
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Archive:
    """What a backup holds: when and by which version it was made, and the SHA-256 of each file in it."""

    made_at: str
    version: str
    held: Held
    digests: Mapping[str, str]


def back_up(folder: Path, file: Path) -> Archive:
    """Write a backup of a data folder. Raises SettingsError if the file is there or the folder holds no store, CannotStart if
    it cannot be read or written."""
    if file.exists():
        raise SettingsError("The file of the backup is there already.", "Name another one.")
    if not file.absolute().parent.is_dir():
        raise SettingsError("The folder of the backup is not there.", "Make it first.")
    try:
        with TemporaryDirectory(prefix=".memsrv-backup-", dir=file.absolute().parent) as scratch:
            at = Path(scratch)
            copy_without_traces(folder, at)
            beside = [one for one in sorted(folder.iterdir()) if one.is_file() and one.name not in LEFT_OUT]
            members = {FILE: at / FILE} | {one.name: one for one in beside}
            digests = {name: digest_of(path) for name, path in members.items()}
            archive = Archive(datetime.now(UTC).isoformat(), __version__, inspected(at / FILE), digests)
            write_zip(at / MANIFEST, members, archive)
            (at / MANIFEST).rename(file)
    except OSError as error:
        raise CannotStart(
            f"The backup cannot be written: {error.strerror}.", "Free some space, or name another place."
        ) from error
    return archive


def write_zip(path: Path, members: Mapping[str, Path], archive: Archive) -> None:
    """Only the owner may read it."""
    path.touch(mode=0o600)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        for name, source in members.items():
            written.write(source, name)
        written.writestr(MANIFEST, json.dumps(asdict(archive), indent=1))
    with path.open("rb") as done:
        os.fsync(done.fileno())


def restore(file: Path, folder: Path, *, known: frozenset[str], force: bool) -> Archive:
    """Put a backup into a data folder, which the caller has locked; the server makes the rest anew. `known` are the revisions
    that this version can open; with `force` a store that is there is replaced. Raises SettingsError if the folder is not
    empty, CannotStart if the backup is damaged, foreign or of a newer version."""
    if not force and any(one.name != LOCK for one in folder.iterdir()):
        raise SettingsError("The data folder is not empty.", "Name a new one with --data-dir, or replace its store with --force.")
    try:
        with TemporaryDirectory(prefix=".memsrv-restore-", dir=folder) as scratch:
            archive = unpacked(file, Path(scratch))
            if archive.held.revision not in known:
                raise CannotStart(
                    f"The backup has schema {archive.held.revision}: it was made by a newer memsrv.", "Install that version."
                )
            for name in (FILE, *JOURNALS):
                (folder / name).unlink(missing_ok=True)
            shutil.rmtree(folder / "chroma", ignore_errors=True)
            for name in archive.digests:
                (Path(scratch) / name).replace(folder / name)
    except OSError as error:
        raise CannotStart(f"The backup cannot be restored: {error.strerror}.", "Look at the disk of the data folder.") from error
    return archive


def unpacked(file: Path, into: Path) -> Archive:
    """Take a backup apart, each part compared with its digest, and look at the store. Raises CannotStart."""
    damaged = CannotStart("The file is no backup of memsrv, or it is damaged.", "Take another backup.")
    try:
        with zipfile.ZipFile(file) as read:
            archive = archive_of(json.loads(read.read(MANIFEST)))
            for name in archive.digests:
                if Path(name).name != name or name in LEFT_OUT - {FILE}:
                    raise damaged
                with read.open(name) as source, (into / name).open("xb") as target:
                    (into / name).chmod(0o600)
                    shutil.copyfileobj(source, target, READ_BYTES)
                    target.flush()
                    os.fsync(target.fileno())
    except (zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError, EOFError, NotImplementedError) as error:
        raise damaged from error
    if FILE not in archive.digests or any(digest_of(into / name) != known for name, known in archive.digests.items()):
        raise damaged
    if inspected(into / FILE) != archive.held:
        raise damaged
    return archive


def archive_of(written: dict[str, Any]) -> Archive:
    return Archive(written["made_at"], written["version"], Held(**written["held"]), dict(written["digests"]))


def digest_of(path: Path) -> str:
    """SHA-256, hex."""
    with path.open("rb") as read:
        return hashlib.file_digest(read, "sha256").hexdigest()
