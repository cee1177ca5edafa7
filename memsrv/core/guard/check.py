"""The guard: no summary is stored that its sources do not bear out, whoever wrote it.

(1) Every line that is kept stands in the sources: its numbers, names, days and quotes, its words, and what it negates.
(2) What must be kept is there, unless the sources replaced it, or the token limit left no room; exclusions and decisions go last.
(3) The checked summary costs at most `task.max_tokens`; one of which most lines fail is refused whole.
(4) A summary without a fault comes out as it went in, but for the place and time of lines that had none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import regex

from memsrv.core.claims.claims import Terms
from memsrv.core.claims.identifiers import folded
from memsrv.core.guard.judge import Judge, Kind
from memsrv.core.guard.keeping import Keeper
from memsrv.core.guard.shape import is_empty
from memsrv.core.summary.summary import Count, Heading, Line, Summary, Task, ordered, rendered


class Done(StrEnum):
    """What the guard did about it."""

    DROPPED = "dropped"
    ADDED = "added"
    SHORTENED = "shortened"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, the line it is in, what was done. `detail` names the words that it hangs on."""

    kind: Kind
    line: str
    done: Done
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """The sound summary, or None if it is refused, and what was found."""

    summary: Summary | None
    findings: tuple[Finding, ...] = ()


MOST_LINES = 200
"""A longer summary is a loop, or no summary."""
REPLACED = regex.compile(r"\s*[(（](?:replaces: |取代：)[^()（）]*[)）]\s*$")
GIVEN_UP = (Heading.STATE, Heading.FACTS, Heading.QUESTIONS, Heading.GOAL, Heading.DECISIONS, Heading.CONSTRAINTS)
"""What goes first when a summary is too long."""


def check(summary: Summary, task: Task, *, must_keep: Sequence[Line] = (), count: Count, terms: Terms) -> Checked:
    """The summary with its faults repaired: failing lines dropped, what must be kept added, the rest shortened to fit.

    `must_keep`: lines that are sure, besides the pins in `task.keep` and the decisions and constraints of `task.previous`.
    `terms` is an analyzer's (see `claims.Terms`). Time is linear in the sources, and for each line in the sentences that
    share a word with it.
    """
    judge = Judge(task, terms)
    keeper = Keeper(judge)
    sound, findings = sifted(summary.lines, judge)
    refusal = refused(sound, findings)
    if refusal:
        return Checked(None, (*findings, refusal))
    lines = [keeper.placed(line) for line in sound]
    kept = keeper.kept(lines, must_keep)
    missing = [Finding(Kind.MISSING, line.text, Done.ADDED) for line in kept.added]
    whole = Summary(ordered([*lines, *kept.added]), task.language)
    fitted, cut = shortened(whole, task.max_tokens, count, last=kept.wanted)
    assert fitted is None or count(rendered(fitted)) <= task.max_tokens
    return Checked(fitted, (*findings, *missing, *cut))


def sifted(lines: Sequence[Line], judge: Judge) -> tuple[list[Line], list[Finding]]:
    """The lines without a fault, and the faults of the others. A line that was there before is a loop."""
    sound, findings, seen = list[Line](), list[Finding](), set[tuple[Heading, str]]()
    for line in lines[:MOST_LINES]:
        key = (line.heading, folded(line.text))
        fault = (Kind.SHAPE, "said before") if key in seen else judge.fault(line)
        seen.add(key)
        bare = replace(line, text=REPLACED.sub("", line.text))
        if fault and bare != line and not judge.fault(bare):
            findings.append(Finding(fault[0], line.text, Done.SHORTENED, fault[1]))  # what it replaces is no longer known
            sound.append(bare)
        elif fault:
            findings.append(Finding(fault[0], line.text, Done.DROPPED, fault[1]))
        else:
            sound.append(line)
    findings += [Finding(Kind.SHAPE, line.text, Done.DROPPED, "too many lines") for line in lines[MOST_LINES:]]
    return sound, findings


def refused(sound: Sequence[Line], findings: Sequence[Finding]) -> Finding | None:
    """Why a summary is refused whole: nothing sound is left, or most of its lines failed. A line that only says that there
    is nothing under its heading is no failure."""
    failed = [finding for finding in findings if not is_empty(finding.line)]
    if sound and len(failed) <= len(sound):
        return None
    kind = failed[0].kind if failed else Kind.SHAPE
    return Finding(kind, "", Done.REFUSED, f"{len(failed)} of {len(failed) + len(sound)} lines failed")


def shortened(summary: Summary, max_tokens: int, count: Count, *, last: frozenset[str]) -> tuple[Summary | None, list[Finding]]:
    """The summary without so many whole lines that it fits; None, with the refusal, if not even one line does."""
    lines, cut = list(summary.lines), list[Finding]()
    for line in giving_up(summary.lines, last, count):
        if count(rendered(replace(summary, lines=tuple(lines)))) <= max_tokens:
            break
        lines.remove(line)
        cut.append(Finding(Kind.LENGTH, line.text, Done.SHORTENED))
    if not lines:
        return None, [*cut, Finding(Kind.LENGTH, "", Done.REFUSED, "no line fits")]
    return replace(summary, lines=tuple(lines)), cut


def giving_up(lines: Sequence[Line], last: frozenset[str], count: Count) -> list[Line]:
    """The lines in the order in which they are given up: what need not be kept before the rest, heading by heading, older
    ones first; of what must be kept the longest, so that the fewest go."""

    def rank(line: Line) -> tuple[bool, int, int]:
        wanted = line.text in last
        return wanted, 0 if wanted else GIVEN_UP.index(line.heading), -count(line.text) if wanted else line.position

    return sorted(lines, key=rank)
