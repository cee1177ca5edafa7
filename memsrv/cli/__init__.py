"""The command line, a module for each kind of work, and `memsrv.evaluate`.

Exit status: 0 good, 1 the answer is no (a check failed), 2 wrong use or settings, 3 could not start.
"""

import sys
from typing import Annotated

import typer

from memsrv import __version__, evaluate
from memsrv.cli import archiving, asking, chatting, connecting, explaining, exporting, importing, keys, serving, upkeep
from memsrv.cli.remote import Refused
from memsrv.core.text.visible import visible
from memsrv.errors import KeyNotFound, MemsrvError, SettingsError

STATUSES: dict[type[MemsrvError], int] = {KeyNotFound: 1, SettingsError: 2}
"""What is not here is 3."""

app = typer.Typer(name="memsrv", help="A memory server for chat assistants.", no_args_is_help=True, rich_markup_mode=None)
for commands in (serving, chatting, asking, explaining, importing, exporting, connecting, keys, upkeep, archiving):
    commands.add_to(app)
app.add_typer(evaluate.app)


def main() -> None:
    """Run the command line; a refusal is one line with a hint."""
    try:
        app()
    except Refused as refusal:
        fail(str(refusal), 1)
    except MemsrvError as error:
        fail(f"{error.message} {error.hint}", STATUSES.get(type(error), 3))


def fail(line: str, status: int) -> None:
    print(f"memsrv: {visible(line)}", file=sys.stderr)
    sys.exit(status)


def version(asked: bool) -> None:
    if asked:
        print(f"memsrv {__version__}")
        raise typer.Exit


@app.callback()
def options(
    shown: Annotated[bool, typer.Option("--version", help="Show the version.", callback=version, is_eager=True)] = False,
) -> None:
    """A memory server for chat assistants."""
