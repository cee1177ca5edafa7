"""What several processes on one PostgreSQL decide among themselves, by locks that a connection of each process holds.

(1) The server gives a lock to one connection at a time, and takes it back when the connection ends: that of a process that was
    killed at once, that of one that hangs after ten seconds.
(2) Whoever holds the lead asks at least every `look_s` whether the connection still stands. So two may think that they lead
    for about so long after it broke; what the lead does must bear being done twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Self, TypeVar

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from memsrv.adapters.postgresql import LEAD_LOCK, LOCKS, PostgresqlServer
from memsrv.errors import MemsrvError

T = TypeVar("T")
log = structlog.get_logger()

MOST_NUMBERS = 2**31 - 1


class PostgresqlLocks:
    """ports.Lead and ports.Claims."""

    def __init__(self, url: str, *, look_s: float = 1.0):
        self._server = PostgresqlServer(url)
        self._engine = self._server.locking()
        self._look_s = look_s
        self._connection: Connection | None = None
        self._thread = ThreadPoolExecutor(1, "sql-locks")
        self._taken, self._lost = asyncio.Event(), asyncio.Event()
        self._lost.set()
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, url: str, *, look_s: float = 1.0) -> Self:
        """Take the lead if it is free, and go on trying."""
        locks = cls(url, look_s=look_s)
        await locks._look()
        locks._looking = asyncio.create_task(locks._look_on(), name="lead")
        return locks

    @property
    def held(self) -> bool:
        """Whether this process leads."""
        return self._taken.is_set()

    async def taken(self) -> None:
        """Return when this process leads."""
        await self._taken.wait()

    async def lost(self) -> None:
        """Return when it does not."""
        await self._lost.wait()

    @asynccontextmanager
    async def claim(self, session_number: int) -> AsyncIterator[bool]:
        """Whether the session is this process's own while inside. Raises StoreDown."""
        key = session_number % MOST_NUMBERS + 1
        own: bool = await self._ask(f"SELECT pg_try_advisory_lock({LOCKS}, {key})")
        try:
            yield own
        finally:
            if own:
                with suppress(MemsrvError):  # a connection that is gone holds nothing
                    await self._ask(f"SELECT pg_advisory_unlock({LOCKS}, {key})")

    async def close(self) -> None:
        """Let go of everything."""
        if self._looking:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        await self._on_thread(self._drop)
        self._thread.shutdown(wait=False)
        self._engine.dispose()

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(self._look_s)
            await self._look()

    async def _look(self) -> None:
        """Ask for the lead, or whether it is still held."""
        question = "SELECT true" if self.held else f"SELECT pg_try_advisory_lock({LOCKS}, {LEAD_LOCK})"
        try:
            held = bool(await self._ask(question))
        except MemsrvError:
            held = False
        if held != self.held:
            log.info("lead taken" if held else "lead lost")
        for event, is_so in ((self._taken, held), (self._lost, not held)):
            if is_so:
                event.set()
            else:
                event.clear()

    async def _ask(self, question: str) -> bool:
        try:
            return await self._on_thread(self._answer, question)
        except DBAPIError as error:
            raise self._server.in_our_words(error) from error

    async def _on_thread(self, run: Callable[..., T], *arguments: object) -> T:
        return await asyncio.wrap_future(self._thread.submit(run, *arguments))

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _answer(self, question: str) -> bool:
        """The answer of the connection that holds the locks; with one that fails they are gone."""
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            return bool(self._connection.exec_driver_sql(question).scalar())
        except DBAPIError:
            self._drop()
            raise

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()
