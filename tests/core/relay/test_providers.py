"""Providers are checked whole, and no error holds a secret."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.relay.providers import TIMEOUT_S, chosen, providers
from memsrv.errors import BadRequest, SettingsError

SECRET = "sk-a-secret-of-this-test"
LOCAL = {"base_url": "http://127.0.0.1:11434/v1"}


def refused(value: object, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        providers(value if isinstance(value, str) else json.dumps(value), environ or {})
    return f"{caught.value.message} {caught.value.hint}"


def test_nothing_given_is_no_provider() -> None:
    assert providers("", {}) == {}
    assert providers("  ", {}) == {}
    assert providers("{}", {}) == {}


def test_a_provider_has_all_that_is_said_and_defaults_for_the_rest() -> None:
    given = {"big": {**LOCAL, "api_key": SECRET, "headers": {"x-team": "memory"}, "model": "m1", "timeout_s": 5}, "small": LOCAL}
    found = providers(json.dumps(given), {})
    assert list(found) == ["big", "small"]
    big, small = found["big"], found["small"]
    assert (big.base_url, big.api_key, big.headers, big.model, big.timeout_s) == (
        "http://127.0.0.1:11434/v1",
        SECRET,
        {"x-team": "memory"},
        "m1",
        5.0,
    )
    assert (small.api_key, small.headers, small.model, small.timeout_s) == ("", {}, "", TIMEOUT_S)


def test_references_are_taken_from_the_environment_wherever_they_stand() -> None:
    given = {"a": {"base_url": "https://${HOST}:8443/v1/", "api_key": "${KEY}", "headers": {"x-org": "org-${ORG}"}}}
    found = providers(given, {"HOST": "models.example", "KEY": f" {SECRET}\n", "ORG": "7"})["a"]
    assert (found.base_url, found.api_key, found.headers) == ("https://models.example:8443/v1", SECRET, {"x-org": "org-7"})


def test_what_a_variable_says_is_not_looked_into_again() -> None:
    assert providers({"a": {**LOCAL, "api_key": "${KEY}"}}, {"KEY": "${OTHER}", "OTHER": SECRET})["a"].api_key == "${OTHER}"


@pytest.mark.parametrize("environ", [{}, {"MODELS_KEY": ""}, {"MODELS_KEY": " "}])
def test_an_unresolved_variable_is_named(environ: dict[str, str]) -> None:
    said = refused({"main": {**LOCAL, "api_key": "${MODELS_KEY}"}}, environ)
    assert "'main'" in said
    assert "'api_key'" in said
    assert "MODELS_KEY, which is not set" in said


@pytest.mark.parametrize("reference", ["${", "${}", "${NO", "${A B}", "${1A}"])
def test_a_malformed_reference_is_refused(reference: str) -> None:
    assert "reference in 'api_key'" in refused({"main": {**LOCAL, "api_key": reference}}, {"NO": "1", "A B": "1", "1A": "1"})


@pytest.mark.parametrize(
    "url",
    [
        "", "ftp://host/v1", "host/v1", "http://", "http://host:99999/v1", "http://[::1/v1", "http://ho st/v1", "http://хост/v1\n1",
        f"http://user:{SECRET}@host/v1", f"http://host/v1?key={SECRET}", f"http://host/v1#{SECRET}", f"{SECRET}",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_asked_is_refused_without_being_shown(url: str) -> None:
    said = refused({"main": {"base_url": url}})
    assert "'base_url'" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"api_key": f"{SECRET}\nx: y"}, "'api_key'"),
        ({"api_key": f"{SECRET}é"}, "'api_key'"),
        ({"api_key": 7}, "'api_key'"),
        ({"headers": [SECRET]}, "'headers'"),
        ({"headers": {"x y": SECRET}}, "header"),
        ({"headers": {"x-key": f"{SECRET}\r\nx: y"}}, "'headers.x-key'"),
        ({"model": [SECRET]}, "'model'"),
        ({"timeout_s": "10"}, "'timeout_s'"),
        ({"timeout_s": 0}, "'timeout_s'"),
        ({"timeout_s": True}, "'timeout_s'"),
        ({"timeout_s": float("nan")}, "'timeout_s'"),
        ({"timeout_s": 1e9}, "'timeout_s'"),
        ({"apikey": SECRET}, "did you mean 'api_key'?"),
    ],
)
def test_a_field_that_cannot_be_used_is_named_and_its_value_is_not_shown(fields: dict[str, object], said: str) -> None:
    message = refused({"main": LOCAL | fields})
    assert "'main'" in message
    assert said in message
    assert SECRET not in message


@pytest.mark.parametrize("value", ["[", "[]", "7", '"a"', '{"a": []}', '{"a b": {}}', "[" * 100_000])
def test_what_is_no_object_of_providers_is_refused(value: str) -> None:
    assert "MEMSRV_PROVIDERS" in refused(value)


def test_a_name_that_stands_twice_is_refused() -> None:
    assert "twice" in refused('{"a": {"base_url": "http://one/v1"}, "a": {"base_url": "http://two/v1"}}')


def test_a_provider_shows_neither_key_nor_headers() -> None:
    found = providers({"a": {**LOCAL, "api_key": SECRET, "headers": {"x-key": SECRET}}}, {})
    assert SECRET not in repr(found)


def test_a_provider_is_chosen_by_name_and_an_unknown_one_names_those_that_are() -> None:
    known = providers({"one": LOCAL, "two": LOCAL}, {})
    assert chosen(known, "two").name == "two"
    with pytest.raises(BadRequest) as caught:
        chosen(known, "three")
    assert "one, two" in caught.value.hint


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_is_given_is_taken_or_refused_and_nothing_else(value: object) -> None:
    for given_value in (
        json.dumps(value),
        json.dumps({"a": value}),
        json.dumps({"a": {"base_url": "http://h/v1", "headers": value}}),
    ):
        try:
            found = providers(given_value, {})
        except SettingsError:
            continue
        assert all(name == provider.name for name, provider in found.items())
