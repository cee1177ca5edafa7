"""What every transcript keeps."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsrv.errors import BadRequest, IdempotencyConflict, MessageConflict, MessageNotFound, SessionMoved, SessionNotFound
from memsrv.model import Chunk, Message, NewMessage, Scope, SessionKey
from tests.fakes_summary import snapshot


async def positions(stores, session_number: int) -> list[int]:
    return [one.position for one in await stores.transcript.messages(session_number, limit=1000)]


async def chunks_in(stores, session_number: int) -> list[Chunk]:
    return [
        chunk
        for one in await stores.transcript.messages(session_number, limit=1000)
        for chunk in await stores.transcript.chunks_of(one)
    ]


# --- appending ------------------------------------------------------------------------------------------------------


async def test_the_first_message_makes_the_session(stores, key, message):
    appended = await stores.transcript.append(key, [message("hello")])
    assert appended.session == await stores.sessions.find(key)
    assert appended.session.last_position == 1


async def test_messages_are_answered_in_order_with_their_positions(stores, key, message):
    appended = await stores.transcript.append(key, [message("one", pieces=["o", "ne"]), message("two")])
    assert [(one.position, one.created, one.chunks) for one in appended.messages] == [(1, True, 2), (2, True, 1)]


async def test_positions_have_no_gap_under_32_writers(stores, key, message):
    async def write(writer: int) -> None:
        for i in range(5):
            await stores.transcript.append(key, [message(f"{writer} {i} a"), message(f"{writer} {i} b")])

    await asyncio.gather(*(write(writer) for writer in range(32)))
    session = await stores.sessions.find(key)
    stored = await stores.transcript.messages(session.number, limit=1000)
    assert [one.position for one in stored] == list(range(1, 321))
    texts = [one.payload["content"] for one in stored]
    assert all(texts[i][:-1] == texts[i + 1][:-1] for i in range(0, 320, 2)), "a batch was torn apart"


async def test_a_given_id_is_kept_and_others_are_made_up(stores, key, message):
    appended = await stores.transcript.append(key, [message("a", id="mine / ü"), message("b"), message("c")])
    ids = [one.id for one in appended.messages]
    assert ids[0] == "mine / ü"
    assert all(re.fullmatch(r"m_[0-9a-f]{16}", id) for id in ids[1:])
    assert len(set(ids)) == 3


async def test_the_same_id_and_content_again_stores_nothing(stores, key, message):
    first = await stores.transcript.append(key, [message("a", id="x")])
    again = await stores.transcript.append(key, [message("a", id="x"), message("b", id="y")])
    assert [(one.position, one.created) for one in again.messages] == [(1, False), (2, True)]
    assert await positions(stores, first.session.number) == [1, 2]


async def test_the_same_id_twice_in_one_batch_is_stored_once(stores, key, message):
    appended = await stores.transcript.append(key, [message("a", id="x"), message("a", id="x")])
    assert [(one.position, one.created) for one in appended.messages] == [(1, True), (1, False)]


async def test_an_id_with_other_content_is_a_conflict_and_nothing_is_stored(stores, key, message):
    session = (await stores.transcript.append(key, [message("a", id="x")])).session
    with pytest.raises(MessageConflict):
        await stores.transcript.append(key, [message("new"), message("other", id="x"), message("newer")])
    assert await positions(stores, session.number) == [1]
    assert (await stores.sessions.find(key)).last_position == 1


async def test_a_refused_first_batch_makes_no_session(stores, key, message):
    with pytest.raises(MessageConflict):
        await stores.transcript.append(key, [message("a", id="x"), message("b", id="x")])
    with pytest.raises(SessionNotFound):
        await stores.sessions.find(key)


async def test_one_refused_writer_takes_nothing_from_those_beside_it(stores, key, message):
    session = (await stores.transcript.append(key, [message("a", id="x")])).session
    batches = [[message(f"good {i}")] if i % 4 else [message("lost"), message("other", id="x")] for i in range(32)]
    outcomes = await asyncio.gather(*(stores.transcript.append(key, batch) for batch in batches), return_exceptions=True)
    assert [isinstance(outcome, MessageConflict) for outcome in outcomes] == [i % 4 == 0 for i in range(32)]
    stored = await stores.transcript.messages(session.number, limit=1000)
    assert [one.position for one in stored] == list(range(1, 26))
    assert not any(one.payload["content"] == "lost" for one in stored)


async def test_what_goes_onto_a_session_as_it_was_is_stored_if_nothing_happened_in_it(stores, key, message):
    before = (await stores.transcript.append(key, [message("a", id="a")])).session
    await stores.sessions.save(key, lambda old: replace(old, owner="ada"), create=False)
    after = await stores.transcript.append(key, [message("b", id="b")], onto=before)
    assert [one.position for one in after.messages] == [2]
    assert after.session == await stores.sessions.find(key)


@pytest.mark.parametrize("what", ["append", "edit", "delete", "forget", "begin anew"])
async def test_what_goes_onto_a_session_as_it_was_is_refused_if_anything_happened_in_it(stores, key, message, what):
    before = (await stores.transcript.append(key, [message("a", id="a"), message("b", id="b")])).session
    if what == "append":
        await stores.transcript.append(key, [message("c")])
    if what == "edit":
        await stores.transcript.replace(before.number, "a", lambda old: message("other", id="a"))
    if what == "delete":
        await stores.transcript.delete(before.number, "b")
    if what in ("forget", "begin anew"):
        await stores.sessions.forget(key)
    if what == "begin anew":
        await stores.transcript.append(key, [message("a", id="a"), message("b", id="b")])
    there = [one.key for one in await stores.sessions.listing(key.tenant, owner=None, after=None, limit=1000)]
    for _ in range(2):
        with pytest.raises(SessionMoved):
            await stores.transcript.append(key, [message("late", id="late")], onto=before)
    listed = await stores.sessions.listing(key.tenant, owner=None, after=None, limit=1000)
    assert [one.key for one in listed] == there
    for session in listed:
        assert not await stores.transcript.found(session.number, ["late"])


async def test_the_same_ids_in_another_session_are_other_messages(stores, key, message):
    await stores.transcript.append(key, [message("a", id="x")])
    appended = await stores.transcript.append(SessionKey("acme", "other"), [message("b", id="x")])
    assert appended.messages[0].created


async def test_an_idempotency_key_answers_as_it_did_the_first_time_but_creates_nothing(stores, key, message):
    first = await stores.transcript.append(key, [message("a")], idempotency_key="k", request_digest="d")
    again = await stores.transcript.append(key, [message("a")], idempotency_key="k", request_digest="d")
    assert [(one.id, one.position, one.chunks) for one in again.messages] == [(first.messages[0].id, 1, 1)]
    assert [one.created for one in (*first.messages, *again.messages)] == [True, False]
    assert await positions(stores, first.session.number) == [1]


async def test_an_idempotency_key_raced_by_many_stores_once(stores, key, message):
    answers = await asyncio.gather(
        *(stores.transcript.append(key, [message("a")], idempotency_key="k", request_digest="d") for _ in range(16))
    )
    assert len({answer.messages[0].id for answer in answers}) == 1
    assert sum(answer.messages[0].created for answer in answers) == 1
    assert await positions(stores, answers[0].session.number) == [1]


async def test_an_idempotency_key_of_another_request_is_a_conflict(stores, key, message):
    session = (await stores.transcript.append(key, [message("a")], idempotency_key="k", request_digest="d")).session
    with pytest.raises(IdempotencyConflict):
        await stores.transcript.append(key, [message("b")], idempotency_key="k", request_digest="e")
    assert await positions(stores, session.number) == [1]


async def test_an_empty_idempotency_key_is_none(stores, key, message):
    for digest in ("d", "e", "e"):
        appended = await stores.transcript.append(key, [message("a")], idempotency_key="", request_digest=digest)
        assert appended.messages[0].created
    assert await positions(stores, appended.session.number) == [1, 2, 3]


async def test_an_idempotency_key_belongs_to_its_session(stores, key, message):
    await stores.transcript.append(key, [message("a")], idempotency_key="k", request_digest="d")
    other = await stores.transcript.append(SessionKey("acme", "b"), [message("a")], idempotency_key="k", request_digest="e")
    assert other.messages[0].created


# --- reading --------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)
)


@given(content=TEXT, extra=JSON, metadata=st.none() | st.dictionaries(TEXT, JSON))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_payload_comes_back_as_it_was_sent(stores, key, content, extra, metadata):
    payload = {"role": "user", "content": content, "extra": extra}
    appended = await stores.transcript.append(key, [NewMessage(None, payload, None, metadata, "", ())])
    read = await stores.transcript.message(appended.session.number, appended.messages[0].id)
    assert (read.payload, read.metadata) == (payload, metadata)


async def test_a_nul_is_kept_in_the_payload_and_pictured_in_the_chunk(stores, key, message):
    appended = await stores.transcript.append(key, [message("a\0b", id="x", name="n\0m")])
    read = await stores.transcript.message(appended.session.number, "x")
    [chunk] = await stores.transcript.chunks_of(read)
    assert (read.payload["content"], chunk.text, chunk.name) == ("a\0b", "a\u2400b", "n\u2400m")


async def test_times_come_back_to_the_microsecond(stores, key, message):
    said = datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=UTC)
    appended = await stores.transcript.append(key, [message("a", id="x", sent_at=said)])
    assert (await stores.transcript.message(appended.session.number, "x")).sent_at == said


async def test_a_message_without_a_time_has_that_of_its_arrival(stores, key, message):
    before = datetime.now(UTC)
    appended = await stores.transcript.append(key, [message("a", id="x")])
    read = await stores.transcript.message(appended.session.number, "x")
    assert before <= read.sent_at == read.stored_at <= datetime.now(UTC)


async def test_a_stretch_is_read_forwards_or_from_the_newest_back(stores, key, message):
    number = (await stores.transcript.append(key, [message(str(i)) for i in range(1, 10)])).session.number

    async def read(**which) -> list[int]:
        return [one.position for one in await stores.transcript.messages(number, **which)]

    assert await read(after=2, before=6, limit=10) == [3, 4, 5]
    assert await read(after=2, limit=2) == [3, 4]
    assert await read(before=6, limit=2, newest_first=True) == [5, 4]


async def test_the_newest_messages_are_read_with_their_session_as_it_is_then(stores, key, message):
    with pytest.raises(SessionNotFound):
        await stores.transcript.newest(key, most=3)
    for i in range(1, 6):
        appended = await stores.transcript.append(key, [message(str(i), id=f"m{i}")])
        session, newest = await stores.transcript.newest(key, most=3)
        assert session == appended.session
        assert newest == (await stores.transcript.messages(session.number, limit=9))[-3:]
    await stores.transcript.delete(session.number, "m4")
    await stores.transcript.replace(session.number, "m5", lambda old: message("five", id="m5"))
    session, newest = await stores.transcript.newest(key, most=3)
    assert session == await stores.sessions.find(key)
    assert [(one.position, one.payload["content"]) for one in newest] == [(2, "2"), (3, "3"), (5, "five")]


async def test_a_place_beyond_what_numbers_can_tell_is_refused(stores, key, message):
    number = (await stores.transcript.append(key, [message("a")])).session.number
    with pytest.raises(BadRequest, match="too large"):
        await stores.transcript.messages(number, after=2**64, limit=9)


async def test_a_message_of_another_session_is_not_found(stores, key, message):
    await stores.transcript.append(key, [message("a", id="x")])
    other = (await stores.transcript.append(SessionKey("acme", "b"), [message("b", id="y")])).session
    with pytest.raises(MessageNotFound):
        await stores.transcript.message(other.number, "x")


# --- chunks ---------------------------------------------------------------------------------------------------------


async def test_a_chunk_says_where_it_comes_from(stores, key, message):
    new = message("abc", id="x", role="assistant", name="Ann", pieces=["ab", "bc"])
    session = (await stores.transcript.append(key, [message("0"), new])).session
    read = await stores.transcript.message(session.number, "x")
    chunk = (await stores.transcript.chunks_of(read))[1]
    assert (chunk.session, chunk.message_id, chunk.position, chunk.ordinal) == ("talk", "x", 2, 1)
    assert (chunk.role, chunk.name, chunk.sent_at, chunk.text) == ("assistant", "Ann", read.sent_at, "bc")
    assert (chunk.span, chunk.session_number, chunk.message_number) == (new.chunks[1].span, session.number, read.number)


async def test_chunks_are_found_by_number_inside_the_scope_only(stores, key, message):
    mine = (await stores.transcript.append(key, [message("mine")])).session.number
    other = (await stores.transcript.append(SessionKey("acme", "b"), [message("other")])).session.number
    foreign = (await stores.transcript.append(SessionKey("evil", "talk"), [message("foreign")])).session.number
    numbers = [(await chunks_in(stores, session))[0].number for session in (mine, other, foreign)]

    async def seen(scope: Scope) -> list[str]:
        return [chunk.text for chunk in (await stores.transcript.chunks(scope, [*numbers, 10**9])).values()]

    assert await seen(Scope("acme", (mine,))) == ["mine"]
    assert sorted(await seen(Scope("acme", (mine, other)))) == ["mine", "other"]
    assert await seen(Scope("acme", (foreign,))) == []
    assert await seen(Scope("acme", ())) == []


async def test_more_chunks_than_a_statement_has_variables_are_found(stores, key, message):
    session = (await stores.transcript.append(key, [message("x", pieces=["p"] * 3000)])).session
    numbers = [chunk.number for chunk in await chunks_in(stores, session.number)]
    found = await stores.transcript.chunks(Scope("acme", (session.number,)), numbers + list(range(10**6, 10**6 + 40_000)))
    assert len(found) == 3000


# --- editing and deleting -------------------------------------------------------------------------------------------


async def test_an_edit_keeps_id_position_and_time_and_changes_the_rest(stores, key, message):
    session = (await stores.transcript.append(key, [message("old", id="x", pieces=["o", "ld"]), message("next")])).session
    before = await stores.transcript.message(session.number, "x")
    after = await stores.transcript.replace(session.number, "x", lambda _: message("new", metadata={"edited": True}))
    assert after == await stores.transcript.message(session.number, "x")
    assert (after.number, after.id, after.position) == (before.number, "x", 1)
    assert (after.sent_at, after.stored_at) == (before.sent_at, before.stored_at)
    assert (after.payload["content"], after.metadata, after.chunk_count) == ("new", {"edited": True}, 1)
    assert [chunk.text for chunk in await stores.transcript.chunks_of(after)] == ["new"]


async def test_no_edit_of_many_at_once_is_lost(stores, key, message):
    session = (await stores.transcript.append(key, [message("", id="x")])).session

    def adding(letter: str) -> Callable[[Message], NewMessage]:
        return lambda old: message(old.payload["content"] + letter)

    await asyncio.gather(*(stores.transcript.replace(session.number, "x", adding(letter)) for letter in "abcdefgh"))
    assert sorted((await stores.transcript.message(session.number, "x")).payload["content"]) == list("abcdefgh")


async def test_an_edit_that_is_refused_changes_nothing(stores, key, message):
    session = (await stores.transcript.append(key, [message("old", id="x")])).session
    before = await stores.transcript.message(session.number, "x")

    def refusing(old: Message) -> NewMessage:
        raise BadRequest("no")

    with pytest.raises(BadRequest):
        await stores.transcript.replace(session.number, "x", refusing)
    assert await stores.transcript.message(session.number, "x") == before
    assert await stores.queue.removals(9) == []


async def test_an_edit_may_move_the_time(stores, key, message):
    session = (await stores.transcript.append(key, [message("old", id="x")])).session
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert (await stores.transcript.replace(session.number, "x", lambda _: message("new", sent_at=moment))).sent_at == moment


async def test_the_old_content_sent_again_after_an_edit_is_a_conflict(stores, key, message):
    session = (await stores.transcript.append(key, [message("old", id="x")])).session
    await stores.transcript.replace(session.number, "x", lambda _: message("new"))
    with pytest.raises(MessageConflict):
        await stores.transcript.append(key, [message("old", id="x")])


async def test_an_edit_of_what_is_not_there_is_refused(stores, key, message):
    session = (await stores.transcript.append(key, [message("a", id="x")])).session
    with pytest.raises(MessageNotFound):
        await stores.transcript.replace(session.number, "y", lambda _: message("b"))


@pytest.mark.parametrize("id", ["x", "z"])
async def test_a_delete_leaves_the_other_positions_as_they_are(stores, key, message, id):
    session = (await stores.transcript.append(key, [message(id, id=id) for id in "xyz"])).session
    gone = (await chunks_in(stores, session.number))[0 if id == "x" else 2]
    await stores.transcript.delete(session.number, id)
    with pytest.raises(MessageNotFound):
        await stores.transcript.message(session.number, id)
    assert await stores.transcript.chunks(Scope("acme", (session.number,)), [gone.number]) == {}
    appended = await stores.transcript.append(key, [message("new")])
    assert appended.messages[0].position == 4
    assert await positions(stores, session.number) == ([2, 3, 4] if id == "x" else [1, 2, 4])


async def test_a_delete_of_what_is_not_there_is_refused(stores, key, message):
    session = (await stores.transcript.append(key, [message("a", id="x")])).session
    await stores.transcript.delete(session.number, "x")
    with pytest.raises(MessageNotFound):
        await stores.transcript.delete(session.number, "x")


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_snapshots_that_covered_a_changed_message_turn_stale(stores, key, message, change):
    session = (await stores.transcript.append(key, [message(id, id=id) for id in "xyz"])).session
    for upto in (1, 2, 3):
        await stores.snapshots.add(session.number, snapshot(f"up to {upto}", upto, base=upto - 1))
    if change == "edit":
        await stores.transcript.replace(session.number, "y", lambda _: message("new"))
    else:
        await stores.transcript.delete(session.number, "y")
    assert [one.stale for one in await stores.snapshots.listing(session.number, limit=9)] == [False, True, True]
    assert (await stores.snapshots.latest(session.number)).version == 1


async def numbers_of(stores, session_number: int, id: str) -> list[int]:
    """The numbers of a message's chunks."""
    return [one.number for one in await stores.transcript.chunks_of(await stores.transcript.message(session_number, id))]


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_a_change_takes_the_receipts_that_quote_the_message_in_whatever_session(stores, key, message, change):
    session = (await stores.transcript.append(key, [message("secret", id="x"), message("b", id="y")])).session
    other = (await stores.transcript.append(SessionKey("acme", "other"), [message("b", id="x")])).session
    gone, kept = await numbers_of(stores, session.number, "x"), await numbers_of(stores, session.number, "y")
    kept += await numbers_of(stores, other.number, "x")
    for number in (session.number, other.number):
        await stores.receipts.add(number, "r1", {"n": 1}, quotes=[*kept, *gone], made_at=datetime.now(UTC))
        await stores.receipts.add(number, "r2", {"n": 2}, quotes=kept, made_at=datetime.now(UTC))
    await stores.drained()
    if change == "edit":
        await stores.transcript.replace(session.number, "x", lambda _: message("new"))
    else:
        await stores.transcript.delete(session.number, "x")
    for number in (session.number, other.number):
        assert await stores.receipts.listing(number, 9) == [{"n": 2}]


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_a_change_takes_the_words_out_of_snapshots(stores, key, message, change):
    session = (await stores.transcript.append(key, [message("secret", id="x"), message("b", id="y")])).session
    finding = {"kind": "missing", "line": "a secret"}
    await stores.snapshots.add(session.number, replace(snapshot("a secret", 1), findings=(finding,)))
    if change == "edit":
        await stores.transcript.replace(session.number, "x", lambda _: message("new"))
    else:
        await stores.transcript.delete(session.number, "x")
    [emptied] = await stores.snapshots.listing(session.number, limit=9)
    assert (emptied.text, emptied.summary, emptied.findings) == ("", None, ())


# --- looking up -----------------------------------------------------------------------------------------------------


async def test_messages_are_found_by_their_ids_in_their_own_session_alone(stores, key, message):
    appended = await stores.transcript.append(key, [message("one", id="a"), message("two", id="b")])
    await stores.transcript.append(replace(key, name="another"), [message("three", id="c")])
    found = await stores.transcript.found(appended.session.number, ["b", "c", "nowhere"])
    assert {id: one.payload["content"] for id, one in found.items()} == {"b": "two"}
    assert await stores.transcript.found(appended.session.number, []) == {}
