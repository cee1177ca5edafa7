"""The days that a text names, in one spelling: dates, months, weekdays and words like tomorrow, English and Chinese.

`2026-05-12` a day, `--05-12` a day of no year, `2026-05` and `--05` a month, `2026` a year, `tue` a weekday, `5/12` a day in
figures whose order is not known, and counted from the day of speaking `day+1`, `week+1`, `weekend+0`, `month-1`, `year+1`.

(1) `dates` says what is written; `meant` adds what that comes to when it was said at a known time.
(2) What is not sure adds every reading: an honest date must not be refused.
"""

import calendar
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import regex

from memsrv.core.remembering import remembered

REMEMBERED = 4096  # texts whose reading is kept: one compaction reads the same sentences again and again
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = {name.lower(): n for table in (calendar.month_name, calendar.month_abbr) for n, name in enumerate(table) if name}
MONTHS["sept"] = 9
HAN_MONTH = r"(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
HAN_DAY = r"(?:3[01]|[12][0-9]|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九])"
HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九十")}
MONTH = r"(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
DAY = r"(?P<day>3[01]|[12][0-9]|0?[1-9])(?:st|nd|rd|th)?\b"
BEFORE_MONTH = r"in|during|of|since|by|until|till|before|after|last|this|next|early|late|mid|from|to|end of|start of|beginning of"
NUMBERED = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": -1}
NUMBERED |= {str(n): n - 1 for n in range(1, 8)}

SHIFT = {"上上": -2, "上": -1, "本": 0, "这": 0, "这个": 0, "下": 1, "下下": 2, "last": -1, "this": 0, "next": 1, "coming": 1}
HAN_SHIFT = r"(?:(?P<shift>上上|下下|上|下|本|这)一?个?)"
DAY_WORDS = {
    "day before yesterday": -2, "the other day": None, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0,
    "this morning": 0, "this afternoon": 0, "this evening": 0, "day after tomorrow": 2, "tomorrow": 1,
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨日": -1, "今天": 0, "今晚": 0, "今早": 0, "今日": 0, "明天": 1,
    "明早": 1, "明晚": 1, "明日": 1, "大后天": 3, "后天": 2,
}  # fmt: skip
COUNT_WORDS = "a two three four five six seven eight nine ten"
COUNTS = {word: n for n, word in enumerate(COUNT_WORDS.split(), 1)} | {"an": 1, "one": 1}
UNIT_DAYS = {"day": 1, "天": 1, "week": 7, "周": 7, "星期": 7, "礼拜": 7}

DAY_WORD = "|".join(rf"\b{word}\b" if word.isascii() else word for word in sorted(DAY_WORDS, key=len, reverse=True))
SCAN = regex.compile(
    r"(?=[0-9零一二两三四五六七八九十去今明后前周星礼上下本这大昨]|\b[acdefijlmnostwy])(?:"  # how any of them begins
    rf"(?P<iso>(?<![0-9]){YEAR}[-/.](?P<month>1[0-2]|0?[1-9])[-/.](?P<day>3[01]|[12][0-9]|0?[1-9])(?![0-9]))"
    rf"|(?P<han>(?:{YEAR}\s*年\s*|(?P<shift>[去今明后前])年\s*)?(?<![0-9个])(?P<month>{HAN_MONTH})\s*月(?![前后後])"
    rf"(?:\s*(?P<day>{HAN_DAY})\s*[日号號]?)?)"
    rf"|(?P<day_first>\b{DAY}\s+(?:of\s+)?{MONTH}(?:\s*,?\s*{YEAR})?)"
    rf"|(?P<month_first>\b{MONTH}\s+(?:the\s+)?{DAY}(?![:%])(?:\s*,?\s*{YEAR}\b)?)"
    rf"|(?P<month_year>\b{MONTH}\s*,?\s*(?:of\s+)?{YEAR}\b)"
    rf"|(?P<month_only>(?<=\b(?:{BEFORE_MONTH})\s{{1,3}}){MONTH}|\b(?!may\b|mar\b|march\b|jan\b|sat\b|dec\b|sun\b){MONTH})"
    rf"|(?P<figures>(?<![0-9/.])(?P<first>[0-9]{{1,2}})/(?P<second>[0-9]{{1,2}})(?:/(?P<year>(?:20)?[0-9]{{2}}))?(?![0-9/]))"
    rf"|(?P<year_only>{YEAR}\s*年|(?<=\b(?:in|since|until|during|by|of|year)\s){YEAR}\b(?![-:.,]?[0-9]))"
    rf"|(?P<day_word>{DAY_WORD})"
    rf"|(?P<ago>\b(?P<count>[0-9]{{1,3}}|{'|'.join(COUNTS)})\s+(?P<unit>day|week)s?\s+ago\b"
    rf"|(?P<count>[0-9]{{1,3}}|[一二两三四五六七八九十]{{1,2}})\s*个?(?P<unit>天|周|星期|礼拜)之?前)"
    rf"|(?P<ahead>\b(?:in|within)\s+(?P<count>[0-9]{{1,3}}|{'|'.join(COUNTS)})\s+(?P<unit>day|week)s?\b"
    rf"|(?P<count>[0-9]{{1,3}}|[一二两三四五六七八九十]{{1,2}})\s*个?(?P<unit>天|周|星期|礼拜)[之以]?后)"
    rf"|(?P<han_weekday>{HAN_SHIFT}?(?:周|星期|礼拜)(?P<nth>[一二三四五六日天末1-7])(?![0-9个天周])"
    rf"|(?P<shift>)周末)"
    rf"|(?P<weekday>\b(?:(?P<shift>last|this|next|coming)\s+)?(?P<name>mon|tue|wed|thu|fri|sat|sun)"
    rf"(?:day|sday|nesday|rsday|urday|s|rs|r)?s?\b(?<!\b(?:sun|sat|wed|mons|suns|sats|weds|fris)\b))"
    rf"|(?P<span>\b(?P<shift>last|this|next)\s+(?P<length>weekend|week|month|year)\b"
    rf"|{HAN_SHIFT}(?P<length>周末|周|星期|礼拜|月)|(?P<shift>[去今明后前])(?P<length>年)))",
    regex.V1,
)
KINDS: tuple[str, ...] = (
    "iso",
    "han",
    "day_first",
    "month_first",
    "month_year",
    "month_only",
    "figures",
    "year_only",
    "day_word",
    "ago",
    "ahead",
)
KINDS = (*KINDS, "han_weekday", "weekday", "span")
SHORT_DAYS = {"Sat": "saturday", "Sun": "sunday", "Wed": "wednesday"}
SHORT_DAY = regex.compile(r"\b(?:Sat|Sun|Wed)\b")
TILL = r"\s*(?:-|–|—|~|to|till|until|through|至|到)\s*"
FIRST, SECOND = (rf"(?P<{name}>[0-3]?[0-9])(?:st|nd|rd|th)?" for name in ("first", "second"))
MONTH_LAST = regex.compile(rf"\b{FIRST}{TILL}{SECOND}\s+(?:of\s+)?{MONTH}")
MONTH_AHEAD = regex.compile(
    rf"(?P<head>\b(?:{'|'.join(MONTHS)})\.?\s+|(?<![0-9])[0-9]{{1,2}}月){FIRST}[日号]?{TILL}{SECOND}(?![0-9:.%月])"
)
"""From a day to a day of the same month, which is told once."""
HINT = regex.compile("[0-9０-９月日号號天周期拜年昨今明晚早]")
WORD = regex.compile("[a-z]+")
HINT_WORDS = frozenset((*MONTHS, *WEEKDAYS, "tues", "thur", "thurs", "yesterday", "today", "tonight", "tomorrow"))
HINT_WORDS |= {f"{name}{ending}" for name in map(str.lower, calendar.day_name) for ending in ("", "s")}
COUNTED_LIST = "day days week weeks weekend month year night morning afternoon evening"
COUNTING_LIST = "this last next coming in within ago"
COUNTED, COUNTING = frozenset(COUNTED_LIST.split()), frozenset(COUNTING_LIST.split())
HAN_YEARS = {"去": -1, "今": 0, "明": 1, "后": 2, "前": -2}
LENGTHS = {"周末": "weekend", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


@remembered(REMEMBERED)
def dates(text: str) -> frozenset[str]:
    """The days that a text names, as written. Linear time."""
    return frozenset(token for found in scan(text) for token in written(found))


def meant(text: str, at: datetime) -> frozenset[str]:
    """What a text's days come to when it is said at `at`: each in every spelling that is true of it."""
    today = at.date()
    return frozenset(token for found in scan(text) for token in (*written(found), *resolved(found, today)))


def without_dates(text: str) -> str:
    """The text in small letters with blanks for its dates; counted days ("in three days") stay, for they hold a number."""
    gone = [found for found in scan(text) if not (found["ago"] or found["ahead"])]
    if not gone:
        return plain(text) if may_have(text) else unicodedata.normalize("NFKC", text).lower()
    read = gone[0].string
    starts, ends = (0, *(found.end() for found in gone)), (*(found.start() for found in gone), len(read))
    return " ".join(read[start:end] for start, end in zip(starts, ends, strict=True))


@remembered(REMEMBERED)
def scan(text: str) -> tuple[regex.Match[str], ...]:
    """The places of a text that name days."""
    return tuple(SCAN.finditer(plain(text))) if may_have(text) else ()


def may_have(text: str) -> bool:
    """Whether it is worth looking for dates: most sentences have none, and looking is dear."""
    if HINT.search(text):
        return True
    words = WORD.findall(text.lower())
    return not HINT_WORDS.isdisjoint(words) or not (COUNTED.isdisjoint(words) or COUNTING.isdisjoint(words))


def plain(text: str) -> str:
    """Text as `SCAN` reads it: compatibility forms, small letters; Sat, Sun and Wed in full, for in small letters they are
    words of other kinds."""
    text = SHORT_DAY.sub(lambda found: SHORT_DAYS[found[0]], unicodedata.normalize("NFKC", text)).lower()
    return MONTH_LAST.sub(
        r"\g<first> \g<month> - \g<second> \g<month>", MONTH_AHEAD.sub(r"\g<head>\g<first> - \g<head>\g<second>", text)
    )


def written(found: regex.Match[str]) -> Iterator[str]:
    """The tokens of one match."""
    kind = next(kind for kind in KINDS if found[kind] is not None)
    if kind == "figures":
        yield f"{int(found['first'])}/{int(found['second'])}"
    elif kind == "day_word":
        shift = DAY_WORDS[found["day_word"]]
        yield from () if shift is None else (f"day{shift:+d}",)
    elif kind == "han_weekday":
        nth = NUMBERED[found["nth"]] if found["nth"] else -1
        yield "weekend" if nth < 0 else WEEKDAYS[nth]
    elif kind == "weekday":
        yield found["name"]
    elif kind == "span":
        yield f"{LENGTHS.get(found['length'], found['length'])}{span_shift(found):+d}"
    elif kind not in ("ago", "ahead"):
        yield calendar_token(found)


def span_shift(found: regex.Match[str]) -> int:
    """How many weeks, months or years from now."""
    return HAN_YEARS[found["shift"]] if found["length"] == "年" else SHIFT[found["shift"]]


def calendar_token(found: regex.Match[str]) -> str:
    """A day, month or year as ISO 8601 writes it; a year that is left out is `-`."""
    year, month, day = parts(found)
    if month is None:
        return f"{year}"
    head = f"{year}-{month:02d}" if year else f"--{month:02d}"
    return f"{head}-{day:02d}" if day else head


def parts(found: regex.Match[str]) -> tuple[int | None, int | None, int | None]:
    """Year, month and day of a match, where it tells them."""
    year, month, day = found["year"], found["month"], found["day"]
    return int(year) if year else None, month_of(month) if month else None, small_number(day) if day else None


def month_of(name: str) -> int:
    return MONTHS.get(name) or small_number(name)


def small_number(text: str) -> int:
    """3, 三, 十二, 二十三."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return 2 if text == "两" else HAN_DIGITS[text]
    return (HAN_DIGITS[tens] if tens else 1) * 10 + (HAN_DIGITS[ones] if ones else 0)


# --- what is meant --------------------------------------------------------------------------------------------------


def resolved(found: regex.Match[str], today: date) -> Iterator[str]:
    """Every true spelling of the day, or of each day that may be meant."""
    if found["han"] is not None and found["shift"]:
        yield from (str(today.year + HAN_YEARS[found["shift"]]),)
    for day in days_of(found, today):
        yield from spellings(day, today)
    yield from months_of(found, today)


def days_of(found: regex.Match[str], today: date) -> Iterator[date]:
    """The days that a match may mean."""
    if found["day_word"]:
        yield from shifted(today, DAY_WORDS[found["day_word"]] or 0)
    elif found["ago"] or found["ahead"]:
        count = COUNTS.get(found["count"]) or small_number(found["count"])
        yield from shifted(today, count * UNIT_DAYS[found["unit"]] * (-1 if found["ago"] else 1))
    elif found["weekday"] or (found["han_weekday"] and found["nth"] not in (None, "末")):
        yield from weekdays(found, today)
    elif found["figures"]:
        yield from figure_days(int(found["first"]), int(found["second"]), today)
    elif found["day"]:
        year, month, day = parts(found)
        yield from year_days(year, month or 0, day or 0, today)


def weekdays(found: regex.Match[str], today: date) -> Iterator[date]:
    """The day of a weekday: with 上, 本, 下 the one of that week; else the one to come and the one before."""
    nth = WEEKDAYS.index(found["name"]) if found["weekday"] else NUMBERED[found["nth"]]
    of_week = nth - today.weekday()
    if found["han_weekday"] and found["shift"]:
        yield from shifted(today, of_week + 7 * SHIFT[found["shift"]])
        return
    coming = of_week % 7
    back, ahead = (coming - 7, of_week - 7), (coming, coming - 7)
    further = {"last": back, "this": (of_week, coming), "next": (coming or 7, of_week + 7)}
    for shift in further.get(found["shift"] or "", ahead):
        yield from shifted(today, shift)


def figure_days(first: int, second: int, today: date) -> Iterator[date]:
    """Both readings of 5/12."""
    yield from year_days(None, first, second, today)
    yield from year_days(None, second, first, today)


def year_days(year: int | None, month: int, day: int, today: date) -> Iterator[date]:
    """The day in its year; without one, in the years around."""
    for candidate in (year,) if year else (today.year - 1, today.year, today.year + 1):
        try:
            found = date(candidate, month, day)
        except ValueError:
            continue
        if year or abs((found - today).days) <= 300:
            yield found


def months_of(found: regex.Match[str], today: date) -> Iterator[str]:
    """The month of a match that names no day: by name, or counted from today's."""
    year, month, day = parts(found) if found["month"] else (None, None, None)
    if month and not day:
        yield f"--{month:02d}"
        yield from (f"{year or near}-{month:02d}" for near in (today.year - 1, today.year, today.year + 1))
    elif found["span"] and found["length"] in ("month", "月"):
        index = today.year * 12 + today.month - 1 + SHIFT[found["shift"]]
        yield from (f"--{index % 12 + 1:02d}", f"{index // 12}-{index % 12 + 1:02d}")
    elif found["span"] and found["length"] in ("year", "年"):
        yield str(today.year + span_shift(found))


def shifted(today: date, days: int) -> Iterator[date]:
    try:
        yield today + timedelta(days=days)
    except OverflowError:
        return


def spellings(day: date, today: date) -> Iterator[str]:
    """All that is true of a day, seen from `today`."""
    yield from (day.isoformat(), f"--{day.month:02d}-{day.day:02d}", f"{day.month}/{day.day}", f"{day.day}/{day.month}")
    yield from (f"{day.year}-{day.month:02d}", f"--{day.month:02d}", f"{day.year}", WEEKDAYS[day.weekday()], f"#{day.day}")
    if day.weekday() >= 5:
        yield "weekend"
    apart = (day - today).days
    if abs(apart) <= 3:
        yield f"day{apart:+d}"
    weeks = (monday(day) - monday(today)).days // 7
    if abs(weeks) <= 2:
        yield from (f"week{weeks:+d}", *((f"weekend{weeks:+d}",) if day.weekday() >= 5 else ()))


def monday(day: date) -> date:
    return date.fromordinal(max(1, day.toordinal() - day.weekday()))
