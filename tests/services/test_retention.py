"""Messages go when they are older than their session keeps them; what was set by hand stays."""

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.core.retention import days_kept, expired
from memsrv.errors import Busy
from memsrv.model import Draft, Message, SessionKey, Stretch
from memsrv.ports import Lead
from memsrv.services.alone import ALONE
from memsrv.services.gates import Gates
from memsrv.services.indexer import Indexer
from memsrv.services.ingest import Ingest
from memsrv.services.pressure import Pressure
from memsrv.services.retention import PAGE, Retention
from tests.fakes import HashingEmbedder, MemoryQueue, MemoryVectors
from tests.fakes_several import GivenLead
from tests.house import House
from tests.patience import until

NOW = datetime(2026, 3, 10, tzinfo=UTC)
KEY = SessionKey("acme", "talk")


def stored(position: int, days_ago: float, role: str = "user") -> Message:
    at = NOW - timedelta(days=days_ago)
    return Message(position, f"m{position}", position, {"role": role, "content": "x"}, at, at, None, 0, True)


def due(*messages: Message, opens: bool = True) -> Stretch | None:
    return expired(messages, NOW - timedelta(days=5), opens=opens)


def test_the_oldest_messages_go_up_to_the_first_that_is_younger():
    assert due(stored(1, 9), stored(2, 6), stored(3, 4), stored(4, 8)) == Stretch(after=0, before=3)


def test_nothing_goes_while_the_oldest_is_young_enough():
    assert due(stored(1, 5), stored(2, 9)) is None
    assert due() is None


def test_the_system_messages_that_open_a_talk_stay():
    assert due(stored(1, 9, "system"), stored(2, 9)) == Stretch(after=1, before=3)
    assert due(stored(1, 9, "system")) is None
    assert due(stored(1, 9, "system"), opens=False) == Stretch(after=0, before=2)


@pytest.mark.parametrize(
    ("settings", "default", "days"),
    [({}, 30, 30), ({"retention": {"days": 7}}, 30, 7), ({"retention": {"days": 0}}, 30, 0), ({"retention": {}}, 0, 0)],
)
def test_what_the_session_says_counts_before_what_the_server_says(settings, default, days):
    assert days_kept(settings, default) == days


@pytest.fixture
async def house(tmp_path):
    opened = await House(tmp_path).open()
    yield opened
    await opened.close()


def retention(house: House, *, days: int, ahead_days: float, lead: Lead = ALONE, pressure: Pressure | None = None) -> Retention:
    """The service, as if so many days had passed."""
    indexer = Indexer(MemoryQueue(), MemoryVectors(), HashingEmbedder(), batch=1)
    parts = (house.transcript, house.sessions, SnowballAnalyzer(), indexer, house.compaction, Gates())
    ingest = Ingest(*parts, pressure=pressure or Pressure(10, "writes"))
    clock = lambda: datetime.now(UTC) + timedelta(days=ahead_days)  # noqa: E731
    return Retention(house.transcript, house.sessions, ingest, days=days, clock=clock, retry_s=0.001, lead=lead)


async def ids(house: House, key: SessionKey = KEY) -> list[str]:
    session = await house.sessions.find(key)
    return [message.id for message in await house.transcript.messages(session.number, limit=1000)]


async def emptied(house: House) -> bool:
    return not await ids(house)


async def test_a_sweep_takes_what_is_older_and_leaves_pins_and_meta(house):
    await house.say(3)
    session = await house.sessions.find(KEY)
    await house.sessions.add_pin(session.number, "stays", "fact")
    assert await retention(house, days=30, ahead_days=29).sweep() == 0
    assert await retention(house, days=30, ahead_days=31).sweep() == 3
    assert await ids(house) == []
    assert [pin.text for pin in await house.sessions.pins(session.number)] == ["stays"]


async def test_each_session_keeps_its_own_time(house):
    other = SessionKey("acme", "other")
    for key, days in ((KEY, 0), (other, 5)):
        await house.sessions.save(key, lambda s, days=days: replace(s, settings={"retention": {"days": days}}), create=True)
        await house.say(2, key)
    assert await retention(house, days=1, ahead_days=6).sweep() == 2
    assert len(await ids(house)) == 2
    assert await ids(house, other) == []


async def test_more_than_a_page_goes_in_one_sweep(house):
    await house.say(PAGE + 50)
    assert await retention(house, days=1, ahead_days=2).sweep() == PAGE + 50


async def test_a_summary_of_what_expired_loses_its_text(house):
    await house.say(14)
    assert (await house.until_made())[0].text
    await retention(house, days=1, ahead_days=2).sweep()
    assert [made.text for made in await house.settled()] == [""]


async def test_an_append_after_a_sweep_goes_on_with_the_positions(house):
    await house.say(3)
    service = retention(house, days=1, ahead_days=2)
    await service.sweep()
    appended = await service._ingest.append(KEY, [Draft({"role": "user", "content": "later"})])
    assert appended.messages[0].position == 4


async def test_of_several_processes_the_one_that_leads_sweeps(house):
    await house.say(3)
    lead = GivenLead(held=False)
    service = retention(house, days=1, ahead_days=2, lead=lead)
    service.start()
    assert await service.sweep() == 0
    assert len(await ids(house)) == 3
    lead.give(True)
    await until(lambda: emptied(house))
    await service.close()


class OnceFull(Pressure):
    """Refuses the first turn."""

    full = True

    def turn(self) -> AbstractContextManager[None]:
        if self.full:
            self.full = False
            raise Busy("10 writes wait already.")
        return super().turn()


async def test_a_sweep_that_finds_too_many_writes_waiting_is_soon_made_again(house):
    await house.say(3)
    service = retention(house, days=1, ahead_days=2, pressure=OnceFull(10, "writes"))
    service.start()
    await until(lambda: emptied(house))
    await service.close()
