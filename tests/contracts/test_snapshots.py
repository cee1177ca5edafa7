"""What every store of snapshots keeps, and what it knows of compactions."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memsrv.errors import SessionNotFound, SummaryConflict, SummaryNotFound, SummaryStale
from memsrv.model import Heading, Language, Line, SessionKey, Summary, Trigger
from tests.fakes_summary import snapshot


async def opened(stores, key, message, *ids: str) -> int:
    """A session with these messages; its number."""
    return (await stores.transcript.append(key, [message(id, id=id) for id in ids])).session.number


async def test_snapshots_are_versioned_by_session(stores, key, message):
    number = await opened(stores, key, message, *"ab")
    first = await stores.snapshots.add(number, snapshot("a\0", 1))
    second = await stores.snapshots.add(number, snapshot("b", 2, base=1))
    assert [(one.version, one.covers_upto, one.text, one.stale) for one in (first, second)] == [
        (1, 1, "a\u2400", False),
        (2, 2, "b", False),
    ]
    assert await stores.snapshots.latest(number) == second
    assert await stores.snapshots.get(number, 1) == first
    assert await stores.snapshots.listing(number, limit=9) == [first, second]
    assert await stores.snapshots.listing(number, after=1, limit=9) == [second]
    assert await stores.snapshots.listing(number, limit=1) == [first]


async def test_a_snapshot_comes_back_as_it_was_made(stores, key, message):
    number = await opened(stores, key, message, *"ab")
    at = datetime(2026, 3, 1, 9, 30, 0, 5, tzinfo=UTC)
    summary = Summary((Line(Heading.GOAL, "车\0", 2, at), Line(Heading.FACTS, "x")), Language.CHINESE)
    new = replace(
        snapshot("text", 2), summary=summary, covers_from=2, reason=Trigger.TOKENS, findings=({"kind": "name", "line": "y"},)
    )
    stored = await stores.snapshots.add(number, new)
    assert await stores.snapshots.get(number, 1) == stored
    assert (stored.summary, stored.covers_from, stored.made_by) == (summary, 2, "by hand")
    assert (stored.reason, stored.base, stored.findings) == (Trigger.TOKENS, 0, new.findings)


async def test_a_session_without_snapshots_has_no_latest(stores, key):
    assert await stores.snapshots.latest((await stores.sessions.save(key, lambda old: old, create=True)).number) is None


async def test_a_version_that_nobody_made_is_not_found(stores, key, message):
    number = await opened(stores, key, message, "a")
    for ask in (stores.snapshots.get, stores.snapshots.restore):
        with pytest.raises(SummaryNotFound):
            await ask(number, 1)


async def test_a_version_is_not_given_again_after_a_stale_one(stores, key, message):
    number = await opened(stores, key, message, *"ab")
    await stores.snapshots.add(number, snapshot("a", 1))
    await stores.transcript.delete(number, "a")
    assert await stores.snapshots.latest(number) is None
    assert (await stores.snapshots.add(number, snapshot("b", 2, rewrites=1))).version == 2


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_a_snapshot_of_what_was_changed_meanwhile_is_refused(stores, key, message, change):
    number = await opened(stores, key, message, *"ab")
    session = await stores.sessions.find(key)
    if change == "edit":
        await stores.transcript.replace(number, "a", lambda _: message("new"))
    else:
        await stores.transcript.delete(number, "a")
    with pytest.raises(SummaryConflict):
        await stores.snapshots.add(number, snapshot("late", 2, rewrites=session.rewrites))
    assert await stores.snapshots.listing(number, limit=9) == []
    rewrites = (await stores.sessions.find(key)).rewrites
    assert (await stores.snapshots.add(number, snapshot("new", 2, rewrites=rewrites))).version == 1


async def test_of_two_snapshots_on_the_same_base_one_is_stored(stores, key, message):
    number = await opened(stores, key, message, *"ab")
    both = [stores.snapshots.add(number, snapshot(text, 2)) for text in ("one", "other")]
    outcomes = await asyncio.gather(*both, return_exceptions=True)
    assert [type(outcome).__name__ for outcome in outcomes].count("SummaryConflict") == 1
    assert len(await stores.snapshots.listing(number, limit=9)) == 1


async def test_new_messages_do_not_spoil_a_snapshot(stores, key, message):
    number = await opened(stores, key, message, *"ab")
    await stores.transcript.append(key, [message("c")])
    assert (await stores.snapshots.add(number, snapshot("a and b", 2))).version == 1


async def test_a_snapshot_of_a_forgotten_session_is_refused(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    await stores.sessions.forget(key)
    with pytest.raises(SessionNotFound):
        await stores.snapshots.add(number, snapshot("late", 1))


# --- restoring ------------------------------------------------------------------------------------------------------


async def test_a_restored_version_is_a_new_one_of_the_same_content_and_reach(stores, key, message):
    number = await opened(stores, key, message, *"ab")
    first = await stores.snapshots.add(number, snapshot("a", 1))
    await stores.snapshots.add(number, snapshot("b", 2, base=1))
    restored = await stores.snapshots.restore(number, 1)
    assert (restored.version, restored.base, restored.reason) == (3, 2, Trigger.RESTORE)
    assert (restored.text, restored.summary, restored.covers_upto) == (first.text, first.summary, first.covers_upto)
    assert await stores.snapshots.latest(number) == restored
    assert len(await stores.snapshots.listing(number, limit=9)) == 3


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_a_version_that_tells_what_was_changed_cannot_be_restored(stores, key, message, change):
    number = await opened(stores, key, message, *"ab")
    await stores.snapshots.add(number, snapshot("a", 1))
    if change == "edit":
        await stores.transcript.replace(number, "a", lambda _: message("new"))
    else:
        await stores.transcript.delete(number, "a")
    with pytest.raises(SummaryStale):
        await stores.snapshots.restore(number, 1)
    assert len(await stores.snapshots.listing(number, limit=9)) == 1


# --- compactions ----------------------------------------------------------------------------------------------------


async def test_a_session_stands_where_its_newest_sound_snapshot_reaches(stores, key, message):
    other = await opened(stores, SessionKey("acme", "other"), message, *"abc")
    for version in range(3):
        await stores.snapshots.add(other, snapshot("another's", version + 1, base=version))
    number = await opened(stores, key, message, *"abc")
    assert (await stores.compactions.standing(number)).covered_upto == 0
    await stores.snapshots.add(number, snapshot("a", 1))
    await stores.snapshots.add(number, snapshot("b", 2, base=1))
    standing = await stores.compactions.standing(number)
    assert (standing.key, standing.covered_upto, standing.stale_upto) == (key, 2, 0)
    await stores.transcript.delete(number, "b")
    standing = await stores.compactions.standing(number)
    assert (standing.covered_upto, standing.stale_upto) == (1, 2)
    await stores.snapshots.add(number, snapshot("again", 2, base=1, rewrites=1))
    assert (await stores.compactions.standing(number)).stale_upto == 0


async def test_a_restored_version_leaves_nothing_to_be_derived_again(stores, key, message):
    number = await opened(stores, key, message, *"ab")
    await stores.snapshots.add(number, snapshot("a", 1))
    await stores.snapshots.add(number, snapshot("b", 2, base=1))
    await stores.snapshots.restore(number, 1)
    await stores.transcript.delete(number, "b")
    standing = await stores.compactions.standing(number)
    assert (standing.covered_upto, standing.stale_upto) == (1, 0)


async def test_sessions_that_go_on_beyond_their_summary_are_found_in_order(stores, key, message):
    numbers = [await opened(stores, SessionKey("acme", name), message, *"ab") for name in ("z", "y", "x", "w")]
    await stores.snapshots.add(numbers[1], snapshot("all", 2))
    await stores.snapshots.add(numbers[2], snapshot("half", 1))
    behind = await stores.compactions.behind(after=0, limit=9)
    assert [one.session_number for one in behind] == [numbers[0], numbers[2], numbers[3]]
    assert [one.session_number for one in await stores.compactions.behind(after=numbers[0], limit=1)] == [numbers[2]]


async def test_a_try_is_noted_and_waits_longer_each_time_until_one_is_stored(stores, key, message):
    number = await opened(stores, key, message, "a")
    assert (await stores.compactions.standing(number)).failures == 0
    waits = []
    for count in (1, 2, 3):
        await stores.compactions.begin(number)
        await stores.compactions.failed(number, "why\0")
        standing = await stores.compactions.standing(number)
        assert standing.failures == count
        waits.append(standing.wait_s)
    assert waits == sorted(waits)
    assert waits[2] > 2 * waits[0] > 0
    await stores.snapshots.add(number, snapshot("a", 1))
    standing = await stores.compactions.standing(number)
    assert (standing.failures, standing.wait_s) == (0, 0.0)


async def test_a_refused_snapshot_leaves_the_notes(stores, key, message):
    number = await opened(stores, key, message, "a")
    await stores.compactions.begin(number)
    with pytest.raises(SummaryConflict):
        await stores.snapshots.add(number, snapshot("a", 1, base=7))
    assert (await stores.compactions.standing(number)).failures == 1
    await stores.compactions.settled(number)
    assert (await stores.compactions.standing(number)).failures == 0


async def test_a_forgotten_session_stands_nowhere(stores, key, message):
    number = await opened(stores, key, message, "a")
    await stores.compactions.begin(number)
    await stores.sessions.forget(key)
    assert await stores.compactions.standing(number) is None
    assert await stores.compactions.behind(after=0, limit=9) == []
    with pytest.raises(SessionNotFound):
        await stores.compactions.begin(number)
