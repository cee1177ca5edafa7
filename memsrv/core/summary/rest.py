"""Every sentence of a talk as an entry: those that became statements with what the ledger knows of them, the others as facts.

(1) Questions, small talk and words aimed at the summary are left out, and what the ledger struck out.
(2) An entry of the ledger that says other than its sentence (an accepted proposal, an answer with its question, a value put
    in the place of another) stays beside the sentences.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from memsrv.core.summary import acts
from memsrv.core.summary.acts import asks, excludes, folded
from memsrv.core.summary.clauses import bare, plain, sentences
from memsrv.core.summary.ledger import CLAIMS, Entry, Ledger
from memsrv.core.summary.statements import attributed, denies, keys, marks_of, unaimed
from memsrv.core.summary.summary import Heading, Source

SAME = 0.7
"""An entry and a sentence that share so much of both are one."""
ECHOES = (1, 0, -1, -2)
"""Messages around a sentence that say it again: what was struck out there is struck out here."""


def told(ledger: Ledger, said: Iterable[Source]) -> list[Entry]:
    """What stands in the ledger and what else was said."""
    standing, gone = by_position(ledger.entries), by_position(entry for entry in ledger.gone if entry.heading in CLAIMS)
    found: list[Entry] = []
    used: set[int] = set()
    for source in said:
        for sentence in worth_reading(source):
            own = keys(sentence)
            if any(says_again(sentence, own, entry) for away in ECHOES for entry in gone[source.position + away]):
                continue
            if any(entry.replaced and within(own, keys(entry.line.text)) for entry in standing[source.position]):
                continue
            same = [
                entry
                for away in (0, 1)
                for entry in standing[source.position + away]
                if not entry.old and not entry.replaced and id(entry) not in used and alike(own, entry.keys)
            ]
            used.update(map(id, same[:1]))
            found.append(entry_of(source, sentence, same[0] if same else None))
    return [entry for entry in ledger.entries if id(entry) not in used] + found


def by_position(entries: Iterable[Entry]) -> defaultdict[int, list[Entry]]:
    """Entries by the message from which they come."""
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.position].append(entry)
    return found


def worth_reading(source: Source) -> Iterator[str]:
    """The sentences of a message that say something; see (1)."""
    if source.role in ("user", "assistant"):
        for sentence in unaimed(sentences(plain(source.text))):
            text = folded(sentence)
            if keys(sentence) and not asks(text) and not acts.SMALL_TALK.match(text):
                yield sentence


def says_again(sentence: str, own: frozenset[str], entry: Entry) -> bool:
    """Whether a sentence says what an entry says, and denies it as much."""
    return within(own, entry.keys) and denies(sentence) == denies(entry.text)


def within(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether most of one is in the other."""
    return len(one & other) >= SAME * len(one)


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether most of either is in the other."""
    return len(one & other) >= SAME * max(len(one), len(other), 1)


def entry_of(source: Source, sentence: str, same: Entry | None) -> Entry:
    """A sentence as an entry, under the heading of the entry that says the same."""
    text = folded(sentence)
    role = "said" if source.role == "user" else "told"
    marks = same.marks if same else frozenset({*marks_of(text), "rest", role})
    heading = same.heading if same else Heading.CONSTRAINTS if excludes(text) else Heading.FACTS
    return Entry(
        heading,
        attributed(source, bare(sentence)),
        source.position,
        source.sent_at,
        text,
        marks=marks,
        repeats=same.repeats if same else 0,
        order=source.position,
        exchange=same.exchange if same else 0,
    )
