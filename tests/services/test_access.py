"""Who comes in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memsrv.core.keys import minted
from memsrv.errors import KeyNotFound, Unauthorized
from memsrv.model import KeyScope
from memsrv.services.access import ANYBODY, Access
from tests.fakes import HeldKeys

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GIVEN = {"red": "key-of-the-red-tenant", "blue": "key-of-the-blue-tenant"}


def made(access, tenant="home", **options):
    key, text = minted(tenant, [KeyScope.READ], made_at=NOON, **options)
    access.add(key)
    return key, text


def test_without_keys_anybody_comes_in():
    access = Access({}, HeldKeys())
    assert not access.wanted
    assert access.key("") is ANYBODY


def test_the_first_key_closes_the_door():
    access = Access({}, HeldKeys())
    key, text = made(access)
    assert access.key(f"Bearer {text}") == key
    with pytest.raises(Unauthorized):
        access.key("")


def test_the_door_stays_closed_when_the_last_key_is_revoked_or_gone():
    keys = HeldKeys()
    access = Access({}, keys)
    key, text = made(access)
    access.revoke(key.id)
    assert Access({}, keys).wanted
    with pytest.raises(Unauthorized):
        access.key(f"Bearer {text}")
    keys.held.clear()
    assert access.wanted


def test_a_key_of_the_settings_opens_its_tenant_with_all_rights():
    key = Access(GIVEN, HeldKeys()).key("bearer key-of-the-blue-tenant")
    assert (key.id, key.tenant, key.scopes) == ("env:blue", "blue", {KeyScope.ADMIN})


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic key-of-the-red-tenant", "Bearer key-of-the-red-tenant2", "Bearer \xe9"]
)
def test_a_header_without_a_key_that_fits_is_refused(header):
    with pytest.raises(Unauthorized):
        Access(GIVEN, HeldKeys()).key(header)


def test_an_expired_key_is_refused():
    at = [NOON]
    access = Access({}, HeldKeys(), lambda: at[0])
    key, text = made(access, expires_at=NOON + timedelta(days=90))
    assert access.key(f"Bearer {text}") == key
    at[0] = NOON + timedelta(days=90)
    with pytest.raises(Unauthorized):
        access.key(f"Bearer {text}")


def test_a_key_is_revoked_once_and_keeps_the_time():
    at = [NOON]
    access = Access({}, HeldKeys(), lambda: at[0])
    key, _ = made(access)
    assert access.revoke(key.id) == replace(key, revoked_at=NOON)
    at[0] += timedelta(days=1)
    assert access.revoke(key.id).revoked_at == NOON


def test_a_key_that_is_not_there_cannot_be_revoked():
    with pytest.raises(KeyNotFound):
        Access(GIVEN, HeldKeys()).revoke("env:red")
