"""Which sessions a running server holds, and what it would recall."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import httpx
import typer
from rich.table import Table

from memsrv.cli.options import AsJson, Key, Url, console, print_json
from memsrv.cli.remote import Body, ask, path_of, server

PAGE = 200
SHOWN_CHARS = 160


def add_to(app: typer.Typer) -> None:
    app.command(name="sessions")(sessions)
    app.command(name="ask")(recall)


def sessions(
    owner: Annotated[str | None, typer.Option(help="Only those of this owner.", show_default=False)] = None,
    last: Annotated[int, typer.Option("--limit", min=1, help="So many, at most.")] = 1000,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions of a running server, by name."""
    with server(url=url, key=key) as http:
        found = list(islice(all_sessions(http, owner), last))
    if as_json:
        print_json(found)
        return
    table = Table("session", "owner", "messages up to", "changed")
    for one in found:
        table.add_row(one["session"], one["owner"] or "", str(one["last_position"]), one["changed_at"])
    console().print(table)


def recall(
    session: Annotated[str, typer.Argument(help="Name of the session.")],
    query: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="Pieces, at most.")] = 10,
    scope: Annotated[
        str | None, typer.Option(help="session, or owner for all sessions of its owner.", show_default=False)
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show what a running server recalls for a query.

    The best comes first, with scores and what counted.
    """
    asked = {"query": query, "k": k} | ({"scope": scope} if scope else {})
    with server(url=url, key=key) as http:
        told = ask(http, f"{path_of(session)}/recall", params=asked)
    if as_json:
        print_json(told)
        return
    table = Table("score", "said", "by", "session", "position", "what counted", "text")
    for hit in told["recall"]:
        table.add_row(*row_of(hit))
    console().print(table)
    if told.get("degraded"):
        console().print(f"Degraded: {', '.join(told['degraded'])}")


def all_sessions(http: httpx.Client, owner: str | None) -> Iterator[dict[str, Any]]:
    """Every session, page by page."""
    asked = {"limit": PAGE} | ({"owner": owner} if owner is not None else {})
    told = ask(http, "/context", params=asked)
    yield from told["sessions"]
    while told["next"] is not None:
        told = ask(http, "/context", params=asked | {"after": told["next"]})
        yield from told["sessions"]


def row_of(hit: Body) -> tuple[str, ...]:
    score = "waits" if hit["score"] is None else f"{hit['score']:.3f}"
    signals = ", ".join(f"{name} {value:.2f}" for name, value in hit["signals"].items() if isinstance(value, float) and value)
    text = " ".join(hit["text"].split())
    shown = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
    place = f"v{hit['summary_version']}" if hit["position"] is None else str(hit["position"])
    return score, hit["sent_at"], hit["name"] or hit["role"], hit["session"], place, signals, shown
