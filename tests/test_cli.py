"""The command line: its answers, its refusals, its exit status."""

import json

import pytest

from tests.command import memsrv


def test_config_tells_each_setting_and_where_it_came_from(tmp_path):
    done = memsrv("config", "--json", "--data-dir", str(tmp_path), MEMSRV_PORT="9001", MEMSRV_EMBEDDER_KEY="very secret")
    rows = {row["setting"]: (row["value"], row["source"]) for row in json.loads(done.stdout)}
    assert rows["MEMSRV_PORT"] == ("9001", "environment")
    assert rows["MEMSRV_DATA_DIR"] == (str(tmp_path), "command line")
    assert rows["MEMSRV_MODE"] == ("hybrid", "default")
    assert "secret" not in done.stdout


def test_an_unknown_setting_is_refused_and_the_nearest_named():
    done = memsrv("config", MEMSRV_PROT="9001")
    assert done.returncode == 2
    assert done.stderr.startswith("memsrv: MEMSRV_PROT is not a setting of memsrv; did you mean MEMSRV_PORT?")
    assert done.stderr.count("\n") == 1


def test_an_unusable_value_is_refused_by_name():
    done = memsrv("config", MEMSRV_PORT="high")
    assert done.returncode == 2
    assert "MEMSRV_PORT" in done.stderr
    assert done.stderr.count("\n") == 1


def test_listening_beyond_loopback_without_keys_is_refused(tmp_path):
    done = memsrv("serve", "--host", "0.0.0.0", "--port", "0", "--data-dir", str(tmp_path))
    assert done.returncode == 2
    assert "MEMSRV_KEYS" in done.stderr


def test_doctor_finds_a_fresh_folder_good(tmp_path):
    done = memsrv("doctor", "--json", "--data-dir", str(tmp_path / "new"))
    findings = json.loads(done.stdout)
    assert done.returncode == 0
    assert {"tokenizer", "embedder", "data folder", "access"} <= {finding["part"] for finding in findings}


def test_doctor_says_what_is_missing_and_how_to_mend_it(tmp_path):
    done = memsrv("doctor", "--json", "--data-dir", str(tmp_path), MEMSRV_EMBEDDER="openai")
    findings = [finding for finding in json.loads(done.stdout) if not finding["good"]]
    assert done.returncode == 1
    assert any("MEMSRV_EMBEDDER_MODEL" in finding["text"] for finding in findings)


def test_doctor_finds_an_index_that_does_not_answer(tmp_path):
    done = memsrv("doctor", "--json", "--data-dir", str(tmp_path), MEMSRV_CHROMA_URL="http://127.0.0.1:9")
    assert done.returncode == 1
    assert any("MEMSRV_CHROMA_URL" in finding["mend"] for finding in json.loads(done.stdout) if not finding["good"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("MEMSRV_FAULTS", "x"), ("MEMSRV_KEYS", "a=short"), ("MEMSRV_KEYS", "a=" + "k" * 20 + ",b=" + "k" * 20)],
)
def test_settings_that_cannot_be_read_are_refused_in_one_line(name, value):
    done = memsrv("config", **{name: value})
    assert done.returncode == 2
    assert done.stderr.startswith(f"memsrv: {name}: ")
    assert done.stderr.count("\n") == 1


def keys(*words, data_dir, **environ):
    return memsrv("keys", *words, "--data-dir", str(data_dir), **environ)


def test_a_key_is_made_listed_and_revoked(tmp_path):
    made = keys("create", "--tenant", "home", "--scopes", "read", "--name", "手机", "--expires", "90d", data_dir=tmp_path)
    key = made.stdout.strip()
    assert made.returncode == 0
    assert key.startswith("msk_")
    assert "not shown again" in made.stderr
    listed = keys("list", "--json", data_dir=tmp_path)
    (row,) = json.loads(listed.stdout)
    assert (row["id"], row["tenant"], row["scopes"], row["name"], row["state"]) == (
        key.split("_")[1],
        "home",
        ["read"],
        "手机",
        "in force",
    )
    assert key.split("_", 2)[2] not in listed.stdout + (tmp_path / "keys.json").read_text()
    assert keys("revoke", row["id"], data_dir=tmp_path).returncode == 0
    assert json.loads(keys("list", "--json", data_dir=tmp_path).stdout)[0]["state"] == "revoked"


def test_the_first_key_tells_what_it_closes_and_what_is_out_of_its_reach(tmp_path):
    first = keys("create", "--tenant", "home", data_dir=tmp_path).stderr
    assert f"a server on {tmp_path} wants a key" in first
    assert "is of tenant default, which this key does not reach" in first
    assert "wants a key" not in keys("create", data_dir=tmp_path).stderr


def test_a_list_of_keys_tells_when_they_expire(tmp_path):
    keys("create", "--expires", "90d", data_dir=tmp_path)
    (row,) = json.loads(keys("list", "--json", data_dir=tmp_path).stdout)
    assert row["expires_at"] in keys("list", data_dir=tmp_path).stdout


def test_revoking_a_key_that_is_not_there_is_a_no(tmp_path):
    done = keys("revoke", "abc", data_dir=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("memsrv: No key has the id 'abc'. ")


@pytest.mark.parametrize(
    "words", [("--scopes", "all"), ("--scopes", ""), ("--expires", "soon"), ("--tenant", ""), ("--name", "a\nb")]
)
def test_a_key_that_cannot_be_made_is_refused_by_the_options_name(tmp_path, words):
    done = keys("create", *words, data_dir=tmp_path)
    assert done.returncode == 2
    assert words[0] in done.stderr
    assert not (tmp_path / "keys.json").exists()


def test_keys_of_the_settings_are_listed_without_their_text(tmp_path):
    done = keys("list", "--json", data_dir=tmp_path, MEMSRV_KEYS="home=a-key-of-sixteen-and-more")
    (row,) = json.loads(done.stdout)
    assert (row["id"], row["scopes"]) == ("env:home", ["admin"])
    assert "sixteen" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("backup", "copy.zip"),
        ("restore", "there.zip"),
        ("import", "there.zip"),
        ("reindex",),
        ("verify",),
        ("purge",),
    ],
)
def test_work_on_a_folder_is_refused_where_the_sessions_are_in_postgresql(tmp_path, words):
    (tmp_path / "there.zip").touch()
    file = [str(tmp_path / name) for name in words[1:]]
    refused = memsrv(words[0], *file, "--data-dir", tmp_path / "store", MEMSRV_DATABASE_URL="postgresql://memsrv@nowhere/memsrv")
    assert refused.returncode == 2
    assert "the sessions are in PostgreSQL" in refused.stderr
    assert "nowhere" not in refused.stderr
    assert not (tmp_path / "copy.zip").exists()


def test_origins_of_pages_are_named_one_by_one():
    assert memsrv("config", MEMSRV_CORS_ORIGINS="https://app.example, http://localhost:3000").returncode == 0
    for bad in ("*", "app.example", "https://app.example/path"):
        assert memsrv("config", MEMSRV_CORS_ORIGINS=bad).returncode == 2
