"""What stands before `/mcp`, and what `memsrv mcp` says when it cannot start."""

import httpx
import pytest

from tests.command import memsrv
from tests.served import RED, Served

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


def test_a_wrong_key_is_refused_before_anything_else(server):
    answer = server.http.post("/mcp", json=PING, headers=ACCEPT | {"authorization": "Bearer wrong"})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


def test_nothing_is_kept_so_there_is_nothing_to_get(server):
    answer = server.http.get("/mcp", headers=ACCEPT | {"authorization": f"Bearer {RED}"})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    "foreign",
    [{"host": "evil.example"}, {"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://localhost.evil"}],
)
def test_without_keys_a_web_page_of_another_name_is_refused(open_server, foreign):
    answer = open_server.http.post("/mcp", json=PING, headers=ACCEPT | foreign)
    code = "foreign_host" if "host" in foreign else "foreign_origin"
    assert (answer.status_code, answer.json()["code"]) == (403, code)


@pytest.mark.parametrize("own", [{}, {"origin": "http://localhost:6274"}, {"origin": "http://[::1]"}])
def test_without_keys_loopback_is_served(open_server, own):
    answer = open_server.http.post("/mcp", json=PING, headers=ACCEPT | own)
    assert (answer.status_code, answer.json()["result"]) == (200, {})


def test_the_session_of_the_header_may_be_written_as_the_proxy_takes_it(open_server):
    for written in ("%E4%BC%9A%E8%AF%9D", "会话"):
        call = {"name": "remember", "arguments": {"text": f"said as {written}"}}
        named = [(name.encode(), value.encode()) for name, value in (ACCEPT | {"x-memory-session": written}).items()]
        open_server.http.post("/mcp", json=PING | {"method": "tools/call", "params": call}, headers=named)
    assert len(open_server.http.get("/context/%E4%BC%9A%E8%AF%9D/messages").json()["messages"]) == 2


def test_the_log_tells_the_route_and_nothing_that_was_said(tmp_path):
    served = Served(tmp_path)
    call = {"name": "remember", "arguments": {"text": "the password is swordfish", "session": "quiet"}}
    for params in (call, call | {"name": 5}, {**call, "arguments": {"txt": "swordfish"}}):
        served.http.post("/mcp", json=PING | {"method": "tools/call", "params": params}, headers=ACCEPT)
    served.stop()
    log = "".join(served.lines)
    assert '"route": "/mcp"' in log
    assert '"route": "/context/{session}/messages"' in log
    assert "swordfish" not in log
    assert "quiet" not in log


def test_a_body_over_the_limit_is_refused(open_server):
    with httpx.Client(base_url=open_server.address, timeout=60, trust_env=False) as http:
        answer = http.post("/mcp", content=b" " * 32_000_001, headers=ACCEPT | {"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_without_a_server_it_says_so_in_one_line():
    done = memsrv("mcp", "--url", "http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("memsrv: No memsrv answers at http://127.0.0.1:9.")
    assert done.stderr.count("\n") == 1


def test_with_a_wrong_key_it_says_so_in_one_line(server):
    done = memsrv("mcp", "--url", server.address, "--key", "not-the-key-of-anyone")
    assert (done.returncode, done.stdout) == (1, "")
    assert "key" in done.stderr
    assert "not-the-key" not in done.stderr


def test_an_address_that_cannot_be_used_is_wrong_use():
    assert memsrv("mcp", "--url", "nowhere").returncode == 2


def test_it_ends_when_the_client_hangs_up(server):
    done = memsrv("mcp", "--url", server.address, "--key", RED)
    assert (done.returncode, done.stderr) == (0, "")
