"""What is held of a session's newest messages never changes what is read of them."""

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from memsrv.adapters import ends_sql
from memsrv.adapters.database import Database
from memsrv.adapters.ends_sql import size_chars
from memsrv.adapters.transcript_sql import SqlTranscript
from tests.adapters.test_outsets_sql import KEY, STEPS, done, new


@settings(max_examples=25, deadline=None)
@given(STEPS)
async def test_the_newest_messages_are_those_that_one_who_holds_nothing_reads(steps):
    with TemporaryDirectory() as folder:
        database = await Database.open(Path(folder))
        transcript, numbers = SqlTranscript(database), count()
        await transcript.append(KEY, [new("first")])
        try:
            for step, value in [*steps, ("read", 4)]:
                await done(transcript, step, value, numbers)
                most = value if step == "read" else 4
                assert await transcript.newest(KEY, most=most) == await SqlTranscript(database).newest(KEY, most=most)
        finally:
            await database.close()


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "user", "content": "12345"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "12345", "detail": None}}, 7]},
        {"role": "user", "content": None, "tool_calls": [{"function": {"arguments": "12345"}}]},
    ],
)
def test_pictures_and_calls_count_in_what_is_held(payload):
    assert 5 <= size_chars(payload) <= 5 + len("userimage_url")


async def test_what_is_held_is_read_no_second_time_and_long_messages_are_not_held(tmp_path):
    database = await Database.open(tmp_path)
    transcript = SqlTranscript(database)
    try:
        await transcript.append(KEY, [new("short")])
        (_, [before]), (_, [again]) = [await transcript.newest(KEY, most=4) for _ in range(2)]
        assert again is before
        await transcript.append(KEY, [new("long " * ends_sql.HELD_CHARS)])
        (_, [one, _]), (_, [other, _]) = [await transcript.newest(KEY, most=4) for _ in range(2)]
        assert one is before
        assert other is not before
    finally:
        await database.close()
