"""The background waits for a lull, but not for ever."""

import asyncio

from memsrv.services.lull import Lull
from tests.patience import PATIENCE_S

LONG_S = 600.0


async def test_where_nothing_is_in_hand_there_is_a_lull():
    async with asyncio.timeout(PATIENCE_S):
        await Lull(LONG_S).comes(LONG_S)


async def test_it_comes_after_the_last_prompt():
    lull = Lull(aftermath_s=0.01)
    with lull.broken():
        with lull.broken():
            waiting = asyncio.create_task(lull.comes(LONG_S))
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)
        assert not waiting.done()
    async with asyncio.timeout(PATIENCE_S):
        await waiting


async def test_a_prompt_that_fails_is_over_too():
    lull = Lull(aftermath_s=0.01)
    try:
        with lull.broken():
            raise LookupError
    except LookupError:
        pass
    async with asyncio.timeout(PATIENCE_S):
        await lull.comes(LONG_S)


async def test_it_is_waited_for_so_long_at_most():
    lull = Lull(LONG_S)
    with lull.broken():
        async with asyncio.timeout(PATIENCE_S):
            await lull.comes(0.05)


async def test_the_end_of_a_backlog_is_waited_for():
    lull = Lull()
    lull.tell(backlog=True)
    waiting = asyncio.create_task(lull.indexed(LONG_S))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    lull.tell(backlog=False)
    async with asyncio.timeout(30):
        await waiting
        await lull.indexed(LONG_S)


async def test_a_backlog_is_waited_for_so_long_at_most():
    lull = Lull()
    lull.tell(backlog=True)
    async with asyncio.timeout(30):
        await lull.indexed(0.05)
        await lull.indexed(-1)


async def test_who_waits_for_prompts_alone_does_not_wait_for_a_backlog():
    lull = Lull()
    lull.tell(backlog=True)
    async with asyncio.timeout(30):
        await lull.comes(LONG_S)
