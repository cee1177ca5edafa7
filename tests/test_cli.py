"""The command line: its answers, its refusals, its exit status."""

import json
import os
import subprocess
import sys

import pytest


def memsrv(*words, **environ):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMSRV_")}
    command = [sys.executable, "-m", "memsrv", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=inherited | environ)


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
