"""An export that is taken while messages come and go is whole."""

import json

from memsrv.core.imports.formats import conversations
from memsrv.core.imports.splitting import values
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


async def test_an_export_in_whose_midst_messages_are_deleted_is_not_taken_for_one_that_was_cut_off(tmp_path):
    house = await House(tmp_path).open(start=False)
    await house.say(3, notify=False)
    session = await house.sessions.find(KEY)
    export = exported(house.sessions, house.transcript, session, ())
    pieces = [await anext(export)]
    for message in await house.transcript.messages(session.number, limit=2):
        await house.transcript.delete(session.number, message.id)
    pieces += [piece async for piece in export]
    [read] = conversations(values(pieces), branches=False)
    assert len(read.drafts) == 1
    assert json.loads(pieces[-1]) == {"deleted_meanwhile": 2}
    await house.close()
