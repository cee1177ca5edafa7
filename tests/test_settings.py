"""Settings that hold secrets or places, and the upstream of the proxy as they name it."""

import pytest

from memsrv.errors import SettingsError
from memsrv.settings import Settings, default_upstream, describe, endpoints, load

URL = "postgresql://memsrv:swordfish@db.example/memsrv"
TWO = '{"one": {"base_url": "http://one/v1"}, "two": {"base_url": "http://two/v1"}}'


def test_the_upstream_is_a_provider_like_the_others(monkeypatch):
    monkeypatch.setenv("UPSTREAM_SECRET", "the-key")
    settings = Settings(upstream_url="http://up/v1/", upstream_key="${UPSTREAM_SECRET}", upstream_model="m", providers=TWO)
    known = endpoints(settings)
    assert set(known) == {"one", "two", "upstream"}
    one = known["upstream"]
    assert (one.base_url, one.api_key, one.model, one.timeout_s) == ("http://up/v1", "the-key", "m", 600.0)


def test_a_reference_that_leads_nowhere_is_named_with_its_setting():
    with pytest.raises(SettingsError) as caught:
        endpoints(Settings(upstream_url="http://up/v1", upstream_key="${NO_SUCH_VARIABLE}"))
    assert "MEMSRV_UPSTREAM_KEY" in caught.value.message
    assert "NO_SUCH_VARIABLE" in caught.value.message


def test_an_address_that_cannot_be_asked_is_refused():
    with pytest.raises(SettingsError, match="MEMSRV_UPSTREAM_URL"):
        endpoints(Settings(upstream_url="ftp://up"))


def test_a_provider_cannot_take_the_upstream_s_name():
    taken = '{"upstream": {"base_url": "http://one/v1"}}'
    with pytest.raises(SettingsError, match="'upstream'"):
        endpoints(Settings(upstream_url="http://up/v1", providers=taken))
    assert set(endpoints(Settings(providers=taken))) == {"upstream"}


@pytest.mark.parametrize(
    ("given", "default"),
    [
        ({}, None),
        ({"providers": TWO}, None),
        ({"providers": '{"one": {"base_url": "http://one/v1"}}'}, "one"),
        ({"providers": TWO, "upstream_url": "http://up/v1"}, "upstream"),
    ],
)
def test_the_default_is_the_upstream_else_the_only_provider(given, default):
    assert default_upstream(endpoints(Settings(**given))) == default


def test_the_url_of_the_database_is_never_shown():
    settings = load({"database_url": URL})
    assert ("MEMSRV_DATABASE_URL", "********", "command line") in describe(settings, {"database_url": URL})
    assert "swordfish" not in repr(settings) + str(settings)


@pytest.mark.parametrize("value", ["mysql://memsrv:swordfish@db/memsrv", "swordfish", "/data/swordfish.sqlite3"])
def test_a_database_that_is_not_postgresql_is_refused_without_quoting_it(value, monkeypatch):
    monkeypatch.setenv("MEMSRV_DATABASE_URL", value)
    with pytest.raises(SettingsError, match="MEMSRV_DATABASE_URL: write it as postgresql://") as refusal:
        load()
    assert "swordfish" not in refusal.value.message
