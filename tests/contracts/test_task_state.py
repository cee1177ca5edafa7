"""What every transcript keeps of the task state that an assistant tells."""

from dataclasses import replace

import pytest

from memsrv.core.summary.taskstate import task_state_of
from memsrv.model import Meta, NewMessage

TOLD = "Task state: "


@pytest.fixture
def said(message):
    """Makes a message of an assistant that tells a state."""

    def make(state: str, *, id: str | None = None) -> NewMessage:
        made = message(TOLD + state, role="assistant", id=id)
        return replace(made, task_state=task_state_of(made.payload))

    return make


@pytest.fixture
def meta(stores, key):
    async def read() -> Meta:
        return (await stores.sessions.find(key)).meta

    return read


@pytest.fixture
def by_hand(stores, key):
    async def write(**fields: str) -> None:
        await stores.sessions.save(key, lambda old: replace(old, meta=replace(old.meta, **fields)), create=True)

    return write


async def test_the_newest_message_with_a_state_sets_it_and_the_answer_has_it(stores, key, said, message, meta):
    appended = await stores.transcript.append(key, [said("one"), said("two"), message("no state")])
    assert appended.session.meta.task_state == "two"
    assert (await meta()).task_state == "two"


async def test_nothing_else_of_meta_is_touched(stores, key, said, meta, by_hand):
    await by_hand(goal="Win", system_prompt="Be brief.")
    await stores.transcript.append(key, [said("one")])
    assert await meta() == Meta(goal="Win", system_prompt="Be brief.", task_state="one")


async def test_a_message_that_is_sent_again_changes_nothing(stores, key, said, meta, by_hand):
    await stores.transcript.append(key, [said("one", id="a")], idempotency_key="k", request_digest="d")
    await by_hand(task_state="by hand")
    await stores.transcript.append(key, [said("one", id="a")])
    await stores.transcript.append(key, [said("one", id="a")], idempotency_key="k", request_digest="d")
    assert (await meta()).task_state == "by hand"


async def test_a_deleted_message_takes_its_state_along_and_no_old_one_comes_back(stores, key, said, meta):
    appended = await stores.transcript.append(key, [said("one", id="a"), said("two", id="b")])
    await stores.transcript.delete(appended.session.number, "b")
    assert (await meta()).task_state is None


async def test_deleting_an_older_state_leaves_the_newest(stores, key, said, meta, by_hand):
    appended = await stores.transcript.append(key, [said("one", id="a"), said("two", id="b")])
    await stores.transcript.delete(appended.session.number, "a")
    assert (await meta()).task_state == "two"
    await by_hand(task_state="by hand")
    await stores.transcript.delete(appended.session.number, "b")
    assert (await meta()).task_state == "by hand"


async def test_an_edit_sets_no_state_and_takes_away_the_one_that_it_takes_out(stores, key, said, meta):
    appended = await stores.transcript.append(key, [said("one", id="a"), said("two", id="b")])
    await stores.transcript.replace(appended.session.number, "a", lambda old: said("other", id="a"))
    assert (await meta()).task_state == "two"
    await stores.transcript.replace(appended.session.number, "b", lambda old: said("two", id="b"))
    assert (await meta()).task_state == "two"
    await stores.transcript.replace(appended.session.number, "b", lambda old: said("three", id="b"))
    assert (await meta()).task_state is None
