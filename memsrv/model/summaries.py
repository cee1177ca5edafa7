"""Summaries: their lines, and what a summarizer is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Heading(StrEnum):
    """What a summary tells, in the order of reading."""

    GOAL = "goal"
    DECISIONS = "decisions"
    CONSTRAINTS = "constraints"
    QUESTIONS = "questions"
    FACTS = "facts"
    STATE = "state"


class Language(StrEnum):
    """The language that a summary is written in."""

    ENGLISH = "en"
    CHINESE = "zh"


@dataclass(frozen=True, slots=True)
class Line:
    """One statement. `position` is that of the message that says it (0: not known), `sent_at` its time."""

    heading: Heading
    text: str
    position: int = 0
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The lines in order of reading: heading by heading, and inside one as they are to be read."""

    lines: tuple[Line, ...] = ()
    language: Language = Language.ENGLISH

    def under(self, heading: Heading) -> tuple[Line, ...]:
        """The lines of one heading."""
        return tuple(line for line in self.lines if line.heading is heading)


@dataclass(frozen=True, slots=True)
class Source:
    """A message that goes into a summary, as plain text: tool calls and results are a short note, images a mark."""

    position: int
    role: str
    speaker: str
    sent_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """What a summarizer is asked: fold `said`, in order, into `previous`. What `keep` says (pins) must not vanish; `options`
    are the session's `summary` settings (provider, model, parameters, prompt, update_prompt, max_input_tokens)."""

    previous: Summary | None
    said: tuple[Source, ...]
    max_tokens: int
    language: Language = Language.ENGLISH
    keep: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
