"""`memsrv eval summary`: how good summaries are, over dialogues whose decisions are known.

What is measured goes to standard output; progress, and why a floor does not hold, to standard error.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from memsrv.core.relay.providers import Provider
from memsrv.core.summary.scoring import Dialogue, Outcome, Score, Totals, grouped, totals
from memsrv.core.summary.summary import Count
from memsrv.errors import SettingsError
from memsrv.services.evaluation import Failing, Summarize, evaluated, newest
from memsrv.settings import Settings, endpoints, load

Measure = Callable[[Totals], float]

SHAPE: TypeAdapter[Dialogue] = TypeAdapter(with_config(ConfigDict(extra="forbid"))(Dialogue))
GROUPS: Mapping[str, Callable[[Dialogue], Iterable[str]]] = {
    "language": lambda dialogue: [dialogue.language],
    "topic": lambda dialogue: [dialogue.topic],
    "trait": lambda dialogue: dialogue.traits,
}
LEGEND = """decisions, exclusions: kept of all that must be kept
wrong: contradictions / talks with one
kept/100: what must be kept in 100 tokens; chatter: lines of small talk
short: tokens of a talk for each of its summary; over: longer than allowed"""
AT_LEAST: Mapping[str, Measure] = {
    "decisions": lambda sums: sums.decision_retention,
    "exclusions": lambda sums: sums.exclusion_retention,
    "compression": lambda sums: sums.compression,
    "density": lambda sums: sums.density,
}
AT_MOST: Mapping[str, Measure] = {
    "contradictions": lambda sums: sums.contradictions,
    "small_talk": lambda sums: sums.droppable_share,
    "over": lambda sums: sums.over,
}


def summary(
    summarizer: Annotated[
        str,
        typer.Option(help="built-in, a provider of MEMSRV_PROVIDERS, or newest: the last sentences, to compare with."),
    ] = "built-in",
    max_tokens: Annotated[int, typer.Option(min=20, help="Tokens that a summary may have.")] = 200,
    folds: Annotated[int, typer.Option(min=1, help="Compactions that each dialogue is summarised in.")] = 1,
    dialogues: Annotated[Path | None, typer.Option(help="Folder of dialogues.", show_default=False)] = None,
    floor: Annotated[str, typer.Option(help="Worse is status 1; as in decisions=.95,contradictions=0.")] = "",
    misses: Annotated[bool, typer.Option("--misses", help="List what is lost and what is contradicted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Summarise dialogues and score what is kept.

    Tells decisions, exclusions, contradictions, density, compression.
    """
    settings = load()
    bounds, opened = bounds_of(floor), chosen(summarizer, settings)
    talks = dialogues_in(dialogues or shipped_dialogues())
    scores, failures = asyncio.run(run(opened, talks, settings, max_tokens=max_tokens, folds=folds))
    for why, times in Counter(failures).items():
        print(f"memsrv: no summary of {times} parts: {why}", file=sys.stderr)
    if as_json:
        made = {"summarizer": summarizer, "max_tokens": max_tokens, "folds": folds, "failures": len(failures)}
        print(json.dumps(made | report(scores), ensure_ascii=False, indent=1))
    else:
        show(scores, misses=misses)
    if worse := list(below(totals(scores), bounds)):
        print(*(f"memsrv: {told}" for told in worse), sep="\n", file=sys.stderr)
        raise typer.Exit(1)


# --- what is read --------------------------------------------------------------------------------------------------


def shipped_dialogues() -> Path:
    """Where a checkout has its set: beside the package, or, if that is installed elsewhere, where the command is run."""
    beside = Path(str(files("memsrv"))).parent / "data" / "dialogues"
    return beside if beside.is_dir() else Path("data", "dialogues")


def dialogues_in(folder: Path) -> list[Dialogue]:
    """Every dialogue of a folder, by file name; SettingsError if there is none, or one cannot be read."""
    found = [read(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise SettingsError("There are no dialogues to score.", "Name a folder with --dialogues; a checkout has data/dialogues.")
    return found


def read(path: Path) -> Dialogue:
    """A dialogue from its file; one that cannot be read is refused with its name and the place."""
    try:
        return SHAPE.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise SettingsError(f"{path.name}: {place}: {first['msg']}.", "data/dialogues/README.md tells the format.") from None


def bounds_of(floor: str) -> dict[str, float]:
    """`decisions=.95,contradictions=0` as numbers by name."""
    return dict(bound_of(part) for part in floor.split(",") if part.strip())


def bound_of(part: str) -> tuple[str, float]:
    """`decisions=.95` as a name and a number; SettingsError if it is not that."""
    name, _, value = (text.strip() for text in part.partition("="))
    if name not in {**AT_LEAST, **AT_MOST}:
        raise SettingsError(f"--floor: '{name}' is not measured.", f"It knows {', '.join([*AT_LEAST, *AT_MOST])}.")
    try:
        return name, float(value)
    except ValueError:
        raise SettingsError(f"--floor: '{value}' is not a number.", "Write it as in decisions=.95.") from None


# --- how it is run -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def builtin(settings: Settings, count: Count) -> AsyncIterator[Summarize]:
    """The built-in summarizer, as a server has it."""
    from memsrv.adapters.summarizer_extractive import ExtractiveSummarizer

    yield ExtractiveSummarizer(count=count).summarise


@asynccontextmanager
async def last_sentences(settings: Settings, count: Count) -> AsyncIterator[Summarize]:
    """No summary at all, to compare with."""
    yield newest(count)


@asynccontextmanager
async def model_of(provider: Provider, settings: Settings, count: Count) -> AsyncIterator[Summarize]:
    """A provider's model, asked as the settings say; what it writes is scored as it is, before any guard."""
    from memsrv.adapters.chat_openai import OpenAIChat
    from memsrv.adapters.summarizer_chat import ChatSummarizer
    from memsrv.wiring.usual import summary_options

    chat = OpenAIChat(provider)
    try:
        defaults = summary_options(settings) | {"provider": provider.name}
        yield ChatSummarizer({provider.name: chat}, count=count, defaults=defaults).summarise
    finally:
        await chat.close()


Opened = Callable[[Settings, Count], AbstractAsyncContextManager[Summarize]]
SUMMARIZERS: Mapping[str, Opened] = {"built-in": builtin, "newest": last_sentences}


def chosen(name: str, settings: Settings) -> Opened:
    """The summarizer of this name; SettingsError if there is none."""
    if name in SUMMARIZERS:
        return SUMMARIZERS[name]
    known = endpoints(settings)
    if name not in known:
        raise SettingsError(f"There is no summarizer '{name}'.", f"--summarizer knows {', '.join([*SUMMARIZERS, *known])}.")
    return partial(model_of, known[name])


async def run(
    opened: Opened, talks: Sequence[Dialogue], settings: Settings, *, max_tokens: int, folds: int
) -> tuple[list[Score], list[str]]:
    """Every dialogue summarised and scored, with progress; and why some part was not summarised, if any was not."""
    from memsrv.wiring.vendors import token_counter

    count = partial(token_counter(settings).count, model=None)
    async with opened(settings, count) as summarize:
        tried = Failing(summarize)
        scores = evaluated(talks, tried, max_tokens=max_tokens, folds=folds, count=count)
        return await watched(scores, len(talks)), tried.failures


async def watched(scores: AsyncIterator[Score], expected: int) -> list[Score]:
    """The scores, with a bar on a terminal and a line for each dialogue elsewhere."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    done: list[Score] = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("summarising", total=expected)
        async for score in scores:
            done.append(score)
            progress.advance(bar)
            if not console.is_terminal:
                print(f"{len(done)}/{expected} {score.dialogue.id}", file=sys.stderr)
    return done


def below(sums: Totals, bounds: Mapping[str, float]) -> Iterator[str]:
    """What does not hold, told in a sentence each."""
    for name, bound in bounds.items():
        measure = {**AT_LEAST, **AT_MOST}[name](sums)
        if name in AT_LEAST and measure < bound:
            yield f"{name} {measure:.3f} is below {bound:g}."
        if name in AT_MOST and measure > bound:
            yield f"{name} {measure:g} is above {bound:g}."


# --- what is shown -------------------------------------------------------------------------------------------------


def show(scores: Sequence[Score], *, misses: bool) -> None:
    """A table of totals, by group and in all; and what was missed, if asked for."""
    table = Table("", "talks", "decisions", "exclusions", "wrong", "kept/100", "chatter", "short", "over", box=SIMPLE, padding=0)
    for keys in GROUPS.values():
        for name, sums in grouped(scores, keys).items():
            table.add_row(name, *cells(sums))
        table.add_section()
    table.add_row("all", *cells(totals(scores)))
    console = Console(markup=False, highlight=False)
    console.print(table)
    console.print(LEGEND)
    for told in missed(scores) if misses else ():
        console.print(told, soft_wrap=True)


def cells(sums: Totals) -> tuple[str, ...]:
    """The figures of one row."""
    return (
        str(sums.dialogues),
        f"{sums.decisions_kept}/{sums.decisions} {sums.decision_retention:.0%}",
        f"{sums.exclusions_kept}/{sums.exclusions} {sums.exclusion_retention:.0%}",
        f"{sums.contradictions}/{sums.contradicted}",
        f"{sums.density:.2f}",
        f"{sums.droppable_share:.0%}",
        f"{sums.compression:.1f}x",
        str(sums.over),
    )


def missed(scores: Iterable[Score]) -> Iterator[str]:
    """Every expectation that was not met, and every claim that should not have been made, with the line that makes it."""
    for score in scores:
        lost = [("decision lost", item) for item in score.decisions if not item.met]
        lost += [("exclusion lost", item) for item in score.exclusions if not item.met]
        wrong = [("contradiction", item) for item in score.forbidden if item.met]
        for kind, item in lost + wrong:
            yield f"{score.dialogue.id}: {kind}: {item.says}" + (f" <- {item.line}" if item.line else "")


def report(scores: Sequence[Score]) -> dict[str, Any]:
    """All that was measured, as JSON has it."""
    groups = {group: {name: figures(sums) for name, sums in grouped(scores, keys).items()} for group, keys in GROUPS.items()}
    return {"totals": figures(totals(scores)), "by": groups, "dialogues": [one(score) for score in scores]}


def figures(sums: Totals) -> dict[str, float]:
    """Sums and rates by name."""
    rates = {name: round(getattr(sums, name), 4) for name, held in vars(Totals).items() if isinstance(held, property)}
    return asdict(sums) | rates


def one(score: Score) -> dict[str, Any]:
    """A dialogue's score."""
    talk = score.dialogue
    about = {"id": talk.id, "language": talk.language, "topic": talk.topic, "traits": talk.traits}
    sizes = {"talk_tokens": score.talk_tokens, "summary_tokens": score.summary_tokens, "lines": score.lines}
    kinds = {"decisions": score.decisions, "exclusions": score.exclusions, "forbidden": score.forbidden}
    return about | sizes | {"summary": score.summary} | {kind: [told(item) for item in items] for kind, items in kinds.items()}


def told(item: Outcome) -> dict[str, Any]:
    """An expectation, whether it was met, and by which line."""
    return {"says": item.says, "met": item.met, "line": item.line}
