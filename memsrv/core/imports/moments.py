"""Times as exports write them: epoch seconds, milliseconds or microseconds, ISO 8601, and as people do."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

MILLISECONDS_FROM = 1e11
MICROSECONDS_FROM = 1e14

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
EPOCH = re.compile(r"\d{9,17}(?:\.\d+)?")
TAVERN = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})\s*@\s*(\d{1,2})h\s*(\d{1,2})m(?:\s*(\d{1,2})s)?(?:\s*(\d{1,3})ms)?", re.ASCII)
ENGLISH = re.compile(
    r"([a-z]{3})[a-z]*\.?\s+(\d{1,2}),?\s+(\d{4})(?:,|\s+at)?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap]m)?",
    re.IGNORECASE | re.ASCII,
)
CHINESE = re.compile(
    r"(\d{4})年(\d{1,2})月(\d{1,2})日\s*(上午|下午|中午|晚上|凌晨|早上)?\s*(\d{1,2})[:：时](\d{2})(?:[:：分](\d{2}))?", re.ASCII
)
AFTERNOON = ("pm", "下午", "晚上", "中午")
FORENOON = ("am", "上午", "凌晨", "早上")


def moment_of(value: Any) -> datetime | None:
    """The time that a value tells, in UTC; without a zone it is taken as UTC. None if it tells none."""
    try:
        return moment(value)
    except (ValueError, OverflowError, OSError):
        return None


def moment(value: Any) -> datetime | None:
    """As `moment_of`, but a time that does not exist may raise."""
    if isinstance(value, Mapping):  # as document databases write it
        return moment(value.get("$date", value.get("$numberLong")))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return from_epoch(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    return from_epoch(float(text)) if EPOCH.fullmatch(text) else from_clock(text) or from_iso(text)


def from_clock(text: str) -> datetime | None:
    """A time as people write it, None if it is none of these ways."""
    if found := TAVERN.match(text):
        year, month, day, hour, minute, second, millisecond = found.groups()
        return at_clock(year, month, day, hour, minute, second).replace(microsecond=int(millisecond or 0) * 1000)
    if found := ENGLISH.match(text):
        name, day, year, hour, minute, second, half = found.groups()
        return at_clock(year, MONTHS.index(name.lower()) + 1, day, hour, minute, second, half)
    if found := CHINESE.match(text):
        year, month, day, half, hour, minute, second = found.groups()
        return at_clock(year, month, day, hour, minute, second, half)
    return None


def from_iso(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def from_epoch(number: float) -> datetime | None:
    """Seconds, milliseconds or microseconds since 1970, told apart by their size; nothing for 0 and below."""
    if number <= 0:
        return None
    unit = 1e6 if number >= MICROSECONDS_FROM else 1e3 if number >= MILLISECONDS_FROM else 1
    return datetime.fromtimestamp(number / unit, UTC)


def at_clock(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any, half: str | None = None) -> datetime:
    """A day and a time of it, by the clock of 12 hours if a half of the day is named."""
    hours = int(hour)
    if half and half.lower() in AFTERNOON and hours < 12:
        hours += 12
    elif half and half.lower() in FORENOON and hours == 12:
        hours = 0
    return datetime(int(year), int(month), int(day), hours, int(minute), int(second or 0), tzinfo=UTC)
