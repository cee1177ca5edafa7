"""The listening socket."""

import socket

import httpx
import pytest

from memsrv.errors import CannotStart, SettingsError
from memsrv.settings import Settings
from memsrv.web.server import KEEP_ALIVE_S, address_of, bound, is_loopback, refuse_open_door


def test_answers_leave_at_once():
    with bound("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP, "asyncio turns Nagle's algorithm off only for sockets that say so"


def test_a_port_that_is_taken_is_told():
    with bound("127.0.0.1", 0) as first, pytest.raises(CannotStart, match="Cannot listen"):
        bound("127.0.0.1", first.getsockname()[1])


def test_the_address_is_told_as_it_is_typed():
    with bound("127.0.0.1", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.test", False),
    ],
)
def test_loopback_is_known(host, loopback):
    assert is_loopback(host) is loopback


def test_beyond_loopback_keys_or_consent_are_wanted():
    with pytest.raises(SettingsError):
        refuse_open_door(Settings(host="0.0.0.0"), keys=False)
    refuse_open_door(Settings(host="0.0.0.0", allow_open=True), keys=False)
    refuse_open_door(Settings(host="0.0.0.0"), keys=True)


def test_a_connection_outlasts_the_clients_wish_to_keep_it():
    wish_s = httpx.Limits().keepalive_expiry
    assert wish_s is not None
    assert 2 * wish_s < KEEP_ALIVE_S, "a server that closes first may cross with the next request, which is lost then"
