"""A stored session is replayed over real parts: every mode is asked, and the session itself is left alone."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.core.replaying import Reference, Remark
from memsrv.errors import BudgetTooSmall
from memsrv.model import Draft, Message, Meta, Mode, Pin, RegionName, SessionKey
from memsrv.services.replay import PROMPTS, TENANT, Recording, Replay, moments, newest, posts, recorded
from memsrv.settings import Settings
from memsrv.wiring import Runtime, opened

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
FERRY = "The ferry to Larvik leaves at a quarter past nine from the northern pier."
ASKED = "From which pier does the ferry leave?"


@pytest.fixture(scope="module")
async def parts(tmp_path_factory):
    settings = Settings(data_dir=tmp_path_factory.mktemp("replay"), faults={}, window_size=6, window_keep=4)
    async with opened(settings) as runtime:
        yield runtime


def replay_over(parts: Runtime, **options) -> Replay:
    services = (parts.sessions, parts.snapshots, parts.ingest, parts.compaction, parts.assembler)
    return Replay(*services, SnowballAnalyzer().terms, **options)


@pytest.fixture(scope="module")
def replay(parts):
    return replay_over(parts)


def message(position: int, role: str, content: str) -> Message:
    at = AT + timedelta(minutes=position)
    return Message(position, f"m{position}", position, {"role": role, "content": content}, at, at, None, 1, True)


def talk(*contents: str) -> list[Message]:
    """User and assistant in turn."""
    return [message(n, ("user", "assistant")[(n - 1) % 2], text) for n, text in enumerate(contents, 1)]


def recording(messages: Sequence[Message], *, settings=None, meta=None, pins=()) -> Recording:
    return Recording(SessionKey("acme", "talk"), settings or {}, meta or Meta(), pins, messages)


CHATTER = ["Nice weather.", "It is.", "I had tea.", "Good.", "Then soup.", "Fine.", "And bread.", "Well.", "A nap too.", "Ah."]
LONG_AGO = recording(talk(FERRY, "Noted.", *CHATTER, ASKED, "One moment."))


async def samples_of(replay: Replay, replayed: Recording, modes=Mode, **options):
    return [sample async for samples in replay.run(replayed, modes, **options) for sample in samples]


@pytest.fixture(scope="module")
async def long_ago(replay):
    """The samples of each mode at the question, which goes back to what left the window."""
    samples = await samples_of(replay, LONG_AGO, every=7)
    return {sample.mode: sample for sample in samples}


# --- what comes out -------------------------------------------------------------------------------------------------


async def test_each_mode_is_asked_at_the_same_moment(long_ago):
    assert set(long_ago) == set(Mode)
    assert {sample.position for sample in long_ago.values()} == {13}
    assert {sample.session for sample in long_ago.values()} == {"talk"}


async def test_modes_that_recall_or_show_all_show_what_is_gone_back_to_and_the_window_does_not(long_ago):
    shown = {mode: sample.answered.shown for mode, sample in long_ago.items()}
    assert {sample.answered.referenced for sample in long_ago.values()} == {1}
    assert (shown[Mode.FULL], shown[Mode.RETRIEVAL], shown[Mode.HYBRID], shown[Mode.WINDOW]) == (1, 1, 1, 0)


async def test_only_the_modes_with_a_summary_make_and_hold_one(long_ago):
    assert {mode for mode, sample in long_ago.items() if sample.summaries} == {Mode.SUMMARY, Mode.HYBRID}
    assert {mode for mode, sample in long_ago.items() if sample.region_tokens[RegionName.SUMMARY]} == {Mode.SUMMARY, Mode.HYBRID}


async def test_the_tokens_of_each_region_are_told(long_ago):
    full, window = long_ago[Mode.FULL], long_ago[Mode.WINDOW]
    assert full.region_tokens[RegionName.WINDOW] > window.region_tokens[RegionName.WINDOW] > 0
    assert long_ago[Mode.RETRIEVAL].region_tokens[RegionName.RECALL] > 0
    assert window.total_tokens >= window.region_tokens[RegionName.WINDOW]


async def test_a_replay_gives_the_same_prompts_again(replay, long_ago):
    for sample in await samples_of(replay, LONG_AGO, every=7):
        before = long_ago[sample.mode]
        assert (sample.total_tokens, sample.region_tokens, sample.answered, sample.summaries) == (
            before.total_tokens,
            before.region_tokens,
            before.answered,
            before.summaries,
        )


async def test_an_item_comes_for_each_user_message_and_only_the_modes_asked_for(replay):
    items = [samples async for samples in replay.run(recording(talk("One.", "Yes.", "Two.", "Yes.")), [Mode.WINDOW], every=2)]
    assert [[sample.mode for sample in samples] for samples in items] == [[], [Mode.WINDOW]]


async def test_summaries_are_made_as_the_talk_goes_on(replay):
    samples = await samples_of(replay, LONG_AGO, [Mode.SUMMARY], every=1)
    made = [sample.summaries for sample in samples]
    assert made == sorted(made)
    assert (made[0], len(set(made)) > 2) == (0, True)


# --- what goes in ---------------------------------------------------------------------------------------------------


async def test_meta_and_pins_hold_from_the_start(replay):
    meta = Meta(system_prompt="You are a harbour master.", goal="Catch the ferry.")
    (plain,) = await samples_of(replay, recording(talk("Hello.")), [Mode.WINDOW])
    (told,) = await samples_of(replay, recording(talk("Hello."), meta=meta), [Mode.WINDOW])
    (pinned,) = await samples_of(
        replay, recording(talk("Hello."), meta=meta, pins=[Pin("p1", "No cars.", "fact", AT)]), [Mode.WINDOW]
    )
    assert plain.region_tokens[RegionName.META] == plain.region_tokens[RegionName.STATE] == 0
    assert told.region_tokens[RegionName.STATE] > 0
    assert pinned.region_tokens[RegionName.META] > told.region_tokens[RegionName.META] > 0


async def test_the_settings_of_the_session_hold_but_for_its_mode(replay, long_ago):
    narrow = recording(LONG_AGO.messages, settings={"window": {"size": 2}, "mode": "full"})
    (sample,) = await samples_of(replay, narrow, [Mode.WINDOW], every=7)
    assert sample.region_tokens[RegionName.WINDOW] < long_ago[Mode.WINDOW].region_tokens[RegionName.WINDOW]


async def test_a_budget_holds_for_every_mode(replay):
    samples = await samples_of(replay, LONG_AGO, every=7, budget_tokens=80)
    assert all(sample.total_tokens <= 80 for sample in samples)


async def test_a_budget_that_nothing_fits_is_refused(replay):
    with pytest.raises(BudgetTooSmall):
        await samples_of(replay, LONG_AGO, every=7, budget_tokens=5)


async def test_a_provider_writes_no_summary_unless_it_may(parts, replay):
    named = recording(talk("Hello."), settings={"summary": {"provider": "dear", "max_tokens": 90}})
    await samples_of(replay, named, [Mode.HYBRID])
    await samples_of(replay_over(parts, paid=True), named, [Mode.HYBRID])
    sessions = await parts.sessions.listing(TENANT, owner=None, after=None, limit=1000)
    told = [session.settings["summary"] for session in sessions if "summary" in session.settings]
    assert sorted(told, key=len) == [{"max_tokens": 90}, {"provider": "dear", "max_tokens": 90}]


async def test_a_prompt_that_lacks_vectors_is_told(parts, replay):
    parts.faults.update({"embedder": "raise"})
    try:
        samples = await samples_of(replay_over(parts, index_wait_ms=0), LONG_AGO, [Mode.WINDOW, Mode.HYBRID], every=7)
    finally:
        parts.faults.update({"embedder": "none"})
    assert {sample.mode: sample.degraded for sample in samples} == {Mode.WINDOW: False, Mode.HYBRID: True}


# --- reading --------------------------------------------------------------------------------------------------------


async def test_a_session_is_read_whole_and_left_as_it_was(parts):
    key = SessionKey("red", "read me")
    drafts = [Draft({"role": "user", "content": f"message {n}"}, f"m{n}", AT) for n in range(5)]
    await parts.ingest.append(key, drafts)
    before = await parts.sessions.find(key)
    read = await recorded(parts.sessions, parts.transcript, key)
    assert [(m.id, m.payload["content"], m.sent_at) for m in read.messages] == [(f"m{n}", f"message {n}", AT) for n in range(5)]
    assert (read.turns, read.settings, read.meta) == (5, before.settings, before.meta)
    assert await parts.sessions.find(key) == before


async def test_the_newest_sessions_are_those_written_to_last(parts):
    for name in ("a", "c", "b", "a"):
        await parts.ingest.append(SessionKey("blue", name), [Draft({"role": "user", "content": "x"})])
        await asyncio.sleep(0.002)
    assert [key.name for key in await newest(parts.sessions, "blue", 2)] == ["a", "b"]


# --- when -----------------------------------------------------------------------------------------------------------


def test_a_user_message_is_posted_alone_and_its_answer_together():
    said = [
        message(n, role, "x") for n, role in enumerate(["system", "user", "assistant", "tool", "assistant", "user", "user"], 1)
    ]
    assert [[m.position for m in post] for post in posts(said)] == [[1], [2], [3, 4, 5], [6], [7]]


def going_back(*positions: int, users: int) -> dict[int, tuple[Reference, ...]]:
    reference = Reference(Remark(1, "user", "x", frozenset()), frozenset())
    return {n: (reference,) if n in positions else () for n in range(1, users + 1)}


def test_prompts_are_asked_for_at_each_so_many_th_and_where_something_is_gone_back_to():
    assert moments(going_back(4, users=9), 3) == {3, 4, 6, 9}


def test_a_long_session_is_asked_for_a_bounded_number_of_prompts():
    asked = moments(going_back(users=1_000), None)
    assert PROMPTS * 0.9 <= len(asked) <= PROMPTS
    assert len(moments(going_back(*range(1_001), users=1_000), None)) <= 2 * PROMPTS


def test_a_short_session_is_asked_at_every_user_message():
    assert moments(going_back(users=5), None) == {1, 2, 3, 4, 5}


def test_a_session_that_is_shorter_than_a_step_is_asked_at_its_end():
    assert moments(going_back(users=5), 8) == {5}
