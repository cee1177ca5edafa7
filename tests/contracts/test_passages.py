"""The passages of snapshots: stored with them, indexed as chunks are, searched apart, gone with what they tell of."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memsrv.errors import ReceiptNotFound
from memsrv.model import SUMMARY, Forgotten, NewPassage, Scope, SessionKey, Stretch
from tests.fakes_summary import snapshot


@pytest.fixture
async def generation(stores):
    return (await stores.queue.generation("f"))[0]


@pytest.fixture
async def number(stores, key, message) -> int:
    """A session of three messages with two snapshots: over the first message, and over the first two."""
    number = (await stores.transcript.append(key, [message(text, id=text) for text in "abc"])).session.number
    await stores.snapshots.add(number, replace(snapshot("a", 1), passages=(passage("Decided:\n- Kyoto in May"),)))
    await stores.snapshots.add(number, replace(snapshot("b", 2, base=1), passages=(passage("Decided:\n- Lisbon in June"),)))
    return number


def passage(text: str) -> NewPassage:
    return NewPassage(text, tuple(text.lower().split()))


async def indexed(stores, generation) -> list[int]:
    """Index all there is; the numbers of the passages."""
    batch = await stores.queue.pending(generation, limit=100)
    await stores.queue.mark_indexed(generation, batch)
    return [chunk.number for chunk in batch if chunk.said.speaker == SUMMARY]


async def found(stores, number: int, word: str, tenant: str = "acme") -> list[str]:
    scope = Scope(tenant, (number,)).of_passages()
    [lexicon] = await stores.lexical.open(scope)
    numbers = lexicon.search([word], limit=9).numbers.tolist()
    there = await stores.transcript.chunks(scope, numbers)
    return [there[number].text for number in numbers if number in there]


async def test_a_passage_waits_for_its_vector_after_the_messages(stores, number, generation):
    waiting = await stores.queue.pending(generation, limit=100)
    assert [chunk.said.text for chunk in waiting] == [*"abc", "Decided:\n- Kyoto in May", "Decided:\n- Lisbon in June"]
    assert await stores.queue.backlog() == (5, 0)
    await stores.queue.mark_indexed(generation, waiting)
    assert await stores.queue.pending(generation, limit=100) == []
    assert await stores.queue.backlog() == (0, 0)
    assert await stores.queue.indexed_chunks(generation) == 5
    assert await stores.queue.next_due_s() is None


async def test_a_passage_is_no_chunk_of_the_session(stores, number, generation):
    counts = await stores.sessions.counts(number)
    assert (counts.chunks, counts.pending_index) == (3, 3)
    assert (await stores.lexical.open(Scope("acme", (number,))))[0].search(["kyoto"], limit=9).numbers.tolist() == []


async def test_passages_are_found_by_their_words(stores, number):
    assert await found(stores, number, "kyoto") == ["Decided:\n- Kyoto in May"]
    assert await found(stores, number, "lisbon") == ["Decided:\n- Lisbon in June"]
    assert await found(stores, number, "kyoto", tenant="evil") == []
    assert await found(stores, number + 1, "kyoto") == []


async def test_new_passages_are_found_too(stores, number):
    assert await found(stores, number, "oslo") == []
    await stores.snapshots.add(number, replace(snapshot("c", 3, base=2), passages=(passage("Oslo in July"),)))
    assert await found(stores, number, "oslo") == ["Oslo in July"]


async def test_a_passage_tells_its_version_when_that_was_made_and_how_far_it_reaches(stores, number, generation):
    numbers = await indexed(stores, generation)
    told = await stores.transcript.chunks(Scope("acme", (number,)).of_passages(), numbers)
    made = await stores.snapshots.listing(number, limit=9)
    assert [(one.summary_version, one.sent_at, one.position, one.role) for one in told.values()] == [
        (snapshot.version, snapshot.made_at, snapshot.covers_upto, SUMMARY) for snapshot in made
    ]
    assert await stores.transcript.chunks(Scope("evil", (number,)).of_passages(), numbers) == {}
    assert await stores.transcript.chunks(Scope("acme", (number,)), numbers) == {}


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_the_passages_of_a_stale_snapshot_go_with_their_vectors(stores, number, generation, message, change):
    _, later = await indexed(stores, generation)
    if change == "edit":
        await stores.transcript.replace(number, "b", lambda _: message("new"))
    else:
        await stores.transcript.delete(number, "b")
    assert await found(stores, number, "lisbon") == []
    assert await found(stores, number, "kyoto") == ["Decided:\n- Kyoto in May"]
    assert later in await stores.queue.removals(100)


async def test_a_passage_that_goes_while_it_is_embedded_leaves_no_vector(stores, number, generation):
    waiting = await stores.queue.pending(generation, limit=100)
    await stores.transcript.delete(number, "b")
    await stores.queue.clear_removals(await stores.queue.removals(100))
    await stores.queue.mark_indexed(generation, waiting)
    assert waiting[-1].number in await stores.queue.removals(100)


async def test_the_passages_of_a_forgotten_session_go_with_their_vectors(stores, key, number, generation):
    numbers = await indexed(stores, generation)
    await stores.sessions.forget(key)
    assert set(numbers) <= set(await stores.queue.removals(100))
    assert await found(stores, number, "kyoto") == []


async def test_a_receipt_goes_with_the_passage_that_it_quotes(stores, number, generation):
    first, second = await indexed(stores, generation)
    other = (await stores.sessions.save(SessionKey("acme", "other"), lambda old: old, create=True)).number
    for id, quoted in (("r1", first), ("r2", second)):
        await stores.receipts.add(other, id, {"id": id}, quotes=[quoted], made_at=datetime.now(UTC))
    await stores.drained()
    await stores.transcript.delete(number, "b")
    assert await stores.receipts.find(other, "r1") == {"id": "r1"}
    with pytest.raises(ReceiptNotFound):
        await stores.receipts.find(other, "r2")


async def test_a_receipt_that_quotes_a_passage_that_is_gone_is_not_kept(stores, number, generation):
    _, gone = await indexed(stores, generation)
    await stores.transcript.delete(number, "b")
    await stores.receipts.add(number, "r1", {}, quotes=[gone], made_at=datetime.now(UTC))
    await stores.drained()
    with pytest.raises(ReceiptNotFound):
        await stores.receipts.find(number, "r1")


async def test_a_passage_that_cannot_be_indexed_is_set_aside(stores, number, generation):
    waiting = await stores.queue.pending(generation, limit=100)
    await stores.queue.mark_indexed(generation, waiting[:-1])
    assert not await stores.queue.mark_failed(waiting[-1].message_number, "no", most=2)
    assert await stores.queue.pending(generation, limit=100) == []
    assert await stores.queue.next_due_s() > 0
    assert await stores.queue.mark_failed(waiting[-1].message_number, "no", most=2)
    assert await stores.queue.backlog() == (0, 1)


async def test_in_a_new_generation_passages_wait_again(stores, number, generation):
    numbers = await indexed(stores, generation)
    renewed = await stores.queue.renew("f")
    assert await indexed(stores, renewed) == numbers


async def test_a_rebuild_beside_makes_passages_anew_and_takes_new_ones_first(stores, number, generation):
    await indexed(stores, generation)
    beside = await stores.queue.renew("f", beside=True)
    assert await stores.queue.left(beside) == (5, 5)
    await stores.snapshots.add(number, replace(snapshot("c", 3, base=2), passages=(passage("Oslo in July"),)))
    assert await stores.queue.backlog() == (1, 0)
    handed = await stores.queue.pending(beside, limit=2)
    assert [(chunk.said.text, chunk.fresh) for chunk in handed] == [("Oslo in July", True), ("a", False)]
    await stores.queue.mark_indexed(beside, handed)
    assert await stores.queue.backlog() == (0, 0)
    assert await stores.queue.left(beside) == (4, 6)
    assert len(await indexed(stores, beside)) == 2
    assert await stores.queue.left(beside) == (0, 6)


async def test_another_chunker_leaves_passages_as_they_are(stores, number):
    first, _ = await stores.queue.generation("e|4|view1|chunks1")
    numbers = await indexed(stores, first)
    second, _ = await stores.queue.generation("e|4|view1|chunks2")
    uncut = await stores.transcript.uncut(9)
    assert [message.id for message in uncut] == ["a", "b", "c"]
    await stores.transcript.recut([(message, ()) for message in uncut])
    assert await found(stores, number, "kyoto") == ["Decided:\n- Kyoto in May"]
    assert await indexed(stores, second) == numbers


async def test_a_trial_counts_the_receipts_that_quote_what_would_go(stores, number, generation):
    first, second = await indexed(stores, generation)
    for id, quoted in (("r1", first), ("r2", second)):
        await stores.receipts.add(number, id, {"id": id}, quotes=[quoted], made_at=datetime.now(UTC))
    await stores.drained()
    trial = await stores.transcript.erase(number, Stretch(after=1, before=3), dry_run=True)
    assert trial == Forgotten(messages=1, chunks=1, summaries=1, receipts=1)
    assert await found(stores, number, "lisbon") == ["Decided:\n- Lisbon in June"]
    assert await stores.transcript.erase(number, Stretch(after=1, before=3)) == trial
    assert await found(stores, number, "lisbon") == []
    assert [receipt["id"] for receipt in await stores.receipts.listing(number, 9)] == ["r1"]


async def test_the_passages_of_a_forgotten_owner_go_with_their_vectors(stores, key, number, generation):
    numbers = await indexed(stores, generation)
    await stores.sessions.save(key, lambda old: replace(old, owner="ann"), create=False)
    await stores.sessions.forget_owner(key.tenant, "ann", dry_run=True)
    assert await stores.queue.removals(100) == []
    await stores.sessions.forget_owner(key.tenant, "ann")
    assert set(numbers) <= set(await stores.queue.removals(100))


async def test_a_conflict_stores_no_passage(stores, number):
    with pytest.raises(Exception, match="changed"):
        await stores.snapshots.add(number, replace(snapshot("late", 3, base=1), passages=(passage("Oslo"),)))
    assert await found(stores, number, "oslo") == []
