"""What another agent needs to take over a conversation, and what of a summary is worth a pin.

(1) A text of at most `max_tokens`; whole lines are left out, the open questions first, the oldest of them first. Goal and
    task state go last, and are shortened rather than left out.
(2) Nothing is said twice: what a pin says is no decision or constraint of its own.
(3) What is set by hand (goal, task state, pins) counts before what a summary tells.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memsrv.core.summary.acts import excludes, folded
from memsrv.core.summary.statements import keys
from memsrv.core.summary.summary import Count
from memsrv.core.text.marks import listed, one_line
from memsrv.model import Heading, Language, Line, Meta, Pin, Summary

NAME_CHARS = 120
LINE_CHARS = 400
SETTLED = (Heading.DECISIONS, Heading.CONSTRAINTS)
KIND = "handoff"
"""The kind of a pin that a handoff made."""

WORDS: Mapping[Language, Mapping[str, str]] = MappingProxyType(
    {
        Language.ENGLISH: {
            "opening": "Taken over from the conversation {name}:",
            "goal": "Goal",
            "pins": "Pinned",
            "decisions": "Decided",
            "constraints": "Constraints and exclusions",
            "questions": "Open",
            "task_state": "Task state",
            "colon": ": ",
        },
        Language.CHINESE: {
            "opening": "接手自对话 {name}：",
            "goal": "目标",
            "pins": "已固定",
            "decisions": "已确认",
            "constraints": "约束与排除",
            "questions": "待定",
            "task_state": "任务状态",
            "colon": "：",
        },
    }
)
LISTS = ("pins", "decisions", "constraints", "questions")
READING = ("goal", *LISTS, "task_state")
GIVING_UP = ("questions", "decisions", "constraints", "pins")


@dataclass(frozen=True, slots=True)
class Handoff:
    """What is handed over. `goal` and `task_state` are empty where nothing is known."""

    name: str
    language: Language
    goal: str
    task_state: str
    pins: tuple[Pin, ...]
    decisions: tuple[Line, ...]
    constraints: tuple[Line, ...]
    questions: tuple[Line, ...]

    def texts(self, part: str) -> tuple[str, ...]:
        """The lines of a list, each as one line."""
        return tuple(flat(one.text) for one in getattr(self, part))

    @property
    def settled(self) -> tuple[str, ...]:
        """What a session that takes over should pin, beside the pins."""
        return self.texts("decisions") + self.texts("constraints")


def handoff_of(name: str, meta: Meta, pins: Sequence[Pin], summary: Summary, language: Language | None = None) -> Handoff:
    """What a session hands over, from what is set by hand and its summary; in the summary's language if none is given."""
    told = unpinned(summary, pins)
    return Handoff(
        name=name,
        language=language or summary.language,
        goal=flat(meta.goal or "") or newest(summary, Heading.GOAL),
        task_state=flat(meta.task_state or "") or newest(summary, Heading.STATE),
        pins=tuple(pins),
        decisions=tuple(line for line in told if line.heading is Heading.DECISIONS),
        constraints=tuple(line for line in told if line.heading is Heading.CONSTRAINTS),
        questions=summary.under(Heading.QUESTIONS),
    )


def newest(summary: Summary, heading: Heading) -> str:
    """The last line of a heading, or nothing."""
    return next((flat(line.text) for line in reversed(summary.under(heading))), "")


def flat(text: str) -> str:
    return " ".join(text.split())


def harmless(text: str) -> str:
    """A text as one line that forges nothing; whoever takes the text itself over has it made harmless where it is shown."""
    return flat(listed(text))


# --- what is worth a pin ----------------------------------------------------------------------------------------------


def unpinned(summary: Summary, pins: Sequence[Pin]) -> tuple[Line, ...]:
    """The decisions and constraints that no pin says yet, in order of reading. Linear in lines times pins."""
    said = [saying(pin.text) for pin in pins]
    return tuple(line for line in summary.lines if line.heading in SETTLED and not is_said(saying(line.text), said))


@dataclass(frozen=True, slots=True)
class Saying:
    """What a text says, for comparing: its words in one spelling, its terms, and whether it rules something out."""

    words: str
    terms: frozenset[str]
    excludes: bool


def saying(text: str) -> Saying:
    told = folded(harmless(text))
    return Saying(told.rstrip(".!。！"), keys(text), excludes(told))


def is_said(line: Saying, pins: Sequence[Saying]) -> bool:
    """Whether a pin has all that a line says, and rules out where it does."""
    return any(
        line.words == pin.words or (bool(line.terms) and line.terms <= pin.terms and line.excludes == pin.excludes)
        for pin in pins
    )


# --- as text ----------------------------------------------------------------------------------------------------------


def handoff_text(handoff: Handoff, *, max_tokens: int, count: Count) -> str:
    """The handoff as ready text in the conversation's language; empty if not even its first line fits."""
    lists = {part: [one_line(harmless(one.text), LINE_CHARS) for one in getattr(handoff, part)] for part in LISTS}
    lines = {"goal": harmless(handoff.goal), "task_state": harmless(handoff.task_state)}
    spent = count(written(handoff, lines, lists))
    while any(lists.values()) and spent > max_tokens:
        leave_out(lists, spent - max_tokens, count)
        spent = count(written(handoff, lines, lists))
    while any(lines.values()) and spent > max_tokens:
        longest = max(lines, key=lambda part: len(lines[part]))
        lines[longest] = shortened(lines[longest])
        spent = count(written(handoff, lines, lists))
    return written(handoff, lines, lists) if spent <= max_tokens else ""


def leave_out(lists: Mapping[str, list[str]], tokens: int, count: Count) -> None:
    """Leave out lines of about so many tokens, one at least."""
    for part in GIVING_UP:
        while lists[part]:
            tokens -= count(f"- {lists[part].pop(0)}\n")
            if tokens <= 0:
                return


def shortened(text: str) -> str:
    """Two thirds of a text, visibly cut; nothing of a short one."""
    kept = text.rstrip("…")[: len(text) * 2 // 3].rstrip()
    return f"{kept}…" if len(kept) > 2 else ""


def written(handoff: Handoff, lines: Mapping[str, str], lists: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(written_lines(handoff, lines, lists))


def written_lines(handoff: Handoff, lines: Mapping[str, str], lists: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The opening, then each part that has something, the task state last."""
    words = WORDS[handoff.language]
    yield words["opening"].replace("{name}", one_line(handoff.name, NAME_CHARS))
    for part in READING:
        if lines.get(part):
            yield f"{words[part]}{words['colon']}{lines[part]}"
        elif lists.get(part):
            yield f"{words[part]}{words['colon'].rstrip()}"
            yield from (f"- {text}" for text in lists[part])
