"""Write sessions of a running server as JSON Lines, which an import takes back."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import httpx
import typer

from memsrv.cli.options import Key, Url
from memsrv.cli.remote import Refused, ask, path_of, server, told
from memsrv.errors import CannotStart, SettingsError

PAGE = 1000


def add_to(app: typer.Typer) -> None:
    app.command(name="export")(export)


def export(
    sessions: Annotated[list[str] | None, typer.Argument(help="Names of the sessions.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: print.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All sessions.")] = False,
    owner: Annotated[str | None, typer.Option(help="All sessions of this owner.", show_default=False)] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Write sessions as JSON Lines.

    They hold state and messages, and 'memsrv import' takes them back.
    """
    if sum((bool(sessions), every, owner is not None)) != 1:
        raise SettingsError("It is not said which sessions.", "Name them, or give --all, or --owner.")
    with server(url=url, key=key) as http, written_to(output) as file:
        for name in sessions or listed(http, owner):
            copy(http, name, file)


def listed(http: httpx.Client, owner: str | None) -> Iterator[str]:
    """The names of all sessions, or of those of an owner."""
    after: str | None = None
    while True:
        asked = {"owner": owner, "after": after, "limit": PAGE}
        page = ask(http, "/context", params={name: value for name, value in asked.items() if value is not None})
        yield from (one["session"] for one in page["sessions"])
        after = page["next"]
        if after is None:
            return


def copy(http: httpx.Client, name: str, file: BinaryIO) -> None:
    """Write one session to the file. Raises Refused, and CannotStart if the answer breaks off."""
    try:
        with http.stream("GET", f"{path_of(name)}/export") as answer:
            if not answer.is_success:
                answer.read()
                raise Refused(told(answer.json()), answer.status_code)
            for piece in answer.iter_bytes():
                file.write(piece)
    except (httpx.HTTPError, ValueError):
        raise CannotStart(f"The memsrv at {http.base_url} does not answer, or not to the end.", "Try again.") from None


@contextmanager
def written_to(output: Path | None) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name only when all of it is written; or what is printed."""
    if output is None or str(output) == "-":
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    half = output.with_name(f"{output.name}.part")
    try:
        with half.open("wb") as file:
            yield file
        half.replace(output)
    except OSError as error:
        raise SettingsError(f"The file cannot be written: {error.strerror}.", "Choose another one with -o.") from None
    finally:
        half.unlink(missing_ok=True)
