"""Put exports of other programs into a running server, or into a data folder that none serves, and write exports."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from memsrv.cli.destinations import Destination, DryRun, Remote, folder
from memsrv.cli.exportfiles import parts_of
from memsrv.cli.options import AsJson, DataDir, Key, Url, console, print_json
from memsrv.cli.remote import Refused, server
from memsrv.core.imports.drafts import Conversation, Skipped
from memsrv.core.imports.formats import conversations
from memsrv.core.imports.naming import session_of
from memsrv.core.imports.report import Report
from memsrv.core.imports.splitting import values
from memsrv.errors import BadExport, MemsrvError, SettingsError

MOST_SESSIONS_SHOWN = 20


def add_to(app: typer.Typer) -> None:
    app.command(name="import")(import_)


def import_(
    files: Annotated[list[Path], typer.Argument(help="Exports: .json, .jsonl, or a .zip or .gz of them.", show_default=False)],
    session: Annotated[str, typer.Option(help="Session that gets the one conversation of the files.", show_default=False)] = "",
    owner: Annotated[str | None, typer.Option(help="Whose sessions they are.", show_default=False)] = None,
    prefix: Annotated[str, typer.Option(help="Put before the names of the sessions.", show_default=False)] = "",
    branches: Annotated[bool, typer.Option("--branches", help="Store other branches too, as sessions of their own.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only read the files, and tell what is in them.")] = False,
    data_dir: DataDir = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Import conversations of ChatGPT, Claude, Grok, LibreChat, Open WebUI, SillyTavern, OpenAI's shape, or memsrv itself.

    Without --data-dir they are sent to a running server. What is there already is not stored again.
    """
    if data_dir and (url or key):
        raise SettingsError("--data-dir works without a server; --url and --key name one.", "Give one or the other.")
    asked = Asked(files, session=session, owner=owner, prefix=prefix, branches=branches)
    with ExitStack() as stack:
        if dry_run:
            to: Destination = DryRun()
        elif data_dir:
            to = stack.enter_context(folder(data_dir))
        else:
            to = Remote(stack.enter_context(server(url=url, key=key)))
        bar = stack.enter_context(progress(quiet=as_json))
        done = Import(asked, to, bar)
        done.run()
    show(done, as_json=as_json, dry_run=dry_run)
    if done.failures:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be imported, and how."""

    files: list[Path]
    session: str
    owner: str | None
    prefix: str
    branches: bool


@dataclass
class Import:
    """Reads the files one after the other and stores what is in them. `failures` tells why a file or a session was not read or
    stored to its end."""

    asked: Asked
    to: Destination
    bar: Progress
    report: Report = field(default_factory=Report)
    failures: list[dict[str, str]] = field(default_factory=list)
    _one: tuple[str, str] | None = None

    def run(self) -> None:
        """Import all files. Raises CannotStart when no server answers."""
        for path in self.asked.files:
            size = path.stat().st_size if path.is_file() else 0
            task = self.bar.add_task(path.name, total=size or 1, rate="")
            for name, pieces in self._parts(path, task):
                self._file(name, pieces, task)
            self.bar.update(task, completed=size or 1)

    def _parts(self, path: Path, task: Any) -> Iterator[tuple[str, Iterator[bytes]]]:
        try:
            for part in parts_of(path, lambda read: self.bar.update(task, completed=read)):
                yield part.name, part.pieces()
        except BadExport as error:
            self._failed(str(path), error)

    def _file(self, name: str, pieces: Iterator[bytes], task: Any) -> None:
        """Import one file as far as it can be read."""
        found = 0
        try:
            for one in conversations(values(pieces), branches=self.asked.branches):
                if isinstance(one, Skipped):
                    self.report.skip(one, name)
                else:
                    found += 1
                    self._store(name, one)
                self.bar.update(task, rate=self._rate(task))
            if not found:
                raise BadExport("It holds no conversation of a format that memsrv reads.")
        except BadExport as error:
            self._failed(name, error)

    def _store(self, name: str, found: Conversation) -> None:
        """Store one conversation, or a part of one."""
        asked = self.asked
        if asked.session:
            if self._one not in (None, (found.source, found.id)):
                raise BadExport("It holds another conversation, and --session names one session.", "Use --prefix, or no option.")
            self._one = found.source, found.id
        session = session_of(found, session=asked.session, prefix=asked.prefix)
        try:
            done = self.to.store(session, found, asked.owner)
        except Refused as refusal:
            self.failures.append({"file": name, "session": session, "message": str(refusal), "hint": ""})
            return
        self.report.add(session, found, done)

    def _failed(self, name: str, error: MemsrvError) -> None:
        self.failures.append({"file": name, "session": "", "message": error.message, "hint": error.hint})

    def _rate(self, task: Any) -> str:
        """Messages a second, as far as it is known."""
        spent_s = self.bar.tasks[task].elapsed or 0.0
        done = self.report.total("stored") + self.report.total("already_there")
        return f"{done / spent_s:,.0f} messages/s" if spent_s > 1 else ""


def progress(*, quiet: bool) -> Progress:
    """A bar for each file, with the rate and the time left; nothing where there is no terminal."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
    )
    shown = Console(stderr=True)
    return Progress(*columns, TimeRemainingColumn(), console=shown, disable=quiet or not shown.is_terminal, transient=True)


def show(done: Import, *, as_json: bool, dry_run: bool) -> None:
    """What the import came to."""
    body = done.report.body() | {"failures": done.failures, "dry_run": dry_run}
    if as_json:
        print_json(body)
        return
    sessions = Table("session", "title", "stored", "there already", "conflicts", "skipped", title="Sessions")
    for one in body["sessions"][:MOST_SESSIONS_SHOWN]:
        numbers = (str(one[name]) for name in ("stored", "already_there", "conflicts", "skipped"))
        sessions.add_row(one["session"], one["title"], *numbers)
    if body["sessions"]:
        console().print(sessions)
    if (more := len(body["sessions"]) - MOST_SESSIONS_SHOWN) > 0:
        console().print(f"and {more} more sessions")
    if body["skipped"]:
        skipped = Table("count", "why", "where, among others", title="Skipped")
        for one in body["skipped"]:
            skipped.add_row(str(one["count"]), one["why"], one["places"][0])
        console().print(skipped)
    console().print(summed(body, dry_run=dry_run))
    for failure in done.failures:
        where = failure["session"] or failure["file"]
        print(f"memsrv: {where}: {failure['message']} {failure['hint']}".rstrip(), file=sys.stderr)


def summed(body: dict[str, Any], *, dry_run: bool) -> str:
    """The import in a sentence."""
    skipped = sum(one["count"] for one in body["skipped"])
    did = "would be stored" if dry_run else "stored"
    return (
        f"{body['conversations']} conversations: {body['stored']} messages {did}, {body['already_there']} there already, "
        f"{skipped} skipped."
    )
