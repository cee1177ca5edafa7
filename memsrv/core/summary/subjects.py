"""What a statement is about: its terms and its values, and how near two statements are by them.

(1) Terms are crude on purpose (Latin words cut to a stem, Han characters in pairs): they only say whether two statements
    speak of the same thing, and nothing is written from them.
(2) A value has a kind; only values of one kind can take each other's place.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from memsrv.core.claims.claims import dates, numbers
from memsrv.core.remembering import remembered
from memsrv.core.summary.acts import folded

STOP_WORD_LIST = """
a about above actually after again all also always am an and another any anyway are aren't as at away back be because
been before being better between both but by can can't cannot come could did didn't do does doesn't doing don't done
down each either else enough even every few first for from fine further get gets getting give go goes going gonna good
got great had has hasn't have haven't having he he'd he's her here hers him his how i i'd i'll i'm i've if in instead
into is isn't it it'll it's its just keep kind know last least less let let's lets like ll made make makes many may
maybe me mean might mine more most much must my need needs never new next nice no nor not note noted now of off ok okay
on once one ones only or other our ours out over own per please plus put rather re really right s same say says see set
shall she should so some something sorry still such sure t take takes than thank thanks that that's the their them then
there there's these they they're thing things think this those though through time to today together too under
understood until up us use used using ve very want wanted wants was wasn't way we we'd we'll we're we've well were what
what's when where which while who will with within without won't would wouldn't yeah yep yes yet you you'd you'll you're
your yours confirm confirmed correct agreed decided decide change changed switch move moved update updated replace
replaces wait scrap drop cancel dropped skip final plan idea option choice prefer start stay stick
"""
STOP_WORDS = frozenset(STOP_WORD_LIST.split())
STOP_HAN = frozenset(
    "的了是我你您他她它们在和就都也很吧吗呢要不用改成把有这那个之与及或而但又再还会能可以到从对给被让请将着过得地啊呀哦嗯好行先后说想去来做一换定没别更最只太先为已"
)
WORD = regex.compile(
    r"[\p{Latin}\p{M}][\p{Latin}\p{M}\p{N}'.+#/_-]*[\p{Latin}\p{N}+#]|\p{Han}+|[\p{L}--[\p{Latin}\p{Han}]]{2,}", regex.V1
)
HAN = regex.compile(r"\p{Han}")
TRIMMINGS = regex.compile(r"[\s,]|(?<=\d)(?:st|nd|rd|th)$|s$")
ENDINGS = regex.compile(r"(?:'s|ies|ing|ings|ed|es|s|ly|ment|ments|e)$")

UNIT_HAN = (
    "个人桌天晚夜次分钟小时周月年克千公斤升毫米厘里元块万岁级楼层页份条张台位名间双件"
    "杯片粒颗瓶盒顿遍遍期轮版号度秒字组轮趟站门节课题集章页倍成"
)
HAN_DIGIT = "零〇一二两三四五六七八九十百千万半"
MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
NUMBER = r"\d+(?:[.,]\d+)*"
VALUES = regex.compile(
    rf"""(?=\s*[\d{HAN_DIGIT}]|[$€£¥周星礼下这本上个早中晚凌百]|(?<!\p{{Latin}})\p{{Latin}}|usd|eur|gbp|rmb|cny)(?:
    (?P<weekday>(?<!\p{{L}})(?:mon|tues|wednes|thurs|fri|satur|sun)days?(?!\p{{L}})|(?<!\p{{L}})(?:mon|tue|wed|thu|
    fri|sat|sun)(?!\p{{L}})|(?:下下?|这|本|上)?(?:个)?(?:周|星期|礼拜)[一二三四五六日天末])
    |(?P<clock>(?<![\d.]){{0}}\d{{{{1,2}}}}(?::\d\d)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)(?!\p{{L}})|
    (?<!\d)\d{{{{1,2}}}}:\d\d(?!\d)|(?:早上|上午|中午|下午|晚上|凌晨)?\s*(?:\d{{{{1,2}}}}|
    [{HAN_DIGIT}]{{{{1,3}}}})\s*点(?:半|钟|\d+分?|[{HAN_DIGIT}]+分?)?|(?<!\p{{L}})(?:noon|midnight)(?!\p{{L}}))
    |(?P<date>\d{{{{4}}}}[-/年]\s*\d{{{{1,2}}}}(?:[-/月]\s*\d{{{{1,2}}}}[日号]?)?|
    (?<!\p{{L}})(?:{MONTH})\.?\s+\d{{{{1,2}}}}(?:st|nd|rd|th)?(?!\d)|\d{{{{1,2}}}}(?:st|nd|rd|
    th)?\s+(?:of\s+)?(?:{MONTH})(?!\p{{L}})|(?<!\p{{L}})\d{{{{1,2}}}}(?:st|nd|rd|th)(?!\p{{L}})|(?:\d{{{{1,2}}}}|
    [{HAN_DIGIT}]{{{{1,3}}}})\s*月(?:份)?(?:\s*(?:\d{{{{1,2}}}}|[{HAN_DIGIT}]{{{{1,3}}}})\s*[日号])?(?![前后])|
    (?:\d{{{{1,2}}}}|[{HAN_DIGIT}]{{{{1,3}}}})\s*号(?![楼线])|(?<!\p{{L}})(?:january|february|march|april|june|july|
    august|september|october|november|december)(?!\p{{L}}))
    |(?P<money>[$€£¥]\s?{NUMBER}\s?[km]?(?!\p{{L}})|(?:usd|eur|gbp|rmb|cny)\s?{NUMBER}|
    {NUMBER}\s?(?:k\s)?(?:dollars?|bucks|euros?|pounds?|usd|eur|gbp|rmb|cny|元|块钱?|美金|美元|欧元|万元?|人民币)|
    {NUMBER}\s?k(?!\p{{L}})|[{HAN_DIGIT}]+(?:元|块钱?|美金|万[{HAN_DIGIT}]?))
    |(?P<percent>{NUMBER}\s?(?:%|percent)|百分之[{HAN_DIGIT}\d]+)
    |(?P<quantity>(?<![\p{{Latin}}\d.-])(?P<amount>{NUMBER}|(?:one|two|three|four|five|six|seven|eight|nine|ten|
    eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|hundred|once|
    twice)(?!\p{{L}}))(?P<unit>[\s-]?(?!(?:and|or|to|is|are|was|in|on|at|for|of|with|the|it|if|by|as|not|but|then|
    instead|please|now)(?!\p{{L}}))\p{{Latin}}+|\s?(?:小时|分钟|公斤|公里|千克|毫升|毫克|厘米|平米|平方|星期|礼拜|
    年级|块钱|个月|\p{{Han}}))|(?P<amount>[{HAN_DIGIT}]+)(?P<unit>小时|分钟|公斤|公里|星期|个月|[{UNIT_HAN}]))
    |(?P<number>(?<![\p{{Latin}}_])\d+(?:[.,:/-]\d+)*)
    |(?P<code>(?<![\p{{Latin}}])\p{{Latin}}+[-_]?\d[\p{{Latin}}\d._-]*))
    """.replace("{0}", "")
    .replace("{{", "{")
    .replace("}}", "}"),
    regex.VERBOSE,
)
HINT = re.compile(
    rf"[\d{HAN_DIGIT}周星礼]|(?<![a-z])(?:mon|tue|wed|thu|fri|sat|sun|noon|midn|jan|feb|mar|apr|may|jun|jul|aug|sep|oct"
    r"|nov|dec|one|two|thr|four|fiv|six|sev|eigh|nin|ten|elev|twel|fift|twen|thir|fort|sixt|hundr|once|twice)"
)
"""A beginning of every value: most sentences have none, and looking is dear."""
DAY_OF_MONTH = regex.compile(
    rf"(?:{MONTH})\.?\s+(\d{{1,2}})(?!\d)|(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{MONTH})|"
    rf"^(\d{{1,2}})(?:st|nd|rd|th)$|(\d{{1,2}})\s*[日号]"
)


@dataclass(frozen=True, slots=True)
class Value:
    """A number, date, time ... in a text: its kind, how it is written, where it stands, and what makes two the same."""

    kind: str
    text: str
    start: int
    end: int
    key: str


@remembered(20_000)
def terms(text: str) -> frozenset[str]:
    """What a text speaks of: stems of Latin words and pairs of Han characters, without the words of grammar."""
    return frozenset(_terms(folded(text)))


def _terms(text: str) -> Iterator[str]:
    for found in WORD.finditer(text):
        word = found[0]
        if HAN.match(word):
            yield from (word[at : at + 2] for at in range(len(word) - 1) if not STOP_HAN & {*word[at : at + 2]})
        elif word not in STOP_WORDS and (stem := stemmed(word)):
            yield stem


def stemmed(word: str) -> str:
    """A Latin word without its commonest endings; at least three letters stay."""
    if not word.isalpha() and "'" not in word:
        return word
    cut = ENDINGS.sub("", word)
    if len(cut) < 3:
        return word
    return cut[:-1] if len(cut) > 4 and cut[-1] == cut[-2] and cut[-1] not in "sl" else cut


@remembered(20_000)
def values(text: str) -> tuple[Value, ...]:
    """The values in a text as `folded` gives it where that has the text's length, else in the text as it is."""
    same = folded(text)
    return tuple(_values(same if len(same) == len(text) else text.lower()))


def _values(text: str) -> Iterator[Value]:
    for found in VALUES.finditer(text) if HINT.search(text) else ():
        kind = found.lastgroup or "number"
        kind = next(
            name for name in ("weekday", "clock", "date", "money", "percent", "quantity", "number", "code") if found[name]
        )
        unit = (found["unit"] or "").strip(" -")
        if kind == "quantity":
            kind = "number" if unit in STOP_WORDS else f"quantity:{stemmed(unit)}"
        yield Value(kind, found[0], found.start(), found.end(), key_of(found[0]))


@remembered(20_000)
def key_of(written: str) -> str:
    """What makes two values the same: the number or day itself, without unit, currency and wording."""
    if day := DAY_OF_MONTH.search(written):
        return f"day {next(filter(None, day.groups()))}"  # a day is often named without its month
    found = sorted(dates(written)) or sorted(numbers(written))
    return found[0].split()[0] if found else TRIMMINGS.sub("", written)


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of the smaller of two sets of terms the other has: 0 to 1."""
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0
