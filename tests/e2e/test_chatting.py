"""`memsrv chat` against the real server and a scripted upstream."""

import os
import pty
import subprocess
from collections.abc import Iterator

import pytest

from tests.adapters.upstream_server import Refuse, Say
from tests.command import command, environ, memsrv
from tests.served import Served

BROKEN = b'data: {"error": {"message": "It broke."}}\n\n'


@pytest.fixture(scope="module")
def served(upstream, tmp_path_factory) -> Iterator[Served]:
    """One server; every test uses a session of its own."""
    served = Served(
        tmp_path_factory.mktemp("chat"),
        MEMSRV_UPSTREAM_URL=upstream.url,
        MEMSRV_UPSTREAM_MODEL="small",
        MEMSRV_SUMMARY_ENABLED="false",
    )
    yield served
    served.stop()


def chat(served, *words, lines):
    """Every line through a pipe."""
    text = "".join(f"{line}\n" for line in lines) if isinstance(lines, list) else lines
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run(
        command("chat", *words, "--url", served.address), input=data, capture_output=True, timeout=120, check=False, env=environ()
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def transcript(served, session):
    read = served.http.get(f"/context/{session}/messages").json()["messages"]
    return [(one["role"], one["content"]) for one in read]


def test_a_line_is_a_message_and_its_answer_comes_back(served, upstream):
    upstream.script = [Say(["Nice ", "to meet you."]), Say(["You are Anna."])]
    assert chat(served, lines=["I am Anna.", "Who am I?"]) == (0, "Nice to meet you.\nYou are Anna.\n", "")
    assert transcript(served, "chat")[2:] == [("user", "Who am I?"), ("assistant", "You are Anna.")]
    assert upstream.prompt() == [("user", "I am Anna."), ("assistant", "Nice to meet you."), ("user", "Who am I?")]


def test_session_owner_model_and_mode_are_those_asked_for(served, upstream):
    status, _, _ = chat(served, "télé/b", "--owner", "ann", "--model", "large", "--mode", "window", lines=["Hello"])
    assert status == 0
    assert upstream.requests[-1]["model"] == "large"
    assert served.http.get("/context/t%C3%A9l%C3%A9%2Fb").json()["owner"] == "ann"
    assert '"mode": "window"' in "".join(served.lines)


def test_the_commands_show_and_change_the_memory(served):
    said = served.http.post("/context/s/messages?wait_ms=30000", json={"role": "user", "content": "My key is under the pot."})
    assert said.status_code == 201
    lines = ["/pin She is allergic to nuts.", "/recall key", "/prompt key", "/mode window", "/prompt", "/mode", "/help"]
    status, shown, wrong = chat(served, "s", lines=lines)
    assert (status, wrong) == (0, "")
    assert "user (1): My key is under the pot." in shown
    assert shown.count("She is allergic to nuts.") == 2
    assert "--- hybrid: " in shown
    assert "(meta " in shown
    assert "--- window: " in shown
    assert shown.count("The mode is window.") == 2
    assert "/recall QUERY" in shown


def test_what_goes_wrong_is_one_line_and_the_talk_goes_on(served, upstream):
    upstream.script = [Refuse(429, {"error": {"message": "Slow\ndown."}}), Say(["Half", BROKEN]), Say(["Whole."])]
    lines = ["One", "Two", "/mode odd", "/nothing", "/pin", "Three", "/exit", "Four"]
    status, shown, wrong = chat(served, "wrong", lines=lines)
    assert (status, shown) == (1, "Half\nWhole.\n")
    told = wrong.splitlines()
    assert told[0] == "memsrv: The upstream refuses (429): Slow down."
    assert [line.split(":")[0] for line in told] == ["memsrv"] * 5
    assert "full, window" in told[2]
    assert "/nothing" in told[3]


def test_without_an_upstream_the_hint_names_the_setting(open_server):
    status, shown, wrong = chat(open_server, lines=["Hello"])
    assert (status, shown, wrong.count("\n")) == (1, "", 1)
    assert "MEMSRV_UPSTREAM_URL" in wrong


def test_without_a_server_it_ends_at_once():
    done = memsrv("chat", "--url", "http://127.0.0.1:9")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)


def test_neither_an_answer_nor_what_is_stored_moves_the_cursor(served, upstream):
    upstream.script = [Say(["evil \x1b[2J\r", "\x1b]0;mine\x07 \u202etext\nnext"])]
    _, shown, _ = chat(served, "evil", lines=["Hello", "/prompt", "/recall evil"])
    assert shown.startswith("evil [2J]0;mine text\nnext\n")
    assert not set(shown) & set("\x1b\x07\r\u202e")


def test_bytes_that_are_no_text_and_blank_lines_do_no_harm(served, upstream):
    assert chat(served, "bytes", lines=b"\n  \ncaf\xe9\n /not a command\n")[0] == 0
    assert [text for role, text in transcript(served, "bytes") if role == "user"] == ["caf\ufffd", "/not a command"]


def test_at_a_terminal_there_is_a_prompt_and_the_end_of_input_ends_it(served, upstream):
    upstream.script = [Say(["Blue."])]
    ours, theirs = pty.openpty()
    talk = subprocess.Popen(
        command("chat", "tty", "--url", served.address), stdin=theirs, stdout=theirs, stderr=theirs, env=environ(TERM="dumb")
    )
    os.close(theirs)
    until(ours, "/help tells the commands", "> ")
    os.write(ours, b"Which colour?\n")
    until(ours, "Blue.", "> ")
    os.write(ours, b"\x04")
    assert talk.wait(30) == 0
    os.close(ours)


def until(terminal: int, *texts: str) -> None:
    """Wait until a terminal has shown these texts, one after the other."""
    shown = ""
    for text in texts:
        while text not in shown:
            shown += os.read(terminal, 1000).decode()
        shown = shown.partition(text)[2]
