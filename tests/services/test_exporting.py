"""An export that is taken while messages come is whole."""

import json

from memsrv.services.exporting import exported
from tests.house import KEY, House


async def test_the_state_counts_no_message_that_came_after_the_export_began(tmp_path):
    house = await House(tmp_path).open(start=False)
    await house.say(2, notify=False)
    session = await house.sessions.find(KEY)
    await house.say(1, notify=False)
    pieces = [piece async for piece in exported(house.sessions, house.transcript, session, ())]
    state, *messages = map(json.loads, b"".join(pieces).splitlines())
    assert state["messages"] == len(messages)
    await house.close()
