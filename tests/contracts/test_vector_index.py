"""What every vector index keeps: the same suite over embedded Chroma and over a Chroma server, exact and through its index."""

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memsrv.adapters import chroma, vectors_chroma
from memsrv.adapters.vectors_chroma import ChromaVectors
from memsrv.errors import IndexDown
from memsrv.model import Generation, PendingChunk, Said, Scope
from memsrv.ports import Scored
from tests.chroma_server import chroma_server

DIMENSION = 16
GENERATION = Generation(1, "hashing|view1")
CACHE_BYTES = 1_000_000
EXACT, INDEXED = 20_000, 0
NUMBERS = itertools.count(100)

Build = Callable[[int], ChromaVectors]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with chroma_server(tmp_path_factory.mktemp("chroma-server")) as url:
        yield url


@pytest.fixture(params=["embedded", "server"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    """Makes an index that finds what the one before it stored; the number of chunks up to which it searches exactly."""
    if request.param == "embedded":
        return lambda exact: ChromaVectors.embedded(tmp_path / "chroma", cache_bytes=CACHE_BYTES, exact_chunks=exact)
    url: str = request.getfixturevalue("server")
    return lambda exact: ChromaVectors.server(url, cache_bytes=CACHE_BYTES, exact_chunks=exact)


@contextlib.asynccontextmanager
async def opened(build: Build, exact: int = EXACT, *, generation: Generation = GENERATION) -> AsyncIterator[ChromaVectors]:
    index = build(exact)
    await index.use(generation, DIMENSION)
    try:
        yield index
    finally:
        await index.close()


@pytest.fixture(params=[EXACT, INDEXED], ids=["exact", "indexed"])
async def index(request: pytest.FixtureRequest, build: Build) -> AsyncIterator[ChromaVectors]:
    """An empty index: each test has a generation of its own."""
    async with opened(build, request.param, generation=Generation(next(NUMBERS), "fresh")) as index:
        yield index


def chunk(number: int, session: int = 1, tenant: str = "default") -> PendingChunk:
    return PendingChunk(number, session, number, tenant, Said("user", f"text {number}"), None)


def scope(*sessions: int, tenant: str = "default") -> Scope:
    return Scope(tenant, sessions)


def folders(path: Path) -> list[str]:
    return [entry.name for entry in path.iterdir() if entry.is_dir()]


def rows(count: int, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


async def answer(index: ChromaVectors, where: Scope, vector: np.ndarray, *, limit: int, also: Sequence[int] = ()) -> Scored:
    vectors = await index.open(where)
    return await asyncio.to_thread(vectors.search, vector, limit=limit, also=also)


async def found(index: ChromaVectors, where: Scope, vector: np.ndarray, limit: int = 10, also: Sequence[int] = ()) -> list[int]:
    return list((await answer(index, where, vector, limit=limit, also=also)).numbers.tolist())


async def test_the_nearest_come_first_with_their_cosines(index: ChromaVectors) -> None:
    vectors = rows(60)
    await index.put([chunk(i) for i in range(60)], vectors)
    scored = await answer(index, scope(1), vectors[7], limit=5)
    cosines = vectors @ vectors[7]
    assert scored.numbers.tolist() == np.argsort(-cosines)[:5].tolist()
    assert scored.scores == pytest.approx(np.sort(cosines)[::-1][:5], abs=1e-5)
    assert scored.numbers.dtype == np.int64
    assert scored.scores.dtype == np.float32


async def test_an_empty_scope_answers_nothing(index: ChromaVectors) -> None:
    await index.put([chunk(1)], rows(1))
    scored = await answer(index, scope(), rows(1)[0], limit=10, also=[1])
    assert scored.numbers.shape == scored.scores.shape == (0,)


async def test_an_index_with_nothing_in_it_answers_nothing(index: ChromaVectors) -> None:
    assert await found(index, scope(1, 2), rows(1)[0], also=[1]) == []


async def test_only_sessions_of_the_scope_are_seen(index: ChromaVectors) -> None:
    await index.put([chunk(i, session=i % 4) for i in range(40)], rows(40))
    assert set(await found(index, scope(1, 3), rows(1)[0], limit=40)) == {i for i in range(40) if i % 4 in (1, 3)}


async def test_passages_are_searched_apart_from_messages_by_negated_numbers(index: ChromaVectors) -> None:
    vectors = rows(4)
    await index.put([chunk(1), chunk(2), chunk(-1, session=-1), chunk(-2, session=-2)], vectors)
    assert set(await found(index, scope(1), vectors[2], also=[1, -1])) == {1, 2}
    assert await found(index, scope(1).of_passages(), vectors[0], also=[1, -1]) == [-1]
    await index.remove([-1])
    assert await found(index, scope(1).of_passages(), vectors[2]) == []
    assert set(await found(index, scope(1), vectors[2])) == {1, 2}


async def test_a_session_of_another_tenant_is_not_seen(index: ChromaVectors) -> None:
    await index.put([chunk(1, tenant="a"), chunk(2, session=2, tenant="b")], rows(2))
    assert await found(index, scope(1, 2, tenant="b"), rows(2)[0], also=[1, 2]) == [2]


async def test_chunks_asked_for_by_number_come_with_their_cosines(index: ChromaVectors) -> None:
    vectors = rows(50)
    await index.put([chunk(i, session=i % 2) for i in range(50)], vectors)
    cosines = vectors @ vectors[0]
    farthest = min(range(0, 50, 2), key=lambda i: cosines[i])
    scored = await answer(index, scope(0), vectors[0], limit=3, also=[farthest, 1, 4711])
    assert scored.numbers.tolist()[-1] == farthest
    assert scored.scores[-1] == pytest.approx(cosines[farthest], abs=1e-5)
    assert len(scored.numbers) == 4


async def test_a_search_for_none_answers_those_asked_for_by_number(index: ChromaVectors) -> None:
    await index.put([chunk(i) for i in range(5)], rows(5))
    assert await found(index, scope(1), rows(1)[0], limit=0, also=[3]) == [3]


async def test_equal_vectors_are_answered_in_order_of_number(index: ChromaVectors) -> None:
    await index.put([chunk(number) for number in (30, 10, 20)], np.repeat(rows(1), 3, axis=0))
    assert await found(index, scope(1), rows(1)[0]) == [10, 20, 30]


async def test_what_is_put_after_a_search_is_found(index: ChromaVectors) -> None:
    vectors = rows(30)
    await index.put([chunk(i) for i in range(10)], vectors[:10])
    assert len(await found(index, scope(1), vectors[0], limit=100)) == 10
    for i in range(10, 30):
        await index.put([chunk(i)], vectors[i : i + 1])
    assert (await found(index, scope(1), vectors[25], limit=100))[0] == 25
    assert len(await found(index, scope(1), vectors[0], limit=100)) == 30


async def test_putting_again_overwrites(index: ChromaVectors) -> None:
    vectors = rows(3)
    await index.put([chunk(1), chunk(2)], vectors[:2])
    await found(index, scope(1), vectors[0])
    await index.put([chunk(1)], vectors[2:])
    scored = await answer(index, scope(1), vectors[2], limit=1)
    assert scored.numbers.tolist() == [1]
    assert scored.scores[0] == pytest.approx(1.0, abs=1e-5)
    assert await index.count() == 2


async def test_vectors_are_told_by_number(index: ChromaVectors) -> None:
    vectors = rows(3)
    await index.put([chunk(1), chunk(2, session=2, tenant="other"), chunk(-3, session=-1)], vectors)
    found = await index.vectors([2, -3, 4711])
    assert found.keys() == {2, -3}
    np.testing.assert_allclose([found[2], found[-3]], vectors[1:], atol=1e-6)
    assert await index.vectors([]) == {}


@pytest.mark.parametrize("searched", [True, False], ids=["searched before", "never searched"])
async def test_nothing_of_a_removed_vector_comes_back(index: ChromaVectors, searched: bool) -> None:
    vectors = rows(40)
    await index.put([chunk(i, session=i % 2) for i in range(40)], vectors)
    if searched:
        await found(index, scope(0, 1), vectors[0])
    await index.remove(range(20))
    assert set(await found(index, scope(0, 1), vectors[3], limit=100, also=range(40))) == set(range(20, 40))
    assert await index.count() == 20


async def test_removing_what_is_not_there_is_no_error(index: ChromaVectors) -> None:
    await index.put([chunk(1)], rows(1))
    await index.remove([1, 1, 2])
    await index.remove([1])
    await index.remove([])
    assert await index.count() == 0


async def test_thousands_are_put_found_and_removed_in_one_call(index: ChromaVectors) -> None:
    vectors = rows(1100)
    await index.put([chunk(i) for i in range(1100)], vectors)
    assert await index.count() == 1100
    assert (await found(index, scope(1), vectors[1050], limit=3))[0] == 1050
    await index.remove(range(1100))
    assert await index.count() == 0
    assert await found(index, scope(1), vectors[0]) == []


async def test_a_scope_of_thousands_of_sessions_is_searched_whole(index: ChromaVectors) -> None:
    vectors = rows(20)
    await index.put([chunk(i, session=i * 300) for i in range(20)], vectors)
    assert set(await found(index, scope(*range(6000)), vectors[0], limit=50)) == set(range(20))


async def test_a_session_number_that_stands_twice_in_a_scope_counts_once(index: ChromaVectors) -> None:
    await index.put([chunk(1)], rows(1))
    assert await found(index, scope(1, 1), rows(1)[0]) == [1]


async def test_searches_and_writes_at_the_same_time_end_with_the_truth(index: ChromaVectors) -> None:
    vectors = rows(60)

    async def write() -> None:
        for start in range(0, 60, 10):
            await index.put([chunk(i) for i in range(start, start + 10)], vectors[start : start + 10])
        await index.remove(range(0, 60, 3))

    async def search() -> None:
        for _ in range(12):
            await found(index, scope(1), vectors[0], limit=100)

    await asyncio.gather(write(), search(), search())
    assert set(await found(index, scope(1), vectors[0], limit=100)) == {i for i in range(60) if i % 3}


async def test_vectors_are_there_after_opening_again(build: Build) -> None:
    async with opened(build, generation=Generation(5, "kept")) as index:
        await index.put([chunk(1)], rows(1))
    async with opened(build, generation=Generation(5, "kept")) as index:
        assert await found(index, scope(1), rows(1)[0]) == [1]


async def test_another_generation_begins_empty_and_the_old_one_is_removed(build: Build) -> None:
    async with opened(build, generation=Generation(6, "old")) as index:
        await index.put([chunk(1)], rows(1))
        await found(index, scope(1), rows(1)[0])
        await index.use(Generation(7, "new"), DIMENSION)
        assert await index.count() == 0
        assert await found(index, scope(1), rows(1)[0]) == []
        await index.use(Generation(6, "old"), DIMENSION)
        assert await index.count() == 0


async def test_while_a_generation_is_built_beside_it_the_old_one_answers(build: Build) -> None:
    async with opened(build, generation=Generation(20, "old")) as index:
        await index.put([chunk(1)], rows(1))
        await index.build(Generation(21, "new"))
        assert await index.count() == 0
        assert await found(index, scope(1), rows(1)[0]) == [1]
        await index.put([replace(chunk(2), fresh=True), chunk(1)], rows(2))
        assert await index.count() == 2
        assert await found(index, scope(1), rows(1)[0]) == [1, 2]
        await index.remove([2])
        assert await found(index, scope(1), rows(1)[0]) == [1]
        assert await index.count() == 1


async def test_after_the_swap_the_new_generation_answers_and_the_old_one_is_gone(build: Build) -> None:
    async with opened(build, generation=Generation(22, "old")) as index:
        await index.put([chunk(1)], rows(1))
        await index.build(Generation(23, "new"))
        await index.put([chunk(1), chunk(3)], rows(2))
        await index.swap()
        assert await found(index, scope(1), rows(1)[0]) == [1, 3]
        await index.use(Generation(23, "new"), DIMENSION, answering=Generation(22, "old"))
        assert await found(index, scope(1), rows(1)[0]) == [1, 3]


async def test_a_build_goes_on_after_opening_again(build: Build) -> None:
    old, new = Generation(24, "old"), Generation(25, "new")
    async with opened(build, generation=old) as index:
        await index.put([chunk(1), chunk(2)], rows(2))
        await index.build(new)
        await index.put([chunk(1)], rows(1))
    index = build(EXACT)
    await index.use(new, DIMENSION, answering=old)
    assert await index.count() == 1
    assert await found(index, scope(1), rows(1)[0]) == [1, 2]
    await index.close()


async def test_searches_go_on_through_a_swap(build: Build) -> None:
    vectors = rows(30)
    async with opened(build, generation=Generation(26, "old")) as index:
        await index.put([chunk(n) for n in range(30)], vectors)
        await index.build(Generation(27, "new"))
        await index.put([chunk(n) for n in range(30)], vectors)
        swapping = asyncio.create_task(index.swap())
        answers = [await found(index, scope(1), vectors[0], limit=100) for _ in range(20)]
        await swapping
        answers.append(await found(index, scope(1), vectors[0], limit=100))
    assert all(sorted(answer) == list(range(30)) for answer in answers)


async def test_a_collection_that_another_embedder_made_is_not_taken_over(build: Build) -> None:
    async with opened(build, generation=Generation(8, "one embedder")) as index:
        await index.put([chunk(1)], rows(1))
    async with opened(build, generation=Generation(8, "another embedder")) as index:
        assert await index.count() == 0


@pytest.mark.parametrize("spoil", [0.0, np.nan, np.inf])
async def test_a_vector_that_is_no_direction_is_our_mistake(index: ChromaVectors, spoil: float) -> None:
    with pytest.raises(AssertionError):
        await index.put([chunk(1)], rows(1) * spoil)


async def test_a_vector_of_another_dimension_is_our_mistake(index: ChromaVectors) -> None:
    with pytest.raises(AssertionError):
        await index.put([chunk(1)], rows(1)[:, :-1])


async def test_before_use_everything_is_down(build: Build) -> None:
    index = build(EXACT)
    with pytest.raises(IndexDown):
        await index.open(scope(1))
    with pytest.raises(IndexDown):
        await index.count()
    await index.close()


# --- one kind alone ---------------------------------------------------------------------------------------------------


async def test_a_folder_that_cannot_be_read_is_down_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"no database at all" * 1000)
    index = ChromaVectors.embedded(tmp_path, cache_bytes=CACHE_BYTES, exact_chunks=EXACT)
    with pytest.raises(IndexDown) as caught:
        await index.use(GENERATION, DIMENSION)
    assert "delete the folder 'chroma'" in caught.value.hint
    assert str(tmp_path) not in caught.value.message
    await index.close()


async def test_a_folder_deleted_under_a_running_index_is_made_anew(tmp_path: Path) -> None:
    def build(exact: int) -> ChromaVectors:
        return ChromaVectors.embedded(tmp_path / "chroma", cache_bytes=CACHE_BYTES, exact_chunks=exact)

    async with opened(build) as index:
        await index.put([chunk(1)], rows(1))
        (tmp_path / "chroma").rename(tmp_path / "gone")
        with pytest.raises(IndexDown):
            await index.put([chunk(2)], rows(1))
        await index.use(GENERATION, DIMENSION)
        assert await index.count() == 0
        await index.put([chunk(2)], rows(1))
        assert await found(index, scope(1), rows(1)[0]) == [2]


async def test_folders_of_old_generations_leave_the_disk(tmp_path: Path) -> None:
    index = ChromaVectors.embedded(tmp_path, cache_bytes=CACHE_BYTES, exact_chunks=EXACT)
    for number in range(1, 4):
        await index.use(Generation(number, f"build {number}"), DIMENSION)
        await index.put([chunk(i) for i in range(1200)], rows(1200))
    await index.use(Generation(9, "last"), DIMENSION)
    assert folders(tmp_path) == []
    await index.close()


async def test_a_server_that_is_not_there_is_down() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        index = ChromaVectors.server(f"http://127.0.0.1:{taken.getsockname()[1]}", cache_bytes=CACHE_BYTES, exact_chunks=EXACT)
        with pytest.raises(IndexDown):
            await index.use(GENERATION, DIMENSION)
        await index.close()


async def test_what_another_process_wrote_to_the_server_is_seen_after_a_while(server: str) -> None:
    vectors = rows(3)

    def build(exact: int) -> ChromaVectors:
        return ChromaVectors.server(server, cache_bytes=CACHE_BYTES, exact_chunks=exact, refresh_s=0.0)

    async with opened(build, generation=Generation(10, "shared")) as ours:
        await ours.put([chunk(1), chunk(2)], vectors[:2])
        assert set(await found(ours, scope(1), vectors[0])) == {1, 2}
        async with opened(build, generation=Generation(10, "shared")) as theirs:
            await theirs.remove([1])
            await theirs.put([chunk(3)], vectors[2:])
        assert set(await found(ours, scope(1), vectors[0])) == {2, 3}


async def test_what_another_process_fills_is_searched_and_left_as_it_is(server: str) -> None:
    def build(exact: int) -> ChromaVectors:
        return ChromaVectors.server(server, cache_bytes=CACHE_BYTES, exact_chunks=exact)

    vectors, generation = rows(2), Generation(11, "shared")
    looking_on = build(EXACT)
    with pytest.raises(IndexDown):  # it is not there yet, and is not made
        await looking_on.follow(generation, DIMENSION)
    async with opened(build, generation=generation) as leading:
        await leading.put([chunk(1)], vectors[:1])
        await looking_on.follow(generation, DIMENSION)
        assert await found(looking_on, scope(1), vectors[0]) == [1]
        with pytest.raises(IndexDown):
            await looking_on.follow(Generation(12, "shared"), DIMENSION)
        assert await found(leading, scope(1), vectors[0]) == [1]
    await looking_on.close()


async def test_a_cache_too_small_for_the_scope_still_answers_right(tmp_path: Path) -> None:
    index = ChromaVectors.embedded(tmp_path, cache_bytes=3000, exact_chunks=EXACT)
    await index.use(GENERATION, DIMENSION)
    vectors = rows(200)
    await index.put([chunk(i, session=i % 20) for i in range(200)], vectors)
    for _ in range(2):
        for session in range(20):
            assert (await found(index, scope(session), vectors[session]))[0] == session
    assert (await found(index, scope(*range(20)), vectors[123]))[0] == 123
    await index.close()


# --- what Chroma holds of what was removed ----------------------------------------------------------------------------


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are made soon."""
    monkeypatch.setattr(vectors_chroma, "LEAST_HOLES", 20)


def embedded(folder: Path) -> Build:
    return lambda exact: ChromaVectors.embedded(folder / "chroma", cache_bytes=CACHE_BYTES, exact_chunks=exact)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("exact", [EXACT, INDEXED])
async def test_after_many_removals_what_is_left_is_copied_and_the_rest_let_go(tmp_path: Path, exact: int) -> None:
    vectors = rows(60)
    async with opened(embedded(tmp_path), exact) as index:
        await index.put([chunk(n, session=n % 2) for n in range(60)], vectors)
        before = folders(tmp_path / "chroma")
        await index.remove(range(40))
        [after] = folders(tmp_path / "chroma")
        assert [after] != before
        assert sorted(await index.numbers()) == list(range(40, 60))
        assert sorted(await found(index, scope(1), vectors[41], limit=100)) == list(range(41, 60, 2))
        await index.put([chunk(70, session=1)], vectors[:1])
        assert (await found(index, scope(1), vectors[0]))[0] == 70
    async with opened(embedded(tmp_path), exact) as index:
        assert sorted(await index.numbers()) == [*range(40, 60), 70]


@pytest.mark.usefixtures("often")
async def test_few_removals_among_much_that_lives_copy_nothing(tmp_path: Path) -> None:
    async with opened(embedded(tmp_path)) as index:
        await index.put([chunk(n) for n in range(200)], rows(200))
        before = folders(tmp_path / "chroma")
        await index.remove(range(50))
        assert folders(tmp_path / "chroma") == before


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("exact", [EXACT, INDEXED])
async def test_searches_and_writes_go_on_through_a_copy(tmp_path: Path, exact: int) -> None:
    vectors = rows(100)
    async with opened(embedded(tmp_path), exact) as index:
        await index.put([chunk(n, session=1 + n // 50) for n in range(100)], vectors)
        removing = asyncio.create_task(index.remove(range(50, 100)))
        writing = asyncio.create_task(index.put([chunk(n, session=3) for n in range(100, 120)], vectors[:20]))
        answers = [await found(index, scope(1), vectors[0], limit=100) for _ in range(30)]
        await asyncio.gather(removing, writing)
        answers.append(await found(index, scope(1), vectors[0], limit=100))
        assert all(sorted(one) == list(range(50)) for one in answers)
        assert sorted(await index.numbers()) == [*range(50), *range(100, 120)]


@pytest.mark.usefixtures("often")
async def test_nothing_is_copied_while_a_generation_is_built_beside(tmp_path: Path) -> None:
    async with opened(embedded(tmp_path), generation=Generation(41, "old")) as index:
        await index.put([chunk(n) for n in range(60)], rows(60))
        await index.build(Generation(42, "new"))
        await index.put([chunk(n) for n in range(60)], rows(60))
        await index.remove(range(50))
        assert await index.count() == 10
        await index.swap()
        assert sorted(await found(index, scope(1), rows(1)[0], limit=100)) == list(range(50, 60))


@pytest.mark.usefixtures("often")
async def test_a_copy_that_fails_fails_no_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(chroma.Collection, "copied", full)
    async with opened(embedded(tmp_path)) as index:
        await index.put([chunk(n) for n in range(60)], rows(60))
        await index.remove(range(50))
        assert sorted(await index.numbers()) == list(range(50, 60))


async def test_a_copy_that_was_cut_off_goes_and_one_that_lacked_its_name_only_is_taken(tmp_path: Path) -> None:
    async with opened(embedded(tmp_path)) as index:
        await index.put([chunk(n) for n in range(30)], rows(30))
        own = index._current()
        await asyncio.to_thread(own.copied)  # cut off: the original is still there
    async with opened(embedded(tmp_path)) as index:
        assert len(index._current().client.list_collections()) == 1
        own = index._current()
        await asyncio.to_thread(own.copied)
        own.client.delete_collection(chroma.name_of(GENERATION))  # cut off before its name was changed
    async with opened(embedded(tmp_path)) as index:
        assert sorted(await index.numbers()) == list(range(30))


async def test_what_was_removed_before_a_start_counts(tmp_path: Path) -> None:
    async with opened(embedded(tmp_path)) as index:
        await index.put([chunk(n) for n in range(2500)], rows(2500))
        await index.remove(range(2400))
    async with opened(embedded(tmp_path)) as index:
        assert index._holes >= 1000  # as far as Chroma has written it by then
