"""Sessions that hold log events: who counts them, and that every role is one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from memsrv.core.prompt.policy import Defaults, resolve
from memsrv.model import PromptRequest
from memsrv.services.ahead import Ahead
from memsrv.services.assembler import Assembler
from memsrv.services.writing import SummaryWriter
from tests.fakes import HashingEmbedder
from tests.fakes_prompt import KEY, LetterCounter, Store, WordRecall
from tests.fakes_summary import Listing, down
from tests.house import KEY as TALK
from tests.house import House, new
from tests.services.test_writing import said, strict

EVENTS = {"profile": "events", "summary": {"max_tokens": 5_000}}


def policy(settings: Mapping[str, Any] = EVENTS, **defaults: Any):
    return resolve(Defaults(**defaults), settings)


def writer_of(builtin: Listing, events: Listing, providers: Listing | None = None) -> SummaryWriter:
    return SummaryWriter(builtin, strict, LetterCounter(), providers=providers, events=events)


async def test_events_are_counted_by_their_own_summarizer_and_not_guarded() -> None:
    builtin, events = Listing(), Listing("events")
    made = await writer_of(builtin, events).write(None, said("a lie"), keep=(), policy=policy())
    assert (made.made_by, made.findings, builtin.tasks) == ("events", (), [])
    assert [line.text for line in made.summary.lines] == ["a lie"]


async def test_a_long_log_is_one_part_so_that_no_line_is_cut() -> None:
    events = Listing("events")
    texts = [f"event {n} " + "x" * 400 for n in range(80)]
    settings = {"profile": "events", "summary": {"max_tokens": 50_000, "max_input_tokens": 128}}
    await writer_of(Listing(), events).write(None, said(*texts), keep=(), policy=policy(settings))
    assert [len(task.said) for task in events.tasks] == [80]


async def test_talk_is_none_of_its_business() -> None:
    builtin, events = Listing(), Listing("events")
    await writer_of(builtin, events).write(None, said("hello"), keep=(), policy=policy({}))
    assert (len(builtin.tasks), events.tasks) == (1, [])


async def test_a_provider_that_the_session_names_writes_under_guard_and_is_stood_in_for() -> None:
    events, far = Listing("events"), Listing("far")
    settings = {"profile": "events", "summary": {"max_tokens": 5_000, "provider": "far"}}
    writer = writer_of(Listing(), events, far)
    assert (await writer.write(None, said("up"), keep=(), policy=policy(settings))).made_by == "far"
    assert (await writer.write(None, said("a lie"), keep=(), policy=policy(settings))).made_by == "events"
    far.fail = down
    assert (await writer.write(None, said("up"), keep=(), policy=policy(settings))).made_by == "events"


async def test_the_servers_provider_is_not_asked_for_events() -> None:
    events, far = Listing("events"), Listing("far")
    server = policy(summary_options={"provider": "far"})
    assert (await writer_of(Listing(), events, far).write(None, said("up"), keep=(), policy=server)).made_by == "events"


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
async def test_events_of_any_role_leave_the_window(tmp_path, role: str) -> None:
    house = await House(tmp_path).open(start=False)
    await house.sessions.save(TALK, lambda old: replace(old, settings=EVENTS), create=True)
    await house.transcript.append(TALK, [new(f"event {n}", role, f"e{n}") for n in range(1, 51)])
    made, _ = await house.compaction.compact(TALK)
    await house.close()
    assert made is not None
    assert (made.covers_from, made.covers_upto) == (1, 30)


async def test_system_events_are_no_system_prompt() -> None:
    store = Store([{"role": "system", "content": f"event {n}"} for n in range(1, 6)], settings=EVENTS)
    assembler = Assembler(store, store, store, WordRecall(store), LetterCounter(), Ahead(HashingEmbedder()), Defaults())
    made = await assembler.prompt(KEY, PromptRequest())
    window = next(region for region in made.receipt.regions if region.name == "window")
    meta = next(region for region in made.receipt.regions if region.name == "meta")
    assert (window.items, meta.items) == (5, 0)
