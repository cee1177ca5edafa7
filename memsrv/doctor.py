"""What is set up, what is missing, and how to mend it."""

import asyncio
import importlib.util
import shutil
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from memsrv.errors import DataDirLocked, IndexDown, MemsrvError
from memsrv.settings import Settings
from memsrv.web.server import is_loopback
from memsrv.wiring import Runtime, State, opened
from memsrv.wiring.vendors import access_for, database_for, embedder_for, token_counter

LOW_DISK_BYTES = 500_000_000
LOOKS, LOOK_S = 30, 0.1
INDEX_HINT = (
    "Check that the server at MEMSRV_CHROMA_URL is up; an embedded index (the folder chroma) can be deleted: it is rebuilt."
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it is good, what was found, and what mends it."""

    part: str
    good: bool
    text: str
    mend: str = ""


async def examine(settings: Settings) -> list[Finding]:
    """Look at each part as the server would use it; changes nothing but what a start would make."""
    findings = [
        Finding("python", True, f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"),
        access(settings),
        await checked("tokenizer", settings, tokenizer),
        await checked("embedder", settings, embedder),
        await checked("database", settings, database),
        await checked("data folder", settings, stores),
        extras(),
    ]
    if settings.data_dir.exists():
        findings.append(disk(settings))
    return findings


async def checked(part: str, settings: Settings, look: Callable[[Settings], Awaitable[str]]) -> Finding:
    """A look that may find a refusal; the refusal's hint is what mends it."""
    try:
        return Finding(part, True, await look(settings))
    except DataDirLocked:
        return Finding(part, True, "in use by a running server; its /readyz tells more")
    except MemsrvError as error:
        return Finding(part, False, error.message, error.hint)


def access(settings: Settings) -> Finding:
    try:
        keys = access_for(settings)
    except MemsrvError as error:
        return Finding("access", False, error.message, error.hint)
    if keys.wanted:
        standing = [key for key in keys.all() if key.revoked_at is None]
        return Finding("access", True, f"{len(standing)} keys for {len({key.tenant for key in standing})} tenants")
    if is_loopback(settings.host):
        return Finding("access", True, "no keys, loopback only")
    if settings.allow_open:
        return Finding("access", True, f"no keys, open on {settings.host}, as asked for")
    return Finding("access", False, f"no keys, and {settings.host} is not loopback", "Make one with 'memsrv keys create'.")


async def tokenizer(settings: Settings) -> str:
    tokens = token_counter(settings).count("How many tokens is this?", None)
    return f"{settings.tokenizer} ({tokens} tokens in a test sentence)"


async def embedder(settings: Settings) -> str:
    part = await embedder_for(settings)
    try:
        vector = await part.query("Does it work?")
        engine: str | None = getattr(part, "engine", None)
        degraded: str | None = getattr(part, "degraded", None)
        by = f" by {engine}" if engine else ""
        slow = f"; slow: {degraded}" if degraded else ""
        return f"{part.fingerprint} answers{by} ({len(vector)} dimensions){slow}"
    finally:
        await part.close()


async def database(settings: Settings) -> str:
    if not settings.database_url.get_secret_value():
        return "SQLite in the data folder"
    opened = await database_for(settings)
    try:
        return f"{await opened.describe()}; the schema is up to date"
    finally:
        await opened.close()


async def stores(settings: Settings) -> str:
    async with opened(settings) as runtime:
        state = await settled(runtime)
        if "index" in state.degraded and not runtime.indexer.reindexing:
            raise IndexDown("The vector index does not open.", INDEX_HINT)
        return f"{settings.data_dir} opens; {state.pending} messages wait for their vectors, {state.set_aside} set aside"


async def settled(runtime: Runtime) -> State:
    """The state once the index is open, or what it is after a while."""
    for _ in range(LOOKS):
        state = await runtime.state()
        if "index" not in state.degraded:
            break
        await asyncio.sleep(LOOK_S)
    return state


def disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.data_dir).free
    mend = "Free some space, or choose another folder with --data-dir." if free < LOW_DISK_BYTES else ""
    return Finding("disk", free >= LOW_DISK_BYTES, f"{free / 1e9:.1f} GB free", mend)


def extras() -> Finding:
    optional = {"sentence-transformers": "sentence_transformers", "psycopg (PostgreSQL)": "psycopg"}
    found = {name: importlib.util.find_spec(module) is not None for name, module in optional.items()}
    told = (f"{name} is {'installed' if there else 'not installed (optional)'}" for name, there in found.items())
    return Finding("extras", True, "; ".join(told))
