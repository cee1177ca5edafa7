"""`memsrv sessions` and `memsrv ask`, against the real server."""

import json

import pytest

from tests.command import memsrv
from tests.served import Served

SAID = "[bold]My[/bold] spare key is under the blue flowerpot."


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Runs a command against a server that holds two sessions and no other."""
    server = Served(tmp_path_factory.mktemp("asked"))
    for name in ("anna", "telegram/b"):
        server.http.put(f"/context/{name.replace('/', '%2F')}", json={"owner": "ann" if name == "anna" else "ben"})
    server.http.post("/context/anna/messages?wait_ms=30000", json={"role": "user", "content": SAID})
    yield lambda *words: memsrv(*words, "--url", server.address)
    server.stop()


def test_sessions_are_listed_by_name_and_owner(told):
    assert [one["session"] for one in json.loads(told("sessions", "--json").stdout)] == ["anna", "telegram/b"]
    assert [one["session"] for one in json.loads(told("sessions", "--json", "--owner", "ben").stdout)] == ["telegram/b"]
    assert [one["session"] for one in json.loads(told("sessions", "--json", "--limit", "1").stdout)] == ["anna"]
    assert "telegram/b" in told("sessions").stdout


def test_what_is_recalled_is_told_with_its_score_as_it_was_said(told):
    [hit] = json.loads(told("ask", "anna", "where is the key?", "--json").stdout)["recall"]
    assert hit["text"] == SAID
    table = told("ask", "anna", "where is the key?").stdout
    assert "[bold]My[/bold] spare key" in table
    assert f"{hit['score']:.3f}" in table


def test_a_refusal_is_one_line_and_exit_status_1(told):
    done = told("ask", "nobody", "x")
    assert done.returncode == 1
    assert done.stderr.startswith("memsrv: There is no session 'nobody'.")
    assert done.stderr.count("\n") == 1


def test_a_hint_speaks_of_commands_and_options(told, serve):
    assert told("ask", "nobody", "x").stderr.endswith("'memsrv sessions' lists those that are there.\n")
    assert told("export", "nobody").stderr.endswith("'memsrv sessions' lists those that are there.\n")


def test_without_its_key_a_command_is_told_the_option_that_gives_one(serve):
    server = serve(MEMSRV_KEYS="home=a-key-of-sixteen-and-more")
    for words in (("sessions",), ("ask", "anna", "x"), ("export", "anna"), ("mcp",)):
        done = memsrv(*words, "--url", server.address)
        assert (done.returncode, "--key" in done.stderr) == (1, True)
        assert "Authorization" not in done.stderr


def test_without_a_server_the_hint_says_how_to_start_one():
    done = memsrv("sessions", "--url", "http://127.0.0.1:9")
    assert done.returncode == 3
    assert "memsrv serve" in done.stderr


def test_what_was_stored_does_nothing_to_the_terminal(open_server):
    open_server.http.post(
        "/context/evil/messages?wait_ms=30000", json={"role": "user", "content": "key \x1b]0;mine\x07\x1b[2J\u202eyek"}
    )
    table = memsrv("ask", "evil", "key", "--url", open_server.address).stdout
    assert "key ]0;mine[2Jyek" in table
    assert not set(table) & set("\x1b\x07\u202e")
