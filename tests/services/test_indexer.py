"""The loop that keeps the index in step with the transcript."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import numpy as np
import pytest

from memsrv.errors import EmbedderDown, StoreDown
from memsrv.model import Generation, PendingChunk
from memsrv.services.indexer import Indexer, Rebuilding
from tests.fakes import HashingEmbedder, MemoryQueue, MemoryVectors, down
from tests.patience import PATIENCE_S, until


class World:
    """A queue, an index and an embedder, with an indexer that can be stopped and started."""

    def __init__(self) -> None:
        self.queue = MemoryQueue()
        self.index = MemoryVectors()
        self.embedder = HashingEmbedder()
        self.batch = 4
        self.most_removed = 20_000
        self.indexer = self.made()

    def made(self) -> Indexer:
        waits = {"backoff_s": 0.001, "max_backoff_s": 0.002, "poll_s": 5}
        own = {"batch": self.batch, "attempts": 3, "most_removed": self.most_removed}
        return Indexer(self.queue, self.index, self.embedder, **own, **waits)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Indexer]:
        self.indexer = self.made()
        self.indexer.start()
        try:
            yield self.indexer
        finally:
            await self.indexer.close()

    async def all_indexed(self) -> None:
        await until(lambda: all(not message.unmarked or message.set_aside for message in self.queue.waiting.values()))


@pytest.fixture
def world() -> World:
    return World()


def refuses(word: str, *, poison: bool) -> Callable[[Sequence[str]], None]:
    """An embedder that fails on each call with this word in it."""

    def fail(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise EmbedderDown("It failed.", poison=poison)

    return fail


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


async def test_similar_words_come_out_near(world: World) -> None:
    world.queue.append(1, "the copper kettle hangs on the hook")
    world.queue.append(2, "rain is expected over the weekend")
    async with world.running():
        await world.all_indexed()
    query = await world.embedder.query("copper kettle")
    cosines = {number: float(row @ query) for number, (_, row) in world.index.rows.items()}
    assert cosines[10] > cosines[20]


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


# --- generations ------------------------------------------------------------------------------------------------------


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
