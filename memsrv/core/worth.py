"""How much a line is worth keeping: what shows that it matters, as log-odds.

The weights come from a logistic fit over half of the evaluation dialogues, rounded; what an expected decision or exclusion
looks like, they say, is: confirmed by the other side, ruled out, about what the talk keeps coming back to, and late.
"""

from collections import Counter
from collections.abc import Iterable
from math import exp, log

from memsrv.core import acts
from memsrv.core.acts import excludes
from memsrv.core.ledger import Entry
from memsrv.core.subjects import terms
from memsrv.core.summary import Heading, Source

BIAS = -4.4
MARKS = {
    "excludes": 1.0,
    "first": 0.7,
    "mirrors": 0.5,
    "answers": 0.7,
    "told": 0.5,
    "firm": 0.3,
    "accepted": 0.5,
    "rejected": 0.3,
    "echoed": 0.4,
    "said": 0.3,
    "restates": 0.5,
    "values": 0.0,
    "explains": 0.0,
    "requires": -0.2,
    "decides": -0.2,
    "corrects": -0.5,
    "condition": -0.5,
    "doubt": -0.3,
    "asks": -0.3,
    "todo": -0.2,
    "points": -0.4,
    "later": -0.6,
}
HEADINGS = {
    Heading.GOAL: 2.0,
    Heading.CONSTRAINTS: 0.3,
    Heading.DECISIONS: 0.2,
    Heading.QUESTIONS: -0.3,
    Heading.FACTS: -0.3,
    Heading.STATE: -0.3,
}
OLD = {
    Heading.CONSTRAINTS: 1.0,
    Heading.DECISIONS: 1.0,
    Heading.GOAL: 1.0,
    Heading.QUESTIONS: 0.0,
    Heading.FACTS: -0.6,
    Heading.STATE: -1.0,
}
"""Log-odds of a line that stood in the summary before: that it did speaks for it."""
OLD_FIRM = 0.5
CENTRAL = 0.6
LATE = 1.0
LONG = 0.6
REPEATED = 0.6
REPLACED = 0.7
BOTH = 0.5
CONFIRMED_NO = 0.3
UNASKED_NO = -0.5
"""What the assistant denies without having been told so explains more than it settles."""


class Talked:
    """In how many messages and old lines each term stands, how often of those by the assistant, and the newest position."""

    def __init__(self, said: Iterable[Source], old: Iterable[str], last: int) -> None:
        self.spoken: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.last = last
        for source in said:
            own = terms(source.text)
            self.spoken.update(own)
            if source.role == "assistant":
                self.told.update(own)
        for text in old:
            self.spoken.update(terms(text))

    def centrality(self, own: frozenset[str]) -> float:
        """How often the terms come back: the mean of the logarithms."""
        logs = [log(self.spoken[term]) for term in own if self.spoken[term]]
        return sum(logs) / len(logs) if logs else 0.0

    def common(self, own: frozenset[str]) -> float:
        """The share of terms that both sides use."""
        return sum(0 < self.told[term] < self.spoken[term] for term in own) / len(own) if own else 0.0


def worth(entry: Entry, talked: Talked, tokens: int) -> float:
    """The log-odds that a line should be kept."""
    repeated = REPEATED * min(entry.repeats, 3)
    if entry.old:
        return OLD[entry.heading] + OLD_FIRM * (acts.FIRM.search(entry.said) is not None or excludes(entry.said)) + repeated / 2
    own = terms(entry.text)
    return (
        BIAS
        + sum(MARKS.get(mark, 0.0) for mark in entry.marks)
        + HEADINGS.get(entry.heading, 0.0)
        + CENTRAL * talked.centrality(own)
        + BOTH * talked.common(own)
        + LATE * (entry.position / talked.last if talked.last else 0.0)
        + LONG * log(tokens + 1)
        + CONFIRMED_NO * ({"excludes", "echoed"} <= entry.marks)
        + UNASKED_NO * ({"told", "excludes"} <= entry.marks and "echoed" not in entry.marks)
        + REPLACED * bool(entry.replaced)
        + repeated
    )


def chance(odds: float) -> float:
    """Log-odds as a probability."""
    return 1 / (1 + exp(-odds))
