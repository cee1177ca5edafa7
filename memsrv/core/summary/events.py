"""The summary of a session that holds log events: what repeats is one line with its count and its times, errors stay.

(1) `count(rendered(summary)) <= task.max_tokens`, always; lines are dropped whole.
(2) Nothing is uncounted: what has no line of its own is in the count of the other events, or of the other errors, as long as
    these lines fit.
(3) An error stands word for word as it occurred first, whatever followed; it goes after all else. Of other events that differ
    only in times, numbers and ids, the pattern is told.
(4) Folding the summary of one part into that of the next counts the same as summarising both at once.
(5) Time is linear in the events, and log-linear in their kinds.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType

from memsrv.core.summary.logs import Event, Severity, events_of, leading_time, pattern_of, severity_of, stamp
from memsrv.core.summary.summary import TITLES, Count, Heading, Language, Line, Summary, Task, ordered, rendered

LAST: Mapping[Language, str] = MappingProxyType({Language.ENGLISH: "last", Language.CHINESE: "最后"})
OTHERS: Mapping[Language, Mapping[Heading, str]] = MappingProxyType(
    {
        Language.ENGLISH: {Heading.QUESTIONS: "other errors", Heading.FACTS: "other events"},
        Language.CHINESE: {Heading.QUESTIONS: "其他错误", Heading.FACTS: "其他事件"},
    }
)
REPEATED = re.compile(r" \(×(?P<count>[0-9]{1,15}), (?:last|最后) (?:(?P<day>[0-9-]{10})T)?(?P<clock>[0-9:]{8})Z\)$")
UNTOLD = re.compile(r"(?:other errors|other events|其他错误|其他事件) \(×(?P<count>[0-9]{1,15})\)")
SETTLED = (Heading.GOAL, Heading.DECISIONS, Heading.CONSTRAINTS)
"""Headings that events have nothing for: lines that stand there already stay."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)
DROPPED = 8
"""One of so many lines goes at a time when a summary turns out too long."""


@dataclass(slots=True)
class Group:
    """Events of one pattern. `text` is the first one's, `position` its message."""

    text: str
    pattern: str
    severity: Severity
    position: int
    first: datetime | None
    last: datetime | None
    count: int = 1

    @property
    def heading(self) -> Heading:
        return Heading.QUESTIONS if self.severity >= Severity.ERROR else Heading.FACTS

    def take(self, event: Event) -> None:
        """Count one more."""
        self.count += 1
        self.last = max(self.last or event.at, event.at)
        if self.first is None or event.at < self.first:
            self.text, self.first, self.position = event.text, event.at, event.position

    def line(self, language: Language) -> Line:
        """How it reads: word for word, or the pattern where it repeats and is no error."""
        text = self.text
        if self.count > 1 and self.severity < Severity.ERROR and self.first:
            text = f"{stamp(self.first)} {self.pattern}"
        if self.count > 1:
            text += self.repeated(language)
        return Line(self.heading, text, self.position, self.first)

    def repeated(self, language: Language) -> str:
        """How often, and when last; the day only if it is another than the first."""
        last = stamp(self.last or LONG_AGO)
        same_day = self.first is not None and stamp(self.first)[:10] == last[:10]
        return f" (×{self.count}, {LAST[language]} {last[11:] if same_day else last})"


@dataclass(slots=True)
class Log:
    """What is known of a session's events. `untold` counts those that have no line of their own, by heading."""

    groups: dict[tuple[Heading, str], Group] = field(default_factory=dict)
    untold: dict[Heading, int] = field(default_factory=lambda: {Heading.QUESTIONS: 0, Heading.FACTS: 0})
    settled: list[Line] = field(default_factory=list)
    state: Line | None = None

    def take(self, event: Event) -> None:
        """One more event."""
        text = REPEATED.sub(lambda found: found[0].replace("×", "x"), event.text)  # nobody counts for us
        event = replace(event, text=text)
        group = Group(text, pattern_of(text), event.severity, event.position, event.at, event.at)
        known = self.groups.setdefault((group.heading, group.pattern), group)
        if known is not group:
            known.take(event)
            known.severity = max(known.severity, event.severity)
        self.state = Line(Heading.STATE, text, event.position, event.at)

    def remember(self, line: Line) -> None:
        """A line of the summary before."""
        if line.heading in SETTLED:
            self.settled.append(line)
        elif line.heading is Heading.STATE:
            self.state = line
        elif found := UNTOLD.fullmatch(line.text):
            self.untold[line.heading] += int(found["count"])
        else:
            group = group_of(line)
            known = self.groups.setdefault((group.heading, group.pattern), group)
            if known is not group:
                known.count += group.count
                known.last = max(known.last or LONG_AGO, group.last or LONG_AGO)


def events(task: Task, *, count: Count) -> Summary:
    """Fold the events of the messages into the previous summary. `count`: tokens of a text."""
    log = Log()
    for line in task.previous.lines if task.previous else ():
        log.remember(line)
    for source in task.said:
        for event in events_of(source):
            log.take(event)
    log.settled += missing(task.keep, log)
    return fitted(log, task, count)


def group_of(line: Line) -> Group:
    """A line of an earlier summary as the group that it told of; the heading says whether it is an error."""
    found = REPEATED.search(line.text)
    text = line.text[: found.start()] if found else line.text
    if (first := leading_time(text)) is None and line.sent_at:
        first, text = line.sent_at, f"{stamp(line.sent_at)} {text}"
    level = severity_of(text)
    severity = max(level, Severity.ERROR) if line.heading is Heading.QUESTIONS else min(level, Severity.WARNING)
    last = last_of(found, first) if found else first
    return Group(text, pattern_of(text), severity, line.position, first, last, int(found["count"]) if found else 1)


def last_of(found: re.Match[str], first: datetime | None) -> datetime | None:
    """When a repeated event occurred last."""
    day = found["day"] or (stamp(first)[:10] if first else "")
    last = leading_time(f"{day}T{found['clock']}Z")
    return max(last, first) if last and first else last or first


def missing(keep: Iterable[str], log: Log) -> list[Line]:
    """What must be kept and no line says."""
    told = [line.text for line in log.settled] + [group.text for key, group in log.groups.items() if key[0] is Heading.QUESTIONS]
    wanted = [" ".join(text.split()) for text in keep]
    return [Line(Heading.DECISIONS, text) for text in wanted if text and not any(text in one for one in told)]


# --- fitting ----------------------------------------------------------------------------------------------------------

Item = Group | Line


def fitted(log: Log, task: Task, count: Count) -> Summary:
    """As many lines as the length allows, the most important first; the others are counted."""
    taken, untold = chosen(ranked(log), log, task, count)
    while count(rendered(made(taken, untold, task.language))) > task.max_tokens:
        if not taken:
            return counts_alone(untold, task, count)
        cut = max(1, len(taken) // DROPPED)
        taken, gone = taken[:-cut], taken[-cut:]
        uncount(gone, untold)
    return made(taken, untold, task.language)


def ranked(log: Log) -> list[Item]:
    """Errors, the newest first; what was settled; warnings; where it stands; then what occurs most."""
    groups = list(log.groups.values())
    groups.sort(key=lambda group: group.last or LONG_AGO, reverse=True)
    groups.sort(key=lambda group: (group.severity, group.count if group.severity is Severity.PLAIN else 0), reverse=True)
    errors, warnings, plain = (
        [group for group in groups if group.severity >= Severity.ERROR],
        [group for group in groups if group.severity is Severity.WARNING],
        [group for group in groups if group.severity is Severity.PLAIN],
    )
    return [*errors, *log.settled, *warnings, *([log.state] if log.state else []), *plain]


def chosen(items: Sequence[Item], log: Log, task: Task, count: Count) -> tuple[list[Item], dict[Heading, int]]:
    """The items that fit by what each costs, and how many events the others are."""
    lines = [line_of(item, task.language) for item in items]
    costs = [count(f"- {line.text}\n") for line in lines]
    titles = TITLES[task.language]
    room = task.max_tokens - count("\n".join(f"{titles[heading]}:" for heading in {line.heading for line in lines}))
    if sum(costs) > room or any(log.untold.values()):
        room -= sum(count(f"- {text} (×99999)\n") for text in OTHERS[task.language].values())
    taken, gone = list[Item](), list[Item]()
    for item, cost in zip(items, costs, strict=True):
        fits = cost <= room
        (taken if fits else gone).append(item)
        room -= cost if fits else 0
    untold = dict(log.untold)
    uncount(gone, untold)
    return taken, untold


def uncount(gone: Iterable[Item], untold: dict[Heading, int]) -> None:
    """Count what gets no line of its own."""
    for item in gone:
        if isinstance(item, Group):
            untold[item.heading] += item.count


def counts_alone(untold: Mapping[Heading, int], task: Task, count: Count) -> Summary:
    """What is left to say where no event fits."""
    for headings in ((Heading.QUESTIONS, Heading.FACTS), (Heading.QUESTIONS,), (Heading.FACTS,)):
        summary = made([], {heading: untold[heading] for heading in headings}, task.language)
        if summary.lines and count(rendered(summary)) <= task.max_tokens:
            return summary
    return Summary((), task.language)


def made(taken: Iterable[Item], untold: Mapping[Heading, int], language: Language) -> Summary:
    """The summary: under each heading in the order of time, the other events last."""
    lines = sorted((line_of(item, language) for item in taken), key=lambda line: line.sent_at or LONG_AGO)
    others = [Line(heading, f"{OTHERS[language][heading]} (×{number})") for heading, number in untold.items() if number]
    return Summary(ordered([*lines, *others]), language)


def line_of(item: Item, language: Language) -> Line:
    return item.line(language) if isinstance(item, Group) else item
