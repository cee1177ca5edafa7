"""Modes: which regions a prompt is made of, and when that changed."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Mode(StrEnum):
    """Which regions a prompt is made of."""

    FULL = "full"
    WINDOW = "window"
    SUMMARY = "summary"
    RETRIEVAL = "retrieval"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Switch:
    """A change of a session's mode, on the record. `version` is the snapshot that was made for it, if one was."""

    at: datetime
    before: Mode
    after: Mode
    reason: str
    version: int | None
