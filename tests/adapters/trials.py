"""What is tried on the database of either kind."""

import asyncio
import threading
from collections.abc import Callable

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, func, insert, select

from memsrv.adapters.database import Database
from memsrv.adapters.schema import generations, metadata


def differences(connection: Connection) -> list[object]:
    """Where the schema of a database is not that of the code."""
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


def add(fingerprint: str) -> Callable[[Connection], None]:
    """A write that leaves a trace."""
    return lambda connection: connection.execute(insert(generations).values(fingerprint=fingerprint, made_at=0)) and None


async def traces(database: Database) -> list[str]:
    """What writes have left, in order."""
    query = select(generations.c.fingerprint).order_by(generations.c.number)
    return list(await database.read(lambda connection: connection.scalars(query).all()))


async def counted_around_a_write(reading: Database, writing: Database) -> tuple[int, int]:
    """How many traces one read counts before and after a trace is written in its midst."""
    counted, written = threading.Event(), threading.Event()
    query = select(func.count()).select_from(generations)

    def count_twice(connection: Connection) -> tuple[int, int]:
        before = connection.scalar(query) or 0
        counted.set()
        written.wait(10)
        return before, connection.scalar(query) or 0

    both = asyncio.create_task(reading.read(count_twice))
    await asyncio.to_thread(counted.wait, 10)
    await writing.write(add("a"))
    written.set()
    return await both
