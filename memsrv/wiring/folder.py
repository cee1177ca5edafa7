"""The data folder: who has it for himself, and how it is backed up and restored."""

from pathlib import Path

from filelock import FileLock, Timeout

from memsrv.adapters import archive
from memsrv.adapters.archive import Archive
from memsrv.adapters.database import revisions
from memsrv.errors import CannotStart, DataDirLocked
from memsrv.settings import Settings


def locked(data_dir: Path) -> FileLock:
    """The data folder's lock, taken: embedded Chroma and SQLite have one writer. It does not outlive the process."""
    made(data_dir)
    try:
        lock = FileLock(data_dir / "lock", timeout=0)
        lock.acquire()
    except Timeout:
        raise DataDirLocked("Another memsrv serves this data folder.") from None
    except OSError as error:
        raise no_folder(error) from None
    return lock


def backed_up(settings: Settings, file: Path) -> Archive:
    """A backup of the data folder, written also while a server runs. Raises SettingsError and CannotStart."""
    return archive.back_up(settings.data_dir, file)


def restored(settings: Settings, file: Path, *, force: bool) -> Archive:
    """A backup put into the data folder, which no server uses meanwhile. Raises DataDirLocked, SettingsError, CannotStart."""
    with locked(settings.data_dir):
        return archive.restore(file, settings.data_dir, known=revisions(), force=force)


def made(data_dir: Path) -> None:
    """Make the data folder if it is missing."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise no_folder(error) from None


def no_folder(error: OSError) -> CannotStart:
    return CannotStart(f"The data folder cannot be used: {error.strerror}.", "Choose another one with --data-dir.")
