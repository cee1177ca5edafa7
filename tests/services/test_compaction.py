"""Compaction over the real store: exactly one for what is due, none lost, none twice, none without end."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memsrv.core.summary.summary import Summary, Task
from memsrv.errors import SessionNotFound, SummarizerDown, SummaryConflict, SummaryStale
from memsrv.model import SessionKey, Stretch, Trigger
from memsrv.services.compaction import Compaction
from tests.fakes_summary import down
from tests.house import KEY, House, new, told
from tests.patience import until


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
