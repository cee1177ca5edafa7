"""Rebuild the index, verify, purge: over HTTP where a server runs, else in the data folder itself.

A server that answers at the address of the settings, or at --url, does the work; --data-dir means the folder itself, which must
not be in use.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import httpx
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from memsrv import settings
from memsrv.cli.options import AsJson, DataDir, Key, Url, console, folder_settings, print_json
from memsrv.cli.remote import Body, answers, ask, server

if TYPE_CHECKING:
    from memsrv.wiring import Runtime

LOOK_S = 0.5
Show = Callable[[Body], None]


def add_to(app: typer.Typer) -> None:
    app.command()(reindex)
    app.command()(verify)
    app.command()(purge)


def reindex(url: Url = None, key: Key = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Build the index anew while the old one answers, then swap. Stopped in the midst, the server goes on with it."""
    with progress(shown=not as_json) as show:
        done = served_or_here(
            lambda http: reindex_there(http, show), lambda runtime: reindex_here(runtime, show), url, key, data_dir
        )
    if as_json:
        print_json(done)
    else:
        print(f"{done['messages']} messages are indexed; generation {done['answers']} answers")


def reindex_there(http: httpx.Client, show: Show) -> Body:
    """Ask a server for it, and look until it is done."""
    now: Body = ask(http, "/reindex", method="POST")
    while now["running"] or now["generation"] is None:
        show(now)
        sleep(LOOK_S)
        now = ask(http, "/reindex")
    show(now)
    return now


async def reindex_here(runtime: "Runtime", show: Show) -> Body:
    """Do it in this process. Raises EmbedderDown when the embedder does not answer: there is no use in waiting here."""
    await runtime.embedder.query("Is anybody there?")
    runtime.indexer.rebuild()
    while True:
        now = await runtime.indexer.rebuilding()
        told = {"running": now.running, **asdict(now)}
        show(told)
        if not now.running and now.generation is not None:
            return told
        await asyncio.sleep(LOOK_S)


def verify(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be made anew from the transcript.")] = False,
    url: Url = None,
    key: Key = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check what is stored against each other.

    Looks at transcript, chunks, search terms, vectors, summaries and receipts. Exit status 1 if something is wrong.
    """

    def there(http: httpx.Client) -> Body:
        body: Body = ask(http, f"/verify?fix={str(fix).lower()}", method="POST", timeout=None)
        return body

    async def here(runtime: "Runtime") -> Body:
        done = await runtime.verifier.verify(fix=fix)
        return {"good": done.good, **asdict(done)}

    found = served_or_here(there, here, url, key, data_dir)
    if as_json:
        print_json(found)
    else:
        table = Table("", "looked for", "found", "")
        for check in found["checks"]:
            sign = "no" if check["wrong"] else "ok"
            table.add_row(sign, check["name"].replace("_", " "), str(check["wrong"]), "mended" if check["mended"] else "")
        console().print(table)
        if found["waiting"]:
            print(f"{found['waiting']} messages wait for their vectors, which a running server makes")
    if any(check["wrong"] and not check["mended"] for check in found["checks"]):
        raise typer.Exit(1)


def purge(url: Url = None, key: Key = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Take every trace of deleted text out of the files.

    However large the database is; after a reindex, of the old vectors too. Writes wait meanwhile.
    """

    def there(http: httpx.Client) -> Body:
        body: Body = ask(http, "/purge", method="POST", timeout=None)
        return body

    async def here(runtime: "Runtime") -> Body:
        await runtime.verifier.purge()
        return {"purged": True}

    done = served_or_here(there, here, url, key, data_dir)
    if as_json:
        print_json(done)
    else:
        print("what was deleted is gone from the files")


def served_or_here(
    there: Callable[[httpx.Client], Body],
    here: Callable[["Runtime"], Awaitable[Body]],
    url: str | None,
    key: str | None,
    data_dir: Path | None,
) -> Body:
    """Have a server do it that is named or answers at the address of the settings, else do it in the data folder. A folder that
    is named is meant itself."""
    if url or data_dir is None:
        with server(url=url, key=key) as http:
            if url or answers(http):
                return there(http)

    from memsrv.web.logs import configure
    from memsrv.wiring import opened

    ours = settings.load() if data_dir is None else folder_settings(data_dir)

    async def run() -> Body:
        async with opened(ours) as runtime:
            return await here(runtime)

    configure("auto", "error")
    return asyncio.run(run())


@contextmanager
def progress(*, shown: bool) -> Iterator[Show]:
    """Shows how many messages are indexed, to a person."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task("messages indexed", total=None)

        def show(now: Body) -> None:
            waits = f" ({', '.join(now['degraded'])} down)" if now.get("degraded") else ""
            total, left = now["messages"], now["left"]
            bar.update(task, description=f"messages indexed{waits}", total=total or None, completed=total - left)

        yield show
