"""The context windows of models: what the settings say, before what a provider lists, before what is known of names.

A name in the settings, or in the table of known names, stands for all that begin with it, and the longest that fits counts; a
listed one stands for itself. A maker's prefix (`openai/`) may be there or not.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

LEAST_WINDOW_TOKENS = 256
MOST_WINDOW_TOKENS = 1_000_000_000
MOST_LISTED = 10_000
MAX_NAME_CHARS = 512
FIELDS = ("context_length", "context_window", "max_model_len", "max_context_length", "loaded_context_length")
"""Where providers write a model's window in their lists; other places are in `window_listed`."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Tokens by the beginning of a model's name as `given` by the settings and as `known`, and by name as `listed`."""

    given: Mapping[str, int] = field(default_factory=dict)
    listed: Mapping[str, int] = field(default_factory=dict)
    known: Mapping[str, int] = field(default_factory=dict)

    def of(self, model: str | None) -> int | None:
        """The window of a model, in the tokens of its provider, or None if nothing is known of it."""
        names = names_of(model)
        listed = (self.listed[name] for name in names if name in self.listed)
        return by_beginning(self.given, names) or next(listed, None) or by_beginning(self.known, names)


def names_of(model: str | None) -> tuple[str, ...]:
    """How a model may be called in a table: whole, and without its maker's prefix."""
    whole = (model or "").strip().lower()
    return tuple(dict.fromkeys(name for name in (whole, whole.rsplit("/", 1)[-1]) if name))


def by_beginning(table: Mapping[str, int], names: Iterable[str]) -> int | None:
    """What a table says of the longest beginning of one of the names."""
    fitting = [beginning for name in names for beginning in table if name.startswith(beginning)]
    return table[max(fitting, key=len)] if fitting else None


# --- as the settings write it -----------------------------------------------------------------------------------------


def parsed(value: str) -> dict[str, int]:
    """A JSON object of tokens by the beginning of a name. Raises ValueError that says what is wrong."""
    given = json.loads(value, object_pairs_hook=once) if value.strip() else {}
    if not isinstance(given, dict):
        raise ValueError('write it as a JSON object: {"model": tokens}')
    return {named(name): window(name, tokens) for name, tokens in given.items()}


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; a name that stands twice would hide what it said first."""
    names = [name.strip().lower() for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a model stands there twice")
    return dict(pairs)


def named(name: str) -> str:
    """A beginning as it is looked up."""
    if not name.strip():
        raise ValueError("a model has no name")
    return name.strip().lower()


def window(name: str, tokens: object) -> int:
    """A window that a prompt can be made for."""
    if (usable := as_tokens(tokens)) is None:
        raise ValueError(f"the window of {name[:64]!r} is a number of tokens from {LEAST_WINDOW_TOKENS} on")
    return usable


# --- as providers list it ---------------------------------------------------------------------------------------------


def listed(answer: object) -> dict[str, int]:
    """The windows in an answer to `GET /models`: by the name of the model, and without its maker's prefix. Of two that go by
    one name the smaller counts. What cannot be read is passed over."""
    models = answer.get("data") if isinstance(answer, Mapping) else answer
    found: dict[str, int] = {}
    for model in models[:MOST_LISTED] if isinstance(models, list) else ():
        tokens = window_listed(model) if isinstance(model, Mapping) else None
        if tokens is not None:
            add(found, str(model.get("id") or model.get("name") or ""), tokens)
    return found


def window_listed(model: Mapping[str, Any]) -> int | None:
    """The window of one entry: the smallest that it tells, for a prompt has to fit them all. What a model was trained on
    counts only where nothing is said of what it is served with."""
    served, meta = inner(model, "top_provider"), inner(model, "meta")
    told = [as_tokens(model.get(name)) for name in FIELDS]
    told += [as_tokens(served.get("context_length")), as_tokens(meta.get("n_ctx"))]
    sizes = [tokens for tokens in told if tokens is not None]
    return min(sizes) if sizes else as_tokens(meta.get("n_ctx_train"))


def inner(model: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = model.get(name)
    return value if isinstance(value, Mapping) else {}


def add(found: dict[str, int], name: str, tokens: int) -> None:
    for one in names_of(name[:MAX_NAME_CHARS]):
        found[one] = min(tokens, found.get(one, tokens))


def together(lists: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Several lists as one; a model that several have is taken to have the smallest window, for any may be asked."""
    found: dict[str, int] = {}
    for one in lists:
        for name, tokens in one.items():
            found[name] = min(tokens, found.get(name, tokens))
    return found


def as_tokens(value: object) -> int | None:
    """A number of tokens that can be a window, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if LEAST_WINDOW_TOKENS <= value <= MOST_WINDOW_TOKENS else None
