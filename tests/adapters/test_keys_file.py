"""Keys in a file that several processes read and change."""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from filelock import FileLock

from memsrv.adapters.keys_file import FileKeys
from memsrv.core.keys import minted
from memsrv.errors import CannotStart
from memsrv.model import KeyScope

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def keys_in(folder):
    """The keys as one more process would have them."""
    keys = FileKeys(folder, FileLock(folder / "keys.lock", timeout=30))
    keys.open()
    return keys


def made(name=""):
    return minted("home", [KeyScope.READ], made_at=NOON, name=name)[0]


def test_a_folder_without_the_file_has_no_keys(tmp_path):
    assert keys_in(tmp_path).all() == ()
    assert list(tmp_path.iterdir()) == []


def test_a_key_is_found_by_another_process(tmp_path):
    server, command = keys_in(tmp_path), keys_in(tmp_path)
    key = made()
    command.add(key)
    assert server.find(key.id) == key
    command.replace(replace(key, revoked_at=NOON))
    assert server.find(key.id).revoked_at == NOON


def test_keys_are_listed_in_the_order_of_their_making(tmp_path):
    keys = keys_in(tmp_path)
    for name in "abc":
        keys.add(made(name))
    assert [key.name for key in keys_in(tmp_path).all()] == ["a", "b", "c"]


def test_a_missing_folder_is_made(tmp_path):
    keys = keys_in(tmp_path / "new" / "store")
    keys.add(made())
    assert len(keys.all()) == 1


def test_keys_made_at_the_same_time_are_all_kept(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: keys_in(tmp_path).add(made(str(n))), range(40)))
    assert {key.name for key in keys_in(tmp_path).all()} == {str(n) for n in range(40)}


def test_only_the_owner_of_the_file_reads_it(tmp_path):
    keys_in(tmp_path).add(made())
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", '{"keys": [{}]}', '{"keys": 5}', '{"keys": [{"id": "a", "sha256": "zz"}]}'])
def test_a_broken_file_is_told_at_the_start(tmp_path, text):
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(CannotStart, match=r"keys\.json"):
        keys_in(tmp_path)


def test_a_file_that_breaks_later_takes_no_key_away_and_lets_none_in(tmp_path):
    server = keys_in(tmp_path)
    key = made()
    keys_in(tmp_path).add(key)
    assert server.find(key.id) == key
    (tmp_path / "keys.json").write_text("{ not json")
    assert server.find(key.id) == key
    assert len(server.all()) == 1


def test_a_broken_file_is_not_written_over(tmp_path):
    keys = keys_in(tmp_path)
    (tmp_path / "keys.json").write_text("{ not json")
    with pytest.raises(CannotStart):
        keys.add(made())
    assert (tmp_path / "keys.json").read_text() == "{ not json"
