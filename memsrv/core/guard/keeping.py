"""What must not vanish from a summary: pins, and decisions and constraints that still hold.

(1) What must be kept is covered by a line, added, or replaced by something newer; nothing else happens to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memsrv.core.claims.claims import negations
from memsrv.core.claims.figures import stated
from memsrv.core.claims.identifiers import folded
from memsrv.core.guard.compared import Subject
from memsrv.core.guard.judge import Judge
from memsrv.core.guard.shape import is_hostile
from memsrv.core.summary.summary import Heading, Line

SAME = 0.6
"""So much of a must-keep line's weight in one line of the summary is that line said again."""
LASTING = frozenset((Heading.DECISIONS, Heading.CONSTRAINTS))


@dataclass(frozen=True, slots=True)
class Kept:
    """Lines to add, and the texts of those, there or added, that hold what must be kept."""

    added: tuple[Line, ...]
    wanted: frozenset[str]


class Keeper:
    """Compares a summary with what must be kept, by a judge's evidence."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.evidence = judge.evidence

    def kept(self, lines: Sequence[Line], must_keep: Sequence[Line]) -> Kept:
        """What of the must-keep lines is missing, and which lines hold the others."""
        there = [self.judge.subject(line) for line in lines]
        needed = [self.judge.subject(line) for line in self.needed(must_keep)]
        added, wanted = list[Line](), set[str]()
        for subject in needed:
            held = next((one for one in there if self.covers(one, subject)), None)
            if held is None and not self.replaced(subject, [*there, *needed]):
                held = subject
                added.append(self.placed(subject.line))
                there.append(subject)
            if held:
                wanted.add(held.line.text)
        return Kept(tuple(added), frozenset(wanted))

    def placed(self, line: Line) -> Line:
        """The line with the position and time of its best source, if it has none."""
        if line.position and line.sent_at:
            return line
        _, best = self.evidence.support(self.judge.subject(line).telling)
        if best < 0:
            return line
        source = self.evidence.sources[best]
        return replace(line, position=line.position or source.position, sent_at=line.sent_at or source.sent_at)

    def needed(self, must_keep: Sequence[Line]) -> Iterator[Line]:
        """All that must be kept: pins, the caller's lines, and the lasting lines of the previous summary; none twice."""
        task = self.judge.task
        lasting = [line for line in (task.previous.lines if task.previous else ()) if line.heading in LASTING]
        seen = set[str]()
        for line in (*map(pinned, task.keep), *must_keep, *lasting):
            if line.text.strip() and folded(line.text) not in seen and not is_hostile(line.text, users=self.evidence.users):
                seen.add(folded(line.text))
                yield line

    def covers(self, line: Subject, needed: Subject) -> bool:
        """Whether a line says what is needed: the same words in the main, all its values, nothing reversed."""
        if folded(needed.line.text).strip(".。") in folded(line.line.text):
            return True
        evidence = self.evidence
        wanted = needed.terms
        if not wanted or evidence.weight(line.terms & wanted) < SAME * evidence.weight(wanted):
            return False
        values = line.numbers | line.dates
        if not all(stated(value, values) for value in needed.numbers | needed.dates):
            return False
        return not (line.affirmed & needed.negated or line.negated & needed.affirmed)

    def replaced(self, needed: Subject, lines: Sequence[Subject]) -> bool:
        """Whether what was to be kept does not hold any more: the sources reversed or changed it later, or a newer line
        says the same with another value or the other way round."""
        after = self.last_of(needed.line)
        if any(self.judge.against(part, after=after) or self.judge.excluded(part, after=after) for part in needed.claims):
            return True
        if self.judge.changed(needed, after=after):
            return True
        return any(self.newer(line, needed) for line in lines)

    def last_of(self, line: Line) -> int:
        """The last statement that is not newer than a line; -1 if its place is not known."""
        sources = self.evidence.sources
        told = [i for i, one in enumerate(self.evidence.statements) if 0 <= sources[one.source].position <= line.position]
        return told[-1] if told and line.position else -1

    def newer(self, line: Subject, needed: Subject) -> bool:
        """Whether a line of the summary stands where the needed one stood."""
        if line.line.position <= needed.line.position or not needed.plain:
            return False
        evidence = self.evidence
        same = evidence.weight(line.plain & needed.plain) >= SAME * evidence.weight(needed.plain)
        other = bool(line.negated & needed.affirmed or line.affirmed & needed.negated)
        for mine, theirs in ((line.numbers, needed.numbers), (line.dates, needed.dates)):
            other = other or bool(mine and theirs and not mine & theirs)
        return same and other


def pinned(text: str) -> Line:
    """A pin as a line: one that negates is a constraint."""
    return Line(Heading.CONSTRAINTS if negations(text) else Heading.DECISIONS, " ".join(text.split()))
