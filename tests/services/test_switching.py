"""A safe switch: all of it or nothing, and writes wait only for a moment."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from memsrv.adapters.records_sql import SqlSwitches
from memsrv.core.prompt.policy import resolve
from memsrv.core.summary.summary import Summary, Task
from memsrv.errors import SummarizerDown
from memsrv.model import Mode
from memsrv.services.gates import Gates
from memsrv.services.switching import ROUNDS, Switching
from tests.fakes_summary import down
from tests.house import KEY, LONG, House, new, told
from tests.patience import PATIENCE_S, until


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = await House(tmp_path).open()
    yield made
    await made.close()


def switching(house: House, gates: Gates | None = None) -> Switching:
    return Switching(house.sessions, SqlSwitches(house.database), house.compaction, gates or Gates(), LONG)


async def mode_of(house: House) -> Mode:
    return resolve(LONG, (await house.sessions.find(KEY)).settings).mode


async def test_what_would_leave_the_prompt_is_summarised_first(house: House) -> None:
    await house.say(12)
    switch = await switching(house).switch(KEY, Mode.RETRIEVAL, "cheaper")
    [made] = await house.settled()
    assert (switch.before, switch.after, switch.reason, switch.version) == (Mode.HYBRID, Mode.RETRIEVAL, "cheaper", made.version)
    assert made.reason == "switch"
    assert told(made) == [1, 2, 3, 4, 5, 6]
    assert await mode_of(house) is Mode.RETRIEVAL


async def test_to_full_nothing_leaves(house: House) -> None:
    await house.say(12)
    assert (await switching(house).switch(KEY, Mode.FULL, "")).version is None
    assert await house.settled() == []


async def test_a_switch_whose_summary_fails_is_refused_whole(house: House) -> None:
    await house.say(12)
    house.listing.fail = down
    with pytest.raises(SummarizerDown):
        await switching(house).switch(KEY, Mode.RETRIEVAL, "cheaper")
    assert await mode_of(house) is Mode.HYBRID
    assert await house.settled() == []
    assert await SqlSwitches(house.database).listing(await house.number(), limit=9) == []
    assert len(await house.transcript.messages(await house.number(), limit=99)) == 12


async def write(house: House, gates: Gates) -> None:
    async with gates.writing(KEY):
        await house.transcript.append(KEY, [new("message 99")])


async def test_messages_are_taken_while_what_leaves_is_summarised_and_are_seen_to_as_well(house: House) -> None:
    await house.say(12)
    gates = Gates()
    house.listing.gate = asyncio.Event()
    switch = asyncio.create_task(switching(house, gates).switch(KEY, Mode.RETRIEVAL, ""))
    await until(lambda: house.listing.running == 1)
    for _ in range(9):
        async with asyncio.timeout(PATIENCE_S):
            await write(house, gates)
    house.listing.gate.set()
    version = (await switch).version
    newest = (await house.settled())[-1]
    assert version == newest.version
    assert 21 - newest.covers_upto <= 7  # the window of this mode, cut at a turn
    assert await mode_of(house) is Mode.RETRIEVAL


async def test_a_session_that_is_written_to_all_the_time_is_switched_all_the_same(tmp_path: Path) -> None:
    house = await House(tmp_path).open(start=False)  # in the background nothing is summarised beside the switch
    await house.say(12)
    gates, writes = Gates(), set[asyncio.Task[None]]()
    summarise = house.listing.summarise

    async def disturbed(task: Task) -> Summary:
        made = await summarise(task)
        writes.add(writing := asyncio.create_task(write(house, gates)))
        await asyncio.wait({writing}, timeout=0.1)  # the last one has to wait until the mode is set
        return made

    house.listing.summarise = disturbed  # type: ignore[method-assign]
    await house.sessions.save(KEY, lambda old: replace(old, settings={"window": {"size": 1, "keep": 1}}), create=False)
    await switching(house, gates).switch(KEY, Mode.RETRIEVAL, "")
    await asyncio.gather(*writes)
    assert len(house.listing.tasks) == ROUNDS + 1
    assert await mode_of(house) is Mode.RETRIEVAL
    assert len(await house.transcript.messages(await house.number(), limit=99)) == 12 + ROUNDS + 1
    await house.close()


async def test_back_in_a_mode_with_summaries_the_work_goes_on(house: House) -> None:
    await house.say(12)
    switches = switching(house)
    await switches.switch(KEY, Mode.FULL, "look around")
    await house.say(20)
    assert await house.settled() == []
    await switches.switch(KEY, Mode.HYBRID, "enough")
    [made] = await house.settled()
    assert told(made) == list(range(1, 25))
