"""Handing over: from what is there, without waiting for what is down, and the same when done twice."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memsrv.core.prompt.policy import Defaults, resolve
from memsrv.core.summary.summary import Heading, Line, Summary, rendered
from memsrv.errors import BadRequest, SessionNotFound
from memsrv.model import Meta, NewSnapshot, SessionKey, Trigger
from memsrv.services.handoff import MOST_DERIVING, Handoffs, builtin
from memsrv.services.writing import SummaryWriter
from tests.fakes_prompt import LetterCounter
from tests.fakes_summary import Listing, down
from tests.house import KEY, House, new, trusting
from tests.patience import until

OTHER = SessionKey(KEY.tenant, "other agent")
TOLD = Summary(
    (
        Line(Heading.GOAL, "Plan a trip", 1),
        Line(Heading.DECISIONS, "We take the train", 1),
        Line(Heading.CONSTRAINTS, "No flights", 1),
        Line(Heading.QUESTIONS, "Who feeds the cat?", 1),
    )
)


class Desk:
    """A house with handoffs."""

    def __init__(self, house: House, wait_s: float):
        self.house = house
        self.builtin = Listing("built-in")
        writer = SummaryWriter(self.builtin, trusting, LetterCounter(), providers=house.listing)
        parts = (house.transcript, house.sessions, house.snapshots, house.compaction, writer, LetterCounter())
        self.handoffs = Handoffs(*parts, wait_s=wait_s)

    async def summarise(self, summary: Summary = TOLD, covers_upto: int = 1) -> None:
        number = await self.house.number()
        latest = await self.house.snapshots.latest(number)
        base = latest.version if latest else 0
        made = NewSnapshot(base, 1, covers_upto, summary, rendered(summary), "by hand", Trigger.ASKED, 0)
        await self.house.snapshots.add(number, made)

    async def pinned(self, key: SessionKey = OTHER) -> dict[str, str]:
        session = await self.house.sessions.find(key)
        return {pin.text: pin.kind for pin in await self.house.sessions.pins(session.number)}

    async def meta(self, key: SessionKey = OTHER) -> Meta:
        return (await self.house.sessions.find(key)).meta


@pytest.fixture(params=[60.0], ids=[""])
async def desk(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    house = await House(tmp_path).open(start=False)
    desk = Desk(house, request.param)
    await house.say(1)
    yield desk
    await desk.handoffs.close()
    await house.close()


impatient = pytest.mark.parametrize("desk", [2.0], indirect=True)


async def make(desk: Desk) -> Any:
    return await desk.handoffs.make(KEY, max_tokens=600)


async def test_it_tells_what_the_summary_tells(desk: Desk) -> None:
    await desk.summarise()
    made = await make(desk)
    assert (made.handoff.goal, made.snapshot.version) == ("Plan a trip", 1)
    assert "Decided:\n- We take the train" in made.text
    assert made.tokens == LetterCounter().count(made.text, None)


async def test_what_was_said_since_goes_in_and_is_not_stored(desk: Desk) -> None:
    await desk.summarise()
    await desk.house.say(2)
    await make(desk)
    (task,) = desk.builtin.tasks
    assert [source.text for source in task.said] == ["message 2", "message 3"]
    assert task.previous == TOLD
    assert len(await desk.house.snapshots.listing(await desk.house.number(), limit=9)) == 1


async def test_a_missing_summary_is_made_first(desk: Desk) -> None:
    await desk.house.say(19, notify=False)
    made = await make(desk)
    assert made.snapshot.covers_upto == 12
    assert [source.position for task in desk.builtin.tasks for source in task.said] == list(range(13, 21))


async def test_a_summarizer_that_is_down_holds_up_nothing(desk: Desk) -> None:
    await desk.house.say(19, notify=False)
    await desk.house.sessions.save(KEY, lambda old: replace(old, meta=Meta(goal="Rest")), create=False)
    desk.house.listing.fail = desk.builtin.fail = down
    made = await make(desk)
    assert (made.snapshot, made.handoff.goal) == (None, "Rest")
    assert "Goal: Rest" in made.text


@impatient
async def test_a_summarizer_that_hangs_holds_up_little(desk: Desk) -> None:
    await desk.house.say(19, notify=False)
    desk.house.listing.gate = asyncio.Event()
    made = await make(desk)
    assert made.snapshot is None
    desk.house.listing.gate.set()


@impatient
async def test_only_so_many_missing_summaries_are_made_at_once(desk: Desk) -> None:
    keys = [SessionKey(KEY.tenant, f"s{n}") for n in range(MOST_DERIVING + 3)]
    for key in keys:
        await desk.house.say(20, key, notify=False)
    desk.house.listing.gate = asyncio.Event()
    made = await asyncio.gather(*(desk.handoffs.make(key, max_tokens=600) for key in keys))
    assert [one.snapshot for one in made] == [None] * len(keys)
    assert desk.house.listing.most_running == MOST_DERIVING
    desk.house.listing.gate.set()


async def test_no_language_model_is_asked_for_what_was_said_since(desk: Desk) -> None:
    settings = {"summary": {"provider": "far"}}
    await desk.house.sessions.save(KEY, lambda old: replace(old, settings=settings), create=False)
    await desk.summarise()
    await desk.house.say(2, notify=False)
    await make(desk)
    assert (len(desk.builtin.tasks), desk.house.listing.tasks) == (1, [])


def test_the_handoff_may_be_longer_than_a_summary() -> None:
    policy = builtin(resolve(Defaults(), {"summary": {"provider": "far", "model": "m"}}), 600)
    assert policy.summary.max_tokens == 600
    assert "provider" not in policy.summary.options


async def test_a_session_that_is_not_there_hands_nothing_over(desk: Desk) -> None:
    with pytest.raises(SessionNotFound):
        await desk.handoffs.make(SessionKey(KEY.tenant, "nobody"), max_tokens=600)


# --- into another session ---------------------------------------------------------------------------------------------


async def hand(desk: Desk, key: SessionKey = KEY) -> None:
    await desk.handoffs.hand_over(key, OTHER, max_tokens=600)


async def test_the_other_session_knows_the_goal_and_pins_what_is_settled(desk: Desk) -> None:
    await desk.house.sessions.add_pin(await desk.house.number(), "Ada pays", "fact")
    await desk.summarise()
    await hand(desk)
    assert await desk.pinned() == {"Ada pays": "fact", "We take the train": "handoff", "No flights": "handoff"}
    meta = await desk.meta()
    assert meta.goal == "Plan a trip"
    assert meta.extra == {"handoff": {"from": "talk", "open": ["Who feeds the cat?"]}}


async def test_handing_over_twice_is_handing_over_once(desk: Desk) -> None:
    await desk.summarise()
    await hand(desk)
    before = (await desk.pinned(), await desk.meta())
    await hand(desk)
    assert (await desk.pinned(), await desk.meta()) == before


async def test_what_no_longer_holds_is_unpinned_by_the_next_handoff(desk: Desk) -> None:
    await desk.summarise()
    await hand(desk)
    other = await desk.house.sessions.find(OTHER)
    await desk.house.sessions.add_pin(other.number, "Pinned there", "decision")
    await desk.summarise(Summary((Line(Heading.DECISIONS, "We take the bus", 1),)))
    await hand(desk)
    assert await desk.pinned() == {"Pinned there": "decision", "We take the bus": "handoff"}


async def test_what_another_session_handed_over_stays(desk: Desk) -> None:
    await desk.summarise()
    await hand(desk)
    third = SessionKey(KEY.tenant, "third")
    await desk.house.transcript.append(third, [new("hello")])
    await hand(desk, third)
    assert "We take the train" in await desk.pinned()


async def test_what_the_other_session_knows_and_the_handoff_does_not_stays(desk: Desk) -> None:
    await desk.summarise(Summary((Line(Heading.DECISIONS, "We take the bus", 1),)))
    known = Meta(system_prompt="Be brief.", goal="Own goal", extra={"colour": "green"})
    await desk.house.sessions.save(OTHER, lambda old: replace(old, meta=known), create=True)
    await hand(desk)
    meta = await desk.meta()
    assert (meta.system_prompt, meta.goal, meta.extra["colour"]) == ("Be brief.", "Own goal", "green")


async def test_what_is_deleted_while_it_is_handed_over_does_not_reach_the_other_session(desk: Desk) -> None:
    desk.builtin.gate = asyncio.Event()
    await desk.summarise()
    await desk.house.say(2)
    handing = asyncio.create_task(desk.handoffs.hand_over(KEY, OTHER, max_tokens=600))
    await until(lambda: desk.builtin.running == 1)
    await desk.house.transcript.delete(await desk.house.number(), "message1")
    desk.builtin.gate.set()
    await handing
    assert (await desk.meta()).goal is None
    assert "No flights" not in await desk.pinned()


async def test_a_session_is_not_handed_over_to_itself(desk: Desk) -> None:
    with pytest.raises(BadRequest):
        await desk.handoffs.hand_over(KEY, KEY, max_tokens=600)


# --- what is worth a pin ----------------------------------------------------------------------------------------------


async def test_suggestions_come_from_the_newest_summary_without_what_is_pinned(desk: Desk) -> None:
    session = await desk.house.sessions.find(KEY)
    assert await desk.handoffs.suggested(session) == ()
    await desk.summarise()
    await desk.house.sessions.add_pin(session.number, "No flights", "decision")
    assert [line.text for line in await desk.handoffs.suggested(session)] == ["We take the train"]
