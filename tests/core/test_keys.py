"""A key is made once, kept as a hash, and opens while it is neither revoked nor expired."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memsrv.core.keys import as_json, from_json, id_in, lifetime, minted, opens
from memsrv.model import KeyScope

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def made(**options):
    return minted("home", [KeyScope.READ], made_at=NOON, **options)


def test_a_key_opens_and_another_does_not():
    key, text = made()
    assert opens(key, text, NOON)
    assert not opens(key, made()[1], NOON)
    assert not opens(key, text[:-1], NOON)
    assert not opens(key, "", NOON)


def test_a_key_names_its_id_in_its_text():
    key, text = made()
    assert id_in(text) == key.id
    assert id_in("key-of-another-making") == ""


def test_no_two_keys_are_alike():
    assert len({made()[1] for _ in range(100)}) == 100


def test_what_is_kept_does_not_hold_the_key():
    key, text = made(name="phone")
    secret = text.rpartition("_")[2]
    assert secret not in json.dumps(as_json(key))
    assert secret not in repr(key)


def test_a_revoked_key_does_not_open():
    key, text = made()
    assert not opens(replace(key, revoked_at=NOON), text, NOON)


def test_a_key_opens_until_it_expires():
    key, text = made(expires_at=NOON + timedelta(days=1))
    assert opens(key, text, NOON + timedelta(hours=23))
    assert not opens(key, text, NOON + timedelta(days=1))


def test_a_key_reads_back_as_it_was_written():
    key, _ = made(name="手机", expires_at=NOON, rate_per_minute=0, max_body_bytes=10)
    assert from_json(json.loads(json.dumps(as_json(key)))) == key


@pytest.mark.parametrize(
    ("written", "read"), [("30m", timedelta(minutes=30)), ("90d", timedelta(days=90)), ("2w", timedelta(14))]
)
def test_a_lifetime_is_a_number_and_a_unit(written, read):
    assert lifetime(written) == read


@pytest.mark.parametrize("written", ["", "90", "d", "-1d", "0d", "1.5d", "90 days", "٣d"])
def test_a_lifetime_that_is_none_is_refused(written):
    with pytest.raises(ValueError, match="90d"):
        lifetime(written)
