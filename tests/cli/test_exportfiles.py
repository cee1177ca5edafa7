"""Plain and packed files as bytes."""

import gzip
import zipfile

import pytest

from memsrv.cli.exportfiles import parts_of
from memsrv.errors import BadExport


def read(path):
    return {part.name.removeprefix(str(path)): b"".join(part.pieces()) for part in parts_of(path, lambda _: None)}


def packed(path, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return path


def test_a_file_is_read_as_it_is_and_gzip_is_unpacked(tmp_path):
    (tmp_path / "a.json").write_bytes(b"[1]")
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"[2]"))
    assert read(tmp_path / "a.json") == {"": b"[1]"}
    assert read(tmp_path / "a.gz") == {"": b"[2]"}


def test_of_a_zip_the_conversations_are_read_or_else_every_json_file(tmp_path):
    files = {"x/conversations.json": "[1]", "x/conversations-001.json": "[2]", "user.json": "{}", "chat.html": "<html>"}
    assert list(read(packed(tmp_path / "a.zip", **files)).values()) == [b"[2]", b"[1]"]
    assert list(read(packed(tmp_path / "b.zip", **{"a.jsonl": "{}", "__MACOSX/._a.json": "x", "b.txt": ""}))) == [":a.jsonl"]


def test_how_far_a_file_is_read_is_told(tmp_path):
    (tmp_path / "a.json").write_bytes(b" " * 3_000_000)
    told = []
    (part,) = parts_of(tmp_path / "a.json", told.append)
    list(part.pieces())
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == 3_000_000


@pytest.mark.parametrize("name", ["folder", "missing", "empty.zip", "broken.zip", "broken.gz"])
def test_what_cannot_be_read_is_refused_in_plain_words(tmp_path, name):
    (tmp_path / "folder").mkdir()
    packed(tmp_path / "empty.zip", **{"a.txt": ""})
    whole = packed(tmp_path / "broken.zip", **{"a.json": "[" + "1," * 9999}).read_bytes()
    (tmp_path / "broken.zip").write_bytes(whole[:90])
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"[1,2,3]" * 99)[:-12])
    with pytest.raises(BadExport) as refused:
        read(tmp_path / name)
    assert str(tmp_path) not in refused.value.message
    assert refused.value.hint
