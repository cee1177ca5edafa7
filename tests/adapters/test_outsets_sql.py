"""What is held of a session in memory never changes what a prompt begins with."""

import asyncio
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsrv.adapters import ends_sql
from memsrv.adapters.calibration_sql import SqlCalibrations
from memsrv.adapters.database import Database
from memsrv.adapters.outsets_sql import SqlOutsets
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.model import NewMessage, Outset, Session, SessionKey, Wanted

KEY = SessionKey("acme", "talk")
OPENING = 3
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6)),
        st.tuples(st.just("edit"), st.integers(0, 30)),
        st.tuples(st.just("delete"), st.integers(0, 30)),
        st.tuples(st.just("read"), st.integers(1, 8)),
    ),
    max_size=14,
)


def new(text: str) -> NewMessage:
    return NewMessage(None, {"role": "user", "content": text}, None, None, text, ())


@settings(max_examples=25)
@given(STEPS)
async def test_an_outset_is_what_one_that_holds_nothing_reads(steps):
    with TemporaryDirectory() as folder:
        database = await Database.open(Path(folder))
        transcript, outsets, numbers = SqlTranscript(database), SqlOutsets(database), count()
        await transcript.append(KEY, [new("first")])
        try:
            for step, value in [*steps, ("read", 4)]:
                await done(transcript, step, value, numbers)
                held, fresh = [await read(one, value if step == "read" else 4) for one in (outsets, SqlOutsets(database))]
                assert held == fresh
        finally:
            await database.close()


async def done(transcript: SqlTranscript, step: str, value: int, numbers: "count[int]") -> None:
    if step == "append":
        await transcript.append(KEY, [new(f"text {next(numbers)}") for _ in range(value)])
    if step in {"edit", "delete"}:
        there = await transcript.messages(1, limit=1000)
        if not there:
            return
        id = there[value % len(there)].id
        if step == "delete":
            await transcript.delete(1, id)
        else:
            await transcript.replace(1, id, lambda old: replace(new(f"edited {next(numbers)}"), id=old.id))


async def read(outsets: SqlOutsets, most: int) -> Outset:
    return await outsets.read(KEY, lambda session: Wanted(most), opening=OPENING)


@pytest.fixture
async def database(tmp_path):
    database = await Database.open(tmp_path)
    yield database
    await database.close()


async def test_a_read_that_a_later_one_overtakes_neither_tells_nor_keeps_what_came_meanwhile(database):
    transcript, outsets, loop = SqlTranscript(database), SqlOutsets(database), asyncio.get_running_loop()
    await transcript.append(KEY, [new("first")])

    async def overtake() -> None:
        await transcript.append(KEY, [new("second")])
        await read(outsets, 4)

    def overtaken(session: Session) -> Wanted:
        asyncio.run_coroutine_threadsafe(overtake(), loop).result(30)
        return Wanted(4)

    outset = await outsets.read(KEY, overtaken, opening=OPENING)
    assert (outset.session.last_position, [one.position for one in outset.newest]) == (1, [1])
    assert [one.position for one in (await read(outsets, 4)).newest] == [2, 1]


async def test_long_messages_are_not_held(database):
    transcript, outsets = SqlTranscript(database), SqlOutsets(database)
    await transcript.append(KEY, [new("short")])
    await read(outsets, 4)
    assert len(outsets._held) == 1
    await transcript.append(KEY, [new("long " * ends_sql.HELD_CHARS)])
    assert len((await read(outsets, 4)).newest) == 2
    assert len(outsets._held) == 0


async def test_an_outset_tells_what_is_known_of_the_counts_of_the_model_that_is_wanted(database):
    await SqlTranscript(database).append(KEY, [new("first")])
    calibrations, outsets = SqlCalibrations(database), SqlOutsets(database)
    await calibrations.change(KEY.tenant, "gpt-4o", lambda old: replace(old, percent=120))
    await calibrations.change("another", "qwen", lambda old: replace(old, percent=150))

    async def percent(model: str | None) -> int:
        return (await outsets.read(KEY, lambda session: Wanted(1, model), opening=OPENING)).percent

    assert [await percent(model) for model in ("gpt-4o", "qwen", None)] == [120, 100, 100]
