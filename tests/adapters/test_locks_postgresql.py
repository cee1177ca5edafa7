"""What several processes on one PostgreSQL decide: who leads, and who summarises a session."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from memsrv.adapters.locks_postgresql import PostgresqlLocks
from memsrv.errors import StoreDown
from tests.patience import PATIENCE_S, until
from tests.postgresql import Postgresql

LOOK_S = 0.02


@pytest.fixture
def url(postgresql: Postgresql) -> str:
    return postgresql.database()


@pytest.fixture
async def locks(url: str) -> AsyncIterator[list[PostgresqlLocks]]:
    """Three processes, which came one after the other."""
    opened = [await PostgresqlLocks.open(url, look_s=LOOK_S) for _ in range(3)]
    yield opened
    for one in opened:
        await one.close()


def cut(postgresql: Postgresql, url: str) -> None:
    """Cut all connections to a database."""
    name = url.split("@/")[1].split("?", maxsplit=1)[0]
    postgresql.admin(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'")


async def test_the_first_leads_from_the_beginning(locks):
    assert [one.held for one in locks] == [True, False, False]
    await locks[0].taken()
    await locks[1].lost()


async def test_when_the_one_that_leads_ends_another_takes_over(locks):
    await locks.pop(0).close()
    taking = [asyncio.create_task(one.taken()) for one in locks]
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait(taking, return_when=asyncio.FIRST_COMPLETED)
    assert [one.held for one in locks].count(True) == 1
    for task in taking:
        task.cancel()


async def test_one_whose_connection_breaks_leads_no_more_and_one_leads_again_soon(postgresql, url, locks):
    cut(postgresql, url)
    async with asyncio.timeout(PATIENCE_S):
        await locks[0].lost()
    await until(lambda: [one.held for one in locks].count(True) == 1)  # any of them


async def test_a_session_is_claimed_by_one_process_at_a_time(locks):
    async with locks[0].claim(7) as first, locks[1].claim(7) as second, locks[1].claim(8) as other:
        assert (first, second, other) == (True, False, True)
    async with locks[1].claim(7) as again:
        assert again


async def test_a_claim_ends_with_what_is_done_inside_also_when_that_fails(locks):
    with pytest.raises(ZeroDivisionError):
        async with locks[0].claim(7):
            raise ZeroDivisionError
    async with locks[1].claim(7) as own:
        assert own


async def test_a_claim_ends_with_the_connection_of_its_process(postgresql, locks):
    ending = locks.pop(0)
    async with ending.claim(7):
        postgresql.admin("SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' AND objid = 8")
        async with locks[0].claim(7) as own:
            assert own
    await ending.close()


async def test_a_claim_is_refused_while_the_store_is_out_of_reach():
    locks = await PostgresqlLocks.open("postgresql://memsrv@127.0.0.1:1/nowhere")
    assert not locks.held
    with pytest.raises(StoreDown):
        async with locks.claim(7):
            pass
    await locks.close()
