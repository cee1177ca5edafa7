"""Compactions that are broken off, fail or find the store away are tried again, and not without end."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from memsrv.adapters.snapshots_sql import SqlCompactions, SqlSnapshots
from memsrv.core.summary.summary import Task
from memsrv.errors import StoreDown
from memsrv.model import SessionKey, Snapshot, Standing
from memsrv.services.compaction import Compaction
from memsrv.services.deriving import Deriver
from memsrv.services.lull import Lull
from memsrv.services.writing import SummaryWriter
from tests.fakes_prompt import LetterCounter
from tests.fakes_summary import down
from tests.house import LONG, House, told, trusting
from tests.patience import PATIENCE_S, until


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = await House(tmp_path).open()
    yield made
    await made.close()


class GivenLull(Lull):
    """One that comes when it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting, self.given = 0, asyncio.Event()

    async def comes(self, most_s: float) -> None:
        self.waiting += 1
        await self.given.wait()


# --- restarts and kills ---------------------------------------------------------------------------------------------


async def test_what_was_due_at_a_restart_is_done_once(tmp_path: Path) -> None:
    house = await House(tmp_path).open(start=False)
    await house.say(20)
    await house.close()
    for start in (1, 2):
        await house.open()
        await house.say(14, SessionKey("acme", f"later {start}"))
        await until(lambda start=start: len(house.listing.tasks) == 1 + start)
        [made] = await house.settled()
        assert told(made) == list(range(1, 13))
        await house.close()
    assert len(house.listing.tasks) == 3


async def test_a_compaction_broken_off_is_done_after_the_restart(tmp_path: Path) -> None:
    house = await House(tmp_path).open()
    house.listing.gate = asyncio.Event()
    await house.say(20)
    await until(lambda: house.listing.running == 1)
    await house.close(grace_s=0.01)
    assert house.listing.running == 0
    house.listing.gate = None
    await house.open()
    made = await house.until_made()
    assert told(made[0]) == list(range(1, 13))
    assert len(made) == 1
    await house.close()


async def test_what_waits_for_a_lull_is_not_begun_any_more_at_the_end(tmp_path: Path) -> None:
    house, lull = await House(tmp_path).open(start=False), GivenLull()
    house.compaction = Compaction(house.deriver, house.sessions, house.compactions, lull=lull)
    house.compaction.start()
    await house.say(20)
    await until(lambda: lull.waiting)
    ending = asyncio.create_task(house.close(grace_s=PATIENCE_S))
    await asyncio.sleep(0)  # it is told to end
    lull.given.set()
    await ending
    assert house.listing.tasks == []


async def test_what_kills_the_server_is_not_tried_without_end(tmp_path: Path) -> None:
    house = await House(tmp_path).open(start=False)
    await house.say(20)
    for _ in range(house.tries):  # each a start that was killed in the midst of it
        await house.compactions.begin(await house.number())
    await house.close()
    await house.open()
    await house.say(14, SessionKey("acme", "later"))
    await until(lambda: house.listing.tasks)
    assert await house.settled() == []
    assert len(house.listing.tasks) == 1  # that of the other session
    await house.close()


# --- failures -------------------------------------------------------------------------------------------------------


async def test_a_failure_leaves_the_old_snapshot_and_is_tried_again(tmp_path: Path) -> None:
    house = await House(tmp_path, tries=20).open()  # more than there is time for, on a slow machine too
    await house.say(14)
    [good] = await house.settled()
    house.listing.fail = down
    await house.say(10)
    await until(lambda: len(house.listing.tasks) > 1)
    assert await house.settled() == [good]
    standing = await house.compactions.standing(await house.number())
    assert standing is not None
    assert standing.failures
    house.listing.fail = lambda task: None
    made = await house.until_made(2)
    assert told(made[-1]) == list(range(1, made[-1].covers_upto + 1))
    standing = await house.compactions.standing(await house.number())
    assert standing is not None
    assert standing.failures == 0
    await house.close()


class Slow(SqlCompactions):
    """After a failure the next try is an hour away."""

    async def standing(self, session_number: int) -> Standing | None:
        standing = await super().standing(session_number)
        return replace(standing, wait_s=3600.0) if standing and standing.failures else standing


async def test_messages_that_come_while_it_fails_do_not_make_it_knock_more_often(tmp_path: Path) -> None:
    house = await House(tmp_path).open(start=False)
    house.compaction = Compaction(house.deriver, house.sessions, Slow(house.database))
    house.compaction.start()
    house.listing.fail = down
    await house.say(14)
    await until(lambda: len(house.listing.tasks) == 1)
    for _ in range(20):
        await house.say(2)
        await house.settled()
    assert len(house.listing.tasks) == 1
    await house.close()


async def test_a_failure_of_our_own_making_does_not_end_the_work(house: House) -> None:
    def fail(task: Task) -> None:
        raise ZeroDivisionError

    house.listing.fail = fail
    await house.say(14, SessionKey("acme", "bad"))
    await until(lambda: house.listing.tasks)
    house.listing.fail = lambda task: None
    await house.say(14)
    assert len(await house.settled()) == 1


async def test_a_store_that_is_out_of_reach_is_tried_again_later(tmp_path: Path) -> None:
    house = await House(tmp_path).open(start=False)

    class Flaky(SqlSnapshots):
        broken = 3

        async def latest(self, session_number: int) -> Snapshot | None:
            if self.broken:
                self.broken -= 1
                raise StoreDown("away")
            return await super().latest(session_number)

    writer = SummaryWriter(house.listing, trusting, LetterCounter())
    parts = (house.transcript, house.sessions, Flaky(house.database), house.compactions, writer, LetterCounter(), LONG)
    deriver = Deriver(*parts, terms=str.split, wake_indexer=lambda: None)
    house.compaction = Compaction(deriver, house.sessions, house.compactions, store_retry_s=0.02)
    house.compaction.start()
    await house.say(14)
    assert len(await house.until_made()) == 1
    await house.close()


async def test_what_no_summary_holds_for_is_passed_over_at_the_last_try(tmp_path: Path) -> None:
    house = await House(tmp_path, tries=2).open()
    await house.say(14)
    [good] = await house.settled()
    house.listing.blank, blank_at = True, len(house.listing.tasks)
    await house.say(10)
    kept = (await house.until_made(2))[-1]
    assert (kept.text, kept.summary, kept.covers_upto) == (good.text, good.summary, 16)
    assert [finding["kind"] for finding in kept.findings] == ["passed_over"]
    assert kept.findings[0]["positions"] == list(range(7, 17))
    assert len(house.listing.tasks) == blank_at + 2
    await house.close()


async def test_a_summarizer_that_is_down_passes_nothing_over(tmp_path: Path) -> None:
    house = await House(tmp_path, tries=1).open()
    house.listing.fail = down
    await house.say(14)
    await until(lambda: len(house.listing.tasks) == 1)
    assert await house.settled() == []
    await house.close()
