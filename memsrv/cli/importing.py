"""Put exports of other programs into a running server, or into a data folder that none serves, and write exports."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from memsrv.cli.destinations import Destination, DryRun, Remote, folder
from memsrv.cli.exportfiles import Part, parts_of
from memsrv.cli.options import AsJson, DataDir, Key, Url, console, print_json
from memsrv.cli.remote import Refused, server
from memsrv.core.imports.drafts import Conversation, Skipped
from memsrv.core.imports.formats import conversations
from memsrv.core.imports.naming import session_of
from memsrv.core.imports.report import Report
from memsrv.core.imports.splitting import values
from memsrv.errors import BadExport, SettingsError

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
    """Import conversations of other programs, or of memsrv itself.

    It reads exports of ChatGPT, Claude, Grok, LibreChat, chatbot-ui, Open WebUI and SillyTavern, and OpenAI's shape.
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
    _taken: set[tuple[str, str]] = field(default_factory=set)

    def run(self) -> None:
        """Import all files. Raises CannotStart when no server answers."""
        for path in self.asked.files:
            size = path.stat().st_size if path.is_file() else 0
            task = self.bar.add_task(path.name, total=size or 1, rate="")
            self._read(path, task)
            self.bar.update(task, completed=size or 1)

    def _read(self, path: Path, task: TaskID) -> None:
        """Import a file on disk, as far as it can be read."""
        name = str(path)
        try:
            for part in parts_of(path, lambda read: self.bar.update(task, completed=read, rate=self._rate(task))):
                name = part.name
                if self.asked.session:
                    self._refuse_several(part)
                self._file(part)
        except BadExport as error:
            self.failures.append({"file": name, "session": "", "message": error.message, "hint": error.hint})

    def _refuse_several(self, part: Part) -> None:
        """Look a file through before anything of it is stored: one session holds one conversation."""
        found = {(one.source, one.id) for one in self._conversations(part) if isinstance(one, Conversation)}
        if len(found | self._taken) > 1:
            raise BadExport("There are several conversations, and --session names one session.", "Use --prefix, or no option.")
        self._taken |= found

    def _file(self, part: Part) -> None:
        """Import a file, or one that is inside another."""
        found = 0
        for one in self._conversations(part):
            if isinstance(one, Skipped):
                self.report.skip(one, part.name)
            else:
                found += 1
                self._store(part.name, one)
        if not found:
            raise BadExport("It holds no conversation of a format that memsrv reads.")

    def _conversations(self, part: Part) -> Iterator[Conversation | Skipped]:
        return conversations(values(part.pieces()), branches=self.asked.branches)

    def _store(self, name: str, found: Conversation) -> None:
        """Store one conversation, or a part of one."""
        session = session_of(found, session=self.asked.session, prefix=self.asked.prefix)
        try:
            done = self.to.store(session, found, self.asked.owner)
        except Refused as refusal:
            self.failures.append({"file": name, "session": session, "message": str(refusal), "hint": ""})
            return
        self.report.add(session, found, done)

    def _rate(self, task: TaskID) -> str:
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
    count = body["conversations"]
    return (
        f"{count} conversation{'' if count == 1 else 's'}: {body['stored']} messages {did}, "
        f"{body['already_there']} there already, {skipped} skipped."
    )
