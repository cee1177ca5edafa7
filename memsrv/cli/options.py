"""Options that several commands have, and how their answers are printed."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from memsrv import settings
from memsrv.core.text.visible import visible
from memsrv.errors import SettingsError
from memsrv.settings import Settings

DataDir = Annotated[Path | None, typer.Option(help="Folder of the databases.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[str | None, typer.Option(help="Address of the server; default: as the settings say.", show_default=False)]
Key = Annotated[
    str | None, typer.Option(help="Key of the session's tenant; default: the first of MEMSRV_KEYS.", show_default=False)
]

WIDTH_WITHOUT_TERMINAL = 160


def given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def folder_settings(data_dir: Path | None) -> Settings:
    """The settings for work on the data folder itself. Raises SettingsError when the sessions are not in it."""
    ours = settings.load(given(data_dir=data_dir))
    if ours.database_url.get_secret_value():
        raise SettingsError(
            "MEMSRV_DATABASE_URL is set: the sessions are in PostgreSQL, not in a data folder.",
            "Unset it if you mean the folder; docs/growing.md says how it is done with PostgreSQL.",
        )
    return ours


def print_json(value: Any) -> None:
    """For programs: nothing is cut, wrapped or coloured."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


def harmless(text: str) -> str:
    """Text that moves no cursor, sets no title and hides nothing, whatever it says."""
    return visible(text).replace("\r", "")


class Terminal(Console):
    """For people: what was stored does nothing to the terminal."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(harmless(text), **how)


def console(*, stderr: bool = False) -> Console:
    """For people. What was stored is never read as markup."""
    return Terminal(stderr=stderr, markup=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
