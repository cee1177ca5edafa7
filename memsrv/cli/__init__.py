"""The command line, a module for each kind of work, and `memsrv.evaluate`.

Exit status: 0 good, 1 the answer is no (a check failed), 2 wrong use or settings, 3 could not start.
"""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memsrv import __version__
from memsrv.cli import archiving, asking, chatting, connecting, explaining, exporting, importing, keys, serving, upkeep
from memsrv.cli.remote import Refused
from memsrv.core.text.visible import visible
from memsrv.errors import KeyNotFound, MemsrvError, SettingsError

STATUSES: dict[type[MemsrvError], int] = {KeyNotFound: 1, SettingsError: 2}
"""What is not here is 3."""


class Commands(TyperGroup):
    """All there are; `eval`, which needs most of the server, is loaded only where it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), "eval"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name != "eval":
            return super().get_command(ctx, cmd_name)
        from memsrv import evaluate

        return typer.main.get_command(evaluate.app)


app = typer.Typer(
    name="memsrv", cls=Commands, help="A memory server for chat assistants.", no_args_is_help=True, rich_markup_mode=None
)
for commands in (serving, chatting, asking, explaining, importing, exporting, connecting, keys, upkeep, archiving):
    commands.add_to(app)


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
