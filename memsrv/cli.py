"""The command line: serve, config, doctor, explain, eval.

Exit status: 0 good, 1 the answer is no (a check failed), 2 wrong use or settings, 3 could not start.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from memsrv import __version__, evaluate, settings
from memsrv.errors import MemsrvError, SettingsError

app = typer.Typer(name="memsrv", help="A memory server for chat assistants.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(evaluate.app)

DataDir = Annotated[Path | None, typer.Option(help="Folder of the databases.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Run the command line; a refusal is one line with a hint."""
    try:
        app()
    except MemsrvError as error:
        print(f"memsrv: {error.message} {error.hint}", file=sys.stderr)
        sys.exit(2 if isinstance(error, SettingsError) else 3)


def version(asked: bool) -> None:
    if asked:
        print(f"memsrv {__version__}")
        raise typer.Exit


@app.callback()
def options(
    shown: Annotated[bool, typer.Option("--version", help="Show the version.", callback=version, is_eager=True)] = False,
) -> None:
    """A memory server for chat assistants."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.", show_default=False)] = None,
    data_dir: DataDir = None,
) -> None:
    """Run the server."""
    from memsrv.web.server import run

    asyncio.run(run(settings.load(given(host=host, port=port, data_dir=data_dir))))


@app.command()
def config(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show every setting, its value and where it came from."""
    overrides = given(data_dir=data_dir)
    rows = settings.describe(settings.load(overrides), overrides)
    if as_json:
        print(json.dumps([{"setting": name, "value": value, "source": source} for name, value, source in rows], indent=1))
        return
    table = Table("setting", "value", "from")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


@app.command()
def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check what is set up, what is missing, and how to mend it."""
    from memsrv.doctor import examine
    from memsrv.web.logs import configure

    configure("auto", "error")  # what goes wrong is told as a finding
    findings = asyncio.run(examine(settings.load(given(data_dir=data_dir))))
    if as_json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=1))
    else:
        table = Table("", "part", "finding", "what to do")
        for finding in findings:
            table.add_row("ok" if finding.good else "no", finding.part, finding.text, finding.mend)
        Console(markup=False).print(table)
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)


@app.command(name="explain")
def explain_session(
    session: Annotated[str, typer.Argument(help="Name of the session.")],
    url: Annotated[str | None, typer.Option(help="Address of the server; default: as the settings say.")] = None,
    key: Annotated[str | None, typer.Option(help="Key of the session's tenant; default: the first of MEMSRV_KEYS.")] = None,
    last: Annotated[int, typer.Option(min=1, max=1000, help="Newest summaries to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what a running server summarised in a session and why, and how its mode was switched."""
    from memsrv.explain import Refused, client, explain, tables

    with client(settings.load({}), url=url, key=key) as http:
        try:
            told = explain(http, session, last=last)
        except Refused as refusal:
            print(f"memsrv: {refusal}", file=sys.stderr)
            raise typer.Exit(1) from None
    if as_json:
        print(json.dumps(told, indent=1, ensure_ascii=False))
        return
    console = Console(markup=False, width=None if sys.stdout.isatty() else 160)
    for table in tables(told):
        console.print(table)
    if told["failing"]:
        console.print(f"Failing: {told['failing']['tries']} tries, the last because {told['failing']['reason']}")


def given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}
