"""When a question speaks of: its dates and its "last week", in English and Chinese, as stretches of time.

Relative words are counted back from the conversation's own clock, never from the server's.
"""

import calendar
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import regex

YEARS_LOOKED_AT = 8
"""A date without a year may be meant in so many of the last years."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` until `end`, in seconds since the epoch. `before_s` and `after_s`: how far around it a hit still counts
    a little, for what happened is often told a few days later. `weight` says how sharp the words are."""

    start: float
    end: float
    before_s: float
    after_s: float
    weight: float

    def nearness(self, at: float) -> float:
        """1 inside, a part of it in the margins, else 0; times the weight."""
        if self.start <= at < self.end:
            return self.weight
        if self.end <= at < self.end + self.after_s:
            return 0.5 * self.weight
        return 0.4 * self.weight if self.start - self.before_s <= at < self.start else 0.0


DAY_S = 86_400.0
GRAINS = {"day": (1 * DAY_S, 5 * DAY_S, 1.0), "month": (0.0, 8 * DAY_S, 1.0), "year": (0.0, 0.0, 0.3)}
RELATIVE = (1 * DAY_S, 3 * DAY_S, 0.5)

MONTH_NAMES = {name.lower(): n for table in (calendar.month_name, calendar.month_abbr) for n, name in enumerate(table) if name}
MONTH_NAMES["sept"] = 9
MONTH = "(?P<month_name>" + "|".join(sorted(MONTH_NAMES, key=len, reverse=True)) + r")\b\.?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
DATES = tuple(
    regex.compile(pattern)
    for pattern in (
        rf"\b{YEAR}[-/.](?P<month>\d{{1,2}})[-/.]{DAY}\b",
        rf"(?:{YEAR}\s*年\s*)?(?<!\d)(?P<month>\d{{1,2}})\s*月(?!\s*[前后後])(?:\s*{DAY}\s*[日号號])?",
        rf"\b{DAY}\s*(?:of\s+)?{MONTH}(?:\s*,?\s*{YEAR})?",
        rf"\b{MONTH}\s+{DAY}\b(?!\d)(?:\s*,?\s*{YEAR})?",
        rf"\b{MONTH}\s*,?\s*(?:of\s+)?{YEAR}",
        rf"\b(?:in|during|of|since|by|until|before|after|last|this|early|late|mid)\s+{MONTH}",
        rf"{YEAR}\s*年|\b{YEAR}\b",
    )
)
"""Ways to write a date, the sharpest first: what one has taken, the next do not see."""

HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "几": 3}
HAN_NUMBER = regex.compile(r"[零一二三四五六七八九十]{1,4}(?=\s*[月日号號])")
HAN_YEARS = {"去年": -1, "今年": 0, "前年": -2}

Days = Callable[[float], tuple[float, float]]
RELATIVE_WORDS: tuple[tuple[regex.Pattern[str], Days], ...] = tuple(
    (regex.compile(words), days)
    for words, days in (
        (r"\bday before yesterday\b|前天", lambda today: (today - 2, today - 1)),
        (r"(?<!before )\byesterday\b|昨[天晚日]", lambda today: (today - 1, today)),
        (r"\btoday\b|\bthis (?:morning|afternoon|evening)\b|今[天早晚]", lambda today: (today, today + 1)),
        (r"\blast week(?:end)?\b|上个?(?:星期|周|礼拜)", lambda today: (today - 13, today - 1)),
        (r"\blast month\b|上个?月", lambda today: (today - 61, today - 14)),
        (r"\bthis week\b|这个?(?:星期|周|礼拜)|本周", lambda today: (today - 6, today + 1)),
        (r"\bthis month\b|这个?月|本月", lambda today: (today - 30, today + 1)),
    )
)
AGO = regex.compile(
    r"\b(?P<count>\d{1,3}|a|an|one|two|three|four|five|six|few|couple of)\s+(?P<unit>day|week|month)s?\s+ago\b"
    r"|(?P<count>[\d一二两三四五六七八九十几]{1,3})\s*个?(?P<unit>天|周|星期|礼拜|月)之?前"
)
NUMBER_WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "few": 3, "couple of": 2}
UNITS = {"day": (1, 1), "week": (7, 4), "month": (30, 15)}
"""Days in a unit, and how many days around it are meant."""
HAN_UNITS = {"天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month"}


def stretches(question: str, *, first: float, now: float) -> list[Stretch]:
    """The stretches of time that a question names. `first` and `now`: the oldest and newest message, in seconds."""
    text = unicodedata.normalize("NFKC", question).lower()
    return [*dated(text, first=first, now=now), *relative(text, now=now)]


def dated(text: str, *, first: float, now: float) -> Iterator[Stretch]:
    """Dates, months and years by name or number; without a year, in every year that the talk spans."""
    this_year = year_of(now)
    for word, back in HAN_YEARS.items():
        text = text.replace(word, f"{this_year + back}年")
    text = HAN_NUMBER.sub(lambda found: str(han_value(found[0])), text)
    spanned = range(max(year_of(first), this_year - YEARS_LOOKED_AT + 1), this_year + 1)
    for pattern in DATES:
        for found in pattern.finditer(text):
            parts = found.groupdict()
            month = MONTH_NAMES.get(parts.get("month_name") or "") or int(parts.get("month") or 0) or None
            day = int(parts.get("day") or 0) or None
            for year in [int(parts["year"])] if parts.get("year") else spanned:
                yield from calendar_stretch(year, month, day)
        text = pattern.sub(" ", text)


def calendar_stretch(year: int, month: int | None, day: int | None) -> Iterator[Stretch]:
    """The stretch of a day, month or year; nothing if there is no such day."""
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
        length = 1 if day else calendar.monthrange(year, month)[1] if month else 365 + calendar.isleap(year)
        end = start + timedelta(days=length)
    except (ValueError, OverflowError):
        return
    yield Stretch(start.timestamp(), end.timestamp(), *GRAINS["day" if day else "month" if month else "year"])


def relative(text: str, *, now: float) -> Iterator[Stretch]:
    """Yesterday, last week, three days ago, counted back from the day of `now`."""
    today = now // DAY_S
    for words, days in RELATIVE_WORDS:
        if words.search(text):
            start, end = days(today)
            yield Stretch(start * DAY_S, end * DAY_S, *RELATIVE)
    for found in AGO.finditer(text):
        length, slack = UNITS[HAN_UNITS.get(found["unit"], found["unit"])]
        day = today - number_of(found["count"]) * length
        yield Stretch((day - slack) * DAY_S, (day + slack + 1) * DAY_S, *RELATIVE)


def number_of(words: str) -> int:
    """3, three, 三, 十二."""
    return int(words) if words.isdecimal() else NUMBER_WORDS.get(words) or han_value(words)


def han_value(digits: str) -> int:
    """A Chinese number below a hundred."""
    tens, ten, ones = digits.rpartition("十")
    if ten:
        return (HAN_DIGITS.get(tens, 1) if tens else 1) * 10 + (HAN_DIGITS.get(ones, 0) if ones else 0)
    value = 0
    for digit in digits:
        value = value * 10 + (int(digit) if digit.isdecimal() else HAN_DIGITS.get(digit, 0))
    return value


def year_of(at: float) -> int:
    """The year of a time in seconds, kept within what a calendar knows."""
    return datetime.fromtimestamp(min(max(at, -62e9), 253e9), UTC).year


def nearness(spans: Sequence[Stretch], at: float) -> float:
    """How well a time fits a question's stretches: the best of them, 0 without any."""
    return max((span.nearness(at) for span in spans), default=0.0)
