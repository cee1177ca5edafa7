"""A backup and its restore: the round trip, and what is refused."""

import json
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from memsrv.adapters.archive import back_up, restore
from memsrv.adapters.database import Database, revisions
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.sqlite import FILE
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.errors import CannotStart, SettingsError
from memsrv.model import NewChunk, NewMessage, SessionKey, Span

KEY = SessionKey("acme", "talk")


def said(text: str) -> NewMessage:
    return NewMessage(None, {"role": "user", "content": text}, None, None, "d", (NewChunk(Span(0, len(text)), text, ("t",)),))


@pytest.fixture
async def running(tmp_path):
    """An open store with a session, as a running server has it, and a file beside it."""
    folder = tmp_path / "store"
    folder.mkdir()
    database = await Database.open(folder)
    await SqlTranscript(database).append(KEY, [said(f"line {n}") for n in range(20)])
    (folder / "keys.json").write_text('{"home": "hash"}')
    (folder / "lock").touch()
    yield folder, database
    await database.close()


def new(tmp_path: Path) -> Path:
    folder = tmp_path / "new"
    folder.mkdir()
    return folder


async def test_what_a_running_server_holds_comes_back(running, tmp_path):
    folder, database = running
    made = back_up(folder, tmp_path / "b.zip")
    await SqlTranscript(database).append(KEY, [said("after the backup")])
    there = new(tmp_path)
    assert restore(tmp_path / "b.zip", there, known=revisions(), force=False) == made
    assert (made.held.sessions, made.held.messages) == (1, 20)
    assert json.loads((there / "keys.json").read_text()) == {"home": "hash"}
    again = await Database.open(there)
    session = await SqlSessions(again).find(KEY)
    read = await SqlTranscript(again).messages(session.number, limit=100)
    assert [message.payload["content"] for message in read] == [f"line {n}" for n in range(20)]
    appended = await SqlTranscript(again).append(KEY, [said("goes on")])
    assert appended.messages[0].position == 21
    await again.close()


async def test_a_backup_holds_no_trace_of_what_was_deleted(running, tmp_path):
    folder, database = running
    session = await SqlSessions(database).find(KEY)
    await SqlTranscript(database).append(KEY, [replace(said("Passport ZX-0099182"), id="x")])
    await SqlTranscript(database).delete(session.number, "x")
    back_up(folder, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as read:
        assert b"ZX-0099182" not in read.read(FILE)


async def test_only_the_owner_may_read_a_backup(running, tmp_path):
    back_up(running[0], tmp_path / "b.zip")
    assert (tmp_path / "b.zip").stat().st_mode & 0o077 == 0


async def test_a_backup_takes_no_file_s_place(running, tmp_path):
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(SettingsError, match="there already"):
        back_up(running[0], tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_text() == "mine"


def test_a_folder_without_a_store_is_not_backed_up(tmp_path):
    with pytest.raises(SettingsError, match="no sessions"):
        back_up(tmp_path, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()


async def test_a_folder_that_holds_something_is_refused_unless_it_is_forced(running, tmp_path):
    back_up(running[0], tmp_path / "b.zip")
    there = new(tmp_path)
    (there / FILE).write_text("old")
    (there / "chroma").mkdir()
    with pytest.raises(SettingsError, match="not empty"):
        restore(tmp_path / "b.zip", there, known=revisions(), force=False)
    assert (there / FILE).read_text() == "old"
    restore(tmp_path / "b.zip", there, known=revisions(), force=True)
    assert sorted(one.name for one in there.iterdir()) == ["keys.json", FILE]


def changed(file: Path, name: str, content: bytes) -> None:
    """Give a part of a backup another content."""
    with zipfile.ZipFile(file) as read:
        parts = {one: read.read(one) for one in read.namelist()}
    with zipfile.ZipFile(file, "w") as written:
        for one, held in (parts | {name: content}).items():
            written.writestr(one, held)


@pytest.mark.parametrize("damage", ["no zip", "cut", "another store", "another file", "a path", "no manifest"])
async def test_a_damaged_backup_is_refused_and_nothing_is_replaced(running, tmp_path, damage):
    file, there = tmp_path / "b.zip", new(tmp_path)
    made = back_up(running[0], file)
    if damage == "no zip":
        file.write_bytes(b"my holiday pictures" * 100)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-2000])
    elif damage == "another store":
        changed(file, FILE, b"SQLite format 3\0" + bytes(5000))
    elif damage == "another file":
        changed(file, "keys.json", b"{}")
    elif damage == "no manifest":
        changed(file, "manifest.json", b"[]")
    else:
        digests = dict(made.digests) | {"../evil": "0"}
        body = {
            "made_at": made.made_at,
            "version": "1",
            "held": {"revision": "1", "sessions": 1, "messages": 1},
            "digests": digests,
        }
        changed(file, "manifest.json", json.dumps(body).encode())
    with pytest.raises(CannotStart):
        restore(file, there, known=revisions(), force=False)
    assert list(there.iterdir()) == []


async def test_a_backup_of_a_newer_version_is_refused(running, tmp_path):
    back_up(running[0], tmp_path / "b.zip")
    with pytest.raises(CannotStart, match="newer memsrv"):
        restore(tmp_path / "b.zip", new(tmp_path), known=frozenset({"0001"}), force=False)


async def test_a_damaged_store_is_not_backed_up(running, tmp_path):
    folder, database = running
    await database.close()
    pages = bytearray((folder / FILE).read_bytes())
    pages[4096 * 3 : 4096 * 6] = bytes(4096 * 3)
    (folder / FILE).write_bytes(pages)
    with pytest.raises((CannotStart, sqlite3.DatabaseError)):
        back_up(folder, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()
