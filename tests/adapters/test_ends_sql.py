"""What is held of the ends of sessions, and how much of it."""

from dataclasses import replace

from memsrv.adapters.ends_sql import HELD_CHARS, HELD_SESSIONS, Ends, HeldEnds
from tests.fakes_prompt import message

SHORT = Ends(1, 0, 4, (message(1, {"role": "user", "content": "short"}),), ())


def test_the_sessions_used_last_are_held() -> None:
    held = HeldEnds()
    for number in range(HELD_SESSIONS):
        held.hold(number, SHORT)
    held.hold(0, SHORT)
    held.hold(HELD_SESSIONS, SHORT)
    assert (held.get(0), held.get(1), len(held)) == (SHORT, None, HELD_SESSIONS)


def test_long_ones_are_not_held_pictures_counted() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * HELD_CHARS}}
    held = HeldEnds()
    held.hold(1, SHORT)
    held.hold(1, replace(SHORT, newest=(message(2, {"role": "user", "content": [picture]}), *SHORT.newest)))
    assert held.get(1) is None
