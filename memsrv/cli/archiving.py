"""Back a data folder up, also while its server runs, and restore it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memsrv.cli.options import AsJson, DataDir, folder_settings, print_json
from memsrv.errors import SettingsError

if TYPE_CHECKING:
    from memsrv.adapters.archive import Archive

File = Annotated[Path, typer.Argument(help="The backup: one zip file.", show_default=False)]


def add_to(app: typer.Typer) -> None:
    app.command()(backup)
    app.command()(restore)


def backup(file: File, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Write a backup: the sessions and the keys. The server may run meanwhile."""
    from memsrv.wiring.folder import backed_up

    ours = folder_settings(data_dir)
    told(backed_up(ours, file), f"backed up from {ours.data_dir.resolve()}", ours.data_dir, as_json=as_json)


def restore(
    file: File,
    data_dir: DataDir = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the store that the folder holds.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup into an empty data folder. The vectors are made anew when the server starts."""
    from memsrv.wiring.folder import restored

    if not file.is_file():
        raise SettingsError("There is no such backup.", "Name the file that 'memsrv backup' wrote.")
    ours = folder_settings(data_dir)
    told(restored(ours, file, force=force), f"restored into {ours.data_dir.resolve()}", ours.data_dir, as_json=as_json)


def told(archive: "Archive", done: str, data_dir: Path, *, as_json: bool) -> None:
    held = archive.held
    if as_json:
        count = {"sessions": held.sessions, "messages": held.messages}
        print_json(count | {"made_at": archive.made_at, "version": archive.version, "data_dir": str(data_dir.resolve())})
        return
    print(f"{done}: {held.sessions} sessions with {held.messages} messages, as of {archive.made_at}")
