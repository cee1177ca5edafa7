"""What holds for one prompt: the request before the session's settings, these before its profile, this before the defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from memsrv.core.merge import merged
from memsrv.model import Mode, PromptRequest, Reach

RESERVE_RATIO = 0.05
LEAST_BUDGET_TOKENS = 1024
RETRIEVAL_WINDOW = 6
"""Messages: recall speaks for the past there, and three turns are what a knowledge base's dialogue needs."""

PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "assistant": {"mode": "hybrid", "recall": {"scope": "owner"}},
        "support": {"mode": "window", "window": {"size": 50, "keep": 40}},
        "project": {"mode": "summary", "window": {"size": 20, "keep": 10}},
        "knowledge": {"mode": "retrieval", "window": {"size": 6, "keep": 4}},
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


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the server's settings say."""

    mode: Mode = Mode.HYBRID
    window_size: int = 12
    k: int = 50
    min_score: float = 0.0
    budget_tokens: int = 8192
    max_tool_bytes: int = 16_384
    reach: Reach = Reach.SESSION
    reserve_ratio: float | None = RESERVE_RATIO


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one prompt. `window_size` counts messages."""

    mode: Mode
    window_size: int
    k: int
    reach: Reach
    min_score: float
    budget_tokens: int
    model: str | None
    max_tool_bytes: int

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
    settings = layered(settings)
    window, recall, budget = (settings.get(name) or {} for name in ("window", "recall", "budget"))
    mode = Mode(first(request.mode, settings.get("mode"), defaults.mode))
    size = first(window.get("size"), defaults.window_size)
    model = first(request.model, budget.get("model"))
    return Policy(
        mode=mode,
        window_size=min(size, RETRIEVAL_WINDOW) if mode is Mode.RETRIEVAL else size,
        k=first(request.k, recall.get("k"), defaults.k),
        reach=Reach(first(request.reach, recall.get("scope"), defaults.reach)),
        min_score=first(recall.get("min_score"), defaults.min_score),
        budget_tokens=first(
            request.budget_tokens,
            budget.get("tokens"),
            budget_of_model(model, first(budget.get("reserve_ratio"), defaults.reserve_ratio)),
            defaults.budget_tokens,
        ),
        model=model,
        max_tool_bytes=first((settings.get("sections") or {}).get("max_tool_bytes"), defaults.max_tool_bytes),
    )


def layered(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The session's settings over those of its profile."""
    return merged(PROFILES.get(str(settings.get("profile")), {}), settings)


def first(*values: Any) -> Any:
    """The first value that is set."""
    return next((value for value in values if value is not None), None)


def budget_of_model(model: str | None, reserve_ratio: float | None) -> int | None:
    """What a prompt for a model may use of its context window; None if the window is not known."""
    window = window_of_model(model)
    return None if window is None else effective_budget(window, reserve_ratio)


def effective_budget(window: int, reserve_ratio: float | None) -> int:
    """The window less its reserve: `min(window, max(1024, round(window * (1 - ratio))))`, or the window itself when the
    ratio is unset or outside (0, 1)."""
    if reserve_ratio is None or not 0 < reserve_ratio < 1:
        return window
    return min(window, max(LEAST_BUDGET_TOKENS, round(window * (1 - reserve_ratio))))


def window_of_model(model: str | None) -> int | None:
    """The context window of a well-known model, by the beginning of its name; a maker's prefix (`openai/`) does not count."""
    name = (model or "").rsplit("/", 1)[-1].lower()
    known = [beginning for beginning in MODEL_WINDOWS if name.startswith(beginning)]
    return MODEL_WINDOWS[max(known, key=len)] if known else None
