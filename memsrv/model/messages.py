"""Messages: as they come in, as they are stored, as they are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memsrv.model.chunks import NewChunk, StoredChunk
from memsrv.model.sessions import Session

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as it came in: parsed and checked, not yet looked into."""

    payload: Payload
    id: str | None = None
    sent_at: datetime | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message about to be stored. `digest` identifies its content, for idempotent writes; `task_state` is what it tells
    of the task on a marked line (see `core.summary.taskstate`)."""

    id: str | None
    payload: Payload
    sent_at: datetime | None
    metadata: Mapping[str, Any] | None
    digest: str
    chunks: tuple[NewChunk, ...]
    task_state: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One stored turn of one role; `position` is its 1-based ordinal in the session."""

    number: int
    id: str
    position: int
    payload: Payload
    sent_at: datetime
    stored_at: datetime
    metadata: Mapping[str, Any] | None
    chunk_count: int
    indexed: bool

    @property
    def role(self) -> str:
        return str(self.payload["role"])

    @property
    def name(self) -> str | None:
        name = self.payload.get("name")
        return str(name) if name else None


@dataclass(frozen=True, slots=True)
class Stored:
    """The answer to one appended message."""

    id: str
    position: int
    created: bool
    chunks: int


@dataclass(frozen=True, slots=True)
class Appended:
    """The answer to one append, whole."""

    session: Session
    messages: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which messages of a session: positions strictly between `after` and `before`, sent at `since` or later and before
    `until`. What is None does not bound it."""

    after: int = 0
    before: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message with what the store keeps beside it."""

    message: Message
    digest: str
    chunks: tuple[StoredChunk, ...]
