"""What waits is put into the index, each text embedded once, and the message that is to blame is found."""

import asyncio
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from memsrv.model import Generation, PendingChunk
from tests.fakes import MemoryQueue, MemoryVectors
from tests.patience import until
from tests.world import World, refuses


@pytest.fixture
def world() -> World:
    return World()


async def test_a_message_is_marked_only_after_its_vectors_are_in(world: World) -> None:
    seen: list[bool] = []

    async def mark_indexed(generation: Generation, chunks: Sequence[PendingChunk]) -> None:
        seen.append(all(chunk.number in world.index.rows for chunk in chunks))
        await MemoryQueue.mark_indexed(world.queue, generation, chunks)

    world.queue.mark_indexed = mark_indexed  # type: ignore[method-assign]
    world.queue.append(1, *(f"piece {i}" for i in range(9)))
    async with world.running():
        await world.all_indexed()
    assert seen
    assert all(seen)


async def test_the_same_text_is_embedded_once_in_a_round(world: World) -> None:
    for message in range(1, 6):
        world.queue.append(message, "ok")
    async with world.running():
        await world.all_indexed()
    assert sum(text == "user: ok" for call in world.embedder.calls for text in call) == 1
    assert len(world.index.rows) == 5


async def test_no_call_of_the_embedder_holds_more_than_a_batch(world: World) -> None:
    world.queue.append(1, *(f"piece number {i}" for i in range(9)))
    async with world.running():
        await world.all_indexed()
    assert max(map(len, world.embedder.calls)) == world.batch


async def test_what_was_embedded_a_moment_ago_is_not_embedded_again(world: World) -> None:
    async with world.running() as indexer:
        world.queue.append(1, "good morning")
        indexer.notify()
        await world.all_indexed()
        calls = len(world.embedder.calls)
        world.queue.append(2, "good morning")
        indexer.notify()
        await world.all_indexed()
        assert len(world.embedder.calls) == calls
    np.testing.assert_array_equal(world.index.rows[10][1], world.index.rows[20][1])


async def test_what_was_embedded_before_a_restart_is_not_embedded_again(world: World) -> None:
    world.queue.append(1, "good morning")
    async with world.running():
        await world.all_indexed()
    world.embedder.calls.clear()
    world.queue.append(2, "good morning", "and good night", session=2)
    async with world.running():
        await world.all_indexed()
    assert world.embedder.calls == [["user: and good night"]]
    np.testing.assert_array_equal(world.index.rows[10][1], world.index.rows[20][1])


async def test_what_is_known_takes_no_room_in_a_call_of_the_embedder(world: World) -> None:
    world.queue.append(1, *(f"known piece {i}" for i in range(world.batch)))
    async with world.running():
        await world.all_indexed()
    world.embedder.calls.clear()
    known, new = [f"known piece {i}" for i in range(world.batch)], [f"a new piece {i}" for i in range(world.batch)]
    world.queue.append(2, *(text for pair in zip(known, new, strict=True) for text in pair))
    async with world.running():
        await world.all_indexed()
    assert [len(call) for call in world.embedder.calls] == [world.batch]


@pytest.mark.parametrize("restart", [False, True])
async def test_a_tenant_gets_nothing_from_what_another_has_indexed(world: World, restart: bool) -> None:
    async with world.running():
        world.queue.append(1, "good morning", tenant="a")
        world.indexer.notify()
        await world.all_indexed()
        if restart:
            await world.indexer.close()
            world.indexer = world.made()
            world.indexer.start()
        world.embedder.calls.clear()
        world.queue.append(2, "good morning", tenant="b")
        world.indexer.notify()
        await world.all_indexed()
    assert world.embedder.calls == [["user: good morning"]]


async def test_a_vector_that_the_index_lacks_is_made_again(world: World) -> None:
    world.queue.append(1, "good morning")
    async with world.running():
        await world.all_indexed()
    world.queue.append(2, "good morning")
    world.queue.delete(1)  # its vector goes first, but its digest is told still
    async with world.running():
        await world.all_indexed()
    assert sorted(world.index.rows) == [20]
    assert world.embedder.calls[-1] == ["user: good morning"]


async def test_the_next_batch_is_embedded_while_the_last_one_is_stored(world: World) -> None:
    embedded_at_store: list[int] = []

    async def put(chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        for _ in range(10):
            await asyncio.sleep(0)
        embedded_at_store.append(sum(map(len, world.embedder.calls)))
        await MemoryVectors.put(world.index, chunks, vectors)

    world.index.put = put  # type: ignore[method-assign]
    for number in range(1, 13):
        world.queue.append(number, f"message of its own {number}")
    async with world.running():
        await world.all_indexed()
    assert embedded_at_store[0] >= 2 * world.batch
    assert len(world.index.rows) == 12


@pytest.mark.parametrize("poison", [True, False], ids=["blamed by the embedder", "only failing"])
async def test_one_text_that_cannot_be_embedded_does_not_stop_the_others(world: World, poison: bool) -> None:
    world.embedder.fail = refuses("cursed", poison=poison)
    for message in range(1, 20):
        world.queue.append(message, "a cursed text" if message == 7 else f"text {message}")
    async with world.running():
        await world.all_indexed()
    assert [message for message in world.queue.waiting if not world.queue.indexed(message)] == [7]
    assert world.queue.waiting[7].set_aside
    assert world.queue.waiting[7].attempts == 3


async def test_two_texts_that_cannot_be_embedded_are_both_found(world: World) -> None:
    world.embedder.fail = refuses("cursed", poison=True)
    for message in range(1, 20):
        world.queue.append(message, "a cursed text" if message in (3, 17) else f"text {message}")
    async with world.running():
        await world.all_indexed()
    assert [message for message in world.queue.waiting if not world.queue.indexed(message)] == [3, 17]


async def test_a_text_is_not_blamed_when_the_embedder_refuses_every_text(world: World) -> None:
    world.embedder.fail = refuses("", poison=True)
    world.queue.append(1, "one")
    async with world.running() as indexer:
        await until(lambda: indexer.counters.failed_batches > 8)
        assert "embedder" in indexer.degraded
    assert world.queue.waiting[1].attempts == 0


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
async def test_a_vector_that_is_no_direction_never_reaches_the_index(world: World, value: float) -> None:
    def spoil(texts: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        vectors[[i for i, text in enumerate(texts) if "odd" in text]] = value
        return vectors

    world.embedder.spoil = spoil
    world.queue.append(1, "an odd one")
    world.queue.append(2, "an even one")
    async with world.running():
        await world.all_indexed()
    assert sorted(world.index.rows) == [20]
    assert world.queue.waiting[1].set_aside


async def test_an_embedder_that_answers_nonsense_is_down(world: World) -> None:
    world.embedder.spoil = lambda texts, vectors: vectors * 0
    world.queue.append(1, "one")
    async with world.running() as indexer:
        await until(lambda: indexer.counters.failed_batches > 8)
        assert "embedder" in indexer.degraded
        world.embedder.spoil = lambda texts, vectors: vectors
        await world.all_indexed()


async def test_an_answer_of_another_dimension_is_a_failure(world: World) -> None:
    world.queue.append(1, "one")
    async with world.running() as indexer:
        await world.all_indexed()
        world.embedder.spoil = lambda texts, vectors: vectors[:, :-1]
        world.queue.append(2, "two")
        indexer.notify()
        await until(lambda: indexer.counters.failed_batches > 4)
    assert sorted(world.index.rows) == [10]


async def test_a_failure_of_ours_for_one_message_does_not_stop_the_others(world: World) -> None:
    async def put(chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        assert all(chunk.message_number != 2 for chunk in chunks)
        await MemoryVectors.put(world.index, chunks, vectors)

    world.index.put = put  # type: ignore[method-assign]
    for message in (1, 2, 3):
        world.queue.append(message, f"text {message}")
    async with world.running():
        await world.all_indexed()
    assert sorted(world.index.rows) == [10, 30]
    assert world.queue.reasons == {2: "AssertionError"}


async def test_a_message_that_fails_waits_and_the_next_goes_first(world: World) -> None:
    world.queue.retry_s = 3600
    world.embedder.fail = refuses("cursed", poison=True)
    world.queue.append(1, "a cursed text")
    async with world.running() as indexer:
        await until(lambda: world.queue.waiting[1].attempts == 1)
        world.queue.append(2, "two")
        indexer.notify()
        await until(lambda: world.queue.indexed(2))
    assert world.queue.waiting[1].attempts == 1


async def test_a_restart_does_not_forget_how_often_a_message_failed(world: World) -> None:
    world.queue.retry_s = 3600
    world.embedder.fail = refuses("cursed", poison=True)
    world.queue.append(1, "a cursed text")
    for attempts in (1, 2, 3):
        world.queue.waiting[1].due_at = 0
        async with world.running():
            await until(partial(failed, world, attempts))
    assert world.queue.waiting[1].set_aside


async def test_an_edited_message_has_all_its_attempts_again(world: World) -> None:
    world.embedder.fail = refuses("cursed", poison=True)
    world.queue.retry_s = 3600
    world.queue.append(1, "a cursed text")
    async with world.running() as indexer:
        for _ in range(2):
            await until(lambda: world.queue.waiting[1].attempts == 1)
            world.queue.append(1, "another cursed text")
            indexer.notify()
        await until(lambda: world.queue.waiting[1].attempts == 1)
        for attempts in (2, 3):
            assert not world.queue.waiting[1].set_aside
            world.queue.waiting[1].due_at = 0
            indexer.notify()
            await until(partial(failed, world, attempts))
    assert world.queue.waiting[1].set_aside


async def test_a_message_that_failed_before_a_restart_goes_alone_after_it(world: World) -> None:
    async with world.running() as indexer:
        await until(lambda: not indexer.degraded)
    world.queue.append(1, "one")
    world.queue.append(2, "two")
    world.queue.append(3, "three")
    world.queue.waiting[1].attempts = 1
    async with world.running():
        await world.all_indexed()
    assert [call for call in world.embedder.calls if "user: one" in call] == [["user: one"]]


def failed(world: World, attempts: int) -> bool:
    return world.queue.waiting[1].attempts == attempts
