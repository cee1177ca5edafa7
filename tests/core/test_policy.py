"""The request comes before the session, the session before its profile, the profile before the defaults."""

import pytest

from memsrv.core.policy import Defaults, effective_budget, resolve, window_of_model
from memsrv.model import Mode, PromptRequest, Reach

DEFAULTS = Defaults()


def test_a_session_that_sets_nothing_gets_the_defaults() -> None:
    policy = resolve(DEFAULTS, {})
    assert (policy.mode, policy.window_size, policy.k) == (Mode.HYBRID, 12, 50)
    assert (policy.budget_tokens, policy.reach, policy.model) == (8192, Reach.SESSION, None)


def test_the_session_comes_before_the_defaults() -> None:
    policy = resolve(
        DEFAULTS,
        {
            "mode": "window",
            "window": {"size": 4, "keep": 2},
            "recall": {"k": 5, "scope": "owner", "min_score": 0.3},
            "budget": {"tokens": 900},
            "sections": {"max_tool_bytes": 100},
        },
    )
    assert (policy.mode, policy.window_size) == (Mode.WINDOW, 4)
    assert (policy.k, policy.reach, policy.min_score, policy.max_tool_bytes) == (5, Reach.OWNER, 0.3, 100)
    assert policy.budget_tokens == 900


def test_the_request_comes_before_the_session() -> None:
    asked = PromptRequest(budget_tokens=77, mode=Mode.FULL, k=1, reach=Reach.SESSION, model="gpt-4o")
    policy = resolve(DEFAULTS, {"mode": "window", "recall": {"k": 5, "scope": "owner"}, "budget": {"tokens": 900}}, asked)
    assert (policy.mode, policy.k, policy.reach, policy.budget_tokens, policy.model) == (
        Mode.FULL,
        1,
        Reach.SESSION,
        77,
        "gpt-4o",
    )


def test_the_session_comes_before_its_profile() -> None:
    policy = resolve(DEFAULTS, {"profile": "project", "window": {"size": 6}})
    assert (policy.mode, policy.window_size) == (Mode.SUMMARY, 6)


def test_an_assistant_recalls_from_all_sessions_of_its_owner() -> None:
    assert resolve(DEFAULTS, {"profile": "assistant"}).reach is Reach.OWNER


def test_zero_is_a_setting() -> None:
    policy = resolve(DEFAULTS, {"window": {"size": 0}, "recall": {"k": 0}})
    assert policy.window_size == 0
    assert not policy.recalls


def test_retrieval_has_a_small_window() -> None:
    assert resolve(DEFAULTS, {"mode": "retrieval"}).window_size == 6
    assert resolve(DEFAULTS, {"mode": "retrieval", "window": {"size": 2}}).window_size == 2


def test_a_known_model_gives_the_budget_less_its_reserve() -> None:
    assert resolve(DEFAULTS, {}, PromptRequest(model="openai/gpt-4o-mini-2024-07-18")).budget_tokens == 121_600
    assert resolve(DEFAULTS, {"budget": {"model": "gpt-4", "reserve_ratio": 0.5}}).budget_tokens == 4_096


def test_an_unknown_model_gets_the_default_budget() -> None:
    assert resolve(DEFAULTS, {}, PromptRequest(model="my-own")).budget_tokens == 8192


def test_the_longest_beginning_of_a_model_name_counts() -> None:
    assert window_of_model("gpt-4-32k-0613") == 32_768
    assert window_of_model("gpt-4-0613") == 8_192
    assert window_of_model("meta-llama/Llama-3.1-8B-Instruct") == 131_072
    assert window_of_model(None) is None


@pytest.mark.parametrize(
    ("window", "ratio", "effective"),
    [
        (10_000, None, 10_000),
        (10_000, 0, 10_000),
        (10_000, 1, 10_000),
        (10_000, 0.05, 9_500),
        (1_500, 0.9, 1_024),
        (600, 0.5, 600),
    ],
)
def test_the_reserve_is_kept_within_its_bounds(window: int, ratio: float | None, effective: int) -> None:
    assert effective_budget(window, ratio) == effective
