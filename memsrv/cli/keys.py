"""Make, list and revoke keys, on the data folder itself: it works before a server has started and while one runs, which sees
the change with its next request."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from memsrv import settings
from memsrv.cli.options import AsJson, DataDir, console, given, print_json
from memsrv.core.keys import lifetime, minted
from memsrv.core.prompt.receipts import written
from memsrv.model import AccessKey, KeyScope
from memsrv.services.access import DEFAULT_TENANT, Access

LONGEST_CHARS = 512

app = typer.Typer(help="Make, list and revoke keys.", no_args_is_help=True, rich_markup_mode=None)


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="keys")


@app.command()
def create(
    tenant: Annotated[
        str, typer.Option(help="Whose key it is. What was stored without keys is of this default.")
    ] = DEFAULT_TENANT,
    scopes: Annotated[str, typer.Option(help="Any of read, write, admin; admin may do everything.")] = "read,write",
    name: Annotated[str, typer.Option(help="What it is for; stands in the list.", show_default=False)] = "",
    expires: Annotated[str | None, typer.Option(help="After 30m, 12h, 90d or 52w; else never.", show_default=False)] = None,
    rate_per_minute: Annotated[
        int | None, typer.Option(min=0, help="Its own MEMSRV_RATE_PER_MINUTE; 0 is no limit.", show_default=False)
    ] = None,
    max_body_bytes: Annotated[int | None, typer.Option(min=1, help="Its own MEMSRV_MAX_BODY_BYTES.", show_default=False)] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, once: only its hash is kept."""
    made_at = datetime.now(UTC)
    access, first, folder = opened(data_dir)
    key, text = minted(
        plain("tenant", tenant, least=1),
        scopes_of(scopes),
        made_at=made_at,
        name=plain("name", name, least=0),
        expires_at=expiry(expires, made_at),
        rate_per_minute=rate_per_minute,
        max_body_bytes=max_body_bytes,
    )
    access.add(key)
    if as_json:
        print_json(row_of(key) | {"key": text})
        return
    print(text)
    until = f" until {written(key.expires_at)}" if key.expires_at else ""
    told = f"Key {key.id} of tenant {key.tenant} ({','.join(sorted(key.scopes))}){until}. It is not shown again."
    typer.echo(told + (closed(tenant, folder) if first else ""), err=True)


def closed(tenant: str, folder: Path) -> str:
    """What the first key changes: for a server on this folder, and for what it holds already."""
    out_of_reach = f" What was stored without keys is of tenant {DEFAULT_TENANT}, which this key does not reach."
    return f" From now on a server on {folder} wants a key.{out_of_reach if tenant != DEFAULT_TENANT else ''}"


@app.command(name="list")
def list_keys(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show the keys, never their text."""
    rows = [row_of(key) for key in opened(data_dir)[0].all()]
    if as_json:
        print_json(rows)
        return
    table = Table(*("id", "tenant", "scopes", "name", "made", "expires", "state"))
    for row in rows:
        table.add_row(
            row["id"],
            row["tenant"],
            ",".join(row["scopes"]),
            row["name"],
            row["made_at"] or "",
            row["expires_at"] or "",
            row["state"],
        )
    console().print(table)


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(help="Its id, as in the list.")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Let a key in no more."""
    key = opened(data_dir)[0].revoke(id)
    if as_json:
        print_json(row_of(key))
        return
    print(f"Key {key.id} of tenant {key.tenant} is revoked.")


def opened(data_dir: Any) -> tuple[Access, bool, Path]:
    """The keys of the data folder, whether there were none so far, and which folder it is."""
    from memsrv.wiring.vendors import access_for

    loaded = settings.load(given(data_dir=data_dir))
    access = access_for(loaded)
    return access, not access.wanted, loaded.data_dir


def scopes_of(text: str) -> frozenset[KeyScope]:
    try:
        return frozenset(KeyScope(part.strip()) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"name some of {', '.join(KeyScope)}", param_hint="--scopes") from None


def expiry(text: str | None, made_at: datetime) -> datetime | None:
    try:
        return made_at + lifetime(text) if text is not None else None
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(str(error), param_hint="--expires") from None


def plain(what: str, text: str, *, least: int) -> str:
    """A name that can stand in a list and a log line."""
    if not least <= len(text) <= LONGEST_CHARS or not all(map(str.isprintable, text)):
        raise typer.BadParameter(f"use up to {LONGEST_CHARS} printable characters", param_hint=f"--{what}")
    return text


def row_of(key: AccessKey) -> dict[str, Any]:
    """A key as it is listed."""
    expired = key.expires_at is not None and key.expires_at <= datetime.now(UTC)
    state = "revoked" if key.revoked_at else "expired" if expired else "in force"
    return {
        "id": key.id,
        "tenant": key.tenant,
        "scopes": sorted(key.scopes),
        "name": key.name,
        "made_at": written(key.made_at) if key.made_at.timestamp() else None,
        "expires_at": written(key.expires_at) if key.expires_at else None,
        "revoked_at": written(key.revoked_at) if key.revoked_at else None,
        "rate_per_minute": key.rate_per_minute,
        "max_body_bytes": key.max_body_bytes,
        "state": state,
    }
