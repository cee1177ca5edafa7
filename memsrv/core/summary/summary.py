"""A summary: lines under fixed headings, how it reads, how it is parsed back, and how two of them differ.

(1) `parsed(rendered(summary))` has the same headings and texts, in either language.
(2) A heading without lines is not written. Goal and state are lines of their own; the others are lists.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from types import MappingProxyType

from memsrv.model import Heading, Language, Line, Source, Summary, Task

__all__ = [
    "TITLES",
    "Count",
    "Difference",
    "Heading",
    "Language",
    "Line",
    "Source",
    "Summary",
    "Task",
    "difference",
    "ordered",
    "rendered",
    "within",
]

Count = Callable[[str], int]
"""Tokens of a text."""

LIKE = 0.6
"""Two lines that share so much of their letters are one line that changed."""

GIVING_UP = (Heading.FACTS, Heading.STATE, Heading.QUESTIONS, Heading.GOAL, Heading.CONSTRAINTS, Heading.DECISIONS)
"""What goes first when a summary is too long; inside a heading the first line does, which is the oldest."""

TITLES: Mapping[Language, Mapping[Heading, str]] = MappingProxyType(
    {
        Language.ENGLISH: {
            Heading.GOAL: "Goal",
            Heading.DECISIONS: "Decided",
            Heading.CONSTRAINTS: "Constraints and exclusions",
            Heading.QUESTIONS: "Open",
            Heading.FACTS: "Facts",
            Heading.STATE: "Now",
        },
        Language.CHINESE: {
            Heading.GOAL: "目标",
            Heading.DECISIONS: "已确认",
            Heading.CONSTRAINTS: "约束与排除",
            Heading.QUESTIONS: "待定",
            Heading.FACTS: "事实",
            Heading.STATE: "当前状态",
        },
    }
)


def rendered(summary: Summary) -> str:
    """The summary as it stands in a prompt: `Title: text` for goal and state, `Title:` and `- text` lines for the others."""
    return "\n".join(rendered_lines(summary))


def rendered_lines(summary: Summary) -> Iterator[str]:
    """The lines of `rendered`."""
    titles = TITLES[summary.language]
    for heading in Heading:
        lines = summary.under(heading)
        if len(lines) == 1 and heading in (Heading.GOAL, Heading.STATE):
            yield f"{titles[heading]}: {lines[0].text}"
        elif lines:
            yield f"{titles[heading]}:"
            yield from (f"- {line.text}" for line in lines)


def ordered(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines put under their headings in the order of reading; inside a heading they stay as they come."""
    return tuple(line for heading in Heading for line in lines if line.heading is heading)


def within(summary: Summary, max_tokens: int, count: Count) -> Summary:
    """The summary in at most `max_tokens` as it is rendered: whole lines are left out in the order of `GIVING_UP`."""
    lines = list(ordered(summary.lines))
    while lines and count(rendered(Summary(tuple(lines), summary.language))) > max_tokens:
        lines.remove(min(lines, key=lambda line: GIVING_UP.index(line.heading)))
    return Summary(tuple(lines), summary.language)


@dataclass(frozen=True, slots=True)
class Difference:
    """How a summary differs from another: lines that came, lines that went, and lines that changed (before, after)."""

    added: tuple[Line, ...]
    removed: tuple[Line, ...]
    changed: tuple[tuple[Line, Line], ...]


def difference(old: Summary | None, new: Summary | None) -> Difference:
    """What `new` says other than `old`. A line is the same if its text is, whatever its source; one that moved to another
    heading, or shares most of its letters with one of the same heading, has changed."""
    before, after = list(old.lines if old else ()), list(new.lines if new else ())
    for line in list(after):
        same = next((one for one in before if (one.heading, one.text) == (line.heading, line.text)), None)
        if same is not None:
            before.remove(same)
            after.remove(line)
    changed = []
    for line in list(after):
        was = max(before, key=partial(likeness, line), default=None)
        if was is not None and likeness(line, was) >= LIKE:
            changed.append((was, line))
            before.remove(was)
            after.remove(line)
    return Difference(tuple(after), tuple(before), tuple(changed))


def likeness(one: Line, other: Line) -> float:
    """How much two lines have in common, 0 to 1: under other headings only the same text counts."""
    if one.heading is not other.heading:
        return float(one.text == other.text)
    return SequenceMatcher(None, one.text, other.text, autojunk=False).ratio()
