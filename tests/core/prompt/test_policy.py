"""The request comes before the session, the session before its profile, the profile before the defaults."""

from dataclasses import replace

import pytest

from memsrv.core.prompt.policy import Condition, Defaults, effective_budget, resolve
from memsrv.core.prompt.windows import Windows
from memsrv.model import Mode, PromptRequest, Reach, Trigger

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
    assert DEFAULTS.windows.of("gpt-4-32k-0613") == 32_768
    assert DEFAULTS.windows.of("gpt-4-0613") == 8_192
    assert DEFAULTS.windows.of("meta-llama/Llama-3.1-8B-Instruct") == 131_072
    assert DEFAULTS.windows.of(None) is None


def test_the_windows_that_the_server_knows_count() -> None:
    policy = resolve(Defaults(windows=Windows({"my-own": 100_000})), {}, PromptRequest(model="my-own-2"))
    assert (policy.budget_tokens, policy.of_window) == (95_000, True)


@pytest.mark.parametrize(("percent", "limit"), [(100, 1_000), (200, 500), (50, 1_000)])
def test_a_given_budget_holds_in_both_counts(percent: int, limit: int) -> None:
    policy = replace(resolve(DEFAULTS, {}, PromptRequest(budget_tokens=1_000, model="gpt-4o")), percent=percent)
    assert (policy.limit_tokens, policy.told_tokens) == (limit, 1_000)


@pytest.mark.parametrize(("percent", "limit", "told"), [(100, 7_782, 7_782), (200, 3_891, 7_782), (50, 15_564, 15_564)])
def test_a_window_is_in_the_tokens_of_its_provider(percent: int, limit: int, told: int) -> None:
    policy = replace(resolve(DEFAULTS, {}, PromptRequest(model="gpt-4")), percent=percent)
    assert (policy.limit_tokens, policy.told_tokens) == (limit, told)


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


# --- summaries --------------------------------------------------------------------------------------------------------


def test_by_default_more_messages_than_the_window_holds_are_summarised() -> None:
    policy = resolve(DEFAULTS, {})
    assert policy.compacts
    assert (policy.window_keep, policy.summary.max_tokens) == (8, 200)
    assert policy.summary.trigger == Condition(Trigger.MESSAGES, 12)
    assert policy.sections is None


@pytest.mark.parametrize(
    ("settings", "compacts"),
    [
        ({"mode": "summary"}, True),
        ({"mode": "window"}, False),
        ({"mode": "full"}, False),
        ({"mode": "retrieval"}, False),
        ({"summary": {"enabled": False}}, False),
        ({"profile": "support", "mode": "hybrid"}, False),
        ({"profile": "project"}, True),
    ],
)
def test_only_modes_that_show_a_summary_make_one(settings: dict, compacts: bool) -> None:
    assert resolve(DEFAULTS, settings).compacts is compacts


@pytest.mark.parametrize(
    ("model", "size", "keep", "tokens"),
    [
        ("gpt-4", 12, 8, 150),
        ("gpt-3.5-turbo", 20, 12, 200),
        ("mistral-large", 32, 20, 300),
        ("deepseek-chat", 32, 20, 300),
        ("gpt-4o", 80, 48, 600),
        ("my-own", 12, 8, 200),
    ],
)
def test_the_model_of_a_session_gives_its_window_and_summary(model: str, size: int, keep: int, tokens: int) -> None:
    policy = resolve(DEFAULTS, {"budget": {"model": model}})
    assert (policy.window_size, policy.window_keep, policy.summary.max_tokens) == (size, keep, tokens)
    assert policy.summary.trigger.value == size


def test_a_model_asked_for_once_does_not_change_the_window() -> None:
    assert resolve(DEFAULTS, {}, PromptRequest(model="gpt-4o")).window_size == 12


def test_what_a_session_sets_wins_over_the_preset_of_its_model() -> None:
    own = {"budget": {"model": "gpt-4o"}, "window": {"size": 10, "keep": 4}, "summary": {"max_tokens": 99}}
    policy = resolve(DEFAULTS, own)
    assert (policy.window_size, policy.window_keep, policy.summary.max_tokens) == (10, 4, 99)


@pytest.mark.parametrize(("window", "keep"), [({"size": 6}, 4), ({"size": 3, "keep": 9}, 3), ({"size": 0}, 0), ({"size": 20}, 8)])
def test_what_stays_is_never_more_than_the_window_holds(window: dict, keep: int) -> None:
    assert resolve(DEFAULTS, {"window": window}).window_keep == keep


def test_a_trigger_is_the_sessions_else_by_sections_else_the_servers() -> None:
    server = Defaults(summary_trigger=Condition(Trigger.TOKENS, 900))
    own = {"summary": {"trigger": {"type": "messages", "value": 30}}}
    assert resolve(server, own).summary.trigger == Condition(Trigger.MESSAGES, 30)
    assert resolve(server, {"profile": "agent"}).summary.trigger.type is Trigger.SECTIONS
    assert resolve(server, {"profile": "agent", "window": {"size": 9}}).summary.trigger == Condition(Trigger.TOKENS, 900)
    assert resolve(server, {}).summary.trigger == Condition(Trigger.TOKENS, 900)


def test_the_options_of_a_summarizer_are_the_sessions_over_the_servers() -> None:
    server = Defaults(summary_options={"provider": "p", "parameters": {"top_p": 1, "seed": 2}})
    options = resolve(server, {"summary": {"model": "m", "parameters": {"seed": 3}}}).summary.options
    assert options == {"provider": "p", "model": "m", "parameters": {"top_p": 1, "seed": 3}, "max_input_tokens": 6000}


def test_the_limit_on_recent_sections_lifts_the_cap_on_tool_results_too() -> None:
    assert resolve(DEFAULTS, {"sections": {"limit_recent": False, "max_tool_bytes": 5}}).max_tool_bytes > 10**9


def test_a_session_of_events_is_counted_by_rule_unless_it_names_a_provider_itself() -> None:
    server = Defaults(summary_options={"provider": "p"})
    policy = resolve(server, {"profile": "events"})
    assert (policy.holds_events, policy.compacts, policy.summary.options["provider"]) == (True, True, "")
    assert (policy.window_size, policy.window_keep, policy.summary.max_tokens) == (40, 20, 400)
    own = resolve(server, {"profile": "events", "summary": {"provider": "mine"}})
    assert own.summary.options["provider"] == "mine"
    assert not resolve(server, {"profile": "project"}).holds_events
