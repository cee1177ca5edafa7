"""Log events as they stand in messages: lines of text, JSON lines, stack traces.

(1) Every line that shows something belongs to one event; what goes on with the line before (a stack trace) is part of its event.
(2) An event's text is one line, word for word, of at most `MAX_CHARS` characters, and begins with a time: its own, else that
    of its message. Of a stack trace it tells the line that it began with and the exception.
(3) `pattern_of` is the same for texts that differ in times, numbers and ids; status and error codes tell them apart.
(4) Time is linear in the text.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from memsrv.core.summary.summary import Source
from memsrv.core.text.marks import one_line

MAX_CHARS = 300
VALUE_CHARS = 120
FRONT_CHARS = 100
"""Where a level is looked for."""
ROLES = frozenset(("", "user", "assistant", "system", "developer", "tool"))


class Severity(IntEnum):
    """How much an event matters."""

    PLAIN = 0
    WARNING = 1
    ERROR = 2
    FATAL = 3


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: what it says, when (UTC), how bad it is, in which message it stands."""

    text: str
    at: datetime
    severity: Severity
    position: int


def events_of(source: Source) -> Iterator[Event]:
    """The events of a message, in order."""
    speaker = "" if source.speaker in ROLES else f"{source.speaker}: "
    for told in tellings(source.text):
        text = record_text(told) if isinstance(told, Mapping) else trace_text(told)
        text = one_line(text, MAX_CHARS)
        if not text:
            continue
        given = record_time(told) if isinstance(told, Mapping) else time_in(text, source.sent_at)
        at = given or source.sent_at.astimezone(UTC)
        leads = not speaker and leading_time(text) is not None
        timed = text if leads else one_line(f"{stamp(at)} {speaker}{text}", MAX_CHARS)
        yield Event(timed, at, severity_of(text), source.position)


# --- from text to events ----------------------------------------------------------------------------------------------

TRACEBACK = "Traceback (most recent call last)"
CONTINUES = re.compile(rf"\s|at |Caused by:|\.\.\. [0-9]+ |[)}}\]]|{re.escape(TRACEBACK)}")
CAUSE = re.compile(r"Caused by: ")


def tellings(text: str) -> Iterator[Mapping[str, Any] | list[str]]:
    """JSON objects, and lines of text with what goes on with them."""
    whole = parsed(text)
    if isinstance(whole, Mapping):
        yield whole
    elif isinstance(whole, list) and whole and all(isinstance(one, Mapping) for one in whole):
        yield from whole
    else:
        yield from line_tellings(text)


def line_tellings(text: str) -> Iterator[Mapping[str, Any] | list[str]]:
    """Line by line."""
    block: list[str] = []
    in_traceback = False
    for line in text.splitlines():
        if not line.strip():
            continue
        goes_on = bool(block) and (CONTINUES.match(line) is not None or in_traceback)
        if block and not goes_on:
            yield block
            block = []
        record = None if goes_on else parsed(line)
        if isinstance(record, Mapping):
            yield record
            continue
        block.append(line)
        in_traceback = line.startswith(TRACEBACK) or (in_traceback and line[0].isspace())
    if block:
        yield block


def parsed(text: str) -> Any:
    """The JSON that a text is, or None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def trace_text(lines: Sequence[str]) -> str:
    """What a line says; of a stack trace, how it began and which exception it is."""
    head, rest = lines[0], lines[1:]
    cause = next((line for line in reversed(rest) if CAUSE.match(line)), None)
    if cause is None and any(line.startswith(TRACEBACK) for line in lines) and not lines[-1][0].isspace():
        cause = lines[-1]
    if cause is None or cause is head:
        return head
    return cause if head.startswith(TRACEBACK) else f"{head.strip()} | {cause.strip()}"


# --- records ----------------------------------------------------------------------------------------------------------

TIME_KEYS = ("time", "timestamp", "ts", "@timestamp", "datetime", "date", "at", "t")
LEVEL_KEYS = ("level", "severity", "lvl", "levelname", "log.level", "levelno", "loglevel")
NAME_KEYS = ("logger", "service", "component", "name", "host")
TEXT_KEYS = ("message", "msg", "event", "text", "log", "body")
NUMBERED: Mapping[str, Sequence[tuple[int, str]]] = {
    "levelno": ((50, "FATAL"), (40, "ERROR"), (30, "WARN"), (20, "INFO"), (0, "DEBUG")),
    "": ((60, "FATAL"), (50, "ERROR"), (40, "WARN"), (30, "INFO"), (10, "DEBUG")),
}
SYSLOG = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "NOTICE", "INFO", "DEBUG")
EPOCH_UNITS = (1, 1e3, 1e6, 1e9)
"""Seconds, or thousandths of them and so on: the first that leads to a year before 2100 counts."""
LATEST_EPOCH = 4_102_444_800


def record_text(record: Mapping[str, Any]) -> str:
    """A JSON object as a line: level, source, message, then the other values as `key=value`."""
    level, name, text = (first_key(record, keys) for keys in (LEVEL_KEYS, NAME_KEYS, TEXT_KEYS))
    known = {first_key(record, TIME_KEYS), level, name, text}
    beginning = [level_word(level, record[level])] if level else []
    beginning += [f"{value_text(record[name])}:"] if name else []
    beginning += [str(record[text])] if text else []
    return " ".join(beginning + [pair for key, value in record.items() if key not in known for pair in pairs(key, value)])


def first_key(record: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """The first of the keys that has a plain value."""
    return next((key for key in keys if is_plain(record.get(key))), None)


def is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def pairs(key: str, value: object) -> Iterator[str]:
    """`key=value`; an object's values one by one, what is deeper as JSON."""
    if isinstance(value, Mapping):
        yield from (f"{key}.{inner}={value_text(one)}" for inner, one in value.items())
    elif value is not None:
        yield f"{key}={value_text(value)}"


def value_text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= VALUE_CHARS else text[: VALUE_CHARS - 1] + "…"


def level_word(key: str, value: object) -> str:
    """A level as a word; numbers as pino, Python's logging (`levelno`) or syslog count them."""
    if not isinstance(value, int | float):
        return str(value).upper()
    if key != "levelno" and value < 8:
        return SYSLOG[int(max(0, value))]
    return next((word for least, word in NUMBERED.get(key, NUMBERED[""]) if value >= least), "")


def record_time(record: Mapping[str, Any]) -> datetime | None:
    """When a record says that it happened."""
    key = first_key(record, TIME_KEYS)
    value = record[key] if key else None
    if isinstance(value, str):
        found = ISO.match(value)
        return iso_time(found[0]) if found else None
    if not isinstance(value, int | float):
        return None
    return next((epoch_time(value / unit) for unit in EPOCH_UNITS if abs(value) < LATEST_EPOCH * unit), None)


def epoch_time(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


# --- times ------------------------------------------------------------------------------------------------------------

ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?![0-9])"
)
WEB = re.compile(r"\[([0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4})\]")
SYSTEM = re.compile(r"([A-Z][a-z]{2}) ([0-9]{1,2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})(?![0-9])")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def time_in(text: str, near: datetime) -> datetime | None:
    """When a line says that it happened: ISO at its beginning, a web server's time, or syslog's, in the year of `near`."""
    if (leading := leading_time(text)) is not None:
        return leading
    if found := WEB.search(text[:FRONT_CHARS]):
        day, month, year = found[1][:11].split("/")
        return month_time(month, day, year, found[1][12:].replace(" ", ""))
    if found := SYSTEM.match(text):
        return month_time(found[1], found[2], f"{near.astimezone(UTC).year:04}", found[3])
    return None


def leading_time(text: str) -> datetime | None:
    """The ISO time that a line begins with, in brackets or not."""
    found = ISO.match(text, 1 if text.startswith("[") else 0)
    return iso_time(found[0]) if found else None


def month_time(month: str, day: str, year: str, clock: str) -> datetime | None:
    """A time from the name of its month."""
    return iso_time(f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}T{clock}") if month in MONTHS else None


def iso_time(text: str) -> datetime | None:
    """An ISO time in UTC; without a zone it is taken as UTC."""
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def stamp(at: datetime) -> str:
    """A time in UTC, to the second: `2026-03-01T09:30:00Z`."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


# --- how bad it is ----------------------------------------------------------------------------------------------------

LEVELS: Mapping[str, Severity] = {
    **dict.fromkeys(("TRACE", "DEBUG", "INFO", "NOTICE"), Severity.PLAIN),
    **dict.fromkeys(("WARN", "WARNING"), Severity.WARNING),
    **dict.fromkeys(("ERR", "ERROR"), Severity.ERROR),
    **dict.fromkeys(("FATAL", "CRIT", "CRITICAL", "SEVERE", "PANIC", "EMERG", "EMERGENCY", "ALERT"), Severity.FATAL),
}
NAMES = "|".join(sorted(LEVELS, key=len, reverse=True))
LEVEL = re.compile(
    rf"(?<![\w.-])({NAMES})(?![\w-])|[\[<|(\"'=](?i:({NAMES}))[\]>|)\"']"
    rf"|(?i:\b(?:level|lvl|severity)[=:] ?({NAMES})\b)"
)
HARD = re.compile(
    r"\b[A-Za-z_][\w.]*[a-z](?:Exception|Error)\b|\bTraceback\b|\bpanic:|\bsegfault\b|\bcore dumped\b|\bOOMKilled\b"
    r"|\bout of memory\b|(?i:\b(?:status|status_code|code|HTTP/[0-9.]{1,3}\"?)[\"']?[ =:]{1,2}5[0-9]{2}\b)|\" 5[0-9]{2} "
    r"|(?i:\bexit(?:ed)?(?: with)?(?: code| status)[ =:]{1,2}[1-9])|状态码[ =:：是为]{0,2}5[0-9]{2}"
    r"|\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \S+ 5[0-9]{2}\b"
)
REFUSED = re.compile(
    r"\b(?:status|status_code|http/[0-9.]{1,3}\"?)[\"']?[ =:]{1,2}4[0-9]{2}\b|\" 4[0-9]{2} |状态码[ =:：是为]{0,2}4[0-9]{2}"
    r"|\b(?:warn(?:ing)?s?|retry(?:ing)?|retries|degraded|deprecated|slow)\b|警告|告警|重试|降级",
    re.IGNORECASE,
)
FAILED = re.compile(
    r"\b(?:fail(?:s|ed|ure|ures|ing)?|errors?|fatal|crash(?:es|ed|ing)?|timed out|time-?outs?|refused|denied|unreachable"
    r"|abort(?:s|ed|ing)?|panic|corrupt(?:ed|ion)?|exceptions?)\b|失败|错误|出错|异常|崩溃|超时|故障|拒绝",
    re.IGNORECASE,
)
TROUBLES = r"(?:errors?|failures?|fail(?:s|ed)?|crash(?:es|ed)?|time-?outs?|timed out|exceptions?|warnings?|retries)"
ZH_TROUBLES = r"(?:错误|出错|失败|异常|崩溃|超时|故障|告警|警告)"
HARMLESS = re.compile(
    rf"\b(?:no|zero|0|without(?: any)?|never) (?:new |more |known |further )?{TROUBLES}\b"
    rf"|\b{TROUBLES}[\"']?[ ]?[=:][ ]?(?:0|none|null|false|no)\b(?![.][0-9])|\btime-?outs?[\"']?[ ]?[=:][ ]?[0-9]+"
    rf"|(?:没有|未发现|未见|未|无|零|0 ?[个次条]?)(?:任何)?{ZH_TROUBLES}|{ZH_TROUBLES}(?:次数|数)?[ ]?[=:：][ ]?0(?![0-9.])",
    re.IGNORECASE,
)
"""No trouble at all, and settings for the case of it."""


def severity_of(text: str) -> Severity:
    """How bad an event is. Its level counts before its words: below a level of INFO, words of failure are a warning."""
    found = LEVEL.search(text[:FRONT_CHARS])
    level = LEVELS[(found[1] or found[2] or found[3]).upper()] if found else None
    if level is not None and level >= Severity.ERROR:
        return level
    if HARD.search(text):
        return Severity.ERROR
    said = HARMLESS.sub(" ", text)
    if FAILED.search(said):
        return Severity.ERROR if level is None else Severity.WARNING
    return Severity.WARNING if level is Severity.WARNING or (level is None and REFUSED.search(said)) else Severity.PLAIN


# --- what repeats -----------------------------------------------------------------------------------------------------

MASK = re.compile(
    r"(?P<code>(?:status|status_code|code|errno|signal|状态码|错误码|退出码)[\"']?[ ]?[=:：]?[ ]?[\"']?[0-9]{1,6}(?![0-9])"
    r"|HTTP/[0-9.]{1,3}\"? [0-9]{3}(?![0-9])|(?<=\" )[1-5][0-9]{2}(?![0-9])|(?<= )[1-5][0-9]{2}(?= [0-9.]+ ?m?s\b)"
    r"|(?<![A-Za-z0-9])(?:E|ERR|ORA-|HTTP ?)[0-9]{2,6}(?![0-9A-Za-z]))"
    rf"|{ISO.pattern}|{WEB.pattern}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|0x[0-9a-f]+"
    r"|(?<![a-z0-9*])(?=[a-z]*[0-9])[a-z0-9]{6,}(?![a-z0-9])"
    r"|[0-9]+(?:[.,:][0-9]+)*",
    re.IGNORECASE,
)


def pattern_of(text: str) -> str:
    """A text without the time that it begins with; other times, numbers and ids are `*`."""
    found = ISO.match(text, 1 if text.startswith("[") else 0)
    untimed = text[found.end() :].lstrip("] ") if found and iso_time(found[0]) else text
    return MASK.sub(lambda one: one["code"] or "*", untimed)
