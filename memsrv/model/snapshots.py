"""Snapshots: summaries as they are stored, and how far a session is summarised."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from memsrv.model.sessions import SessionKey
from memsrv.model.summaries import Summary


class Trigger(StrEnum):
    """Why a summary was made."""

    MESSAGES = "messages"
    TOKENS = "tokens"
    SHARE = "share"
    SECTIONS = "sections"
    STALE = "stale"
    ASKED = "asked"
    SWITCH = "switch"
    PROMPT = "prompt"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class NewPassage:
    """What a snapshot says that the one before it did not, in a piece that can be recalled; with its search terms."""

    text: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """A summary about to be stored. It was folded from the snapshot `base` (0: none) and the messages of positions
    `covers_from` to `covers_upto`, read while the session's `rewrites` stood as told here."""

    base: int
    covers_from: int
    covers_upto: int
    summary: Summary
    text: str
    made_by: str
    reason: Trigger
    rewrites: int
    findings: tuple[Mapping[str, Any], ...] = ()
    passages: tuple[NewPassage, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stored summary: immutable, versioned, says up to which position it covers the session.

    What went in is the snapshot `base` (0: none) and every message of positions `covers_from` to `covers_upto`; the
    transcript still holds them. `made_by` is the summarizer, `reason` what triggered it, `findings` what the guard did.
    """

    version: int
    covers_upto: int
    text: str
    made_at: datetime
    stale: bool = False
    covers_from: int = 1
    summary: Summary | None = None
    made_by: str = ""
    reason: Trigger = Trigger.ASKED
    base: int = 0
    findings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """A session as the compaction finds it: how far its newest sound snapshot reaches, how far a newer one reached that
    turned stale since (0: none), and how often a compaction failed since the last that did not: why, and how many seconds
    the next try has to wait."""

    key: SessionKey
    session_number: int
    covered_upto: int
    stale_upto: int
    failures: int
    wait_s: float
    reason: str = ""
