"""The background work of several processes on the same stores."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.adapters.checks_sql import SqlChecks
from memsrv.adapters.database import Database
from memsrv.errors import IndexDown, NotHere
from memsrv.model import Snapshot
from memsrv.services.compaction import Compaction
from memsrv.services.indexer import Indexer
from memsrv.services.verifying import Verifier
from tests.fakes import HashingEmbedder, MemoryQueue, MemoryVectors, down
from tests.fakes_several import GivenLead, SharedClaims
from tests.house import KEY, House
from tests.patience import until

LOOK_S = 0.002


def found(index: MemoryVectors) -> list[int]:
    try:
        return sorted(index.rows)
    except IndexDown:
        return []


class Pair:
    """Two indexers over one queue, each with its own view of one index; the first leads."""

    def __init__(self) -> None:
        self.queue, self.stored = MemoryQueue(), MemoryVectors()
        self.views = [MemoryVectors(), MemoryVectors()]
        for view in self.views:
            view.generations = self.stored.generations
        self.leads = [GivenLead(held=True), GivenLead(held=False)]
        self.embedders = [HashingEmbedder(), HashingEmbedder()]
        self.indexers = [
            Indexer(
                self.queue, view, embedder, batch=4, backoff_s=0.001, max_backoff_s=0.002, poll_s=LOOK_S, lead=lead, look_s=LOOK_S
            )
            for view, embedder, lead in zip(self.views, self.embedders, self.leads, strict=True)
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        for indexer in self.indexers:
            indexer.start()
        try:
            yield
        finally:
            for indexer in self.indexers:
                await indexer.close()

    async def all_indexed(self, *healthy: int) -> None:
        """Until all is indexed, and these two or one of them are well."""
        await until(
            lambda: not any(self.indexers[at].degraded for at in healthy) and all(map(self.queue.indexed, self.queue.waiting))
        )


async def test_what_is_stored_without_a_notice_is_indexed_by_the_one_that_leads() -> None:
    pair = Pair()
    async with pair.running():
        await pair.all_indexed(0, 1)
        pair.queue.append(1, "hello")
        pair.indexers[1].notify()
        await pair.all_indexed(0, 1)
    assert [indexer.counters.indexed_chunks for indexer in pair.indexers] == [1, 0]
    assert pair.embedders[1].calls == []


async def test_the_one_that_does_not_lead_searches_what_the_other_fills() -> None:
    pair = Pair()
    pair.queue.append(1, "hello")
    async with pair.running():
        await pair.all_indexed(0, 1)
        assert list(pair.views[1].rows) == [10]


async def test_the_one_that_takes_the_lead_goes_on_where_the_other_ended() -> None:
    pair = Pair()
    pair.queue.append(1, "before")
    async with pair.running():
        await pair.all_indexed(0, 1)
        await pair.indexers[0].close()
        pair.queue.append(2, "after")
        pair.leads[1].give(True)
        await pair.all_indexed(1)
        assert sorted(pair.views[0].rows) == [10, 20]
    assert [indexer.counters.indexed_chunks for indexer in pair.indexers] == [1, 1]


async def test_the_one_that_loses_the_lead_looks_on() -> None:
    pair = Pair()
    async with pair.running():
        await pair.all_indexed(0, 1)
        for at in (1, 0):
            pair.leads[at].give(at == 1)
        pair.queue.append(1, "hello")
        await pair.all_indexed(0, 1)
        assert sorted(pair.views[0].rows) == sorted(pair.views[1].rows) == [10]


async def test_a_new_generation_is_followed() -> None:
    pair = Pair()
    pair.queue.append(1, "hello")
    async with pair.running():
        await pair.all_indexed(0, 1)
        before = pair.queue.current
        pair.views[0].is_down = True
        pair.queue.append(2, "lost and found")
        await until(lambda: "index" in pair.indexers[0].degraded)
        pair.views[0].delete_folder()
        pair.views[0].is_down = False
        await until(lambda: found(pair.views[1]) == [10, 20])
        assert pair.queue.current != before


async def test_a_rebuild_that_is_asked_of_one_is_done_by_the_one_that_leads() -> None:
    pair = Pair()
    pair.queue.append(1, "hello")
    async with pair.running():
        await pair.all_indexed(0, 1)
        before = pair.queue.serving
        pair.indexers[1].rebuild()
        await until(lambda: pair.queue.serving != before)
        await until(lambda: list(pair.stored.generations) == [pair.queue.serving.number])
        await pair.all_indexed(0, 1)
        assert [sorted(view.searched) for view in pair.views] == [[10], [10]]
        told = [await indexer.rebuilding() for indexer in pair.indexers]
    assert [(now.running, now.left, now.answers) for now in told] == [(False, 0, pair.queue.serving.number)] * 2
    assert [indexer.counters.indexed_chunks for indexer in pair.indexers] == [2, 0]


async def test_the_one_that_was_asked_for_a_rebuild_tells_of_it_until_it_is_done() -> None:
    pair, told = Pair(), list[bool]()
    pair.queue.append(1, "hello")
    async with pair.running():
        await pair.all_indexed(0, 1)
        pair.embedders[0].fail = down
        pair.indexers[1].rebuild()

        async def failing() -> bool:
            told.append((await pair.indexers[1].rebuilding()).running)
            return pair.indexers[0].counters.failed_batches > 10

        await until(failing)
    assert all(told)


async def test_the_one_that_looks_on_searches_what_answers_while_another_is_built() -> None:
    pair = Pair()
    pair.queue.append(1, "hello")
    async with pair.running():
        await pair.all_indexed(0, 1)
        answering = pair.queue.serving
        pair.embedders[0].fail = down
        pair.indexers[0].rebuild()
        await until(lambda: pair.indexers[0].counters.failed_batches > 0)
        told = await pair.indexers[1].rebuilding()
        await until(lambda: pair.indexers[1].reindexing is False)
        assert sorted(pair.views[1].searched) == [10]
        assert told.answers == answering.number


async def test_a_rebuild_goes_on_when_another_takes_the_lead() -> None:
    pair = Pair()
    pair.queue.append(1, "hello")
    async with pair.running():
        await pair.all_indexed(0, 1)
        before = pair.queue.serving
        pair.embedders[0].fail = down
        pair.indexers[0].rebuild()
        await until(lambda: pair.indexers[0].counters.failed_batches > 0)
        await pair.indexers[0].close()
        pair.leads[1].give(True)
        await until(lambda: pair.queue.serving != before)
        await pair.all_indexed(1)
        assert sorted(pair.views[1].searched) == [10]


async def test_an_index_is_verified_only_by_the_one_that_leads(tmp_path: Path) -> None:
    database = await Database.open(tmp_path)
    pair = Pair()
    parts = (SqlChecks(database), pair.queue, pair.views[1], pair.indexers[1], SnowballAnalyzer())
    with pytest.raises(NotHere, match="Another process"):
        await Verifier(*parts, lead=pair.leads[1]).verify()
    await database.close()


async def test_one_with_another_embedder_than_the_one_that_leads_is_degraded_and_changes_nothing() -> None:
    pair = Pair()
    pair.queue.append(1, "hello")
    other = HashingEmbedder(fingerprint="another")
    stranger = Indexer(pair.queue, pair.views[1], other, batch=4, lead=GivenLead(held=False), look_s=LOOK_S)
    async with pair.running():
        await pair.all_indexed(0, 1)
        generation = pair.queue.current
        stranger.start()
        await until(lambda: stranger.counters.failed_batches > 0)
        assert stranger.degraded == {"index"}
        assert pair.queue.current == generation
        await stranger.close()


# --- summaries ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = await House(tmp_path).open(start=False)
    yield house
    await house.close()


async def summaries(house: House) -> list[Snapshot]:
    """Those that are there, when there are any."""
    number = await house.number()
    made: list[Snapshot] = await until(lambda: house.snapshots.listing(number, limit=9))
    return made


def beside(house: House, **several: object) -> Compaction:
    """The compaction of another process on the same stores."""
    return Compaction(house.deriver, house.sessions, house.compactions, **several)


async def test_two_processes_that_find_a_session_due_summarise_it_once(house: House) -> None:
    claims = SharedClaims()
    both = [beside(house, lead=GivenLead(held=False), claims=claims) for _ in range(2)]
    for one in both:
        one.start()
    await house.say(14, notify=False)
    session = await house.sessions.find(KEY)
    for one in both:
        one.notify(session)
    made = await summaries(house)
    await until(lambda: all(one.idle for one in both))
    for one in both:
        await one.close()
    assert len(made) == len(house.listing.tasks) == 1


async def test_one_that_finds_the_other_at_work_is_not_idle_until_it_has_looked_again(house: House) -> None:
    claims = SharedClaims()
    await house.say(14, notify=False)
    session = await house.sessions.find(KEY)
    claims.claimed.add(session.number)  # by the other
    one = beside(house, lead=GivenLead(held=False), claims=claims)
    one.start()
    one.notify(session)
    await until(lambda: claims.asked > 0)
    assert not one.idle
    claims.claimed.clear()
    await until(lambda: one.idle)
    assert len(house.listing.tasks) == 1
    await one.close()


async def test_one_that_is_asked_waits_for_the_other_to_end(house: House) -> None:
    claims = SharedClaims()
    await house.say(14, notify=False)
    number = await house.number()
    claims.claimed.add(number)  # by the other
    asking = asyncio.create_task(beside(house, claims=claims).compact(KEY))
    await until(lambda: claims.asked > 0)
    assert house.listing.tasks == []
    claims.claimed.clear()
    made, _ = await asking
    assert made is not None
    assert made.version == 1


async def test_what_is_behind_is_made_by_the_one_that_takes_the_lead(house: House) -> None:
    await house.say(14, notify=False)
    lead = GivenLead(held=False)
    compaction = beside(house, lead=lead)
    compaction.start()
    number = await house.number()
    assert await house.snapshots.listing(number, limit=9) == []
    lead.give(True)
    assert len(await summaries(house)) == 1
    await compaction.close()
