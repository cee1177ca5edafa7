"""Free memory is given back again and again, until the end."""

import asyncio
import threading

from memsrv.services.tidying import Tidying


async def test_it_is_done_again_and_again_in_a_thread_until_it_is_closed() -> None:
    loop, again, threads = asyncio.get_running_loop(), asyncio.Event(), []

    def give_back() -> None:
        threads.append(threading.current_thread())
        if len(threads) == 3:
            loop.call_soon_threadsafe(again.set)

    tidying = Tidying(give_back, every_s=0)
    tidying.start()
    async with asyncio.timeout(30):
        await again.wait()
    await tidying.close()
    assert threading.main_thread() not in threads
    assert [task for task in asyncio.all_tasks() if task.get_name() == "tidying"] == []


async def test_one_that_was_never_begun_can_be_closed() -> None:
    await Tidying().close()
