"""What every index queue keeps."""

import asyncio
import math

import pytest

from memsrv.core.recall.view import digest
from memsrv.model import Said, SessionKey


async def texts(stores, generation, limit: int = 100) -> list[str]:
    return [pending.said.text for pending in await stores.queue.pending(generation, limit=limit)]


async def drain(stores, generation, limit: int = 100) -> list[str]:
    """Index all there is, in batches; the texts in the order in which they were handed out."""
    done: list[str] = []
    while batch := await stores.queue.pending(generation, limit=limit):
        done += [pending.said.text for pending in batch]
        await stores.queue.mark_indexed(generation, batch)
    return done


@pytest.fixture
async def generation(stores):
    return (await stores.queue.generation("f"))[0]


# --- generations ----------------------------------------------------------------------------------------------------


async def test_the_newest_generation_is_told_whatever_it_is_made_by(stores):
    assert await stores.queue.newest() is None
    await stores.queue.generation("f")
    second, _ = await stores.queue.generation("g")
    assert await stores.queue.newest() == second


async def test_the_same_fingerprint_is_the_same_generation(stores):
    first, new = await stores.queue.generation("f")
    assert new
    assert await stores.queue.generation("f") == (first, False)


async def test_another_fingerprint_is_a_new_generation_in_which_all_wait(stores, key, message):
    await stores.transcript.append(key, [message("a"), message("b")])
    first, _ = await stores.queue.generation("f")
    assert await drain(stores, first) == ["a", "b"]
    second, new = await stores.queue.generation("g")
    assert new
    assert second.number > first.number
    assert await stores.queue.backlog() == (2, 0)
    assert await drain(stores, second) == ["a", "b"]


async def test_going_back_to_an_old_fingerprint_is_a_new_generation_too(stores):
    first, _ = await stores.queue.generation("f")
    await stores.queue.generation("g")
    third, new = await stores.queue.generation("f")
    assert new
    assert third.number > first.number + 1


async def test_a_generation_of_the_same_space_is_built_beside_the_one_that_answers(stores, key, message):
    first, _ = await stores.queue.generation("e|4|view1|chunks1")
    await stores.transcript.append(key, [message("a")])
    await drain(stores, first)
    second, new = await stores.queue.generation("e|4|view2|chunks1")
    assert new
    assert await stores.queue.answering() == first
    assert await stores.queue.left(second) == (1, 1)
    assert await stores.queue.backlog() == (0, 0)
    assert (await stores.transcript.messages((await stores.sessions.find(key)).number, limit=1))[0].indexed


async def test_a_generation_of_another_space_answers_at_once(stores):
    await stores.queue.generation("e|4|view1|chunks1")
    second, _ = await stores.queue.generation("other|4|view1|chunks1")
    assert await stores.queue.answering() == second


async def test_a_generation_built_beside_answers_after_the_swap(stores, generation):
    beside = await stores.queue.renew("f", beside=True)
    assert await stores.queue.generation("f") == (beside, False)
    assert await stores.queue.answering() == generation
    await stores.queue.swap(beside)
    assert await stores.queue.answering() == beside


async def test_what_comes_in_while_a_generation_is_built_is_handed_out_first(stores, key, message, generation):
    await stores.transcript.append(key, [message("old")])
    await drain(stores, generation)
    beside = await stores.queue.renew("f", beside=True)
    await stores.transcript.append(key, [message("fresh")])
    handed = await stores.queue.pending(beside, limit=10)
    assert [(one.said.text, one.fresh) for one in handed] == [("fresh", True), ("old", False)]
    assert await stores.queue.backlog() == (1, 0)
    await stores.queue.mark_indexed(beside, handed[:1])
    assert await stores.queue.backlog() == (0, 0)
    assert await stores.queue.left(beside) == (1, 2)


async def test_a_generation_that_answers_anew_after_a_loss_is_not_beside(stores, generation):
    await stores.queue.renew("f", beside=True)
    lost = await stores.queue.renew("f")
    assert await stores.queue.answering() == lost


async def test_a_renewed_generation_begins_again(stores, key, message, generation):
    await stores.transcript.append(key, [message("a")])
    await drain(stores, generation)
    renewed = await stores.queue.renew("f")
    assert await stores.queue.generation("f") == (renewed, False)
    assert await texts(stores, renewed) == ["a"]


async def test_a_new_generation_tries_again_what_was_set_aside(stores, key, message, generation):
    await stores.transcript.append(key, [message("a")])
    [pending] = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_failed(pending.message_number, "no", most=1)
    second, _ = await stores.queue.generation("g")
    assert await stores.queue.backlog() == (1, 0)
    assert await texts(stores, second) == ["a"]


async def test_work_of_several_generations_comes_in_one_order(stores, key, message):
    await stores.transcript.append(key, [message(text) for text in "abcd"])
    first, _ = await stores.queue.generation("f")
    await stores.queue.mark_indexed(first, (await stores.queue.pending(first, limit=9))[1:3])
    second, _ = await stores.queue.generation("g")
    assert await texts(stores, second) == ["a", "b", "c", "d"]


# --- handing out ----------------------------------------------------------------------------------------------------


async def test_work_comes_oldest_first_over_all_sessions(stores, key, message, generation):
    for i in range(4):
        await stores.transcript.append(SessionKey(f"t{i % 2}", f"s{i}"), [message(str(i))])
    batch = await stores.queue.pending(generation, limit=9)
    assert [(one.said.text, one.tenant) for one in batch] == [("0", "t0"), ("1", "t1"), ("2", "t0"), ("3", "t1")]


async def test_a_message_without_chunks_never_waits(stores, key, message, generation):
    session = (await stores.transcript.append(key, [message("", id="x")])).session
    assert await stores.queue.backlog() == (0, 0)
    assert await texts(stores, generation) == []
    assert (await stores.transcript.message(session.number, "x")).indexed


async def test_a_limit_is_kept_with_whole_messages(stores, key, message, generation):
    await stores.transcript.append(key, [message(str(i), pieces=["p", "q", "r"]) for i in range(10)])
    batch = await stores.queue.pending(generation, limit=8)
    assert len(batch) == 9
    assert len({one.message_number for one in batch}) == 3


async def test_the_piece_before_comes_with_each_chunk(stores, key, message, generation):
    await stores.transcript.append(
        key,
        [
            message("a1 a2", name="Ann", pieces=["a1", "a2"]),
            message("rules", role="system"),
            message("", role="assistant"),
            message("b", role="assistant"),
            message("c1 c2 c3", role="tool", pieces=["c1", "c2", "c3"]),
        ],
    )
    await stores.transcript.append(SessionKey("acme", "other"), [message("foreign")])
    before = {one.said: one.before for one in await stores.queue.pending(generation, limit=99)}
    a1, a2, b = Said("Ann", "a1"), Said("Ann", "a2"), Said("assistant", "b")
    c1, c2, c3 = (Said("tool", text) for text in ("c1", "c2", "c3"))
    assert before == {
        a1: None,
        a2: a1,
        Said("system", "rules"): a2,
        b: a2,
        c1: b,
        c2: c1,
        c3: c2,
        Said("user", "foreign"): None,
    }


async def test_a_giant_message_comes_in_parts_and_in_order(stores, key, message, generation):
    session = (await stores.transcript.append(key, [message("x", id="x", pieces=[f"p{i}" for i in range(300)])])).session
    part = await stores.queue.pending(generation, limit=64)
    assert len(part) == 64
    await stores.queue.mark_indexed(generation, part)
    assert await stores.queue.backlog() == (1, 0)
    assert not (await stores.transcript.message(session.number, "x")).indexed
    following = await stores.queue.pending(generation, limit=64)
    assert following[0].said.text == "p64"
    assert following[0].before == Said("user", "p63")
    assert await drain(stores, generation, 64) == [f"p{i}" for i in range(64, 300)]
    assert (await stores.transcript.message(session.number, "x")).indexed


async def test_a_giant_message_does_not_stop_those_behind_it(stores, key, message, generation):
    await stores.transcript.append(key, [message("x", pieces=["giant"] * 500), message("y", pieces=["giant"] * 500)])
    await stores.transcript.append(SessionKey("acme", "b"), [message("small") for _ in range(100)])
    batch = await texts(stores, generation, 64)
    assert len(batch) == 64
    assert batch.count("giant") == batch.count("small") == 32


async def test_many_small_messages_do_not_stop_a_giant_one(stores, key, message, generation):
    await stores.transcript.append(key, [message("small") for _ in range(50)])
    await stores.transcript.append(key, [message("x", pieces=["giant"] * 50)])
    assert (await texts(stores, generation, 64)).count("giant") == 32


async def test_all_is_handed_out_once_whatever_the_limit(stores, key, message, generation):
    sizes = [1, 7, 2, 40, 1, 3, 9, 25, 1]
    await stores.transcript.append(
        key, [message(str(i), pieces=[f"{i}.{j}" for j in range(size)]) for i, size in enumerate(sizes)]
    )
    done = await drain(stores, generation, 5)
    assert sorted(done) == sorted(f"{i}.{j}" for i, size in enumerate(sizes) for j in range(size))


# --- marking --------------------------------------------------------------------------------------------------------


async def test_an_indexed_message_says_so_and_is_not_handed_out_again(stores, key, message, generation):
    session = (await stores.transcript.append(key, [message("a", id="x"), message("b", id="y")])).session
    batch = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, batch[:1])
    assert [one.indexed for one in await stores.transcript.messages(session.number, limit=9)] == [True, False]
    assert await texts(stores, generation) == ["b"]
    assert await stores.queue.backlog() == (1, 0)
    assert await stores.queue.indexed_chunks(generation) == 1


async def test_a_failed_message_hides_no_other(stores, key, message, generation):
    await stores.transcript.append(key, [message("a"), message("b")])
    [first, _] = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_failed(first.message_number, "no", most=99)
    assert await texts(stores, generation) == ["b"]
    assert await stores.queue.backlog() == (2, 0)


async def test_a_failed_message_waits_longer_each_time_up_to_five_minutes(stores, key, message, generation):
    await stores.transcript.append(key, [message("a")])
    [pending] = await stores.queue.pending(generation, limit=9)
    assert await stores.queue.next_due_s() == 0
    waits = []
    for _ in range(40):
        await stores.queue.mark_failed(pending.message_number, "no", most=99)
        waits.append(math.ceil(await stores.queue.next_due_s()))
    assert waits[0] <= 1
    assert 60 < waits[-1] <= 300


async def test_nothing_is_due_when_nothing_waits(stores, key, message, generation):
    await stores.transcript.append(key, [message("a"), message("b")])
    [first, second] = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, [first])
    await stores.queue.mark_failed(second.message_number, "no", most=1)
    assert await stores.queue.next_due_s() is None
    assert await stores.queue.backlog() == (0, 1)
    assert await texts(stores, generation) == []


async def test_an_edit_makes_a_message_wait_again_and_forgives_its_failures(stores, key, message, generation):
    session = (await stores.transcript.append(key, [message("poison", id="x")])).session
    [pending] = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_failed(pending.message_number, "no", most=1)
    assert not (await stores.transcript.replace(session.number, "x", lambda _: message("mended"))).indexed
    assert await texts(stores, generation) == ["mended"]


async def test_a_message_is_set_aside_at_the_last_attempt_it_has(stores, key, message, generation):
    await stores.transcript.append(key, [message("a")])
    [pending] = await stores.queue.pending(generation, limit=9)
    assert [await stores.queue.mark_failed(pending.message_number, "no", most=3) for _ in range(3)] == [False, False, True]
    assert await stores.queue.backlog() == (0, 1)


async def test_an_edit_starts_the_count_of_attempts_anew(stores, key, message, generation):
    session = (await stores.transcript.append(key, [message("poison", id="x")])).session
    [pending] = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_failed(pending.message_number, "no", most=2)
    await stores.transcript.replace(session.number, "x", lambda _: message("mended"))
    assert not await stores.queue.mark_failed(pending.message_number, "no", most=2)


async def test_work_says_how_often_its_message_failed(stores, key, message, generation):
    await stores.transcript.append(key, [message("a"), message("b")])
    [first, second] = await stores.queue.pending(generation, limit=9)
    assert (first.attempts, second.attempts) == (0, 0)
    await stores.queue.mark_failed(first.message_number, "no", most=9)
    await stores.queue.mark_indexed(generation, [second])
    await asyncio.sleep(await stores.queue.next_due_s() + 0.01)
    assert [one.attempts for one in await stores.queue.pending(generation, limit=9)] == [1]


async def test_chunks_of_half_indexed_and_failed_messages_are_counted_as_marked(stores, key, message, generation):
    await stores.transcript.append(key, [message("a", pieces=list("abcd")), message("e")])
    pending = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, pending[:3])
    assert await stores.queue.indexed_chunks(generation) == 3
    await stores.queue.mark_failed(pending[0].message_number, "no", most=1)
    assert await stores.queue.indexed_chunks(generation) == 3


async def test_a_failure_of_a_deleted_message_is_nothing(stores, key, message, generation):
    session = (await stores.transcript.append(key, [message("a", id="x")])).session
    [pending] = await stores.queue.pending(generation, limit=9)
    await stores.transcript.delete(session.number, "x")
    await stores.queue.mark_failed(pending.message_number, "no", most=1)
    assert await stores.queue.backlog() == (0, 0)


# --- what was embedded ----------------------------------------------------------------------------------------------


async def test_a_marked_chunk_is_found_by_what_was_embedded(stores, key, message, generation):
    await stores.transcript.append(key, [message("a"), message("b")])
    first, second = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, [first])
    wanted = [digest(first), digest(second)]
    assert await stores.queue.embedded(generation, wanted) == {digest(first): first.number}
    assert await stores.queue.embedded(generation, []) == {}


async def test_of_chunks_that_were_embedded_alike_one_is_told(stores, key, message, generation):
    for name in ("one", "other"):
        await stores.transcript.append(SessionKey(key.tenant, name), [message("a")])
    alike = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, alike)
    found = await stores.queue.embedded(generation, list(map(digest, alike)))
    assert found == {digest(alike[0]): alike[1].number}


async def test_more_digests_than_a_statement_takes_are_looked_up(stores, key, message, generation):
    await stores.transcript.append(key, [message("x", pieces=[f"p{i}" for i in range(1200)])])
    pending = await stores.queue.pending(generation, limit=5000)
    await stores.queue.mark_indexed(generation, pending)
    assert await stores.queue.embedded(generation, [digest(one) for one in pending]) == {digest(p): p.number for p in pending}


async def test_what_another_generation_embedded_is_not_told(stores, key, message, generation):
    await stores.transcript.append(key, [message("a")])
    [pending] = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, [pending])
    later = await stores.queue.renew("f")
    assert await stores.queue.embedded(later, [digest(pending)]) == {}


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_nothing_is_left_of_what_was_embedded_when_its_words_go(stores, key, message, generation, change):
    session = (await stores.transcript.append(key, [message("x", id="x"), message("y")])).session
    both = await stores.queue.pending(generation, limit=9)
    await stores.queue.mark_indexed(generation, both)
    if change == "edit":
        await stores.transcript.replace(session.number, "x", lambda _: message("new"))
    else:
        await stores.transcript.delete(session.number, "x")
    assert await stores.queue.embedded(generation, list(map(digest, both))) == {}
    assert await stores.digests() == set()


# --- removals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_the_vectors_of_a_changed_message_are_listed_for_removal(stores, key, message, generation, change):
    session = (await stores.transcript.append(key, [message("x", id="x", pieces=["p", "q"]), message("y")])).session
    old = [one.number for one in await stores.queue.pending(generation, limit=9)][:2]
    if change == "edit":
        await stores.transcript.replace(session.number, "x", lambda _: message("new"))
    else:
        await stores.transcript.delete(session.number, "x")
    assert await stores.queue.removals(9) == old
    assert await stores.queue.removals(1) == old[:1]
    await stores.queue.clear_removals(old[:1])
    assert await stores.queue.removals(9) == old[1:]


@pytest.mark.parametrize("cleared", [False, True])
async def test_vectors_made_while_their_message_was_edited_are_listed_again(stores, key, message, generation, cleared):
    session = (await stores.transcript.append(key, [message("x", id="x"), message("y")])).session
    batch = await stores.queue.pending(generation, limit=9)
    await stores.transcript.replace(session.number, "x", lambda _: message("new"))
    if cleared:
        await stores.queue.clear_removals(await stores.queue.removals(9))
    await stores.queue.mark_indexed(generation, batch)
    assert await stores.queue.removals(9) == [batch[0].number]
    assert await texts(stores, generation) == ["new"]


async def test_vectors_made_while_their_session_was_forgotten_are_listed_again(stores, key, message, generation):
    await stores.transcript.append(key, [message("x", pieces=["p"] * 2000)])
    batch = await stores.queue.pending(generation, limit=5000)
    await stores.sessions.forget(key)
    await stores.queue.clear_removals(await stores.queue.removals(5000))
    await stores.queue.mark_indexed(generation, batch)
    assert await stores.queue.removals(5000) == [one.number for one in batch]
