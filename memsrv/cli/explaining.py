"""What was summarised in a session and why, and how its mode was switched."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import httpx
import typer
from rich.table import Table

from memsrv.cli.options import AsJson, Key, Url, console, print_json
from memsrv.cli.remote import Body, ask, path_of, server

LONGEST_REASON_CHARS = 60


def add_to(app: typer.Typer) -> None:
    app.command(name="explain")(explain)


def explain(
    session: Annotated[str, typer.Argument(help="Name of the session.")],
    url: Url = None,
    key: Key = None,
    last: Annotated[int, typer.Option(min=1, max=1000, help="Newest summaries to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what was summarised in a session, and why.

    Asks a running server; how its mode was switched is told too.
    """
    with server(url=url, key=key) as http:
        told = traces(http, session, last=last)
    if as_json:
        print_json(told)
        return
    for table in tables(told):
        console().print(table)
    if told["failing"]:
        console().print(f"Failing: {told['failing']['tries']} tries, the last because {told['failing']['reason']}")


def traces(http: httpx.Client, session: str, *, last: int) -> dict[str, Any]:
    """The last summaries of a session, each with its difference and findings, oldest first, and its switches, newest first."""
    path = path_of(session)
    mode = ask(http, f"{path}/mode")
    newest = ask(http, path)["summary"]
    after = max(0, newest_version(http, path, newest) - last)
    listed = ask(http, f"{path}/summaries?after={after}&limit={last}")
    versions = [summary["version"] for summary in listed["summaries"]]
    summaries = [without_sources(ask(http, f"{path}/summaries/{version}?limit=1")) for version in versions]
    return {
        "session": mode["session"],
        "mode": mode["mode"],
        "current": newest,
        "failing": listed["failing"],
        "summaries": summaries,
        "switches": mode["switches"],
    }


def newest_version(http: httpx.Client, path: str, newest: Body | None) -> int:
    """The last version, stale ones counted."""
    after = newest["version"] if newest else 0
    while rest := ask(http, f"{path}/summaries?after={after}&limit=1000")["summaries"]:
        after = rest[-1]["version"]
    return int(after)


def without_sources(summary: Body) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name not in ("messages", "next")}


def tables(told: Body) -> Iterator[Table]:
    """What was told, for people."""
    summaries = Table("version", "made", "covers", "why", "by", "lines", "+", "-", "~", "guard", title="Summaries")
    for summary in told["summaries"]:
        summaries.add_row(*summary_row(summary))
    yield summaries
    switches = Table("at", "from", "to", "summary", "reason", title=f"Switches (mode now: {told['mode']})")
    for switch in told["switches"]:
        version = str(switch["summary_version"] or "")
        switches.add_row(switch["at"], switch["before"], switch["after"], version, shortened(switch["reason"]))
    yield switches


def summary_row(summary: Body) -> tuple[str, ...]:
    difference = summary["difference"]
    kinds = Counter(finding.get("kind", "") for finding in summary["findings"])
    return (
        f"{summary['version']}{' (stale)' if summary['stale'] else ''}",
        summary["made_at"],
        f"{summary['covers_from']}-{summary['covers_upto']}",
        summary["reason"],
        summary["made_by"],
        str(len(summary["lines"])),
        *(str(len(difference[name])) for name in ("added", "removed", "changed")),
        ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())),
    )


def shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_REASON_CHARS else flat[: LONGEST_REASON_CHARS - 1] + "…"
