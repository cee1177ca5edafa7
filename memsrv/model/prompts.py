"""Prompts: what is asked for, what they begin with, and the account of what they are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from memsrv.model.messages import Message, Payload
from memsrv.model.modes import Mode
from memsrv.model.recalls import Reach, Recall
from memsrv.model.sessions import Pin, Session
from memsrv.model.snapshots import Snapshot


class Format(StrEnum):
    """The shape in which a prompt is given out."""

    OPENAI = "openai"
    STRICT = "strict"
    TEXT = "text"


class RegionName(StrEnum):
    META = "meta"
    SUMMARY = "summary"
    RECALL = "recall"
    WINDOW = "window"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a prompt begins with depends on this: how many of the `newest` messages it reads, and the `model` it is for."""

    newest: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Outset:
    """What a prompt begins with, as of one moment: `newest` messages from the newest back and, if there are more before them, the
    session's `opening` ones in order. `percent`: tokens that the model's provider counts for a hundred of ours."""

    session: Session
    pins: tuple[Pin, ...]
    snapshot: Snapshot | None
    newest: tuple[Message, ...]
    opening: tuple[Message, ...] = ()
    percent: int = 100


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What a client asks for; None means: as the session and the settings say. `upto`: the prompt is made as if nothing had been
    said after this position, nor at the positions `hidden`; `whole_turn`: the newest turn is shown whole, whatever the window's
    size, if it fits the budget."""

    query: str | None = None
    budget_tokens: int | None = None
    model: str | None = None
    mode: Mode | None = None
    k: int | None = None
    reach: Reach | None = None
    format: Format = Format.OPENAI
    explain: bool = False
    upto: int | None = None
    hidden: frozenset[int] = frozenset()
    whole_turn: bool = False


@dataclass(frozen=True, slots=True)
class Region:
    """The account of one region: tokens spent, tokens it might have had, items in it, and what fell out and why."""

    name: RegionName
    tokens: int
    limit_tokens: int
    items: int
    dropped: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a prompt was made of. `factor` is how many tokens its provider was taken to count for one of ours, `advice` what to
    change where a region took too much (see `core.advice`)."""

    id: str
    regions: tuple[Region, ...]
    recall: tuple[Recall, ...]
    summary: Snapshot | None
    degraded: tuple[str, ...]
    considered: tuple[Mapping[str, Any], ...] | None = None
    factor: float = 1.0
    advice: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, ready to send: `total_tokens <= budget_tokens`, always."""

    session: str
    mode: Mode
    model: str | None
    budget_tokens: int
    total_tokens: int
    messages: tuple[Payload, ...]
    receipt: Receipt
