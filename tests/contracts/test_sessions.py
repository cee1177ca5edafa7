"""What every store of sessions keeps."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memsrv.core.relay.resent import aside_name
from memsrv.errors import BadRequest, PinNotFound, SessionNotFound
from memsrv.model import Meta, Scope, Session, SessionCounts, SessionKey
from tests.fakes_summary import snapshot


def setting(**fields: Any) -> Callable[[Session], Session]:
    """A change that sets these fields."""
    return lambda old: replace(old, **fields)


async def test_a_session_that_nobody_made_is_not_found(stores, key):
    with pytest.raises(SessionNotFound):
        await stores.sessions.find(key)


async def test_saving_makes_a_session(stores, key):
    change = setting(owner="ann", settings={"mode": "window"}, meta=Meta(goal="g", extra={"a": [1]}))
    saved = await stores.sessions.save(key, change, create=True)
    assert saved == await stores.sessions.find(key)
    assert (saved.key, saved.owner, saved.settings) == (key, "ann", {"mode": "window"})
    assert (saved.meta, saved.last_position) == (Meta(goal="g", extra={"a": [1]}), 0)


async def test_saving_sets_whole_what_was_changed_and_leaves_the_rest(stores, key):
    made = setting(owner="ann", settings={"mode": "window", "k": 1}, meta=Meta(goal="g", profile="p"))
    await stores.sessions.save(key, made, create=True)
    saved = await stores.sessions.save(key, setting(settings={"k": 2}), create=False)
    assert (saved.owner, saved.settings, saved.meta) == ("ann", {"k": 2}, Meta(goal="g", profile="p"))
    saved = await stores.sessions.save(key, setting(meta=Meta(task_state="t")), create=True)
    assert (saved.settings, saved.meta) == ({"k": 2}, Meta(task_state="t"))
    assert saved == await stores.sessions.find(key)


async def test_an_owner_can_be_cleared(stores, key):
    await stores.sessions.save(key, setting(owner="ann"), create=True)
    assert (await stores.sessions.save(key, setting(owner=None), create=True)).owner is None
    assert (await stores.sessions.find(key)).owner is None


async def test_what_is_aside_follows_the_owner_and_the_retention_of_its_session(stores, key):
    aside = SessionKey(key.tenant, aside_name(key.name))
    off = {"summary": {"enabled": False}}
    await stores.sessions.save(key, setting(owner="ann"), create=True)
    await stores.sessions.save(aside, setting(owner="ann", settings=off), create=True)
    await stores.sessions.save(key, setting(owner="bob", settings={"retention": {"days": 7}}), create=False)
    found = await stores.sessions.find(aside)
    assert (found.owner, found.settings) == ("bob", off | {"retention": {"days": 7}})
    await stores.sessions.save(key, setting(settings={}), create=False)
    found = await stores.sessions.find(aside)
    assert (found.owner, found.settings) == ("bob", off)


async def test_saving_makes_no_session_unless_it_may(stores, key):
    with pytest.raises(SessionNotFound):
        await stores.sessions.save(key, setting(owner="ann"), create=False)
    with pytest.raises(SessionNotFound):
        await stores.sessions.find(key)


async def test_no_change_of_many_at_once_is_lost(stores, key):
    def adding(name: str) -> Callable[[Session], Session]:
        return lambda old: replace(
            old, settings={**old.settings, name: 1}, meta=replace(old.meta, goal=(old.meta.goal or "") + name)
        )

    await asyncio.gather(*(stores.sessions.save(key, adding(name), create=True) for name in "abcdefgh"))
    saved = await stores.sessions.find(key)
    assert (sorted(saved.settings), sorted(saved.meta.goal)) == (list("abcdefgh"), list("abcdefgh"))


async def test_a_change_that_is_refused_changes_nothing_and_makes_nothing(stores, key):
    def refusing(old: Session) -> Session:
        raise BadRequest("no")

    with pytest.raises(BadRequest):
        await stores.sessions.save(key, refusing, create=True)
    with pytest.raises(SessionNotFound):
        await stores.sessions.find(key)


async def test_a_session_made_by_many_at_once_is_one(stores, key):
    saved = await asyncio.gather(*(stores.sessions.save(key, lambda old: old, create=True) for _ in range(16)))
    assert len({session.number for session in saved}) == 1


@pytest.mark.parametrize(
    "names", [("a_b", "a:b", "a/b"), ("é", "e\u0301"), ("A", "a"), ("a", "a "), ("x" * 512, "x" * 511), ("🚲", "%")]
)
async def test_names_are_kept_to_the_character(stores, message, names):
    for name in names:
        await stores.transcript.append(SessionKey("acme", name), [message(name)])
    for name in names:
        session = await stores.sessions.find(SessionKey("acme", name))
        assert session.key.name == name
        assert [one.payload["content"] for one in await stores.transcript.messages(session.number, limit=9)] == [name]


async def test_a_tenant_does_not_find_another_tenants_session(stores, key):
    await stores.sessions.save(key, lambda old: old, create=True)
    with pytest.raises(SessionNotFound):
        await stores.sessions.find(SessionKey("evil", key.name))


async def test_a_listing_goes_by_name_page_by_page(stores):
    for name in ("b", "d", "a", "c"):
        await stores.sessions.save(SessionKey("acme", name), setting(owner="ann" if name < "c" else None), create=True)
    await stores.sessions.save(SessionKey("evil", "aa"), setting(owner="ann"), create=True)

    async def names(**which) -> list[str]:
        return [one.key.name for one in await stores.sessions.listing("acme", **which)]

    assert await names(owner=None, after=None, limit=3) == ["a", "b", "c"]
    assert await names(owner=None, after="c", limit=3) == ["d"]
    assert await names(owner="ann", after=None, limit=3) == ["a", "b"]


async def test_the_sessions_changed_last_come_first_with_their_chunks(stores, message):
    early, late, silent = (SessionKey(tenant, "a") for tenant in ("acme", "other", "third"))
    numbers = {}
    for key, pieces in ((early, "abc"), (late, "de"), (silent, "")):
        numbers[key] = (await stores.transcript.append(key, [message("x", pieces=list(pieces))])).session.number
    assert await stores.sessions.changed_last(limit=9) == [
        (Scope("other", (numbers[late],)), 2),
        (Scope("acme", (numbers[early],)), 3),
    ]
    await stores.transcript.append(early, [message("y", pieces=["f"])])
    assert await stores.sessions.changed_last(limit=1) == [(Scope("acme", (numbers[early],)), 4)]


async def test_counts_tell_what_a_session_holds(stores, key, message):
    batch = [message("a", pieces=["a", "b", "c"]), message(""), message("d")]
    session = (await stores.transcript.append(key, batch)).session
    await stores.transcript.append(SessionKey("acme", "b"), [message("other")])
    assert await stores.sessions.counts(session.number) == SessionCounts(messages=3, chunks=4, pending_index=4, set_aside=0)


async def test_counts_go_down_chunk_by_chunk_while_a_message_is_indexed(stores, key, message):
    session = (await stores.transcript.append(key, [message("a", pieces=list("abcdef"))])).session
    generation, _ = await stores.queue.generation("f")
    pending = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, pending[:2])
    assert (await stores.sessions.counts(session.number)).pending_index == 4
    await stores.queue.mark_indexed(generation, pending[2:])
    assert (await stores.sessions.counts(session.number)).pending_index == 0


async def test_a_message_set_aside_is_counted_as_such(stores, key, message):
    session = (await stores.transcript.append(key, [message("a"), message("b")])).session
    generation, _ = await stores.queue.generation("f")
    [poison, _] = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_failed(poison.message_number, "no", most=1)
    counts = await stores.sessions.counts(session.number)
    assert (counts.pending_index, counts.set_aside) == (1, 1)


# --- forgetting -----------------------------------------------------------------------------------------------------


async def test_a_forgotten_session_is_gone_with_all_that_hung_on_it(stores, key, message):
    session = (await stores.transcript.append(key, [message("a", id="x")], idempotency_key="k", request_digest="d")).session
    await stores.sessions.add_pin(session.number, "pin", "fact")
    await stores.snapshots.add(session.number, snapshot("s", 1))
    await stores.receipts.add(session.number, "r", {}, quotes=(), made_at=datetime.now(UTC))
    await stores.drained()
    await stores.sessions.forget(key)
    with pytest.raises(SessionNotFound):
        await stores.sessions.find(key)
    assert await stores.sessions.counts(session.number) == SessionCounts(0, 0, 0, 0)
    assert await stores.sessions.pins(session.number) == []
    assert await stores.snapshots.listing(session.number, limit=9) == []
    assert await stores.receipts.listing(session.number, 9) == []


async def test_the_vectors_of_a_forgotten_session_are_listed_for_removal(stores, key, message):
    session = (await stores.transcript.append(key, [message("a", pieces=["p"] * 3000)])).session
    kept = (await stores.transcript.append(SessionKey("acme", "b"), [message("kept")])).session
    [giant] = await stores.transcript.messages(session.number, limit=1)
    numbers = [chunk.number for chunk in await stores.transcript.chunks_of(giant)]
    await stores.sessions.forget(key)
    assert await stores.queue.removals(10_000) == numbers
    assert (await stores.sessions.counts(kept.number)).chunks == 1


async def test_a_forgotten_name_starts_empty_under_another_number(stores, key, message):
    old = (await stores.transcript.append(key, [message("a", id="x")], idempotency_key="k", request_digest="d")).session
    await stores.sessions.forget(key)
    again = await stores.transcript.append(key, [message("b", id="x")], idempotency_key="k", request_digest="e")
    assert again.session.number != old.number
    assert [(one.position, one.created) for one in again.messages] == [(1, True)]


async def test_forgetting_twice_is_not_found(stores, key):
    await stores.sessions.save(key, lambda old: old, create=True)
    await stores.sessions.forget(key)
    with pytest.raises(SessionNotFound):
        await stores.sessions.forget(key)


async def test_forgetting_takes_the_receipts_that_quote_it_whatever_the_owner_is_now(stores, key, message):
    await stores.transcript.append(key, [message("secret", id="x")])
    other = (await stores.transcript.append(SessionKey("acme", "other"), [message("talk", id="y")])).session
    session = await stores.sessions.find(key)
    [foreign] = await stores.transcript.chunks_of(await stores.transcript.message(session.number, "x"))
    [own] = await stores.transcript.chunks_of(await stores.transcript.message(other.number, "y"))
    await stores.receipts.add(other.number, "r1", {"n": 1}, quotes=[foreign.number, own.number], made_at=datetime.now(UTC))
    await stores.receipts.add(other.number, "r2", {"n": 2}, quotes=[own.number], made_at=datetime.now(UTC))
    await stores.drained()
    await stores.sessions.save(key, setting(owner="somebody"), create=False)
    await stores.sessions.forget(key)
    assert await stores.receipts.listing(other.number, 9) == [{"n": 2}]


# --- scopes ---------------------------------------------------------------------------------------------------------


async def test_a_scope_is_the_session_or_the_owners_sessions_in_the_tenant(stores):
    one = await stores.sessions.save(SessionKey("acme", "1"), setting(owner="ann"), create=True)
    two = await stores.sessions.save(SessionKey("acme", "2"), setting(owner="ann"), create=True)
    await stores.sessions.save(SessionKey("acme", "3"), setting(owner="bob"), create=True)
    await stores.sessions.save(SessionKey("acme", "4"), lambda old: old, create=True)
    await stores.sessions.save(SessionKey("evil", "1"), setting(owner="ann"), create=True)
    assert await stores.sessions.scope(one, owner_wide=False) == Scope("acme", (one.number,))
    assert await stores.sessions.scope(one, owner_wide=True) == Scope("acme", (one.number, two.number))


async def test_a_session_without_an_owner_stays_alone(stores):
    one = await stores.sessions.save(SessionKey("acme", "1"), lambda old: old, create=True)
    await stores.sessions.save(SessionKey("acme", "2"), lambda old: old, create=True)
    assert await stores.sessions.scope(one, owner_wide=True) == Scope("acme", (one.number,))


# --- pins -----------------------------------------------------------------------------------------------------------


async def test_pins_come_oldest_first(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    pins = [await stores.sessions.add_pin(number, text, "fact") for text in ("b", "a", "c")]
    assert await stores.sessions.pins(number) == pins
    assert len({pin.id for pin in pins}) == 3


async def test_pinning_the_same_text_again_answers_the_pin_that_is_there(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    first = await stores.sessions.add_pin(number, "a\0b", "fact")
    assert await stores.sessions.add_pin(number, "a\0b", "decision") == first
    assert len(await stores.sessions.pins(number)) == 1


async def test_a_pin_is_removed_from_its_own_session_only(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    other = (await stores.sessions.save(SessionKey("acme", "b"), lambda old: old, create=True)).number
    pin = await stores.sessions.add_pin(number, "a", "fact")
    with pytest.raises(PinNotFound):
        await stores.sessions.remove_pin(other, pin.id)
    await stores.sessions.remove_pin(number, pin.id)
    with pytest.raises(PinNotFound):
        await stores.sessions.remove_pin(number, pin.id)
    assert await stores.sessions.pins(number) == []


async def test_nothing_is_pinned_to_a_forgotten_session(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    await stores.sessions.forget(key)
    with pytest.raises(SessionNotFound):
        await stores.sessions.add_pin(number, "a", "fact")
