"""Run the server, show its settings, check what is set up."""

import asyncio
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from memsrv import settings
from memsrv.cli.options import AsJson, DataDir, given, print_json


def add_to(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(config)
    app.command()(doctor)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.", show_default=False)] = None,
    data_dir: DataDir = None,
) -> None:
    """Run the server."""
    from memsrv.web.server import run

    asyncio.run(run(settings.load(given(host=host, port=port, data_dir=data_dir))))


def config(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show every setting, its value and where it came from."""
    overrides = given(data_dir=data_dir)
    rows = settings.describe(settings.load(overrides), overrides)
    if as_json:
        print_json([{"setting": name, "value": value, "source": source} for name, value, source in rows])
        return
    table = Table("setting", "value", "from")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check what is set up, what is missing, and how to mend it."""
    from memsrv.doctor import examine
    from memsrv.web.logs import configure

    configure("auto", "error")  # what goes wrong is told as a finding
    findings = asyncio.run(examine(settings.load(given(data_dir=data_dir))))
    if as_json:
        print_json([finding.__dict__ for finding in findings])
    else:
        table = Table("", "part", "finding", "what to do")
        for finding in findings:
            table.add_row("ok" if finding.good else "no", finding.part, finding.text, finding.mend)
        Console(markup=False).print(table)
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)
