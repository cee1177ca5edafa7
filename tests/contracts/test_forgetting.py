"""What every store keeps of deleting: stretches, owners, counts before and after, and what comes too late."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memsrv.errors import IdempotencyConflict, SessionNotFound, SummaryConflict
from memsrv.model import Forgotten, Heading, Line, NewSnapshot, SessionKey, Stretch, Summary, Trigger

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def talk(stores, key, message, count=5, **options):
    """Messages m1, m2, ..., an hour apart."""
    said = [message(f"line {n}", id=f"m{n}", sent_at=NOON + timedelta(hours=n), **options) for n in range(1, count + 1)]
    return (await stores.transcript.append(key, said)).session


async def ids(stores, session):
    return [one.id for one in await stores.transcript.messages(session.number, limit=100)]


async def drain(stores, generation):
    while batch := await stores.queue.pending(generation, limit=100):
        await stores.queue.mark_indexed(generation, batch)


def snapshot(upto, rewrites=0, base=0):
    summary = Summary((Line(Heading.FACTS, "a fact", upto),))
    return NewSnapshot(base, 1, upto, summary, "a fact", "test", Trigger.ASKED, rewrites)


@pytest.mark.parametrize(
    ("stretch", "left"),
    [
        (Stretch(after=3), ["m1", "m2", "m3"]),
        (Stretch(before=3), ["m3", "m4", "m5"]),
        (Stretch(after=1, before=4), ["m1", "m4", "m5"]),
        (Stretch(since=NOON + timedelta(hours=4)), ["m1", "m2", "m3"]),
        (Stretch(until=NOON + timedelta(hours=2)), ["m2", "m3", "m4", "m5"]),
        (Stretch(after=4, until=NOON), ["m1", "m2", "m3", "m4", "m5"]),
    ],
)
async def test_a_stretch_takes_what_lies_within_all_of_its_bounds(stores, key, message, stretch, left):
    session = await talk(stores, key, message)
    await stores.transcript.erase(session.number, stretch)
    assert await ids(stores, session) == left


async def test_a_stretch_of_one_session_leaves_the_others(stores, key, message):
    session = await talk(stores, key, message)
    other = await talk(stores, SessionKey(key.tenant, "other"), message)
    await stores.transcript.erase(session.number, Stretch())
    assert await ids(stores, session) == []
    assert len(await ids(stores, other)) == 5


async def test_positions_go_on_after_a_stretch_was_taken_out(stores, key, message):
    session = await talk(stores, key, message)
    await stores.transcript.erase(session.number, Stretch(after=2))
    appended = await stores.transcript.append(key, [message("later")])
    assert [one.position for one in appended.messages] == [6]


async def test_a_dry_run_tells_what_then_goes_and_changes_nothing(stores, key, message):
    session = await talk(stores, key, message)
    await stores.snapshots.add(session.number, snapshot(3))
    [quoted] = await stores.transcript.chunks_of(await stores.transcript.message(session.number, "m2"))
    await stores.receipts.add(session.number, "r", {}, quotes=[quoted.number], made_at=NOON)
    await stores.drained()
    stretch = Stretch(after=1, before=4)
    told = await stores.transcript.erase(session.number, stretch, dry_run=True)
    assert told == Forgotten(messages=2, chunks=2, summaries=1, receipts=1)
    assert len(await ids(stores, session)) == 5
    assert await stores.transcript.erase(session.number, stretch) == told
    assert await stores.transcript.erase(session.number, stretch) == Forgotten()


async def test_a_dry_run_of_one_message_tells_what_then_goes(stores, key, message):
    session = await talk(stores, key, message)
    told = await stores.transcript.delete(session.number, "m2", dry_run=True)
    assert told == Forgotten(messages=1, chunks=1)
    assert await stores.transcript.delete(session.number, "m2") == told


async def test_the_vectors_of_a_stretch_are_listed_for_removal(stores, key, message):
    session = await talk(stores, key, message)
    numbers = [
        chunk.number
        for one in await stores.transcript.messages(session.number, limit=9)
        for chunk in await stores.transcript.chunks_of(one)
    ]
    await stores.transcript.erase(session.number, Stretch(before=3))
    assert await stores.queue.removals(100) == numbers[:2]


async def test_a_message_whose_vector_holds_what_was_deleted_is_indexed_anew(stores, key, message):
    session = await talk(stores, key, message)
    generation, _ = await stores.queue.generation("f")
    await drain(stores, generation)
    await stores.transcript.erase(session.number, Stretch(after=1, before=4))
    [again] = await stores.queue.pending(generation, limit=10)
    assert (again.said.text, again.before.text) == ("line 4", "line 1")


async def test_a_message_whose_vector_holds_what_was_edited_is_indexed_anew(stores, key, message):
    session = await talk(stores, key, message, 3)
    generation, _ = await stores.queue.generation("f")
    await drain(stores, generation)
    await stores.transcript.replace(session.number, "m1", lambda _: message("other words", id="m1"))
    waiting = await stores.queue.pending(generation, limit=10)
    assert [one.said.text for one in waiting] == ["other words", "line 2"]


async def test_the_task_state_goes_with_the_message_that_told_it(stores, key, message):
    telling = replace(message("Task state: packing", id="a", role="assistant"), task_state="packing")
    await stores.transcript.append(key, [telling, message("fine", id="b")])
    session = await stores.sessions.find(key)
    assert session.meta.task_state == "packing"
    await stores.transcript.erase(session.number, Stretch(before=2))
    assert (await stores.sessions.find(key)).meta.task_state is None


# --- what comes too late --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deleted", ["m1", "m2"])
async def test_a_request_that_comes_again_brings_no_deleted_message_back(stores, key, message, deleted):
    said = [message("line 1", id="m1"), message("line 2", id="m2")]
    session = (await stores.transcript.append(key, said, idempotency_key="k", request_digest="d")).session
    await stores.transcript.append(key, [message("other", id="m3")], idempotency_key="k3", request_digest="d3")
    await stores.transcript.delete(session.number, deleted)
    with pytest.raises(IdempotencyConflict):
        await stores.transcript.append(key, said, idempotency_key="k", request_digest="d")
    assert deleted not in await ids(stores, session)
    again = await stores.transcript.append(key, [message("other", id="m3")], idempotency_key="k3", request_digest="d3")
    assert [one.created for one in again.messages] == [False]


async def test_a_summary_made_of_what_was_deleted_meanwhile_is_not_stored(stores, key, message):
    session = await talk(stores, key, message)
    await stores.transcript.erase(session.number, Stretch(before=2))
    with pytest.raises(SummaryConflict):
        await stores.snapshots.add(session.number, snapshot(3, rewrites=session.rewrites))


async def test_a_summary_of_a_forgotten_owner_is_not_stored(stores, key, message):
    session = await owned(stores, key, message, "ann")
    await stores.sessions.forget_owner(key.tenant, "ann")
    with pytest.raises(SessionNotFound):
        await stores.snapshots.add(session.number, snapshot(3))


async def test_vectors_made_of_what_was_deleted_meanwhile_are_listed_for_removal(stores, key, message):
    session = await talk(stores, key, message)
    generation, _ = await stores.queue.generation("f")
    in_hand = await stores.queue.pending(generation, limit=100)
    await stores.transcript.erase(session.number, Stretch())
    await stores.queue.clear_removals(await stores.queue.removals(100))
    await stores.queue.mark_indexed(generation, in_hand)
    assert await stores.queue.removals(100) == [one.number for one in in_hand]


# --- sessions and owners --------------------------------------------------------------------------------------------


async def owned(stores, key, message, owner):
    await stores.sessions.save(key, lambda session: replace(session, owner=owner), create=True)
    return await talk(stores, key, message, 2)


async def test_forgetting_an_owner_takes_all_of_its_sessions_and_no_other(stores, message):
    keys = [SessionKey("acme", name) for name in ("one", "two", "three")]
    for key, owner in zip(keys, ("ann", "ann", "bob"), strict=True):
        await owned(stores, key, message, owner)
    elsewhere = SessionKey("globex", "one")
    await owned(stores, elsewhere, message, "ann")
    told = await stores.sessions.forget_owner("acme", "ann", dry_run=True)
    assert told == Forgotten(sessions=2, messages=4, chunks=4)
    assert await stores.sessions.forget_owner("acme", "ann") == told
    assert [one.key.name for one in await stores.sessions.listing("acme", owner=None, after=None, limit=9)] == ["three"]
    assert (await stores.sessions.find(elsewhere)).owner == "ann"
    assert await stores.sessions.forget_owner("acme", "ann") == Forgotten()


async def test_a_dry_run_of_a_session_tells_all_that_hangs_on_it_and_changes_nothing(stores, key, message):
    session = await talk(stores, key, message)
    await stores.snapshots.add(session.number, snapshot(3))
    await stores.sessions.add_pin(session.number, "a pin", "fact")
    told = await stores.sessions.forget(key, dry_run=True)
    assert told == Forgotten(sessions=1, messages=5, chunks=5, summaries=1, pins=1)
    assert await stores.sessions.forget(key) == told
    with pytest.raises(SessionNotFound):
        await stores.sessions.forget(key, dry_run=True)


# --- cutting anew ---------------------------------------------------------------------------------------------------


async def test_another_chunker_marks_every_message_to_be_cut_anew(stores, key, message):
    await talk(stores, key, message, 2)
    await stores.queue.generation("e|4|view1|chunks1")
    assert await stores.transcript.uncut(10) == []
    await stores.queue.generation("e|4|view1|chunks2")
    assert [one.id for one in await stores.transcript.uncut(10)] == ["m1", "m2"]


async def test_a_message_cut_anew_has_the_new_chunks_and_waits_for_their_vectors(stores, key, message):
    session = await talk(stores, key, message, 1)
    await stores.queue.generation("e|4|view1|chunks1")
    generation, _ = await stores.queue.generation("e|4|view1|chunks2")
    [marked] = await stores.transcript.uncut(10)
    old = [chunk.number for chunk in await stores.transcript.chunks_of(marked)]
    await stores.transcript.recut([(marked, message("line 1", pieces=["line", "1"]).chunks)])
    assert await stores.transcript.uncut(10) == []
    assert [chunk.text for chunk in await stores.transcript.chunks_of(marked)] == ["line", "1"]
    assert await stores.queue.removals(9) == old
    assert [one.said.text for one in await stores.queue.pending(generation, limit=9)] == ["line", "1"]
    assert (await stores.sessions.counts(session.number)).chunks == 2


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_a_message_changed_meanwhile_is_not_cut_anew_from_what_it_said(stores, key, message, change):
    session = await talk(stores, key, message, 1)
    await stores.queue.generation("e|4|view1|chunks1")
    await stores.queue.generation("e|4|view1|chunks2")
    [marked] = await stores.transcript.uncut(10)
    if change == "edit":
        await stores.transcript.replace(session.number, "m1", lambda _: message("new words", id="m1"))
    else:
        await stores.transcript.delete(session.number, "m1")
    await stores.transcript.recut([(marked, message("line 1").chunks)])
    assert [one.text for one in await stores.transcript.chunks_of(marked)] == ["new words"] * (change == "edit")
