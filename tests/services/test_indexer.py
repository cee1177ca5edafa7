"""The loop that keeps the index in step with the transcript."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from memsrv.errors import StoreDown
from tests.fakes import down
from tests.patience import PATIENCE_S, until
from tests.world import World


@pytest.fixture
def world() -> World:
    return World()


async def test_what_was_appended_before_the_start_is_indexed(world: World) -> None:
    world.queue.append(1, "the bicycle is blue", "and its bell is red")
    async with world.running():
        await world.all_indexed()
    assert sorted(world.index.rows) == [10, 11]


async def test_a_message_is_indexed_soon_after_a_notice(world: World) -> None:
    async with world.running() as indexer:
        await until(lambda: world.queue.current is not None)
        world.queue.append(1, "hello")
        indexer.notify()
        await world.all_indexed()
        assert indexer.counters.indexed_chunks == 1


async def test_similar_words_come_out_near(world: World) -> None:
    world.queue.append(1, "the copper kettle hangs on the hook")
    world.queue.append(2, "rain is expected over the weekend")
    async with world.running():
        await world.all_indexed()
    query = await world.embedder.query("copper kettle")
    cosines = {number: float(row @ query) for number, (_, row) in world.index.rows.items()}
    assert cosines[10] > cosines[20]


async def test_vectors_of_deleted_messages_are_removed(world: World) -> None:
    world.queue.append(1, "one")
    world.queue.append(2, "two")
    async with world.running() as indexer:
        await world.all_indexed()
        world.queue.delete(1)
        indexer.notify()
        await until(lambda: not world.queue.gone)
    assert sorted(world.index.rows) == [20]


async def test_removals_go_on_while_the_embedder_is_down(world: World) -> None:
    world.queue.append(1, "one")
    async with world.running() as indexer:
        await world.all_indexed()
        world.embedder.fail = down
        world.queue.append(2, "two")
        world.queue.delete(1)
        indexer.notify()
        await until(lambda: not world.queue.gone)
        assert not world.index.rows


async def test_a_message_deleted_while_it_is_embedded_leaves_no_vector(world: World) -> None:
    world.queue.append(1, "one")

    def forget(texts: Sequence[str]) -> None:
        if 1 in world.queue.waiting:
            world.queue.delete(1)
            world.queue.gone.clear()

    world.embedder.fail = forget
    async with world.running() as indexer:
        await until(lambda: indexer.counters.removed_chunks == 1)
    assert not world.index.rows


async def test_an_embedder_that_is_down_is_named_and_waited_for(world: World) -> None:
    world.embedder.fail = down
    world.queue.append(1, "one")
    async with world.running() as indexer:
        await until(lambda: "embedder" in indexer.degraded and indexer.counters.failed_batches > 6)
        assert world.queue.waiting[1].attempts == 0
        world.embedder.fail = lambda texts: None
        await world.all_indexed()
        await until(lambda: not indexer.degraded)


async def test_an_embedder_that_comes_back_is_noticed_with_nothing_to_do(world: World) -> None:
    world.queue.append(1, "one")
    world.embedder.fail = down
    async with world.running() as indexer:
        await until(lambda: "embedder" in indexer.degraded)
        world.queue.delete(1)
        world.embedder.fail = lambda texts: None
        await until(lambda: not indexer.degraded)


async def test_an_index_that_is_down_is_named_and_waited_for(world: World) -> None:
    async with world.running() as indexer:
        await until(lambda: not indexer.degraded)
        world.index.is_down = True
        world.queue.append(1, "one")
        indexer.notify()
        await until(lambda: "index" in indexer.degraded and indexer.counters.failed_batches > 6)
        world.index.is_down = False
        await world.all_indexed()
        await until(lambda: not indexer.degraded)
        assert world.queue.reasons == {}


async def test_a_store_that_fails_for_a_while_stops_nothing(world: World) -> None:
    failures = iter(range(8))

    async def removals(limit: int) -> list[int]:
        if next(failures, None) is not None:
            raise StoreDown("It is locked.")
        return []

    world.queue.removals = removals  # type: ignore[method-assign]
    world.queue.append(1, "one")
    async with world.running():
        await world.all_indexed()


# --- waiting and stopping ---------------------------------------------------------------------------------------------


async def test_progress_returns_when_marks_were_cleared(world: World) -> None:
    async with world.running() as indexer:
        world.queue.append(1, "one")
        indexer.notify()
        async with asyncio.timeout(PATIENCE_S):
            while not world.queue.indexed(1):
                await indexer.progress(PATIENCE_S)


async def test_progress_returns_when_nothing_moves(world: World) -> None:
    async with world.running() as indexer:
        async with asyncio.timeout(PATIENCE_S):
            await indexer.progress(0.01)


async def test_work_that_is_cut_off_by_a_stop_is_redone(world: World) -> None:
    stuck = asyncio.Event()
    answer = world.embedder.passages

    async def passages(texts: Sequence[str]) -> np.ndarray:
        stuck.set()
        await asyncio.Event().wait()
        return np.zeros((0, 0))

    world.embedder.passages = passages  # type: ignore[method-assign]
    world.queue.append(1, "one")
    indexer = world.made()
    indexer.start()
    await stuck.wait()
    await indexer.close(grace_s=0.01)
    assert not world.queue.indexed(1)
    world.embedder.passages = answer  # type: ignore[method-assign]
    async with world.running():
        await world.all_indexed()


async def test_an_indexer_that_never_started_can_be_closed(world: World) -> None:
    await world.made().close()


async def test_after_many_removals_the_index_is_opened_anew(world: World) -> None:
    world.most_removed = 2
    for message in (1, 2, 3):
        world.queue.append(message, f"piece {message}")
    async with world.running() as indexer:
        await world.all_indexed()
        before = world.index.opened
        world.queue.delete(1)
        indexer.notify()
        await until(lambda: sorted(world.index.rows) == [20, 30])
        world.queue.delete(2)
        indexer.notify()
        await until(lambda: world.index.opened == before + 1)
        world.queue.append(4, "piece 4")
        indexer.notify()
        await world.all_indexed()
    assert (sorted(world.index.rows), world.queue.current.number, world.index.opened) == ([30, 40], 1, before + 1)


async def test_nothing_is_put_into_the_index_while_it_is_held_still(world: World) -> None:
    async with world.running() as indexer:
        await until(lambda: world.queue.current is not None)
        async with indexer.still():
            world.queue.append(1, "hello")
            indexer.notify()
            await asyncio.sleep(0.02)
            assert not world.index.rows
        await world.all_indexed()
    assert sorted(world.index.rows) == [10]


# --- a backlog --------------------------------------------------------------------------------------------------------


async def test_there_is_a_backlog_while_the_queue_holds_more_than_a_batch(world: World) -> None:
    world.window = 2 * world.batch
    told: list[tuple[bool, int]] = []
    world.lull.tell = lambda *, backlog: told.append((backlog, len(world.index.rows)))  # type: ignore[method-assign]
    async with world.running():
        await until(lambda: world.queue.current is not None)
        told.clear()
        for message in range(1, 3 * world.batch + 1):
            world.queue.append(message, f"text {message}")
        world.indexer.notify()
        await world.all_indexed()
        await until(lambda: not told[-1][0])
    assert told[0] == (True, 0)  # before it has looked
    assert [backlog for backlog, held in told if held == 0] == [True, True]
    assert [backlog for backlog, held in told if held == 2 * world.batch] == [False]


async def test_an_embedder_that_is_down_has_no_backlog_to_wait_for(world: World) -> None:
    world.embedder.fail = down
    for message in range(1, 8):
        world.queue.append(message, f"text {message}")
    async with world.running() as indexer:
        await until(lambda: indexer.counters.failed_batches > 3)
        indexer.notify()
        async with asyncio.timeout(PATIENCE_S):
            await world.lull.indexed(600)
