"""Sessions, what they hold beside their messages, and what a deletion takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A session as a client names it, inside its tenant. The name is kept to the character."""

    tenant: str
    name: str


@dataclass(frozen=True, slots=True)
class Meta:
    """What never scrolls away. `extra` holds the client's own keys."""

    system_prompt: str | None = None
    profile: str | None = None
    goal: str | None = None
    task_state: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pin:
    """A fact or decision that stands in every prompt."""

    id: str
    text: str
    kind: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `settings` holds only what the client set; `core.prompt.policy` adds profile and defaults. `rewrites`
    counts its edits and deletes."""

    number: int
    key: SessionKey
    owner: str | None
    settings: Mapping[str, Any]
    meta: Meta
    last_position: int
    made_at: datetime
    changed_at: datetime
    rewrites: int = 0


@dataclass(frozen=True, slots=True)
class SessionCounts:
    messages: int
    chunks: int
    pending_index: int
    set_aside: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a deletion takes, or would take: rows of each kind. `summaries` are versions that lose their text, and their
    passages with it, which are not counted."""

    sessions: int = 0
    messages: int = 0
    chunks: int = 0
    summaries: int = 0
    receipts: int = 0
    pins: int = 0
