"""Summaries that nobody asked for come after what is to be indexed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memsrv.services.compaction import Compaction
from memsrv.services.lull import Lull
from tests.house import KEY, House
from tests.patience import PATIENCE_S


@pytest.fixture
async def busy(tmp_path: Path) -> AsyncIterator[tuple[House, Lull]]:
    """A compaction whose indexer has a backlog."""
    house, lull = await House(tmp_path).open(start=False), Lull()
    lull.tell(backlog=True)
    house.compaction = Compaction(house.deriver, house.sessions, house.compactions, lull=lull)
    house.compaction.start()
    yield house, lull
    await house.close()


async def test_the_background_comes_after_what_is_to_be_indexed(busy: tuple[House, Lull]) -> None:
    house, lull = busy
    await house.say(20)
    await asyncio.sleep(0.05)
    assert house.listing.tasks == []
    lull.tell(backlog=False)
    assert await house.until_made(1)


async def test_what_was_asked_for_does_not_wait_for_what_is_to_be_indexed(busy: tuple[House, Lull]) -> None:
    house, _ = busy
    await house.say(20)
    async with asyncio.timeout(PATIENCE_S):
        made, _ = await house.compaction.compact(KEY, keep=4)
    assert made is not None


async def test_a_server_that_ends_waits_for_no_backlog(busy: tuple[House, Lull]) -> None:
    house, _ = busy
    await house.say(20)
    await asyncio.sleep(0.05)
    async with asyncio.timeout(PATIENCE_S):
        await house.compaction.close(grace_s=600)
    assert house.listing.tasks == []
