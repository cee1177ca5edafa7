"""The server as its users meet it."""

import re
import signal

from tests.command import memsrv

TALK = [
    {"role": "user", "content": "My spare key is under the blue flowerpot.", "sent_at": "2026-01-10T09:00:00Z"},
    {"role": "assistant", "content": "Noted: the spare key is under the blue flowerpot."},
    {"role": "user", "content": "我对花生过敏,请记住。", "sent_at": "2026-01-11T09:00:00Z"},
    {"role": "assistant", "content": "好的,我记住了。"},
]
FILLER = [
    {"role": role, "content": f"Remark {n}: the walk along the river was long and the weather was fine."}
    for n in range(12)
    for role in ("user", "assistant")
]


def texts(prompt):
    return "\n".join(m["content"] for m in prompt["messages"] if isinstance(m["content"], str))


def test_what_was_said_long_ago_is_recalled_in_english_and_chinese(open_server):
    posted = open_server.http.post("/context/long-ago/messages?wait_ms=30000", json={"messages": TALK + FILLER})
    assert posted.status_code == 201
    assert [m["position"] for m in posted.json()["messages"]] == list(range(1, 29))
    assert posted.json()["pending_index"] == 0
    for query, piece in (("Where is the key?", "flowerpot"), ("我不能吃什么?", "花生")):
        asked = {"query": query, "budget": 1000, "mode": "retrieval"}  # in hybrid the window shows all until there is a summary
        prompt = open_server.http.get("/context/long-ago/prompt", params=asked).json()
        assert piece in texts(prompt)
        assert prompt["total_tokens"] <= prompt["budget_tokens"] == 1000
        assert any(piece in hit["text"] and hit["score"] > 0 for hit in prompt["receipt"]["recall"])


def test_nothing_is_lost_when_the_process_is_killed(serve):
    server = serve()
    for n in range(20):
        assert (
            server.http.post("/context/s/messages", json={"role": "user", "content": f"fact {n}: drawer {n}"}).status_code == 201
        )
    server.kill()
    again = serve()
    read = again.http.get("/context/s/messages", params={"limit": 100}).json()["messages"]
    assert [(m["position"], m["content"]) for m in read] == [(n + 1, f"fact {n}: drawer {n}") for n in range(20)]
    again.wait_indexed("s")
    hits = again.http.get("/context/s/recall", params={"query": "fact 7: drawer 7", "k": 3}).json()["recall"]
    assert "fact 7: drawer 7" in [hit["text"] for hit in hits]


def test_a_stop_by_signal_is_clean(serve):
    assert serve().stop(signal.SIGTERM) == 0
    assert serve().stop(signal.SIGINT) == 0


def test_a_second_server_on_the_same_folder_is_refused_in_one_line(open_server):
    second = memsrv("serve", "--port", "0", "--data-dir", open_server.data_dir)
    assert second.returncode == 3
    assert re.fullmatch(r"memsrv: Another memsrv serves this data folder\. .*--data-dir\.\n", second.stderr)


def test_the_log_has_a_line_per_request_and_no_message_text(serve):
    server = serve()
    server.http.post("/context/quiet/messages", json={"role": "user", "content": "the password is swordfish"})
    server.http.get("/context/quiet/prompt", params={"query": "swordfish?"})
    server.stop()
    log = "".join(server.lines)
    assert '"route": "/context/{session}/prompt"' in log
    assert '"mode": "hybrid"' in log
    assert "swordfish" not in log
    assert "quiet" not in log


def test_keys_are_made_and_revoked_while_the_server_runs(serve, tmp_path):
    def keys(*words):
        done = memsrv("keys", *words, "--data-dir", tmp_path / "data")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    server = serve()
    assert "no keys, loopback only" in "".join(server.lines)
    assert server.http.put("/context/before", json={}).status_code == 200
    key = keys("create", "--scopes", "read")
    assert server.http.get("/context").status_code == 401
    headers = {"authorization": f"Bearer {key}"}
    assert [s["session"] for s in server.http.get("/context", headers=headers).json()["sessions"]] == ["before"]
    assert server.http.put("/context/before", json={}, headers=headers).json()["code"] == "forbidden_scope"
    keys("revoke", key.split("_")[1])
    assert server.http.get("/context", headers=headers).status_code == 401
    server.stop()
    assert key not in "".join(server.lines)
