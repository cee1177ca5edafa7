"""The built-in summary: what a talk settled, in its own words, within a number of tokens. Pure and deterministic.

(1) `count(rendered(summary)) <= task.max_tokens`, always; lines are dropped whole. Where nothing fits, there are none.
(2) Every line is a stretch of a message or of the summary before, but for who speaks, what is replaced, and the question
    that an answer answers.
(3) What `task.keep` says stands first in line; then the decisions and exclusions of the first hour that stood already, up
    to half of the length, so that no chatter of today drives them out.
(4) A line is worth what it is likely to add to those that were chosen; `core.summary.learned` says how likely.
(5) Time is linear in the talk: only the `MOST` worthiest lines are weighed against each other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from memsrv.core.summary import acts
from memsrv.core.summary.acts import excludes, folded
from memsrv.core.summary.learned import Learned
from memsrv.core.summary.ledger import Entry, Ledger
from memsrv.core.summary.rest import told
from memsrv.core.summary.statements import SETTLED, denies, keys, statements
from memsrv.core.summary.summary import Count, Heading, Summary, Task, ordered, rendered

BEGINNING = timedelta(hours=1)
FIRST_SHARE = 0.5
"""Share of the length that lines of the first hour can claim before newer ones."""
MOST = 200
LENGTH = 0.6
"""How strongly a line's length counts against it: its worth is divided by its tokens to this power."""
OVERHEAD = 2
"""Tokens of a line beside its text."""
TITLE = 4
"""Tokens of a heading."""
LOOSE = (Heading.FACTS, Heading.STATE)
LEAST = 0.15
"""A fact that is less likely to matter is left out, even if there is room."""
STALE = 0.2
"""A line that is more likely to hold no longer is left out."""
AGAIN = 0.85
"""What a line loses if another is sure to say it."""
ECHO = 0.5
"""A line that is surer than this to say what was settled just before is settled too."""
ADDS = 0.03
NEW = 0.3
"""A line that is less likely to matter and to be new than ADDS is left out, unless it settles something and is as new as NEW."""
OLD = {
    Heading.CONSTRAINTS: 0.6,
    Heading.DECISIONS: 0.6,
    Heading.GOAL: 0.7,
    Heading.QUESTIONS: 0.5,
    Heading.FACTS: 0.55,
    Heading.STATE: 0.25,
}
"""How likely a line of the summary before matters still: that it stood there speaks for it."""
OLD_FIRM = 0.1


@dataclass(slots=True, eq=False)
class Candidate:
    """An entry on its way into the summary. `rank`: 2 for what must be kept, 1 for the first hour, 0 for the rest."""

    entry: Entry
    tokens: int
    chance: float
    stale: float = 0.0
    rank: int = 0

    @property
    def worth(self) -> float:
        """What a token of it is worth."""
        return self.chance / float((self.tokens + OVERHEAD) ** LENGTH)


def extract(task: Task, *, count: Count, learned: Learned) -> Summary:
    """Fold what was said into the previous summary. `count`: tokens of a text; `learned`: how much lines are worth."""
    ledger, entries = heard(task)
    pinned = pins(ledger, task.keep)
    entries += [entry for entry in ledger.entries if id(entry) in pinned and entry not in entries]
    candidates = weighed(newest_state(once(entries, pinned)), task, count, learned)
    promote(candidates, pinned, task.max_tokens)
    candidates = [one for one in candidates if one.rank or holds(one)]
    return fitted(candidates, task, count, learned)


def heard(task: Task) -> tuple[Ledger, list[Entry]]:
    """What stands after all that was said, and what else was said."""
    ledger = Ledger(task.previous.lines if task.previous else ())
    for statement in statements(task.said):
        ledger.take(statement)
    return ledger, told(ledger, task.said)


def holds(one: Candidate) -> bool:
    """Whether a line may stand: it is not outdated, and, if it is a mere fact, likely to matter."""
    return one.stale <= STALE and (one.chance >= LEAST or one.entry.heading not in LOOSE)


def pins(ledger: Ledger, keep: Iterable[str]) -> set[int]:
    """The ids of the entries that say what must be kept; what none says is put in."""
    found = set()
    for text in keep:
        wanted = " ".join(text.split())
        if not wanted:
            continue
        no = excludes(folded(wanted))
        same = [entry for entry in ledger.near(keys(wanted)) if keys(wanted) <= entry.keys and excludes(folded(entry.text)) == no]
        if not same:
            same = [Entry(Heading.CONSTRAINTS if no else Heading.DECISIONS, wanted, 0, None, folded(wanted))]
            ledger.put(same[0])
        found.add(id(same[-1]))
    return found


def once(entries: Sequence[Entry], pinned: set[int]) -> list[Entry]:
    """Of the entries with the same words the one that must be kept, else an old line, else what settles something, else the
    newest."""

    def rank(entry: Entry) -> tuple[bool, bool, bool, bool, int]:
        return id(entry) in pinned, entry.old, entry.heading in SETTLED, entry.heading not in LOOSE, entry.position

    best: dict[str, Entry] = {}
    for entry in sorted(entries, key=rank):
        best[folded(entry.line.text)] = entry
    return [entry for entry in entries if best[folded(entry.line.text)] is entry]


def newest_state(entries: Sequence[Entry]) -> list[Entry]:
    """All entries, of the states only the newest."""
    states = [entry for entry in entries if entry.heading is Heading.STATE]
    return [entry for entry in entries if entry.heading is not Heading.STATE or entry is states[-1]]


# --- weighing -------------------------------------------------------------------------------------------------------


def weighed(entries: Sequence[Entry], task: Task, count: Count, learned: Learned) -> list[Candidate]:
    """Each entry with its length and what it is worth for it."""
    tokens = [count(entry.line.text) for entry in entries]
    fresh = [(entry, size) for entry, size in zip(entries, tokens, strict=True) if not entry.old]
    chances, stale = learned.weigh([entry for entry, _ in fresh], task.said, [size for _, size in fresh])
    likely = {id(entry): (float(chance), float(gone)) for (entry, _), chance, gone in zip(fresh, chances, stale, strict=True)}
    return [
        Candidate(entry, size, *((old_chance(entry), 0.0) if entry.old else likely[id(entry)]))
        for entry, size in zip(entries, tokens, strict=True)
    ]


def old_chance(entry: Entry) -> float:
    """How likely a line of the summary before matters."""
    firm = acts.FIRM.search(entry.said) is not None or excludes(entry.said)
    return min(0.95, OLD[entry.heading] + OLD_FIRM * firm + OLD_FIRM * min(entry.repeats, 3) / 2)


def is_early(sent_at: datetime | None, first: datetime | None) -> bool:
    """Whether something was said in the first hour, as far as is known."""
    return sent_at is None or first is None or sent_at - first <= BEGINNING


def promote(candidates: Sequence[Candidate], pinned: set[int], max_tokens: int) -> None:
    """Give rank to what must be kept, and to what has stood since the first hour; see (3)."""
    times = [one.entry.sent_at for one in candidates if one.entry.sent_at]
    first = min(times, default=None)
    room = FIRST_SHARE * max_tokens
    for one in sorted(candidates, key=lambda one: (-one.worth, one.entry.order)):
        if id(one.entry) in pinned:
            one.rank = 2
        elif one.entry.old and one.entry.heading in SETTLED and is_early(one.entry.sent_at, first):
            room -= one.tokens + OVERHEAD
            one.rank = int(room >= 0)


# --- choosing -------------------------------------------------------------------------------------------------------


def fitted(candidates: Sequence[Candidate], task: Task, count: Count, learned: Learned) -> Summary:
    """As many lines as the length allows, the one first that adds most to those before it for its length: of what they may
    say already, only the rest counts."""
    left = sorted(candidates, key=lambda one: (-one.rank, -one.worth, one.entry.order))[:MOST]
    said_by = learned.said_by([one.entry for one in left], task.said)
    settle([one.entry for one in left], said_by)
    worth = np.array([one.worth for one in left])
    chance = np.array([one.chance for one in left])
    settles = np.array([one.entry.heading not in LOOSE for one in left])
    rank = np.array([one.rank for one in left])
    cost = np.array([count(f"- {one.entry.line.text}\n") for one in left])
    headings = np.array([one.entry.heading for one in left])
    new, kept, room = np.ones(len(left)), list[Entry](), task.max_tokens
    while len(left):
        titles = TITLE * ~np.isin(headings, [entry.heading for entry in kept])
        adds = (rank > 0) | (settles & (new >= NEW)) | (chance * new >= ADDS)
        gain = np.where(adds & (cost + titles <= room), rank + worth * new, -1)
        best = int(gain.argmax())
        if gain[best] < 0:
            break
        room -= int(cost[best] + titles[best])
        kept.append(left[best].entry)
        new *= 1 - AGAIN * said_by[:, best]
        cost[best] = task.max_tokens + 1
    while kept and count(rendered(made(kept, task))) > task.max_tokens:
        kept.pop()
    return made(kept, task)


def settle(entries: Sequence[Entry], said_by: np.ndarray) -> None:
    """Put a fact under the heading of the decision or exclusion that it says again, in the same message or the next: an echo
    of what was settled is settled."""
    for entry, says in zip(entries, said_by.T, strict=True):
        if entry.heading is not Heading.FACTS:
            continue
        near = [at for at in np.flatnonzero(says >= ECHO).tolist() if is_echo(entry, entries[at])]
        if near:
            entry.heading = entries[max(near, key=lambda at: float(says[at]))].heading


def is_echo(entry: Entry, settled: Entry) -> bool:
    """Whether an entry may say again what was settled just before it, and denies as much."""
    away = entry.position - settled.position
    return settled.heading in SETTLED and away in (0, 1) and denies(entry.text) == denies(settled.text)


def made(kept: Iterable[Entry], task: Task) -> Summary:
    """A summary of these entries, under each heading in the order in which things were said."""
    lines = [entry.line for entry in sorted(kept, key=lambda entry: (entry.position, entry.order))]
    return Summary(ordered(lines), task.language)
