"""An index belongs to one embedder: another generation is begun, filled beside the one that answers, and swapped."""

import pytest

from memsrv.model import Generation
from memsrv.services.indexer import Rebuilding
from tests.fakes import HashingEmbedder, MemoryQueue, down
from tests.patience import until
from tests.world import World, refuses


@pytest.fixture
def world() -> World:
    return World()


async def test_another_embedder_begins_a_generation_and_everything_is_embedded_again(world: World) -> None:
    world.queue.append(1, "one")
    async with world.running():
        await world.all_indexed()
    world.embedder = HashingEmbedder(32, fingerprint="another")
    async with world.running() as indexer:
        await until(lambda: world.queue.indexed(1) and not indexer.degraded)
    assert [len(row) for _, row in world.index.rows.values()] == [32]
    assert list(world.index.generations) == [2]


async def test_the_index_is_degraded_until_a_new_generation_is_whole(world: World) -> None:
    world.queue.append(1, "one")
    async with world.running():
        await world.all_indexed()
    world.embedder = HashingEmbedder(fingerprint="another")
    world.embedder.fail = refuses("one", poison=False)
    async with world.running() as indexer:
        await until(lambda: indexer.counters.failed_batches > 0)
        assert indexer.reindexing
        assert "index" in indexer.degraded
        world.embedder.fail = lambda texts: None
        await until(lambda: not indexer.degraded)
        assert not indexer.reindexing


async def test_an_embedder_that_is_down_at_the_start_is_not_taken_for_another(world: World) -> None:
    world.queue.append(1, "one")
    async with world.running():
        await world.all_indexed()
    world.embedder = HashingEmbedder(known=False)
    world.embedder.fail = down
    async with world.running() as indexer:
        await until(lambda: indexer.counters.failed_batches > 3)
        assert indexer.degraded == {"embedder", "index"}
        assert sorted(world.index.rows) == [10]
        world.embedder.fail = lambda texts: None
        await until(lambda: not indexer.degraded)
    assert world.queue.current is not None
    assert world.queue.current.number == 1


async def test_a_lost_index_is_filled_again(world: World) -> None:
    world.queue.append(1, "one")
    world.queue.append(2, "two")
    async with world.running():
        await world.all_indexed()
    world.index.delete_folder()
    async with world.running() as indexer:
        await until(lambda: not indexer.degraded)
    assert sorted(world.index.rows) == [10, 20]


async def test_a_lost_vector_is_missed_though_another_awaits_removal(world: World) -> None:
    world.queue.append(1, "one")
    world.queue.append(2, "two")
    async with world.running():
        await world.all_indexed()
    world.queue.delete(1)
    del world.index.rows[20]
    async with world.running() as indexer:
        await until(lambda: not indexer.degraded)
    assert sorted(world.index.rows) == [20]


async def test_a_lost_vector_is_missed_though_a_message_is_half_indexed(world: World) -> None:
    world.queue.append(1, "one", "and a half")
    world.queue.append(2, "two")
    async with world.running():
        await world.all_indexed()
    world.queue.waiting[1].unmarked = {11}
    del world.index.rows[11], world.index.rows[20]
    async with world.running() as indexer:
        await until(lambda: not indexer.degraded)
    assert sorted(world.index.rows) == [10, 11, 20]


async def test_an_index_lost_while_the_server_runs_is_filled_again(world: World) -> None:
    world.queue.append(1, "one")
    async with world.running() as indexer:
        await until(lambda: not indexer.degraded)
        world.index.is_down = True
        world.queue.append(2, "two")
        indexer.notify()
        await until(lambda: "index" in indexer.degraded)
        world.index.delete_folder()
        world.index.is_down = False
        await until(lambda: not indexer.degraded)
    assert sorted(world.index.rows) == [10, 20]


async def test_vectors_of_a_transcript_that_is_gone_are_not_taken_over(world: World) -> None:
    world.queue.append(7, "seven")
    async with world.running():
        await world.all_indexed()
    world.queue = MemoryQueue()
    world.queue.append(1, "one")
    async with world.running():
        await world.all_indexed()
    assert sorted(world.index.rows) == [10]


async def test_a_restart_embeds_nothing_again(world: World) -> None:
    world.queue.append(1, "one")
    async with world.running():
        await world.all_indexed()
    world.embedder.calls.clear()
    async with world.running() as indexer:
        await until(lambda: not indexer.degraded)
    assert world.embedder.calls == []


# --- a rebuild ------------------------------------------------------------------------------------------------------


async def test_a_rebuild_fills_a_new_generation_and_the_old_one_answers_until_then(world: World) -> None:
    world.queue.append(1, "the bicycle is blue")
    world.queue.append(2, "the boat is red")
    async with world.running() as indexer:
        await world.all_indexed()
        first = world.queue.serving
        world.embedder.fail = down
        indexer.rebuild()
        await until(lambda: world.queue.current != first and "embedder" in indexer.degraded)
        assert sorted(world.index.searched) == [10, 20]
        assert (await indexer.rebuilding()) == Rebuilding(messages=2, left=2, generation=2, answers=1)
        world.queue.append(3, "the train is late")
        world.embedder.fail = lambda texts: None
        await until(lambda: world.queue.serving == world.queue.current != first)
        await world.all_indexed()
        await until(lambda: list(world.index.generations) == [world.queue.current.number])
        assert sorted(world.index.searched) == [10, 20, 30]


async def test_nothing_is_degraded_while_a_generation_is_built_beside_another(world: World) -> None:
    seen: list[frozenset[str]] = []
    world.queue.append(1, "the bicycle is blue")
    async with world.running() as indexer:
        await world.all_indexed()
        await until(lambda: not indexer.degraded)
        world.embedder.spoil = lambda texts, vectors: (seen.append(indexer.degraded), vectors)[1]
        indexer.rebuild()
        await until(lambda: world.queue.serving.number == 2)
    assert seen
    assert not any(seen)


async def test_a_rebuild_that_was_stopped_goes_on_after_the_next_start(world: World) -> None:
    for message in range(1, 5):
        world.queue.append(message, f"piece {message}")
    async with world.running():
        await world.all_indexed()
    world.embedder.fail = down
    async with world.running() as indexer:
        indexer.rebuild()
        await until(lambda: world.queue.current.number == 2)
    world.embedder.fail = lambda texts: None
    async with world.running() as indexer:
        await until(lambda: world.queue.serving.number == 2)
        assert world.queue.current.number == 2
        assert not (await indexer.rebuilding()).running
    assert sorted(world.index.searched) == [10, 20, 30, 40]


async def test_a_rebuild_is_under_way_from_when_it_is_asked_for(world: World) -> None:
    told: list[Rebuilding] = []
    build = world.index.build

    async def watched(generation: Generation) -> None:
        told.append(await world.indexer.rebuilding())
        await build(generation)
        told.append(await world.indexer.rebuilding())

    world.index.build = watched  # type: ignore[method-assign]
    world.queue.append(1, "piece")
    async with world.running() as indexer:
        await world.all_indexed()
        await until(lambda: not indexer.degraded)
        indexer.rebuild()
        await until(lambda: world.queue.serving.number == 2)
    assert [(now.running, now.generation) for now in told] == [(True, 2), (True, 2)]


async def test_asking_twice_makes_one_rebuild(world: World) -> None:
    world.queue.append(1, "piece")
    async with world.running() as indexer:
        await world.all_indexed()
        world.embedder.fail = down
        indexer.rebuild()
        await until(lambda: world.queue.current.number == 2)
        indexer.rebuild()
        world.embedder.fail = lambda texts: None
        await until(lambda: world.queue.serving.number == 2)
        world.queue.append(2, "more")
        indexer.notify()
        await world.all_indexed()
    assert world.queue.current.number == 2
