"""How many tokens a model takes, from the settings, a provider's list, or its name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.prompt.windows import LEAST_WINDOW_TOKENS, Windows, listed, parsed, together

KNOWN = {"gpt-4": 8_192, "gpt-4o": 128_000}

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4o-mini", 128_000),
        ("openai/GPT-4o", 128_000),
        ("mine", None),
        ("", None),
        (None, None),
        ("x/", None),
    ],
)
def test_the_longest_beginning_of_a_known_name_counts(model, window):
    assert Windows(known=KNOWN).of(model) == window


def test_what_the_settings_say_comes_first():
    windows = Windows(given={"gpt-4": 4_096}, listed={"gpt-4o": 64_000}, known=KNOWN)
    assert windows.of("gpt-4o") == 4_096


def test_what_a_provider_lists_comes_before_what_is_known():
    windows = Windows(listed={"gpt-4o": 64_000}, known=KNOWN)
    assert (windows.of("gpt-4o"), windows.of("acme/gpt-4o"), windows.of("gpt-4o-mini")) == (64_000, 64_000, 128_000)


def test_the_settings_may_name_the_maker_too():
    windows = Windows(given={"acme/": 1_000, "acme/big": 2_000})
    assert (windows.of("acme/small"), windows.of("Acme/Big-2"), windows.of("big")) == (1_000, 2_000, None)


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"context_length": 1000}, 1000),
        ({"context_window": 1000}, 1000),
        ({"max_model_len": 1000}, 1000),
        ({"max_context_length": 1000}, 1000),
        ({"context_length": 2000, "top_provider": {"context_length": 1000}}, 1000),
        ({"top_provider": {"context_length": None}, "context_length": 1000}, 1000),
        ({"meta": {"n_ctx_train": 1000}}, 1000),
        ({"meta": {"n_ctx_train": 8000, "n_ctx": 1000}}, 1000),
        ({"max_model_len": 2000, "meta": {"n_ctx_train": 1000}}, 2000),
        ({"context_length": 1000.0}, 1000),
        ({"max_context_length": 2000, "loaded_context_length": 1000}, 1000),
    ],
)
def test_a_window_is_read_wherever_a_provider_writes_it(entry, window):
    assert listed({"data": [{"id": "m", **entry}]}) == {"m": window}


@pytest.mark.parametrize("told", [None, True, "4096", 0, -1, LEAST_WINDOW_TOKENS - 1, 10**12, float("nan"), float("inf"), [], {}])
def test_what_can_be_no_window_is_passed_over(told):
    assert listed({"data": [{"id": "m", "context_length": told, "meta": told}, {"id": "n", "context_window": 1000}]}) == {
        "n": 1000
    }


def test_a_listed_model_goes_by_its_name_with_and_without_its_maker_and_the_smaller_window_counts():
    models = [{"id": "A/M", "context_length": 3000}, {"id": "b/m", "context_length": 2000}]
    assert listed({"data": models}) == {"a/m": 3000, "b/m": 2000, "m": 2000}


def test_a_model_of_several_providers_has_the_smallest_window():
    assert together([{"m": 3000, "n": 1000}, {"m": 2000}]) == {"m": 2000, "n": 1000}


def test_a_bare_list_is_read_too():
    assert listed([{"name": "m", "context_length": 1000}]) == {"m": 1000}


@given(anything)
def test_no_answer_is_too_odd_to_read(answer):
    assert all(tokens >= LEAST_WINDOW_TOKENS for tokens in listed(answer).values())
    assert all(tokens >= LEAST_WINDOW_TOKENS for tokens in listed({"data": [answer, {"id": answer, "meta": answer}]}).values())


@pytest.mark.parametrize(
    ("value", "windows"), [("", {}), (" ", {}), ('{" GPT-X ": 4096, "acme/": 8192}', {"gpt-x": 4096, "acme/": 8192})]
)
def test_the_setting_is_a_json_object(value, windows):
    assert parsed(value) == windows


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[1]", "JSON object"),
        ("gpt=1", "Expecting value"),
        ('{"m": "big"}', "'m' is a number of tokens"),
        ('{"m": 10}', "from 256 on"),
        ('{"m": true}', "number of tokens"),
        ('{" ": 4096}', "no name"),
        ('{"m": 4096, "M ": 8192}', "twice"),
    ],
)
def test_a_setting_that_cannot_be_used_says_why(value, said):
    with pytest.raises(ValueError, match=said):
        parsed(value)


@given(st.dictionaries(st.sampled_from(["a", "ab", "abc", "b"]), st.integers(256, 10**6)), st.text("abc/", max_size=6))
def test_a_longer_beginning_is_never_beaten_by_a_shorter_one(table, model):
    found = Windows(given=parsed(json.dumps(table))).of(model)
    names = {model, model.rsplit("/", 1)[-1]}
    fitting = [beginning for beginning in table if any(name.startswith(beginning) for name in names)]
    assert found in ({table[one] for one in fitting if len(one) == max(map(len, fitting))} if fitting else {None})
