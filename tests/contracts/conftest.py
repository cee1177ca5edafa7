"""The stores that a suite runs over: every adapter set that keeps the ports is one more parameter here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from typing import Any, Protocol

import pytest
from sqlalchemy import Connection, select, text

from memsrv.adapters.calibration_sql import SqlCalibrations
from memsrv.adapters.database import Database
from memsrv.adapters.lexical_sql import SqlLexicalIndex
from memsrv.adapters.queue_sql import SqlIndexQueue
from memsrv.adapters.records_sql import SqlReceipts, SqlSwitches
from memsrv.adapters.schema import chunks, metadata
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.snapshots_sql import SqlCompactions, SqlSnapshots
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.model import NewChunk, NewMessage, SessionKey, Span
from memsrv.ports import Calibrations, Compactions, IndexQueue, LexicalIndex, Receipts, Sessions, Snapshots, Switches, Transcript
from tests.postgresql import Postgresql

KEPT = 5


@dataclass(frozen=True)
class Stores:
    """One store behind its ports. `cramped_lexical` may keep nothing in memory; `drained` waits for late writes; `digests`
    are those that the chunks hold."""

    transcript: Transcript
    sessions: Sessions
    snapshots: Snapshots
    compactions: Compactions
    switches: Switches
    receipts: Receipts
    calibrations: Calibrations
    queue: IndexQueue
    lexical: LexicalIndex
    cramped_lexical: LexicalIndex
    drained: Callable[[], Awaitable[None]]
    digests: Callable[[], Awaitable[set[bytes]]]


class MakeMessage(Protocol):
    def __call__(
        self,
        text: str,
        *,
        id: str | None = None,
        role: str = "user",
        name: str | None = None,
        pieces: Sequence[str] | None = None,
        sent_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> NewMessage: ...


@pytest.fixture(scope="session")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with an empty database: copying it is cheaper than making one for each test."""

    async def make(folder: Path) -> None:
        await (await Database.open(folder)).close()

    folder = tmp_path_factory.mktemp("empty")
    asyncio.run(make(folder))
    return folder


@pytest.fixture(scope="session")
def one_database(postgresql: Postgresql) -> str:
    """A database with the whole schema; its URL. Emptying it is cheaper than making one for each test."""

    async def make(url: str) -> None:
        await (await Database.connect(url)).close()

    url = postgresql.database()
    asyncio.run(make(url))
    return url


def empty(connection: Connection) -> None:
    """Take out what the test before has left, where tests share a database."""
    if connection.dialect.name == "sqlite":
        return
    tables = ", ".join(table.name for table in metadata.sorted_tables)
    connection.execute(text(f"TRUNCATE {tables} RESTART IDENTITY CASCADE"))


@pytest.fixture(params=["sqlite", "postgresql"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[Database]]:
    """Opens the test's database, which is empty at first; as often as it is called, for one after the other."""
    if request.param == "postgresql":
        url = request.getfixturevalue("one_database")
        return lambda: Database.connect(url)
    folder = copytree(request.getfixturevalue("empty_folder"), tmp_path / "store")
    return lambda: Database.open(folder)


@pytest.fixture
async def database(connect: Callable[[], Awaitable[Database]]) -> AsyncIterator[Database]:
    database = await connect()
    await database.write(empty)
    yield database
    await database.close()


def held_digests(connection: Connection) -> set[bytes]:
    """What rows of chunks hold, whatever their generation."""
    return set(connection.scalars(select(chunks.c.digest).where(chunks.c.digest.is_not(None))))


@pytest.fixture
async def stores(database: Database) -> AsyncIterator[Stores]:
    receipts = SqlReceipts(database, kept=KEPT)
    yield Stores(
        transcript=SqlTranscript(database),
        sessions=SqlSessions(database),
        snapshots=SqlSnapshots(database),
        compactions=SqlCompactions(database),
        switches=SqlSwitches(database),
        receipts=receipts,
        calibrations=SqlCalibrations(database),
        queue=SqlIndexQueue(database),
        lexical=SqlLexicalIndex(database, cache_bytes=10_000_000),
        cramped_lexical=SqlLexicalIndex(database, cache_bytes=0),
        drained=receipts.close,
        digests=lambda: database.read(held_digests),
    )
    await receipts.close()


@pytest.fixture
def key() -> SessionKey:
    return SessionKey("acme", "talk")


@pytest.fixture
def message() -> MakeMessage:
    """Makes a message; one piece is its whole text, and a piece's terms are its words."""

    def make(
        text: str,
        *,
        id: str | None = None,
        role: str = "user",
        name: str | None = None,
        pieces: Sequence[str] | None = None,
        sent_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> NewMessage:
        payload = {"role": role, "content": text} | ({"name": name} if name else {})
        chunks = tuple(
            NewChunk(Span(at, at + len(piece)), piece, tuple(piece.split()))
            for at, piece in enumerate([text] if pieces is None else pieces)
            if piece
        )
        digest = sha256(repr((payload, sent_at, metadata)).encode("utf-8", "surrogatepass")).hexdigest()
        return NewMessage(id, payload, sent_at, metadata, digest, chunks)

    return make
