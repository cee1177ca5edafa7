"""Where a text can be cut, and how well: between words, clauses, lines, sentences, items, paragraphs.

Marks come from the Unicode properties Sentence_Terminal and Terminal_Punctuation, so every script that has marks is
covered. A word is a run of letters and digits; scripts without blanks can be cut between any two letters.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from heapq import merge

import regex

from memsrv.core.text.graphemes import is_edge


class Strength(IntEnum):
    """How good a place for a cut is."""

    WORD = 1
    SPACE = 2
    CLAUSE = 3
    LINE = 4
    SENTENCE = 5
    ITEM = 6
    PARAGRAPH = 7


@dataclass(frozen=True, slots=True)
class Cut:
    """A place for a cut: the piece before it ends at `end`, the one after it begins at `start`; blanks are between."""

    strength: Strength
    end: int
    start: int


BLANK = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # where str.isspace() holds
LAST_BLANKS = regex.compile(rf"(?r)[{BLANK}]+")
NOT_BLANK = regex.compile(rf"[^{BLANK}]")
BREAK = r"(?:\r\n|[\n\r\x0b\x0c\x85\u2028\u2029])"
LINE_BREAK = regex.compile(BREAK)
PARAGRAPH_BREAK = regex.compile(rf"{BREAK}[{BLANK}]*?(?:{BREAK}|#|```|~~~)")
FENCE_MARKS = ("```", "~~~")
FENCE = regex.compile(r"^[ \t]*(?:```|~~~)[^\n]*", regex.MULTILINE)
ITEM_START = regex.compile(r"[-*+•·>|#]|\d{1,3}[.)、]|\p{L}[.)][ \t]|[一二三四五六七八九十]+、")
UNSPACED_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Tham}\p{Tibetan}\p{Javanese}\p{Balinese}"
WORD = rf"[\p{{L}}\p{{M}}\p{{N}}_.'’--[{UNSPACED_SCRIPTS}]]"
WORD_EDGE = regex.compile(rf"(?<!{WORD})|(?!{WORD})", regex.V1)
LAST_NOT_WORD = regex.compile(rf"(?r)[^{WORD}{BLANK}]", regex.V1)

CLOSING = "\"'”’»)]}*_`~」』】》〉）］〕"
LONGEST_CLOSING = 8
FULL = r"[\p{STerm}--[.!?．]]|[；…།༎។៕]"
PART = r"[\p{Terminal_Punctuation}--[.!?,;:．]--\p{STerm}]|[—–]"
UNSPACED = regex.compile(rf"(?P<full>(?:{FULL})+)[{regex.escape(CLOSING)}]*|(?:{PART})+", regex.V1)
FULL_MARK = regex.compile(rf"[!?]|{FULL}", regex.V1)
PART_MARK = regex.compile(rf"[,;:]|{PART}", regex.V1)

LAST_WORD = regex.compile(r"(?r)[\p{L}\p{M}\p{N}.’'-]+")
LONGEST_ABBREVIATION = 12
ABBREVIATION_LIST = """
    mr mrs ms dr prof rev hon st jr messrs gen col sgt capt lt maj gov sen rep vs etc al cf ca approx est dept inc ltd
    corp bros ave blvd viz resp incl bzw evtl ggf inkl nr usw vgl sra dra mme mlle ул им стр рис
"""
NUMBER_WORD_LIST = "no nos fig figs vol ch sec art pp eq p jan feb mar apr jun jul aug sep sept oct nov dec tel ext abs kap"
ABBREVIATIONS = frozenset(ABBREVIATION_LIST.split())
NUMBER_WORDS = frozenset(NUMBER_WORD_LIST.split())  # abbreviations where a number follows
SHORT_LINE = 50  # a line that ends earlier was broken on purpose, not by the width of a page


def next_start(text: str, at: int, stop: int) -> int:
    """The first character from `at` that is not blank (else `stop`), or the blank before it if marks stand on that."""
    match = NOT_BLANK.search(text, at, stop)
    if match is None:
        return stop
    start = match.start()
    if start > at and text[start] > "\x7f" and not is_edge(text, start, set):
        return start - 1
    return start


def fences(text: str) -> list[int]:
    """Where fenced code begins and ends, in turn."""
    if "```" not in text and "~~~" not in text:
        return []
    lines = list(FENCE.finditer(text))
    return [line.end() if index % 2 else line.start() for index, line in enumerate(lines)]


def cuts(text: str, floor: int, *, first: int, last: int, stop: int, code: Sequence[int]) -> Iterator[Cut]:
    """The places with `first <= end <= last` that are more than the edge of a word, from the last to the first.

    `floor` is where the piece begins, `stop` where the text ends.
    """
    blanks = (match.start() for match in LAST_BLANKS.finditer(text, first, last + 1))
    marks = UNSPACED.finditer(text, max(floor, first - LONGEST_CLOSING), last + LONGEST_CLOSING)
    marked = {match.end(): match for match in marks if first <= match.end() <= last}
    for end in merge(blanks, sorted(marked, reverse=True), reverse=True):
        start = next_start(text, end, stop)
        if start > end and not text[end - 1].isspace():
            yield Cut(strength_at(text, floor, end, start, code), end, start)
        elif start == end and end in marked:
            full = marked[end]["full"] and not text[end : end + 1].islower()
            yield Cut(Strength.SENTENCE if full else Strength.CLAUSE, end, end)


def word_cuts(text: str, first: int, last: int) -> Iterator[Cut]:
    """The edges of words with no blank at them, from the last to the first."""
    for mark in LAST_NOT_WORD.finditer(text, first - 1, last + 1):
        for at in (mark.end(), mark.start()):
            if first <= at <= last and not text[at - 1].isspace() and not text[at].isspace():
                yield Cut(Strength.WORD, at, at)


def strongest(text: str, first: int, last: int) -> Strength:
    """No cut in this stretch is stronger."""
    if PARAGRAPH_BREAK.search(text, first, last + 3):
        return Strength.PARAGRAPH
    return Strength.ITEM if LINE_BREAK.search(text, first, last + 1) else Strength.SENTENCE


def strength_at(text: str, floor: int, end: int, start: int, code: Sequence[int]) -> Strength:
    """How strong a cut the blanks from `end` to `start` are."""
    breaks = len(LINE_BREAK.findall(text, end, min(start, end + SHORT_LINE)))
    if not breaks:
        return mark_strength(text, floor, end, start)
    line = text[text.rfind("\n", floor, end) + 1 or floor : end].lstrip()
    if bisect_right(code, end - 1) % 2:
        return Strength.SPACE if line.startswith(FENCE_MARKS) or text.startswith(FENCE_MARKS, start) else Strength.ITEM
    if line.startswith("#"):
        return Strength.SPACE  # a heading stays with what it heads
    if breaks > 1 or text.startswith(("#", *FENCE_MARKS), start):
        return Strength.PARAGRAPH
    mark = mark_strength(text, floor, end, start)
    if mark == Strength.SENTENCE or len(line) < SHORT_LINE or ITEM_START.match(text, start):
        return Strength.ITEM
    return Strength.LINE


def mark_strength(text: str, floor: int, end: int, start: int) -> Strength:
    """How strong a cut the mark before a blank makes it."""
    at = end - 1
    while at > floor and end - at <= LONGEST_CLOSING and text[at] in CLOSING:
        at -= 1
    mark = text[at]
    if mark == ".":
        return Strength.SENTENCE if is_full_stop(text, floor, at, start) else Strength.SPACE
    if FULL_MARK.match(mark):
        return Strength.CLAUSE if text[start].islower() else Strength.SENTENCE
    return Strength.CLAUSE if PART_MARK.match(mark) else Strength.SPACE


def is_full_stop(text: str, floor: int, at: int, start: int) -> bool:
    """Whether the point at `at` ends a sentence, and not an abbreviation, an initial or the number of an item."""
    if text[start].islower():
        return False
    match = LAST_WORD.search(text, max(floor, at - LONGEST_ABBREVIATION), at)
    if match is None or match.end() < at or text[at - 1] == ".":
        return True
    word = match.group().strip("'’-").casefold()
    if word.isdigit():
        return not begins_line(text, floor, match.start())
    if "." in word:
        return not all(len(part) <= 2 and part.isalpha() for part in word.split("."))
    return not (
        word in ABBREVIATIONS
        or (len(word) == 1 and word.isalpha() and word != "i")
        or (word in NUMBER_WORDS and text[start].isdigit())
    )


def begins_line(text: str, floor: int, at: int) -> bool:
    """Whether nothing but blanks stands before this place in its line."""
    return not text[max(floor, text.rfind("\n", floor, at) + 1) : at].strip()
