"""Compaction over the real store: exactly one for what is due, none lost, none twice, none without end."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memsrv.adapters.snapshots_sql import SqlCompactions, SqlSnapshots
from memsrv.core.summary.summary import Summary, Task
from memsrv.errors import SessionNotFound, StoreDown, SummarizerDown, SummaryConflict, SummaryStale
from memsrv.model import SessionKey, Snapshot, Standing, Stretch, Trigger
from memsrv.services.compaction import Compaction
from memsrv.services.deriving import Deriver
from memsrv.services.lull import Lull
from memsrv.services.writing import SummaryWriter
from tests.fakes_prompt import LetterCounter
from tests.fakes_summary import down
from tests.house import KEY, LONG, House, new, told, trusting
from tests.patience import PATIENCE_S, until


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = await House(tmp_path).open()
    yield made
    await made.close()


# --- exactly one ----------------------------------------------------------------------------------------------------


async def test_nothing_is_summarised_until_the_window_is_over_its_size(house: House) -> None:
    await house.say(12)
    assert await house.settled() == []
    await house.say(1)
    [made] = await house.settled()
    assert (made.covers_from, made.covers_upto, made.reason, made.made_by) == (1, 6, Trigger.MESSAGES, "listing")
    assert told(made) == [1, 2, 3, 4, 5, 6]
    assert house.compaction.counted == {("listing", "messages", "made"): 1}


async def test_each_compaction_folds_what_leaves_into_the_one_before(house: House) -> None:
    for _ in range(10):
        await house.say(4)
        await house.settled()
    made = await house.settled()
    assert [one.base for one in made] == list(range(len(made)))
    for before, after in pairwise(made):
        assert after.covers_from == before.covers_upto + 1
    assert told(made[-1]) == list(range(1, made[-1].covers_upto + 1))
    assert 28 <= made[-1].covers_upto <= 32


async def test_concurrent_posts_lead_to_no_overlap_and_no_gap(house: House) -> None:
    await asyncio.gather(*(house.say(2) for _ in range(40)))
    made = await house.settled()
    assert [one.covers_from for one in made] == [1, *(one.covers_upto + 1 for one in made[:-1])]
    assert told(made[-1]) == sorted(set(told(made[-1])))
    assert house.listing.most_running == 1
    session = await house.sessions.find(KEY)
    assert session.last_position - made[-1].covers_upto <= 12


async def test_what_is_said_while_a_compaction_runs_is_seen_to_after_it(house: House) -> None:
    house.listing.gate = asyncio.Event()
    await house.say(20)
    await until(lambda: house.listing.running == 1)
    await house.say(20)
    house.listing.gate.set()

    async def seen_to() -> list[int]:
        newest = (await house.settled())[-1]
        return told(newest) if newest.covers_upto == 32 else []

    assert await until(seen_to) == list(range(1, 33))


async def test_many_sessions_are_worked_on_few_at_once(house: House) -> None:
    for n in range(12):
        await house.say(14, SessionKey("acme", f"s{n}"))
    await house.say(2)
    await house.settled()
    assert house.listing.most_running <= 2
    assert len(house.listing.tasks) == 12


async def test_sessions_that_the_queue_has_no_room_for_are_seen_to_afterwards(tmp_path: Path) -> None:
    house = await House(tmp_path).open(start=False)
    house.compaction = Compaction(house.deriver, house.sessions, house.compactions, most_waiting=3)
    house.compaction.start()
    await house.say(2)
    await house.settled()
    house.listing.gate = asyncio.Event()
    for n in range(12):
        await house.say(14, SessionKey("acme", f"s{n}"))
    await until(lambda: house.listing.running == 2)
    house.listing.gate.set()
    await until(lambda: len(house.listing.tasks) == 12)
    await house.close()


async def test_a_long_backlog_is_taken_in_several(house: House, tmp_path: Path) -> None:
    for _ in range(5):
        await house.say(1000, notify=False)
    await house.say(1)
    made = await house.settled()
    assert [one.base for one in made] == list(range(len(made)))
    assert len(made) == 11
    assert told(made[-1]) == list(range(1, made[-1].covers_upto + 1))
    assert 5001 - made[-1].covers_upto <= 12


@pytest.mark.parametrize("settings", [{"mode": "window"}, {"summary": {"enabled": False}}, {"profile": "support"}])
async def test_sessions_that_show_no_summary_get_none(house: House, settings: dict[str, Any]) -> None:
    await house.sessions.save(KEY, lambda old: replace(old, settings=settings), create=True)
    await house.say(60)
    assert await house.settled() == []


async def test_a_smaller_window_is_seen_to_with_the_next_message(house: House) -> None:
    await house.say(6)
    await house.settled()
    await house.sessions.save(KEY, lambda old: replace(old, settings={"window": {"size": 4, "keep": 2}}), create=False)
    await house.say(1)
    [made] = await house.settled()
    assert made.covers_upto == 6


async def test_long_messages_count_although_they_are_few(house: House) -> None:
    await house.sessions.save(KEY, lambda old: replace(old, settings={"budget": {"tokens": 2000}}), create=True)
    await house.say(4)
    assert await house.settled() == []
    long = [new("w" * 8000, role) for role in ("user", "assistant", "user")]
    house.compaction.notify((await house.transcript.append(KEY, long)).session, long)
    [made] = await house.settled()
    assert (made.reason, made.covers_upto) == (Trigger.SHARE, 6)


async def test_most_appends_need_no_look_at_the_transcript(house: House) -> None:
    reads = 0
    messages = house.transcript.messages

    async def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal reads
        reads += 1
        return await messages(*arguments, **options)

    house.transcript.messages = counted  # type: ignore[method-assign]
    for _ in range(60):
        await house.say(1)
        await house.settled()
    assert reads <= 60 // 4 * 2 + 2


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
        return replace(standing, wait_s=3600.0) if standing and standing.wait_s else standing


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


# --- edits and deletes ------------------------------------------------------------------------------------------------


async def test_after_a_delete_the_summary_is_derived_again_without_what_was_deleted(house: House) -> None:
    for _ in range(4):
        await house.say(6)
        await house.settled()
    before = await house.settled()
    assert len(before) >= 2
    number = await house.number()
    await house.transcript.delete(number, "message3")
    house.compaction.notify(await house.sessions.find(KEY))
    after = await house.settled()
    newest = await house.snapshots.latest(number)
    assert newest is not None
    assert newest.base == 0
    assert newest.covers_upto == before[-1].covers_upto
    assert 3 not in told(newest)
    assert told(newest) == [n for n in range(1, newest.covers_upto + 1) if n != 3]
    for one in after[: len(before)]:
        assert (one.stale, one.text, one.summary) == (True, "", None)


async def test_a_summary_is_derived_again_though_the_window_has_room_for_all(house: House) -> None:
    await house.say(8)
    await house.compaction.compact(KEY, keep=2)
    await house.transcript.delete(await house.number(), "message3")
    house.compaction.notify(await house.sessions.find(KEY))
    emptied, newest = await house.settled()
    assert (emptied.stale, newest.stale, newest.reason) == (True, False, Trigger.STALE)
    assert told(newest) == [1, 2, 4, 5, 6]


async def test_when_all_that_was_covered_is_deleted_nothing_is_derived(house: House) -> None:
    await house.say(4)
    await house.compaction.compact(KEY, keep=2)
    for id in ("message1", "message2"):
        await house.transcript.delete(await house.number(), id)
        house.compaction.notify(await house.sessions.find(KEY))
        made = await house.settled()
    assert [one.text for one in made] == ["", ""]


async def test_a_late_delete_is_derived_again_from_the_newest_sound_snapshot(house: House) -> None:
    for _ in range(4):
        await house.say(6)
        await house.settled()
    before = await house.settled()
    number = await house.number()
    last = before[-1].covers_upto
    await house.transcript.delete(number, f"message{last}")
    house.compaction.notify(await house.sessions.find(KEY))
    await house.settled()
    newest = await house.snapshots.latest(number)
    assert newest is not None
    assert newest.base == before[-2].version
    assert told(newest) == list(range(1, last))


async def test_an_edit_while_a_compaction_runs_leads_to_one_that_tells_the_new_text(house: House) -> None:
    house.listing.gate = asyncio.Event()
    await house.say(14)
    await until(lambda: house.listing.running == 1)
    await house.transcript.replace(await house.number(), "message2", lambda old: new("message 2222"))
    house.compaction.notify(await house.sessions.find(KEY))
    house.listing.gate.set()
    made = await house.until_made()
    assert [one.stale for one in made] == [False]
    assert told(made[0]) == [1, 2222, 3, 4, 5, 6]
    assert house.compaction.counted["listing", "messages", "outdated"] == 1


async def test_what_is_deleted_while_a_compaction_runs_is_in_no_summary(house: House) -> None:
    house.listing.gate = asyncio.Event()
    await house.say(14)
    await until(lambda: house.listing.running == 1)
    await house.transcript.erase(await house.number(), Stretch(after=1, before=4))
    house.compaction.notify(await house.sessions.find(KEY))
    house.listing.gate.set()
    await house.settled()
    await house.compaction.compact(KEY, keep=8)
    made = await house.settled()
    assert told(made[-1]) == [1, 4, 5, 6]
    assert all("message 2" not in one.text and "message 3" not in one.text for one in made)


async def test_a_session_forgotten_while_it_is_summarised_stays_forgotten(house: House) -> None:
    house.listing.gate = asyncio.Event()
    await house.say(14)
    number = await house.number()
    await until(lambda: house.listing.running == 1)
    await house.sessions.forget(KEY)
    house.listing.gate.set()
    await until(lambda: house.compaction.idle)
    assert await house.snapshots.listing(number, limit=9) == []
    with pytest.raises(SessionNotFound):
        await house.sessions.find(KEY)


async def test_an_early_delete_is_derived_again_in_steps(house: House) -> None:
    for _ in range(13):
        await house.say(100, notify=False)
    await house.compaction.compact(KEY, keep=4)
    await house.transcript.delete(await house.number(), "message3")
    house.listing.tasks.clear()
    house.compaction.notify(await house.sessions.find(KEY))
    await house.settled()
    assert [len(task.said) <= 500 for task in house.listing.tasks] == [True, True, True]
    newest = await house.snapshots.latest(await house.number())
    assert newest is not None
    assert told(newest) == [n for n in range(1, newest.covers_upto + 1) if n != 3]
    assert 1300 - newest.covers_upto <= 12


# --- what says nothing ------------------------------------------------------------------------------------------------


async def test_thousands_of_messages_without_text_do_not_stop_the_summaries(house: House) -> None:
    for _ in range(3):
        await house.transcript.append(KEY, [new("", ("user", "assistant")[n % 2]) for n in range(700)])
    await house.say(20)
    [made] = await house.settled()
    assert told(made) == list(range(1, 13))
    assert made.covers_upto == 2112


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


# --- on request -----------------------------------------------------------------------------------------------------


async def test_a_compaction_that_is_asked_for_covers_all_but_what_shall_stay(house: House) -> None:
    await house.say(10)
    made, _ = await house.compaction.compact(KEY, keep=4)
    assert made is not None
    assert (made.covers_upto, made.reason) == (6, Trigger.ASKED)
    assert await house.compaction.compact(KEY, keep=4) == (
        None,
        "The summary does not cover 4 of the messages, and up to 4 stay.",
    )
    everything, _ = await house.compaction.compact(KEY, keep=0)
    assert everything is not None
    assert told(everything) == list(range(1, 11))
    assert await house.compaction.compact(KEY, keep=0) == (None, "There is no message that the summary does not cover.")


async def test_two_that_are_asked_for_at_once_do_the_work_once(house: House) -> None:
    await house.say(10)
    done = await asyncio.gather(*(house.compaction.compact(KEY, keep=2) for _ in range(4)))
    made = [snapshot for snapshot, _ in done]
    assert [one is not None for one in made].count(True) == 1
    assert len(await house.settled()) == 1


async def test_one_that_is_asked_for_and_fails_says_so_and_changes_nothing(house: House) -> None:
    await house.say(10)
    house.listing.fail = down
    with pytest.raises(SummarizerDown):
        await house.compaction.compact(KEY, keep=2)
    assert await house.settled() == []


async def test_a_ground_that_changes_all_the_time_is_given_up(house: House) -> None:
    await house.say(10)
    number = await house.number()
    loop = asyncio.get_running_loop()

    def fail(task: Task) -> None:
        edits.append(loop.create_task(house.transcript.replace(number, "message1", lambda old: new("message 1"))))

    edits: list[asyncio.Task[Any]] = []
    house.listing.fail = fail
    original = house.listing.summarise

    async def slow(task: Task) -> Summary:
        made = await original(task)
        await asyncio.gather(*edits)
        return made

    house.listing.summarise = slow  # type: ignore[method-assign]
    with pytest.raises(SummaryConflict):
        await house.compaction.compact(KEY, keep=2)
    assert await house.settled() == []


async def test_a_restored_version_is_folded_into_the_next(house: House) -> None:
    for _ in range(5):
        await house.say(6)
        await house.settled()
    first, *_ = await house.settled()
    restored = await house.compaction.restore(KEY, 1)
    assert (restored.covers_upto, told(restored)) == (first.covers_upto, told(first))
    await house.say(1)
    newest = (await house.settled())[-1]
    assert newest.base == restored.version
    assert told(newest) == list(range(1, newest.covers_upto + 1))
    await house.transcript.delete(await house.number(), "message1")
    with pytest.raises(SummaryStale):
        await house.compaction.restore(KEY, 1)
