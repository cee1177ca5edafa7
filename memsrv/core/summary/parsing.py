"""A summary read from text: exactly where memsrv wrote it, leniently where a language model did.

(1) `parsed(rendered(summary))` has the same headings and texts, in either language.
(2) What a model thought aloud, what it says before the first heading, and its closing words are no lines of a summary.
(3) Reading an answer takes linear time and raises nothing; where no heading is found there is no summary.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import regex

from memsrv.core.summary.asking import language_of
from memsrv.core.summary.summary import TITLES, ordered
from memsrv.core.summary.titles import heading_named
from memsrv.core.text.reasoning import without_reasoning
from memsrv.model import Heading, Language, Line, Summary

LONGEST_ANSWER_CHARS = 200_000
LONGEST_BARE_TITLE_CHARS = 40
DEEPEST = 6
ALONE = (Heading.GOAL, Heading.STATE)
OURS = {title: (heading, language) for language, titles in TITLES.items() for heading, title in titles.items()}


def parsed(text: str) -> Summary:
    """The summary of a text that `rendered` wrote; ValueError if it is none. A row that is neither a title nor an item
    goes on with the statement before it."""
    lines: list[Line] = []
    heading, language = None, Language.ENGLISH
    for row in text.split("\n") if text else ():
        title, colon, rest = row.partition(":")
        if colon and title in OURS and (not rest or (rest.startswith(" ") and OURS[title][0] in ALONE)):
            heading, language = OURS[title]
            lines += [Line(heading, rest[1:])] if rest else []
        elif heading and row.startswith("- "):
            lines.append(Line(heading, row[2:]))
        elif heading and lines:
            lines[-1] = Line(lines[-1].heading, f"{lines[-1].text}\n{row}")
        else:
            raise ValueError("this text is no summary of memsrv's")
    return Summary(tuple(lines), language)


CONTROL = regex.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<end_of_turn>")
JSON_NAME = regex.compile(r'^[ \t{]*"([^"\n]{1,80})"[ \t]*:[ \t]*', regex.MULTILINE)
JSON_MARKS = regex.compile(r'^[ \t]*[{}\[\]"]+|(?<=: )[\["{]+|[",\]}]+[ \t]*$', regex.MULTILINE)
FENCE = regex.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", regex.MULTILINE)


def summary_of(answer: str) -> Summary | None:
    """The summary in a model's answer: our shape in its many variants, or a JSON object of it. None if there is none.
    The number at the end of a line (`[#12]`) is its position."""
    text = FENCE.sub("", CONTROL.sub("", without_reasoning(answer[:LONGEST_ANSWER_CHARS]))).strip()
    as_json, as_rows = from_json(text), from_rows(unquoted(text) if text.startswith("{") else text)
    found = as_json if as_json and len(headings(as_json)) >= len(headings(as_rows)) else as_rows
    lines = once(line for line in map(tidy, found) if tells(line.text))
    return Summary(ordered(lines), language_of(line.text for line in lines)) if lines else None


def unquoted(text: str) -> str:
    """JSON that was cut off, as rows without its marks."""
    return JSON_MARKS.sub("", JSON_NAME.sub(r"\1: ", text))


def headings(lines: Iterable[Line]) -> set[Heading]:
    return {line.heading for line in lines}


def once(lines: Iterable[Line]) -> list[Line]:
    """The lines, each once: small models repeat themselves until they are cut off."""
    first: dict[tuple[Heading, str], Line] = {}
    for line in lines:
        first.setdefault((line.heading, line.text.casefold()), line)
    return list(first.values())


# --- rows -------------------------------------------------------------------------------------------------------------

LEAD = regex.compile(
    r"[ \t]*(?:>[ \t]*)?(?:(?P<hash>#{1,6}[ \t]*(?:\d{1,2}[.)][ \t]*)?)"
    r"|(?P<number>\d{1,2}[.)、．](?!\d)|[一二三四五六七八九十][、.．])|(?P<bullet>[•·▪‣]|[-*+–—](?=[ \t])|-(?=[^\s\d-])))?[ \t]*"
)
TITLE = regex.compile(r"(?P<name>[^:：\n]{1,80}?)[ \t]*(?:[:：]|[–—]| - )(?P<rest>[^\n]*)")
BRACKETED = regex.compile(r"[\[【](?P<name>[^\[\]【】]{1,40})[\]】](?P<rest>[^\n]*)")
RULE = regex.compile(r"\s*(?:[-*_=]\s*){3,}$")
FAREWELL = regex.compile(
    r"(?:please )?(?:let me know|i hope|hope (?:this|that)|feel free|is there anything|would you like)"
    r"|if you (?:need|want|would|have)|希望|如(?:有|需|果你|果您)|请告诉|还有什么|需要我",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an answer: what leads it (`plain`, `number` or `bullet`), how far it is indented, and what it says; if that
    begins with a title, which heading and what follows it."""

    kind: str
    indent: int
    text: str
    heading: Heading | None
    rest: str


def row_of(line: str) -> Row:
    lead = LEAD.match(line)
    assert lead, "every part of the pattern may be missing"
    text = line[lead.end() :].strip()
    heading, rest = title_of(text, marked=bool(lead["hash"]) or text[:1] in ("*", "_", "[", "【"))
    kind = "number" if lead["number"] else "bullet" if lead["bullet"] else "plain"
    return Row(kind, len(line) - len(line.lstrip()), text, heading, rest)


def title_of(text: str, *, marked: bool) -> tuple[Heading | None, str]:
    """The heading that a row begins with, and what follows it. Without a colon the whole row is one, or none."""
    for found in (TITLE.match(text), BRACKETED.match(text)):
        if found and (heading := heading_named(found["name"])):
            return heading, found["rest"].lstrip("*_]】 :：\t")
    return (heading_named(text) if marked or len(text) <= LONGEST_BARE_TITLE_CHARS else None), ""


def from_rows(text: str) -> list[Line]:
    """The lines of an answer in our shape."""
    rows = [row_of(line) for line in text.splitlines() if line.strip() and not RULE.match(line)]
    kind, indent = leading(rows)
    lines: list[Line] = []
    heading: Heading | None = None
    item = False  # whether an indented row goes on with the one before it
    for row in rows:
        if row.heading and row.kind == kind and row.indent <= indent:
            heading, item = row.heading, False
            lines += [Line(heading, row.rest)] if row.rest else []
        elif not heading or (row.kind == "plain" and FAREWELL.match(row.text)):
            item = False
        elif item and row.kind == "plain" and row.indent:
            lines[-1] = Line(heading, f"{lines[-1].text} {row.text}")
        else:
            lines.append(Line(heading, row.text))
            item = row.kind != "plain"
    return lines


def leading(rows: Iterable[Row]) -> tuple[str, int]:
    """How the titles of an answer are led, as most of them are, and how far they may be indented. So the word of a title at
    the head of an item ("Final decision: ...") makes no title where titles have no bullets."""
    named: dict[str, set[Heading]] = {"plain": set(), "number": set(), "bullet": set()}
    indents: dict[str, int] = {}
    for row in rows:
        if row.heading:
            named[row.kind].add(row.heading)
            indents[row.kind] = min(row.indent, indents.get(row.kind, row.indent))
    kind = max(named, key=lambda kind: len(named[kind]))
    return kind, indents.get(kind, 0) + 1


# --- lines ------------------------------------------------------------------------------------------------------------

CHECKBOX = regex.compile(r"\[[ xX✓]\] ")
BOLD = regex.compile(r"\*\*(?=\S)(.{1,500}?)(?<=\S)\*\*")
PLACE = r"(?:[\[【] ?#(\d{1,9})[^\[\]【】]{0,60}[\]】]|[(（](?:message|msg|消息) ?#?(\d{1,9})[)）])"
PLACE_FIRST = regex.compile(rf"{PLACE} ?[:：]? ?", regex.IGNORECASE)
PLACE_LAST = regex.compile(rf" ?(?:{PLACE} ?)+(?=[.。;；]?$)", regex.IGNORECASE)
ECHO = regex.compile(r"<[^<>]*>$")
NOTHING = frozenset(
    "none,n/a,na,nil,nothing,null,not specified,none specified,not mentioned,none mentioned,none yet,none so far,unknown,empty,"  # noqa: SIM905
    "tbd,无,暂无,没有,无内容,未提及,未知,未指定,尚无,空,無,不详".split(",")
)


def tidy(line: Line) -> Line:
    """A line without marks of layout, the number of its message taken for its position."""
    text = " ".join(BOLD.sub(r"\1", line.text).split())
    text = text[found.end() :] if (found := CHECKBOX.match(text)) else text
    place = PLACE_FIRST.match(text) or PLACE_LAST.search(text)
    if place is None:
        return Line(line.heading, text)
    text = (text[: place.start()] + text[place.end() :]).strip()
    return Line(line.heading, text, int((place.captures(1) or place.captures(2))[0]))


def tells(text: str) -> bool:
    """Whether a line says anything: neither "none" in some form, nor an echo of what the prompt says belongs there."""
    plain = text.strip(" .。;；*()（）\"'").casefold()
    return regex.search(r"[\p{L}\p{N}]", plain) is not None and plain not in NOTHING and not ECHO.match(text)


# --- JSON -------------------------------------------------------------------------------------------------------------


def from_json(text: str) -> list[Line]:
    """The lines of an answer that is a JSON object of our headings, whatever stands around it; none if it is not."""
    if (at := text.find("{")) < 0:
        return []
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, at)
    except (ValueError, RecursionError):
        return []
    return list(lines_of(value))


def lines_of(value: object, depth: int = 0) -> Iterator[Line]:
    """The lines of an object of headings; one that wraps it is looked into."""
    if not isinstance(value, dict) or depth > DEEPEST:
        return
    for key, item in value.items():
        if heading := heading_named(key.replace("_", " ")):
            yield from (Line(heading, text) for text in statements(item, depth))
        else:
            yield from lines_of(item, depth + 1)


def statements(item: Any, depth: int) -> Iterator[str]:
    """The statements that a value makes: a list one for each item, an object one for each field."""
    if isinstance(item, str):
        yield from (row_of(line).text for line in item.splitlines() if line.strip())
    elif isinstance(item, int | float) and not isinstance(item, bool):
        yield str(item)
    elif isinstance(item, list) and depth < DEEPEST:
        for one in item:
            yield " ".join(fields(one, depth + 1)) if isinstance(one, dict) else "; ".join(statements(one, depth + 1))
    elif isinstance(item, dict) and depth < DEEPEST:
        yield from (f"{key}: {'; '.join(statements(one, depth + 1))}" for key, one in item.items())


def fields(item: dict[str, Any], depth: int) -> Iterator[str]:
    """What an item that is an object says (`{"text": ..., "reason": ...}`), the number of its message at the end."""
    numbered = {key: one for key, one in item.items() if key in ("message", "position") and isinstance(one, int)}
    yield from (text for key, one in item.items() if key not in numbered for text in statements(one, depth))
    yield from (f"[#{one}]" for one in numbered.values())
