"""The numbers that a text states, in one spelling, so that a summary's can be looked for in its sources.

A bare number is its digits (`1200`; a decimal as written, so that version 3.10 is not 3.1), a share `15%`, money `1200 USD`,
an ordinal or day of the month `#12`, a time of day `19:45` where the half of the day is known and `7:45` where it is not
(`07:45` is the morning). Days with a month and weekdays are no numbers: see `core.days`. One, 一 and 一个 are articles more often
than numbers and are left out.
"""

import unicodedata
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal

import regex

from memsrv.core.claims.days import without_dates
from memsrv.core.claims.identifiers import without_codes
from memsrv.core.remembering import remembered

REMEMBERED = 4096  # texts whose reading is kept: one compaction reads the same sentences again and again
LONGEST_DIGITS = 18
"""A longer run of digits is an identifier: it is kept as written."""

NUM = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?"
HAN = r"[零〇一二两三四五六七八九十百千万亿]+"
EITHER = rf"(?:{NUM}|{HAN})"
SCALES = {"k": 1_000, "thousand": 1_000, "m": 10**6, "million": 10**6, "bn": 10**9, "billion": 10**9}
SCALES |= {"百": 100, "千": 1_000, "万": 10**4, "萬": 10**4, "百万": 10**6, "千万": 10**7, "亿": 10**8}
SCALE = r"(?P<scale>k\b|thousand\b|m\b|million\b|bn\b|billion\b|百万|千万|百|千|[万萬亿])"

CURRENCIES = {
    "USD": ("us$", "$", "usd", "dollars", "dollar", "bucks", "美元", "美金"),
    "EUR": ("€", "eur", "euros", "euro", "欧元"),
    "GBP": ("£", "gbp", "pounds", "quid", "英镑"),
    "CNY": ("cn¥", "¥", "cny", "rmb", "yuan", "元", "块钱", "块", "人民币"),
    "JPY": ("jpy", "yen", "日元"),
    "HKD": ("hk$", "hkd", "港币", "港元"),
    "CHF": ("chf", "francs"),
    "INR": ("₹", "inr", "rupees"),
}
CURRENCY_OF = {sign: code for code, signs in CURRENCIES.items() for sign in signs}
SIGNS = "|".join(
    regex.escape(sign) + (r"\b" if sign.isascii() and sign.isalpha() else "") for sign in sorted(CURRENCY_OF, key=len)[::-1]
)

SMALL_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
"""
TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
ORDINAL_WORDS = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
SMALL = {word: n for n, word in enumerate(SMALL_WORDS.split())}
TENS = {word: 10 * n for n, word in enumerate(TENS_WORDS.split(), 2)}
WORD_SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "dozen": 12}
ORDINALS = {word: n for n, word in enumerate(ORDINAL_WORDS.split(), 3)}
COUNT = "|".join(sorted({*SMALL, *TENS, *WORD_SCALES}, key=len, reverse=True))
WORDED = rf"(?:(?:a|half\s+a)\s+)?(?:{COUNT})(?:(?:[\s-]+(?:and\s+)?)(?:{COUNT})){{0,8}}"

DAY_PART = r"(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|今晚|明晚|夜里|晚)"
LATE = frozenset(("下午", "傍晚", "晚上", "今晚", "明晚", "晚"))
EARLY = frozenset(("凌晨", "清晨", "早上", "早晨", "上午"))
MERIDIEM = r"(?P<half>[ap])\.?m\b\.?"
NOT_A_TIME = r"(?!\s*(?:建议|要求|意见|原因|理由|问题|内容|希望|说明|想法|好处|坏处|优点|缺点|注意))"
MEASURES = (
    "个人天周月年次件张本位间条台只块元点分小岁号日楼层倍名家种套杯斤公里米晚夜页章份瓶"
    "把辆座栋支箱包颗粒顿场门节道轮遍秒刻成吨克升毫厘亩代届期卷集"
)
WEAK = frozenset(("一", "十分", "千万", "万一", "万", "百", "千", "亿", "万千", "百万一"))
"""Numerals that are more often a word."""

SCAN = regex.compile(
    r"(?=\s*[0-9]|[零〇一二两三四五六七八九十百千万亿第凌清早上中下傍晚今明夜$€£¥₹美欧英元块人日港]"  # how any of them begins
    r"|\b[abdefhmnostvz]|[a-z]{2,7}[$¥]?\s*[0-9])(?:"
    rf"(?P<clock>(?<![0-9:]){DAY_PART}?\s*(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-5][0-9])(?![0-9:])\s*(?:{MERIDIEM})?)"
    rf"|(?P<whole>\b(?P<hour>[0-9]{{1,2}})\s*(?:{MERIDIEM}|o['’]?clock\b(?:\s*{MERIDIEM})?))"
    rf"|(?P<han_clock>{DAY_PART}?(?P<hour>[0-9]{{1,2}}|[一二两三四五六七八九十]{{1,3}})点{NOT_A_TIME}"
    rf"(?:(?P<half_hour>半)|(?P<quarter>[一三])刻|(?P<minute>[0-9]{{1,2}}|[零一二三四五六七八九十]{{1,4}})分)?)"
    rf"|(?P<version>(?<![\w.])v?[0-9]+(?:\.[0-9]+){{2,}}|(?<![\w.])v[0-9]+(?:\.[0-9]+)?\b)"
    rf"|(?P<percent>(?P<value>{NUM})\s*(?:%|percent\b|per\s+cent\b|pct\b|个百分点)|百分之(?P<value>{EITHER}))"
    rf"|(?P<money>(?P<sign>{SIGNS})\s*(?P<value>{NUM})\s*{SCALE}?"
    rf"|(?<![\p{{Latin}}0-9_.])(?P<value>{NUM})\s*{SCALE}?\s*(?P<sign>{SIGNS})"
    rf"|(?P<value>{HAN})(?P<sign>美元|美金|欧元|英镑|日元|港币|港元|元|块钱?)"
    rf"|\b(?P<value>{WORDED})\s+(?P<sign>dollars?|bucks|euros?|pounds|yuan|yen)\b)"
    rf"|(?P<ordinal>(?<![\w.])(?P<value>[0-9]{{1,4}})(?:st|nd|rd|th)\b|第\s*(?P<value>[0-9]{{1,4}}|{HAN})"
    rf"|(?P<value>[0-9]{{1,2}}|[一二三四五六七八九十]{{1,3}})[日号號](?![楼线店院])|\b(?P<value>{'|'.join(ORDINALS)})\b(?!-))"
    rf"|(?P<plain>(?<![\p{{Latin}}_0-9.])(?P<value>{NUM})\s*{SCALE}?)"
    rf"|(?P<worded>\b(?P<value>{WORDED})\b)"
    rf"|(?P<han>(?P<value>{HAN})(?P<measure>[{MEASURES}])?))",
    regex.V1,
)
HINT = regex.compile(r"[\p{N}零〇一二两三四五六七八九十百千万亿]")
WORD = regex.compile("[a-z]+")
HINT_WORDS = frozenset((*SMALL, *TENS, *WORD_SCALES, *ORDINALS))
LISTED = regex.compile(r"^\s*[0-9]{1,2}[.)、]\s+", regex.MULTILINE)


@remembered(REMEMBERED)
def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, spelled as above. Linear time."""
    if not may_have(text):
        return frozenset()
    plain = unicodedata.normalize("NFKC", text)
    bare = without_dates(without_codes(LISTED.sub(" ", plain)))
    return frozenset(number for found in SCAN.finditer(bare) if (number := READERS[kind_of(found)](found)))


@remembered(REMEMBERED)
def without_numbers(text: str) -> str:
    """The text in small letters with blanks for its numbers and days; codes stay."""
    bare = without_dates(text)
    return SCAN.sub(" ", bare) if may_have(bare) else bare


def may_have(text: str) -> bool:
    """Whether it is worth looking for numbers: most sentences have none, and looking is dear."""
    return HINT.search(text) is not None or not HINT_WORDS.isdisjoint(WORD.findall(text.lower()))


def kind_of(found: regex.Match[str]) -> str:
    """Which reader takes a match."""
    return next(kind for kind in READERS if found[kind] is not None)


def as_clock(found: regex.Match[str]) -> str:
    """19:45, 07:45, or 7:45 where nothing tells the half of the day."""
    hour, minute = value_of(found["hour"]), minutes(found)
    half, part = found["half"], found["part"]
    if hour > 24 or minute > 59:
        return ""
    late, early = half == "p" or part in LATE, half == "a" or part in EARLY
    if late and hour < 12:
        hour += 12
    if early or (len(found["hour"]) == 2 and found["hour"].startswith("0")):
        return f"{hour % 12 if half else hour:02d}:{minute:02d}"
    return f"{hour}:{minute:02d}"


def minutes(found: regex.Match[str]) -> int:
    """The minutes of a time in any of its forms."""
    if found["half_hour"]:
        return 30
    if found["quarter"]:
        return 15 * value_of(found["quarter"])
    return value_of(found["minute"]) if found["minute"] else 0


def as_money(found: regex.Match[str]) -> str:
    return f"{scaled(found['value'], found['scale'])} {CURRENCY_OF.get(found['sign']) or CURRENCY_OF[found['sign'].rstrip('s')]}"


def as_plain(found: regex.Match[str]) -> str:
    if found["scale"] is None:
        return found["value"].replace(",", "")
    return scaled(found["value"], found["scale"])


def as_han(found: regex.Match[str]) -> str:
    """A Chinese number if it surely is one: with a measure word, or built of more than a digit."""
    written, measure = found["value"], found["measure"]
    if written in WEAK or written + (measure or "") in WEAK or (len(written) == 1 and measure is None):
        return ""
    built = (
        measure is not None
        or regex.search("[百千万亿]", written)
        or regex.fullmatch("[一二三四五六七八九]?十[一二三四五六七八九]?", written)
    )
    return str(value_of(written)) if built else ""


def as_worded(found: regex.Match[str]) -> str:
    value = worded_value(found["value"])
    return "" if value in (0, 1) else str(value)


def scaled(written: str, scale: str | None) -> str:
    """A value times its scale, without zeros at the end."""
    if written[0] in HAN_DIGITS or written[0] in HAN_UNITS or not written[0].isdecimal():
        return str(value_of(written))
    digits = written.replace(",", "")
    if len(digits) > LONGEST_DIGITS:
        return digits
    value = Decimal(digits) * SCALES.get(scale or "", 1)
    return format(value.normalize(), "f")


Reader = Callable[[regex.Match[str]], str]
READERS: dict[str, Reader] = {
    "clock": as_clock,
    "whole": as_clock,
    "han_clock": as_clock,
    "version": lambda found: found["version"].removeprefix("v"),
    "percent": lambda found: f"{scaled(found['value'], None)}%",
    "money": as_money,
    "ordinal": lambda found: f"#{value_of(found['value'])}",
    "plain": as_plain,
    "worded": as_worded,
    "han": as_han,
}

# --- values ---------------------------------------------------------------------------------------------------------

HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
HAN_UNITS = {"十": 10, "百": 100, "千": 1_000}
HAN_GROUPS = {"万": 10**4, "亿": 10**8}


def value_of(written: str) -> int:
    """12, 十二, 三百, 一万二, twelve, third."""
    if written.isdecimal():
        return int(written[:LONGEST_DIGITS])
    if written[0] in HAN_DIGITS or written[0] in HAN_UNITS or written[0] in HAN_GROUPS:
        return han_value(written)
    return ORDINALS.get(written) or worded_value(written)


def han_value(written: str) -> int:
    """A Chinese number of any size; a last digit after 百, 千 or 万 counts tenths of that (两百五 is 250)."""
    if not regex.search("[十百千万亿]", written):
        return int("".join(str(HAN_DIGITS[digit]) for digit in written[:LONGEST_DIGITS]))
    total, group, digit, last = 0, 0, 0, 1
    for character in written[: 2 * LONGEST_DIGITS]:
        if character in HAN_GROUPS:
            last = HAN_GROUPS[character]
            total, group, digit = total + max(group + digit, 1) * last, 0, 0
        elif character in HAN_UNITS:
            last = HAN_UNITS[character]
            group, digit = group + max(digit, 1) * last, 0
        else:
            digit = HAN_DIGITS[character]
            last = 1 if character in "零〇" else last
    return total + group + digit * (last // 10 if last >= 100 else 1)


def worded_value(written: str) -> int:
    """Twenty-five, three hundred, a dozen, half a dozen."""
    total, group = 0, 0
    words = [word for word in regex.split(r"[\s-]+", written) if word not in ("and", "a", "half")]
    for word in words:
        if word in WORD_SCALES:
            group = max(group, 1) * WORD_SCALES[word]
            if word in ("thousand", "million", "billion"):
                total, group = total + group, 0
        else:
            group += SMALL.get(word, 0) or TENS.get(word, 0)
    return (total + group) // (2 if written.startswith("half") else 1)


# --- comparing ------------------------------------------------------------------------------------------------------


def stated(number: str, among: Collection[str]) -> bool:
    """Whether a number stands among others: as it is, without the unit that goes with it there, with a currency that others
    there have, or as a time whose half of the day only one side tells."""
    if number in among or any(same in among for same in equals(number)):
        return True
    amount, blank, code = number.partition(" ")
    return bool(blank) and amount in among and any(other.endswith(code) for other in among)


def equals(number: str) -> Iterator[str]:
    """Other spellings under which a number may stand in a source."""
    if ":" in number:
        yield from half_days(number)
    elif number.replace(".", "", 1).isdecimal():
        yield from (f"{number} {code}" for code in CURRENCIES)
        yield from (f"{number}%", f"#{number}")
        yield from trimmed(number)


def trimmed(number: str) -> Iterator[str]:
    """4.50 as 4.5; never the other way round, for 3.1 is not version 3.10."""
    if "." in number and number.endswith("0"):
        short = number.rstrip("0").rstrip(".")
        yield from (f"{short} {code}" for code in CURRENCIES)


def half_days(clock: str) -> Iterator[str]:
    """7:45 may be 07:45 or 19:45; those two are not each other."""
    hour, minute = clock.split(":")
    value = int(hour)
    if value <= 12 and not hour.startswith("0"):
        yield from (f"{value:02d}:{minute}", f"{(value + 12) % 24}:{minute}")
    else:
        yield f"{value % 12 or 12}:{minute}"
