"""The built-in summary: what a talk settled, in its own words, within a number of tokens. Pure and deterministic.

(1) `count(rendered(summary)) <= task.max_tokens`, always; lines are dropped whole. Where nothing fits, there are none.
(2) Every line is a stretch of a message or of the summary before, but for who speaks, what is replaced, and the question
    that an answer answers.
(3) What `task.keep` says stands first in line; then the decisions and exclusions of the first hour that stood already, up
    to half of the length, so that no chatter of today drives them out.
(4) Time is linear in the talk: only the `MOST` worthiest lines are weighed against each other.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from memsrv.core.acts import excludes, folded
from memsrv.core.ledger import Entry, Ledger
from memsrv.core.statements import SETTLED, keys, statements
from memsrv.core.summary import Count, Heading, Summary, Task, ordered, rendered
from memsrv.core.worth import Talked, chance, worth

Vectors = Callable[[Sequence[str]], np.ndarray]

BEGINNING = timedelta(hours=1)
FIRST_SHARE = 0.5
"""Share of the length that lines of the first hour can claim before newer ones."""
MOST = 200
LENGTH = 0.6
"""How strongly a line's length counts against it: its worth is divided by its tokens to this power."""
OVERHEAD = 2
"""Tokens of a line beside its text."""
AGAIN = 0.85
"""What a line loses if another says all of it."""
LOOSE = (Heading.FACTS, Heading.STATE)
LEAST = 0.12
"""A fact that is less likely to matter is left out, even if there is room."""
SAME = 0.6
"""What is left of a line's worth for each line that was taken from its exchange already."""
CENTRALITY = 0.3
"""Log-odds for standing in the middle of what was said, by the vectors."""


@dataclass(slots=True, eq=False)
class Candidate:
    """An entry on its way into the summary. `rank`: 2 for what must be kept, 1 for the first hour, 0 for the rest."""

    entry: Entry
    tokens: int
    chance: float
    rank: int = 0
    again: float = 0.0

    @property
    def worth(self) -> float:
        """What a token of it is worth."""
        return self.chance / float((self.tokens + OVERHEAD) ** LENGTH)


def extract(task: Task, *, count: Count, vectors: Vectors | None = None) -> Summary:
    """Fold what was said into the previous summary. `count`: tokens of a text; `vectors`: unit rows of texts, if any."""
    ledger = Ledger(task.previous.lines if task.previous else ())
    for statement in statements(task.said):
        ledger.take(statement)
    pinned = pins(ledger, task.keep)
    candidates = weighed(newest_state(ledger.entries), task, count, vectors)
    promote(candidates, pinned, task.max_tokens)
    candidates = [one for one in candidates if one.rank or one.chance >= LEAST or one.entry.heading not in LOOSE]
    return fitted(ranked(candidates), task, count)


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


def newest_state(entries: Sequence[Entry]) -> list[Entry]:
    """All entries, of the states only the newest."""
    states = [entry for entry in entries if entry.heading is Heading.STATE]
    return [entry for entry in entries if entry.heading is not Heading.STATE or entry is states[-1]]


# --- weighing -------------------------------------------------------------------------------------------------------


def weighed(entries: Sequence[Entry], task: Task, count: Count, vectors: Vectors | None) -> list[Candidate]:
    """Each entry with its length and what it is worth for it."""
    old = [entry.text for entry in entries if entry.old]
    talked = Talked(task.said, old, max((entry.position for entry in entries), default=0))
    candidates = []
    for entry, near in zip(entries, central(entries, vectors), strict=True):
        tokens = count(entry.line.text)
        odds = worth(entry, talked, tokens) + CENTRALITY * near
        candidates.append(Candidate(entry, tokens, chance(odds)))
    return candidates


def central(entries: Sequence[Entry], vectors: Vectors | None) -> list[float]:
    """How near each entry is to the middle of all, -1 to 1; zeros without vectors."""
    if vectors is None or len(entries) < 3:
        return [0.0] * len(entries)
    rows = vectors([entry.text for entry in entries])
    near = rows @ rows.mean(axis=0)
    spread = float(near.std()) or 1.0
    return [float(value) for value in np.clip((near - near.mean()) / (2 * spread), -1, 1)]


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


def ranked(candidates: Sequence[Candidate]) -> list[Entry]:
    """Entries in the order of what they add: one that says again what was taken, or comes from the same exchange, adds less."""
    by_worth = sorted(candidates, key=lambda one: (-one.rank, -one.worth, one.entry.order))
    left, rest = by_worth[:MOST], by_worth[MOST:]
    found: list[Entry] = []
    heard: Counter[int] = Counter()
    while left:
        best = max(left, key=lambda one: (one.rank, added(one, heard), -one.entry.order))
        left.remove(best)
        found.append(best.entry)
        heard[best.entry.exchange] += best.entry.exchange > 0
        for one in left:
            one.again = max(one.again, said_again(one.entry, best.entry))
    return found + [one.entry for one in rest]


def added(one: Candidate, heard: Counter[int]) -> float:
    """What a candidate adds to those that were taken."""
    return one.worth * (1 - AGAIN * one.again) * float(SAME ** heard[one.entry.exchange])


def said_again(entry: Entry, other: Entry) -> float:
    """How much of an entry another says, 0 to 1; what one denies and the other does not is not the same."""
    if not entry.keys or bool(entry.refused) != bool(other.refused):
        return 0.0
    return len(entry.keys & other.keys) / len(entry.keys)


# --- fitting --------------------------------------------------------------------------------------------------------


def fitted(entries: Sequence[Entry], task: Task, count: Count) -> Summary:
    """As many lines, the first first, as the length allows."""
    kept: list[Entry] = []
    used = 0
    for entry in entries:
        cost = count(f"- {entry.line.text}\n") + 4 * all(other.heading is not entry.heading for other in kept)
        if used + cost <= task.max_tokens:
            kept.append(entry)
            used += cost
    while kept and count(rendered(made(kept, task))) > task.max_tokens:
        kept.pop()
    return made(kept, task)


def made(kept: Iterable[Entry], task: Task) -> Summary:
    """A summary of these entries, under each heading in the order in which things were said."""
    lines = [entry.line for entry in sorted(kept, key=lambda entry: (entry.position, entry.order))]
    return Summary(ordered(lines), task.language)
