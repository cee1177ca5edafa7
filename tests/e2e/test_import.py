"""Imports and exports as a user meets them."""

import json

from tests.command import memsrv
from tests.core.imports.samples import CHATGPT, CLAUDE, GROK, TAVERN


def written(path, data):
    text = "\n".join(map(json.dumps, data)) if path.suffix == ".jsonl" else json.dumps(data)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_go_into_a_server_and_out_again_and_into_a_folder_of_another(open_server, tmp_path):
    files = [
        written(tmp_path / "a.json", [CHATGPT, CLAUDE]),
        written(tmp_path / "b.json", GROK),
        written(tmp_path / "c.jsonl", TAVERN),
    ]
    done = memsrv("import", "--url", open_server.address, "--owner", "importer", "--json", *files)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["conversations"], report["stored"], report["failures"]) == (4, 13, [])
    again = json.loads(memsrv("import", "--url", open_server.address, "--json", *files).stdout)
    assert (again["stored"], again["already_there"]) == (0, 13)

    whole = tmp_path / "whole.jsonl"
    assert memsrv("export", "--url", open_server.address, "--owner", "importer", "-o", whole).returncode == 0
    printed = memsrv("export", "--url", open_server.address, "chatgpt:c-1").stdout
    assert printed in whole.read_text(encoding="utf-8")
    moved = memsrv("import", "--data-dir", tmp_path / "other", "--json", whole)
    assert json.loads(moved.stdout)["stored"] == 13, moved.stderr


def test_what_a_folder_was_given_can_be_recalled_when_it_is_served(serve, tmp_path):
    file = written(tmp_path / "a.json", CLAUDE)
    done = memsrv("import", "--data-dir", tmp_path / "data", "--session", "tea", file)
    assert "1 conversation: 4 messages stored" in done.stdout, done.stderr
    server = serve()
    server.wait_indexed("tea")
    hits = server.http.get("/context/tea/recall", params={"query": "Which tea calms?"}).json()["recall"]
    assert any("lime" in hit["text"].lower() for hit in hits)


def test_a_dry_run_needs_no_server_and_tells_what_is_in_a_file(tmp_path):
    done = memsrv("import", "--dry-run", "--json", written(tmp_path / "a.json", [CHATGPT]))
    report = json.loads(done.stdout)
    assert (done.returncode, report["stored"], report["dry_run"]) == (0, 4, True)
    assert report["skipped"] == [{"why": "on another branch", "count": 1, "places": ["chatgpt:c-1: a2b"]}]


def test_a_file_that_breaks_off_is_told_in_one_line_and_the_others_are_read(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps([CLAUDE, CHATGPT])[:-40], encoding="utf-8")
    done = memsrv("import", "--dry-run", broken, tmp_path, written(tmp_path / "good.json", GROK))
    assert done.returncode == 1
    assert "2 conversations: 6 messages would be stored" in done.stdout
    assert [line.split(": ")[1].rpartition("/")[2] for line in done.stderr.splitlines()] == ["broken.json", tmp_path.name]
    assert "ends in the middle of item 2" in done.stderr


def test_one_session_takes_one_conversation(tmp_path):
    done = memsrv("import", "--dry-run", "--session", "one", written(tmp_path / "a.json", [CHATGPT, CLAUDE]))
    assert done.returncode == 1
    assert "0 conversations" in done.stdout
    assert "--session names one session" in done.stderr


def test_without_a_server_an_import_says_so_in_one_line(tmp_path):
    done = memsrv("import", "--url", "http://127.0.0.1:9", written(tmp_path / "a.json", CLAUDE))
    assert done.returncode == 3
    assert done.stderr.startswith("memsrv: No memsrv answers at http://127.0.0.1:9")
    assert done.stderr.count("\n") == 1
