"""What a running server is sent."""

import json

import httpx
import pytest

from memsrv.cli.destinations import Remote
from memsrv.cli.remote import Refused
from memsrv.core.imports.drafts import Conversation, State
from memsrv.errors import CannotStart
from memsrv.model import Draft


class Server:
    """A server that takes so many bytes, and is busy for the first requests."""

    def __init__(self, *, most_bytes=10**9, busy=0, down=False):
        self.most_bytes, self.busy, self.down = most_bytes, busy, down
        self.ids = []
        self.heads = []

    def answer(self, request):
        if self.down:
            raise httpx.ConnectError("down")
        if self.busy:
            self.busy -= 1
            return httpx.Response(429, json={"message": "Busy.", "hint": ""}, headers={"retry-after": "1"})
        if len(request.content) > self.most_bytes:
            return httpx.Response(413, json={"message": "Too large.", "hint": ""})
        head, *lines = map(json.loads, request.content.splitlines())
        self.heads.append(head)
        self.ids += [line["id"] for line in lines]
        return httpx.Response(200, json={"stored": len(lines), "already_there": 0, "conflicts": 0, "sessions": [{"changed": []}]})

    def remote(self):
        return Remote(httpx.Client(transport=httpx.MockTransport(self.answer), base_url="http://x.test"))


def talk(count, size=10, state=None):
    drafts = tuple(Draft({"role": "user", "content": "x" * size}, f"m{number}") for number in range(count))
    return Conversation("openai", "c", "", drafts, state=state)


def test_long_conversations_are_sent_in_several_requests_in_order():
    server = Server()
    assert server.remote().store("s", talk(1200), "o").stored == 1200
    assert server.ids == [f"m{number}" for number in range(1200)]
    assert server.heads == [{"memsrv": 1, "session": "s", "owner": "o", "settings": {}, "pins": []}] * 3


def test_what_is_too_large_for_the_server_is_sent_in_halves_and_a_single_message_is_skipped():
    server = Server(most_bytes=400)
    done = server.remote().store("s", talk(20), None)
    assert (done.stored, server.ids) == (20, [f"m{number}" for number in range(20)])
    done = server.remote().store("s", talk(2, size=1000), None)
    assert (done.stored, [one.place for one in done.too_large]) == (0, ["m0", "m1"])


def test_a_busy_server_is_waited_for():
    server = Server(busy=1)
    assert server.remote().store("s", talk(3), None).stored == 3


def test_a_state_without_messages_is_sent():
    server = Server()
    server.remote().store("s", talk(0, state=State(meta={"goal": "rest"}, messages=0)), None)
    assert [head["meta"] for head in server.heads] == [{"goal": "rest"}]
    server.remote().store("s", talk(0), None)
    assert len(server.heads) == 1


def test_no_server_is_told_as_such():
    with pytest.raises(CannotStart):
        Server(down=True).remote().store("s", talk(1), None)


def test_other_refusals_are_passed_on():
    with pytest.raises(Refused, match="Too large"):
        Server(most_bytes=1).remote().store("s", talk(0, state=State(meta={})), None)
