"""Receipts on their way to the store."""

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path

from memsrv.adapters.database import Database
from memsrv.adapters.records_sql import SqlReceipts
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.model import SessionKey
from tests.patience import until

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_no_more_wait_for_a_store_that_is_busy_than_there_is_room_for_and_none_is_lost(tmp_path: Path) -> None:
    database, go_on = await Database.open(tmp_path), threading.Event()
    session = await SqlSessions(database).save(SessionKey("acme", "s"), lambda old: old, create=True)
    receipts = SqlReceipts(database, kept=50, most_waiting=2)
    busy = asyncio.create_task(database.write(lambda _: go_on.wait()))
    adding = [asyncio.create_task(receipts.add(session.number, f"r{n}", {"n": n}, quotes=(), made_at=NOW)) for n in range(10)]
    await until(lambda: sum(one.done() for one in adding) >= 4)  # two in hand, two that wait for them
    assert sum(one.done() for one in adding) == 4
    go_on.set()
    await asyncio.gather(busy, *adding)
    await receipts.close()
    assert {one["n"] for one in await receipts.listing(session.number, 50)} == set(range(10))
    await database.close()
