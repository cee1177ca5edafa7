"""What holds for one prompt: the request before the session's settings, these before its profile, this before the defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from memsrv.core.merge import merged
from memsrv.core.prompt.calibration import NEUTRAL, within
from memsrv.core.prompt.sections import Sections, sections_for
from memsrv.core.prompt.windows import Windows
from memsrv.model import Mode, PromptRequest, Reach, Trigger

RESERVE_RATIO = 0.05
LEAST_BUDGET_TOKENS = 1024
RETRIEVAL_WINDOW = 6
"""Messages: recall speaks for the past there, and three turns are what a knowledge base's dialogue needs."""

EVENTS = "events"
"""The profile of sessions that hold log events; its summaries are counted by rule unless the session names a provider itself."""

PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "assistant": {"mode": "hybrid", "recall": {"scope": "owner"}},
        "support": {"mode": "window", "window": {"size": 50, "keep": 40}, "summary": {"enabled": False}},
        "project": {"mode": "summary", "window": {"size": 20, "keep": 10}},
        "knowledge": {"mode": "retrieval", "window": {"size": 6, "keep": 4}},
        "events": {"mode": "hybrid", "window": {"size": 40, "keep": 20}, "summary": {"max_tokens": 400, "provider": ""}},
    }
)
"""Presets by use, in the shape of a session's settings. A profile that is not here sets nothing for a prompt."""

MODEL_WINDOWS: Mapping[str, int] = MappingProxyType(
    {
        "gpt-3.5-turbo": 16_385,
        "gpt-4": 8_192,
        "gpt-4-32k": 32_768,
        "gpt-4-turbo": 128_000,
        "gpt-4-1106": 128_000,
        "gpt-4-0125": 128_000,
        "gpt-4o": 128_000,
        "gpt-4.1": 1_047_576,
        "gpt-5": 400_000,
        "chatgpt-4o": 128_000,
        "o1": 200_000,
        "o1-mini": 128_000,
        "o1-preview": 128_000,
        "o3": 200_000,
        "o4-mini": 200_000,
        "claude": 200_000,
        "gemini": 1_048_576,
        "deepseek": 64_000,
        "qwen": 32_768,
        "llama-3": 8_192,
        "llama-3.1": 131_072,
        "llama-3.2": 131_072,
        "llama-3.3": 131_072,
        "mistral": 32_768,
        "mixtral": 32_768,
        "moonshot": 8_192,
        "kimi-k2": 128_000,
        "glm-4": 128_000,
    }
)
"""Context windows in tokens, by the beginning of a model's name; the longest beginning that fits counts."""
WELL_KNOWN = Windows(known=MODEL_WINDOWS)


class KnownWindows(Protocol):
    """The context windows of models, as far as they are known."""

    def of(self, model: str | None) -> int | None:
        """A model's window in tokens, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Preset:
    """Messages in the window, messages that stay after a compaction, tokens of the summary."""

    window_size: int
    window_keep: int
    summary_tokens: int


PRESETS: Mapping[int, Preset] = MappingProxyType(
    {0: Preset(12, 8, 150), 16_000: Preset(20, 12, 200), 32_000: Preset(32, 20, 300), 128_000: Preset(80, 48, 600)}
)
"""Presets by the context window of the session's model, from so many tokens on."""

UNCUT_BYTES = 2**40
"""The cap on tool results where `limit_recent` is off."""


@dataclass(frozen=True, slots=True)
class Condition:
    """When a compaction is due: more than `value` of what `type` counts (`messages`, `tokens`), or by `sections`."""

    type: Trigger
    value: int = 0


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the server's settings say. Without a `summary_trigger` it is more messages than the window holds."""

    mode: Mode = Mode.HYBRID
    window_size: int = 12
    window_keep: int = 8
    summary_enabled: bool = True
    summary_trigger: Condition | None = None
    summary_tokens: int = 200
    summary_input_tokens: int = 6_000
    summary_options: Mapping[str, Any] = field(default_factory=dict)
    k: int = 50
    min_score: float = 0.0
    budget_tokens: int = 8192
    max_tool_bytes: int = 16_384
    reach: Reach = Reach.SESSION
    reserve_ratio: float | None = RESERVE_RATIO
    windows: KnownWindows = WELL_KNOWN


@dataclass(frozen=True, slots=True)
class SummaryPolicy:
    """How a session is summarised. `options` are its `summary` settings as they stand, for the summarizer."""

    enabled: bool = True
    trigger: Condition = Condition(Trigger.MESSAGES, 12)
    max_tokens: int = 200
    max_input_tokens: int = 6_000
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one prompt. `window_size` and `window_keep` count messages. `holds_events`: the session holds log events
    instead of talk, of whatever role; a system message is one too, and no system prompt. `of_window`: the budget is what the
    model's window holds; `whole_turn`: the newest turn is not shortened to the window's size; `percent`: tokens that the
    provider was found to count for a hundred of ours."""

    mode: Mode
    window_size: int
    k: int
    reach: Reach
    min_score: float
    budget_tokens: int
    model: str | None
    max_tool_bytes: int
    window_keep: int = 8
    summary: SummaryPolicy = SummaryPolicy()
    sections: Sections | None = None
    holds_events: bool = False
    of_window: bool = False
    whole_turn: bool = False
    percent: int = NEUTRAL

    @property
    def limit_tokens(self) -> int:
        """What a prompt may cost in our count."""
        return within(self.budget_tokens, self.percent, of_window=self.of_window)

    @property
    def told_tokens(self) -> int:
        """The budget as it is told: never less than what a prompt may cost in our count."""
        return max(self.budget_tokens, self.limit_tokens)

    @property
    def compacts(self) -> bool:
        """Whether what leaves the window goes into a summary."""
        return self.summarises and self.summary.enabled

    @property
    def summarises(self) -> bool:
        """Whether the summary stands in the prompt."""
        return self.mode in (Mode.SUMMARY, Mode.HYBRID)

    @property
    def recalls(self) -> bool:
        """Whether recalled pieces stand in the prompt."""
        return self.mode in (Mode.RETRIEVAL, Mode.HYBRID) and self.k > 0


def resolve(defaults: Defaults, settings: Mapping[str, Any], request: PromptRequest | None = None) -> Policy:
    """The policy for a request to a session with these stored settings (shape: api.md, "The settings of a session")."""
    request = request or PromptRequest()
    own, settings = settings, layered(settings)
    window, recall, budget, sections = (settings.get(name) or {} for name in ("window", "recall", "budget", "sections"))
    mode = Mode(first(request.mode, settings.get("mode"), defaults.mode))
    preset = preset_of(defaults.windows.of(budget.get("model")))
    size = first(window.get("size"), preset and preset.window_size, defaults.window_size)
    model = first(request.model, budget.get("model"))
    given = first(request.budget_tokens, budget.get("tokens"))
    held = budget_of_window(defaults.windows.of(model), first(budget.get("reserve_ratio"), defaults.reserve_ratio))
    whole = sections.get("limit_recent") is False
    by_section = sections_for(settings.get("profile"), sections)
    return Policy(
        mode=mode,
        window_size=min(size, RETRIEVAL_WINDOW) if mode is Mode.RETRIEVAL else size,
        k=first(request.k, recall.get("k"), defaults.k),
        reach=Reach(first(request.reach, recall.get("scope"), defaults.reach)),
        min_score=first(recall.get("min_score"), defaults.min_score),
        budget_tokens=first(given, held, defaults.budget_tokens),
        model=model,
        max_tool_bytes=UNCUT_BYTES if whole else first(sections.get("max_tool_bytes"), defaults.max_tool_bytes),
        window_keep=keep_of(window.get("keep"), first(preset and preset.window_keep, defaults.window_keep), size),
        summary=summary_of(defaults, settings.get("summary") or {}, trigger_of(defaults, own, by_section, size), preset),
        sections=by_section,
        holds_events=settings.get("profile") == EVENTS,
        of_window=given is None and held is not None,
        whole_turn=request.whole_turn,
    )


def keep_of(given: int | None, usual: int, size: int) -> int:
    """Messages that stay after a compaction, no more than the window holds; two thirds of a window that is set smaller than
    what usually stays."""
    if given is not None:
        return min(given, size)
    return usual if usual < size else size * 2 // 3


def trigger_of(defaults: Defaults, own: Mapping[str, Any], sections: Sections | None, size: int) -> Condition:
    """When a compaction is due: as the session says, else by its sections, else as the server says."""
    given = (own.get("summary") or {}).get("trigger")
    if given:
        return Condition(Trigger(given["type"]), given["value"])
    if sections and (own.get("window") or {}).get("size") is None:
        return Condition(Trigger.SECTIONS)
    return defaults.summary_trigger or Condition(Trigger.MESSAGES, size)


def summary_of(defaults: Defaults, settings: Mapping[str, Any], trigger: Condition, preset: Preset | None) -> SummaryPolicy:
    """How a session with these `summary` settings is summarised."""
    max_input_tokens = first(settings.get("max_input_tokens"), defaults.summary_input_tokens)
    return SummaryPolicy(
        enabled=first(settings.get("enabled"), defaults.summary_enabled),
        trigger=trigger,
        max_tokens=first(settings.get("max_tokens"), preset and preset.summary_tokens, defaults.summary_tokens),
        max_input_tokens=max_input_tokens,
        options=merged(defaults.summary_options, settings) | {"max_input_tokens": max_input_tokens},
    )


def preset_of(window: int | None) -> Preset | None:
    """The preset of a context window, if one is known."""
    return None if window is None else PRESETS[max(least for least in PRESETS if least <= window)]


def layered(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The session's settings over those of its profile."""
    return merged(PROFILES.get(str(settings.get("profile")), {}), settings)


def first(*values: Any) -> Any:
    """The first value that is set."""
    return next((value for value in values if value is not None), None)


def budget_of_window(window: int | None, reserve_ratio: float | None) -> int | None:
    """What a prompt may use of its model's context window; None if the window is not known."""
    return None if window is None else effective_budget(window, reserve_ratio)


def effective_budget(window: int, reserve_ratio: float | None) -> int:
    """The window less its reserve: `min(window, max(1024, round(window * (1 - ratio))))`, or the window itself when the
    ratio is unset or outside (0, 1)."""
    if reserve_ratio is None or not 0 < reserve_ratio < 1:
        return window
    return min(window, max(LEAST_BUDGET_TOKENS, round(window * (1 - reserve_ratio))))
