"""Connect an MCP client that starts its servers as processes to a running memsrv."""

import asyncio
from typing import Annotated

import typer

from memsrv.cli.options import Key, Url
from memsrv.cli.remote import Refused, place, told
from memsrv.errors import CannotStart, SettingsError


def add_to(app: typer.Typer) -> None:
    app.command(name="mcp")(mcp)


def mcp(
    session: Annotated[
        str | None,
        typer.Option(
            help="The only session that the tools reach; without it they are told one in each call.", show_default=False
        ),
    ] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Serve a running memsrv to an MCP client, over stdin and stdout."""
    from memsrv import client
    from memsrv.mcp.serving import over_stdio
    from memsrv.web.logs import configure

    configure("json", "error")
    address, known = place(url=url, key=key)
    try:
        memory = client.AsyncMemory(address, key=known)
    except ValueError:
        raise SettingsError("The --url or --key cannot be used.") from None
    try:
        asyncio.run(over_stdio(memory, session))
    except client.Unreachable as error:
        raise CannotStart(error.message, "Start it with 'memsrv serve', or name another one with --url.") from None
    except client.Refused as error:
        raise Refused(told({"code": error.code, "message": error.message, "hint": error.hint})) from None
