"""What a session that sets nothing gets, by the settings."""

from typing import Any

from memsrv.core.prompt.policy import Condition, Defaults
from memsrv.model import Trigger
from memsrv.settings import Settings


def defaults(settings: Settings) -> Defaults:
    """What a session that sets nothing gets."""
    return Defaults(
        mode=settings.mode,
        window_size=settings.window_size,
        window_keep=settings.window_keep,
        summary_enabled=settings.summary_enabled,
        summary_trigger=trigger(settings.summary_trigger),
        summary_tokens=settings.summary_max_tokens,
        summary_input_tokens=settings.summary_max_input_tokens,
        summary_options=summary_options(settings),
        k=settings.recall_k,
        min_score=settings.recall_min_score,
        budget_tokens=settings.budget_tokens,
        max_tool_bytes=settings.max_tool_bytes,
    )


def summary_options(settings: Settings) -> dict[str, Any]:
    """What a session that sets nothing has its summaries written by, in the shape of its `summary` settings."""
    said = {
        "provider": settings.summary_provider,
        "model": settings.summary_model,
        "parameters": settings.summary_parameters,
        "prompt": settings.summary_prompt,
        "update_prompt": settings.summary_update_prompt,
    }
    return {name: value for name, value in said.items() if value}


def trigger(written: str) -> Condition | None:
    """`messages:N` or `tokens:N` as a condition."""
    kind, _, number = written.partition(":")
    return Condition(Trigger(kind), int(number)) if written else None
