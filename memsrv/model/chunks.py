"""Chunks: the pieces of a message, or of a snapshot, that are searched and recalled."""

from dataclasses import dataclass
from datetime import datetime

SUMMARY = "summary"
"""The role of a recalled passage of a snapshot; no message has it."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) of a message's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A piece about to be stored: where it stands, what it says, its search terms (segmented and stemmed)."""

    span: Span
    text: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored piece of a message, with what a reader needs to know of where it comes from.

    A passage of a snapshot is one too: with a `summary_version`, the role `SUMMARY`, the time at which that was made, the
    last position that it covers, and no message.
    """

    number: int
    session_number: int
    session: str
    message_number: int
    message_id: str
    position: int
    ordinal: int
    role: str
    name: str | None
    sent_at: datetime
    span: Span
    text: str
    summary_version: int | None = None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the store holds it; `terms` are one text, parted by blanks."""

    span: Span
    text: str
    terms: str
