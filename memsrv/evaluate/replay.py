"""`memsrv eval replay`: an operator's own sessions, once more under each mode.

The data folder (or database) is only read, also while a server runs on it: what is replayed is a copy, in a folder that is
gone at the end.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from pydantic import SecretStr
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from memsrv.core.plot import Bar, svg
from memsrv.core.replaying import Figures, Sample, figures
from memsrv.errors import BudgetTooSmall, SettingsError
from memsrv.model import Mode, RegionName
from memsrv.ports import Sessions, Transcript
from memsrv.services.replay import PROMPTS, Recording, Replay, newest, recorded
from memsrv.settings import Settings, load

TENANT = "default"
NEWEST = 3
LEGEND = """tokens, by region: mean of the prompts; made: summaries until the last prompt
shown: of the messages gone back to (a proxy, by rare words that a later message
  shares), those that stand in the prompt whole or as a recalled piece
told: of these words, those that the prompt says; ms: half took no longer"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be replayed, and how."""

    names: Sequence[str]
    newest: int
    tenant: str
    modes: Sequence[Mode]
    every: int | None
    budget_tokens: int | None
    paid: bool


def replay(
    session: Annotated[list[str] | None, typer.Option(help="Session to replay; may be given again.", show_default=False)] = None,
    newest: Annotated[
        int | None, typer.Option(min=1, help=f"Or so many that were written to last.  [default: {NEWEST}]", show_default=False)
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Their tenant.  [default: the first of MEMSRV_KEYS]", show_default=False)
    ] = None,
    mode: Annotated[
        list[Mode] | None, typer.Option(help="Mode to compare; may be given again.  [default: all]", show_default=False)
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(min=1, help=f"A prompt for each so-many-th user message.  [default: for {PROMPTS}]", show_default=False),
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens of a prompt; default: as the session says.")] = None,
    paid: Annotated[bool, typer.Option("--paid", help="Let the provider that is set up write the summaries.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the figures to this SVG file.", show_default=False)] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the databases.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replay stored sessions under each mode.

    Tells tokens by region, summaries made, and the recall of what is gone back to.
    """
    from memsrv.web.logs import configure

    if session and newest:
        raise SettingsError("--session and --newest exclude each other.", "Name the sessions, or say how many.")
    drawable(plot)
    settings = load({} if data_dir is None else {"data_dir": data_dir})
    configure("auto", "error")
    of_tenant = tenant or next(iter(settings.keys), TENANT)
    names, modes = list(dict.fromkeys(session or ())), list(dict.fromkeys(mode or Mode))
    wanted = Wanted(names, newest or NEWEST, of_tenant, modes, every, budget, paid)
    recordings, samples = asyncio.run(run(settings, wanted))
    if as_json:
        print(json.dumps(report(recordings, samples), ensure_ascii=False, indent=1))
    else:
        show(recordings, samples)
    if plot:
        plot.write_text(drawing(recordings, figures(samples)), encoding="utf-8")


def drawable(plot: Path | None) -> None:
    """Refuse a file that could not be written, before anything was spent on it."""
    if plot is None:
        return
    if plot.suffix.lower() != ".svg":
        raise SettingsError("--plot draws SVG.", "Give the file a name that ends in .svg.")
    if not plot.absolute().parent.is_dir():
        raise SettingsError("The folder of --plot is not there.", "Make it first.")


# --- what is read --------------------------------------------------------------------------------------------------


async def recordings_of(settings: Settings, wanted: Wanted) -> list[Recording]:
    """The sessions that are wanted, read. Raises SettingsError for those that are not there or hold no user message."""
    async with stored(settings) as (sessions, transcript):
        keys = await newest(sessions, wanted.tenant, sys.maxsize)
        there = {key.name: key for key in keys}
        if not there:
            raise SettingsError(f"Tenant '{wanted.tenant}' has no sessions here.", "Name the tenant with --tenant.")
        for name in wanted.names:
            if name not in there:
                raise unknown(name, list(there))
        read = [await recorded(sessions, transcript, there[name]) for name in wanted.names or list(there)[: wanted.newest]]
    if found := [recording for recording in read if recording.turns]:
        return found
    raise SettingsError("These sessions hold no user message: no prompt is asked for in them.", "Name others with --session.")


@asynccontextmanager
async def stored(settings: Settings) -> AsyncIterator[tuple[Sessions, Transcript]]:
    """The stores of a copy of the data folder, or of the database."""
    from memsrv.adapters.database import Database
    from memsrv.adapters.postgresql_copy import copy_database
    from memsrv.adapters.sessions_sql import SqlSessions
    from memsrv.adapters.sqlite_copy import copy_store
    from memsrv.adapters.transcript_sql import SqlTranscript

    url = settings.database_url.get_secret_value()
    with TemporaryDirectory(prefix="memsrv-replay-") as folder:
        if url:
            await asyncio.to_thread(copy_database, url, Path(folder))
        else:
            await asyncio.to_thread(copy_store, settings.data_dir, Path(folder))
        database = await Database.open(Path(folder))
        try:
            yield SqlSessions(database), SqlTranscript(database)
        finally:
            await database.close()


def unknown(name: str, there: Sequence[str]) -> SettingsError:
    """The refusal of a session that is not there, with those that are called alike, or else the newest."""
    near = get_close_matches(name, there) or there[:3]
    return SettingsError(f"There is no session '{name}'.", f"There is {', '.join(map(repr, near))}.")


# --- how it is run -------------------------------------------------------------------------------------------------


async def run(settings: Settings, wanted: Wanted) -> tuple[list[Recording], list[Sample]]:
    """Every session that is wanted, replayed, and the samples that were taken."""
    recordings = await recordings_of(settings, wanted)
    try:
        async with player(settings, paid=wanted.paid) as replayer:
            return recordings, await watched(replayer, recordings, wanted)
    except BudgetTooSmall as error:
        raise SettingsError(error.message, error.hint) from None


@asynccontextmanager
async def player(settings: Settings, *, paid: bool) -> AsyncIterator[Replay]:
    """The parts of a server with these settings, in a folder of its own."""
    from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
    from memsrv.wiring import opened

    with TemporaryDirectory(prefix="memsrv-replay-") as folder:
        apart: dict[str, Any] = {"data_dir": Path(folder), "chroma_url": "", "database_url": SecretStr(""), "faults": None}
        if not paid:
            apart["summary_provider"] = ""
        async with opened(settings.model_copy(update=apart)) as parts:
            yield Replay(
                parts.sessions,
                parts.snapshots,
                parts.ingest,
                parts.compaction,
                parts.assembler,
                SnowballAnalyzer().terms,
                paid=paid,
            )


async def watched(replayer: Replay, recordings: Sequence[Recording], wanted: Wanted) -> list[Sample]:
    """The samples, with a bar on a terminal and a line for each session elsewhere."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    done: list[Sample] = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("replaying", total=sum(recording.turns for recording in recordings))
        for place, recording in enumerate(recordings, 1):
            if not console.is_terminal:
                print(f"{place}/{len(recordings)} {recording.key.name}", file=sys.stderr)
            async for samples in replayer.run(recording, wanted.modes, every=wanted.every, budget_tokens=wanted.budget_tokens):
                done += samples
                progress.advance(bar)
    return done


# --- what is shown -------------------------------------------------------------------------------------------------


def show(recordings: Sequence[Recording], samples: Sequence[Sample]) -> None:
    """A table with a row for each mode."""
    rows = figures(samples)
    table = Table("", "tokens", *RegionName, "made", "shown", "told", "ms", box=SIMPLE, padding=0)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*cells(row))
    console = Console(markup=False, highlight=False)
    console.print(table)
    console.print(LEGEND, soft_wrap=True)
    for sentence in closing(recordings, rows):
        console.print(sentence, soft_wrap=True)


def cells(row: Figures) -> tuple[str, ...]:
    """The figures of one mode."""
    return (
        row.mode.value,
        f"{row.total_tokens:,.0f}",
        *(f"{row.region_tokens[name]:,.0f}" for name in RegionName),
        str(row.summaries),
        percent(row.recall),
        percent(row.telling),
        f"{row.p50_ms:.0f}",
    )


def percent(share: float | None) -> str:
    """A share for people; a dash for none."""
    return "-" if share is None else f"{share:.0%}"


def closing(recordings: Iterable[Recording], rows: Sequence[Figures]) -> Iterator[str]:
    """What was replayed, how much was asked for, and what went wrong."""
    first = rows[0]
    yield f"replayed: {', '.join(told(recording) for recording in recordings)}"
    yield f"{counted(first.prompts, 'prompt')} in each mode, going back to {counted(first.referenced, 'earlier message')}"
    for row in rows:
        if row.degraded:
            yield f"{row.mode.value}: {counted(row.degraded, 'prompt')} made while something was out of reach"


def told(recording: Recording) -> str:
    """A session and its size."""
    return f"{recording.key.name} ({counted(len(recording.messages), 'message')})"


def counted(count: int, noun: str) -> str:
    """`1 prompt`, `2 prompts`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def drawing(recordings: Sequence[Recording], rows: Iterable[Figures]) -> str:
    """The figures as a picture."""
    bars = [Bar(row.mode.value, {name.value: row.region_tokens[name] for name in RegionName}, row.recall) for row in rows]
    title = f"Prompts of {counted(len(recordings), 'replayed session')} by mode"
    return svg(bars, title=title, unit="tokens of a prompt, by region", share="shown of what is gone back to")


def report(recordings: Sequence[Recording], samples: Sequence[Sample]) -> dict[str, Any]:
    """All that was measured, as JSON has it."""
    by_session = {
        recording.key.name: [sample for sample in samples if sample.session == recording.key.name] for recording in recordings
    }
    return {
        "sessions": [
            {
                "session": recording.key.name,
                "messages": len(recording.messages),
                "modes": of_modes(by_session[recording.key.name]),
            }
            for recording in recordings
        ],
        "modes": of_modes(samples),
        "prompts": [one(sample) for sample in samples],
    }


def of_modes(samples: Sequence[Sample]) -> dict[str, Mapping[str, Any]]:
    """The figures by mode."""
    return {row.mode.value: figures_body(row) for row in figures(samples)}


def figures_body(row: Figures) -> dict[str, Any]:
    """The figures of one mode, with their rates."""
    regions = {name.value: round(tokens, 1) for name, tokens in row.region_tokens.items()}
    body = asdict(row) | {"region_tokens": regions, "recall": row.recall, "telling": row.telling}
    del body["mode"]
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in body.items()}


def one(sample: Sample) -> dict[str, Any]:
    """One prompt."""
    regions = {name.value: tokens for name, tokens in sample.region_tokens.items()}
    body = asdict(sample) | {"mode": sample.mode.value, "region_tokens": regions, "took_ms": round(sample.took_ms, 2)}
    del body["answered"]
    return body | asdict(sample.answered)
