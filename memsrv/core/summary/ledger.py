"""What stands after everything that was said: old lines and new statements, each thing once, its newest value only.

(1) An old line stays word for word, unless it is replaced, resolved, or loses the clause that is no longer true.
(2) Of two statements that contradict each other the newer stands, and names in the same line what it replaces.
(3) What was replaced is remembered, so that going back to it brings it back, as the thing that replaces the other.
(4) An open question goes when it is answered, a to-do when it is done.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import regex

from memsrv.core.claims.negation import stretches
from memsrv.core.claims.numbered import apart, numbered
from memsrv.core.summary import acts
from memsrv.core.summary.acts import folded
from memsrv.core.summary.clauses import END_MARKS, bare, clauses, weight
from memsrv.core.summary.statements import FEW, HAN, SETTLED, Statement, keys
from memsrv.core.summary.subjects import Value, shared, terms, values
from memsrv.core.summary.summary import Heading, Line

REPLACES = regex.compile(r"\s*[(（](?:replaces: |取代：)(?P<old>[^()（）]*)[)）]\s*$")
SPEAKER = regex.compile(r"^(?:\p{L}[\p{L} .'-]{0,30}: |\p{Han}{1,8}：)(?=.*\b(?:[Ii]|[Mm]y|[Mm]e)\b|.*我)")
CLAIMS = (*SETTLED, Heading.FACTS, Heading.STATE)
NEAR = 6
"""Messages back to what a correction without a subject may point to."""
NEWEST = 20
"""Entries looked at for each key."""
CLOSE = 2
"""Messages back to what a correction without any subject points to."""
BRIEF = 9
"""Words of a replaced line that are told."""


@dataclass(slots=True, eq=False)
class Entry:
    """A line in the making."""

    heading: Heading
    text: str
    position: int
    sent_at: datetime | None
    said: str
    around: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    old: bool = False
    repeats: int = 0
    replaced: str = ""
    order: int = 0
    exchange: int = 0
    stands: bool = True
    keys: frozenset[str] = field(init=False, default=frozenset())
    affirmed: frozenset[str] = field(init=False, default=frozenset())
    refused: frozenset[str] = field(init=False, default=frozenset())
    values: tuple[Value, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        self.retext(self.text)

    def retext(self, text: str) -> None:
        """Give it other words."""
        self.text = text
        body = SPEAKER.sub("", text)
        self.affirmed, self.refused = read(body)
        self.keys = self.affirmed | self.refused
        self.values = values(text)

    @property
    def line(self) -> Line:
        """The entry as a line, with what it replaces."""
        if not self.replaced:
            return Line(self.heading, self.text, self.position, self.sent_at)
        mark = f"（取代：{self.replaced}）" if HAN.search(self.text) else f" (replaces: {self.replaced})"
        return Line(self.heading, self.text + mark, self.position, self.sent_at)


def read(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The terms and values that a text affirms, and those that it negates."""
    affirmed: set[str] = set()
    refused: set[str] = set()
    for piece in stretches(text):
        part = text[piece.span.start : piece.span.end]
        (refused if piece.negated else affirmed).update(terms(part), (value.key for value in values(part)))
    whole = terms(text) | {value.key for value in values(text)}
    return frozenset(affirmed | (whole - refused)), frozenset(refused)


class Ledger:
    """Entries in the order in which they came."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.all: list[Entry] = []
        self.gone: list[Entry] = []
        self.at: dict[str, list[Entry]] = defaultdict(list)
        for line in lines:
            self.recall(line)

    def recall(self, line: Line) -> None:
        """Take an old line."""
        found = REPLACES.search(line.text)
        text = line.text[: found.start()] if found else line.text
        said = folded(text)
        entry = Entry(line.heading, text, line.position, line.sent_at, said, old=True)
        if found:
            entry.replaced = found["old"]
            self.gone.append(Entry(line.heading, found["old"], line.position, line.sent_at, folded(found["old"]), order=-1))
        self.put(entry)

    def put(self, entry: Entry) -> None:
        entry.order = len(self.all)
        self.all.append(entry)
        for key in entry.keys:
            self.at[key].append(entry)

    def remove(self, entry: Entry) -> None:
        """Take an entry out; it is remembered."""
        if entry.stands:
            entry.stands = False
            self.gone.append(entry)

    @property
    def entries(self) -> list[Entry]:
        """What stands, in the order in which it came."""
        return [entry for entry in self.all if entry.stands]

    def near(self, keys: Iterable[str]) -> list[Entry]:
        """Standing entries that share a key, each once, oldest first; of many, the newest."""
        found = {id(entry): entry for key in keys for entry in self.at.get(key, ())[-NEWEST:] if entry.stands}
        return sorted(found.values(), key=lambda entry: entry.order)

    # --- taking a statement ---

    def take(self, statement: Statement) -> None:
        """Put a new statement where it belongs: see (2) to (4)."""
        new = Entry(
            statement.heading,
            statement.text,
            statement.position,
            statement.sent_at,
            statement.said,
            statement.around,
            statement.marks,
            exchange=statement.exchange,
        )
        if new.heading is Heading.GOAL:
            self.aim(new)
            return
        if new.heading is Heading.QUESTIONS:
            self.open(new)
            return
        if acts.RESTORES.search(new.said) and self.restore(new):
            return
        self.resolve(new)
        if self.absorb(new):
            return
        if not self.replace(new) and new.keys:
            self.put(new)

    def aim(self, new: Entry) -> None:
        """The goal is the first one, until another is set."""
        standing = [entry for entry in self.entries if entry.heading is Heading.GOAL]
        if not standing:
            self.put(new)
        elif acts.NEW_GOAL.search(new.said):
            for entry in standing:
                self.remove(entry)
            self.put(new)

    def open(self, new: Entry) -> None:
        """A question that is open already is not opened twice."""
        for entry in self.near(new.keys):
            if entry.heading is Heading.QUESTIONS and shared(entry.keys, new.keys) >= 0.6:
                entry.repeats += 1
                return
        self.put(new)

    def resolve(self, new: Entry) -> None:
        """Take away the questions that a statement answers and the to-dos that it reports done."""
        done = acts.DONE.search(new.said) is not None
        for entry in self.near(new.keys | new.around):
            if entry.heading is not Heading.QUESTIONS or entry.position >= new.position:
                continue
            own = len(entry.keys & new.keys)
            if (
                own
                and (done or own >= 2 or own / max(1, len(entry.keys)) >= 0.5)
                and (done or shared(entry.keys, new.keys) >= 0.5)
            ):
                self.remove(entry)

    def absorb(self, new: Entry) -> bool:
        """Whether an entry says the same already; the fuller wording of the two stays."""
        for entry in reversed(self.near(new.keys)):
            if entry.heading not in CLAIMS or clashes(entry, new) or bool(entry.refused) != bool(new.refused):
                continue
            if new.keys <= entry.keys or (shared(entry.keys, new.keys) >= 0.8 and len(new.keys) <= len(entry.keys)):
                entry.repeats += 1
                if not entry.old:
                    entry.marks |= new.marks
                    entry.heading = new.heading if new.heading in SETTLED else entry.heading
                return True
            if (
                shared(entry.keys, new.keys) >= 0.8
                and entry.keys < new.keys
                and not entry.old
                and len(new.keys) <= len(entry.keys) + 6
            ):
                new.repeats = entry.repeats + 1
                new.marks |= entry.marks
                if entry.heading in SETTLED and new.heading not in SETTLED:
                    new.heading = entry.heading
                self.remove(entry)
                return False
        return False

    # --- change ---

    def replace(self, new: Entry) -> bool:
        """Take out of the entries what the new one contradicts; whether one of them took its value in."""
        told: list[str] = []
        change = Change(new)
        for entry in reversed(self.rivals(new, change)):
            if entry.heading not in (*CLAIMS, Heading.GOAL) or entry.position > new.position:
                continue
            conflict = contradiction(entry, new, change)
            if conflict is None:
                continue
            if self.substitute(entry, new, conflict):
                return True
            self.strike(entry, new, conflict)
            told.append(conflict)
        if told and not mentions(new, told[0]) and weight(told[0]) <= BRIEF and told[0] not in new.text:
            new.replaced = told[0]
        return False

    def rivals(self, new: Entry, change: "Change") -> list[Entry]:
        """Entries that a statement may contradict: those that speak of the same, and for a bare correction the last few."""
        near = self.near(new.keys | new.around)
        if not change.corrects or len(terms(new.text)) > FEW:
            return near
        last = [entry for entry in self.all[-8:] if entry.stands and entry not in near]
        return sorted([*near, *last], key=lambda entry: entry.order)

    def substitute(self, entry: Entry, new: Entry, old: str) -> bool:
        """Put a new value in the old one's place, where the correction says nothing else."""
        if entry.heading is Heading.GOAL:
            return False
        olds = [value for value in entry.values if value.text.strip() == old.strip().casefold()]
        if (
            len(olds) != 1
            or len(terms(SPEAKER.sub("", new.text)) - entry.keys - {*terms(old)}) > 1
            or new.refused - {*terms(old), olds[0].key}
        ):
            return False
        news = [
            value
            for value in new.values
            if value.kind == olds[0].kind and value.key not in new.refused and value.key != olds[0].key
        ]
        if len(news) != 1 or len(new.text) > len(entry.text) + 4:
            return False
        value = new.text[news[0].start : news[0].end]
        text = entry.text[: olds[0].start] + value.strip() + entry.text[olds[0].end :]
        before = entry.text[olds[0].start : olds[0].end].strip()
        self.remove(entry)
        fresh = Entry(
            entry.heading, text, new.position, new.sent_at, f"{entry.said} {new.said}", new.around, entry.marks | new.marks
        )
        fresh.replaced = before
        self.put(fresh)
        return True

    def strike(self, entry: Entry, new: Entry, old: str) -> None:
        """Take an entry out, or only its clause that is no longer true."""
        kept = [part for part in clauses(entry.text) if old.casefold() not in part.casefold() and not terms(old) & terms(part)]
        rest = bare(END_MARKS.sub("", "".join(kept)))
        whole = len(clauses(entry.text))
        if entry.heading is Heading.GOAL and not kept:
            return
        self.remove(entry)
        if kept and len(kept) < whole and len(terms(rest)) >= 2:
            self.put(
                Entry(
                    entry.heading,
                    rest,
                    entry.position,
                    entry.sent_at,
                    folded(rest),
                    entry.around,
                    entry.marks,
                    repeats=entry.repeats,
                    exchange=entry.exchange,
                )
            )

    def restore(self, new: Entry) -> bool:
        """Go back to what was replaced: whether there was such a thing."""
        named = [
            (shared(entry.keys, new.keys), entry.order, entry)
            for entry in self.gone
            if entry.keys & new.keys and entry.heading in CLAIMS
        ]
        strong = [found for found in named if found[0] >= 0.5 or len(found[2].keys & new.keys) >= 2]
        if strong:
            back = max(strong, key=lambda found: found[:2])[2]
        elif len(new.keys) <= 2 and (replacing := [entry for entry in self.entries if entry.replaced]):
            back = self.origin(max(replacing, key=lambda entry: entry.order), first=acts.FIRST_PLAN.search(new.said) is not None)
        else:
            return False
        current = self.successor(back, new)
        text = back.text
        if current is not None:
            text = swapped(current, back) or text
            self.remove(current)
        fresh = Entry(
            back.heading, text, new.position, new.sent_at, f"{back.said} {new.said}", new.around, back.marks | new.marks
        )
        if not strong or len(new.keys - back.keys) <= 2:
            fresh.replaced = brief(current, back) if current else ""
            self.put(fresh)
            return True
        new.replaced = brief(current, back) if current else ""
        self.put(new)
        return True

    def origin(self, entry: Entry, *, first: bool) -> Entry:
        """What an entry replaced: the one before it, or the first of the chain."""
        for _ in range(20):
            older = [
                gone
                for gone in self.gone
                if entry.replaced and entry.replaced.casefold() in gone.text.casefold() and gone is not entry
            ]
            if not older:
                return entry
            entry = older[-1]
            if not first or not entry.replaced:
                return entry
        return entry

    def successor(self, back: Entry, new: Entry) -> Entry | None:
        """The entry that stands where the restored one stood."""
        for entry in reversed(self.entries):
            if entry.replaced and (entry.replaced.casefold() in back.text.casefold() or terms(entry.replaced) & back.keys):
                return entry
        return None


# --- contradiction --------------------------------------------------------------------------------------------------


class Change:
    """What the words of a statement say about change, looked for once."""

    def __init__(self, new: Entry) -> None:
        values = {value.key for value in new.values}
        self.corrects = acts.CORRECTS.search(new.said) is not None
        self.cancels = acts.CANCELS.search(new.said) is not None
        self.substitutes = acts.SUBSTITUTES.search(new.said) is not None
        self.slips = acts.SLIPS.search(new.said) is not None
        self.recalls = acts.FORMERLY.search(new.said) is not None and not acts.RESTORES.search(new.said)
        self.opposes = bool(values & new.refused and values - new.refused)  # "10, not 15"


def contradiction(entry: Entry, new: Entry, change: Change) -> str | None:
    """What of an older entry is no longer true after a new one, in its own words; None if both can stand."""
    if (
        change.recalls
        or (entry.position == new.position and not change.slips)
        or (of_another(entry, new, corrects=change.corrects))
    ):
        return None
    explicit = flipped(entry, new, cue=change.corrects or change.cancels or change.opposes)
    if explicit is not None:
        return explicit
    value = outdated(entry, new, corrects=change.corrects)
    if value is not None:
        return value
    replaceable = entry.heading in SETTLED and not entry.refused and new.heading is Heading.DECISIONS
    return displaced(entry, new) if change.corrects and change.substitutes and replaceable else None


def of_another(entry: Entry, new: Entry, *, corrects: bool) -> bool:
    """Whether two entries speak of things that a number tells apart ("flat 3 costs 900", "flat 5 costs 1100"): something else
    about them differs too, or both begin with it. Else the number is the value ("we meet in room 3", "in room 5")."""
    mine, theirs = SPEAKER.sub("", new.text), SPEAKER.sub("", entry.text)
    nouns = apart(mine, theirs)
    if not nouns or any(value.key in new.refused for value in entry.values):
        return False
    kinds = {value.kind for value in new.values} & {value.kind for value in entry.values}
    if any(lone(entry, kind, nouns) and lone(entry, kind, nouns).isdisjoint(lone(new, kind, nouns)) for kind in kinds):
        return True
    return numbered(mine).first in nouns and (numbered(theirs).first in nouns or not corrects)


def lone(entry: Entry, kind: str, nouns: frozenset[str]) -> frozenset[str]:
    """The values of a kind that number none of these things."""
    numbers = frozenset[str]().union(*(numbered(entry.text).numbers.get(noun, frozenset()) for noun in nouns))
    keys = (value.key for value in entry.values if value.kind == kind)
    return frozenset(key for key in keys if key.removeprefix("day ") not in numbers)


def flipped(entry: Entry, new: Entry, *, cue: bool) -> str | None:
    """The words of an entry whose terms the new one negates, or affirms where the entry negates them."""
    against = new.refused & entry.affirmed
    if against and not new.refused & entry.refused:
        share = len(against) / len(new.refused)
        solid = len(against) / max(1, len(entry.affirmed))
        if (cue and share >= 0.5) or (share >= 0.5 and solid >= 0.5):
            return phrase(entry, against)
    back = new.affirmed & entry.refused
    if back and cue and not new.refused & entry.refused and len(back) / len(entry.refused) >= 0.5:
        return brief(entry, None)
    return None


def outdated(entry: Entry, new: Entry, *, corrects: bool) -> str | None:
    """The value of an entry in whose place the new one puts another of its kind."""
    mine = [value for value in new.values if value.key not in new.refused]
    named = {value.kind for value in new.values if value.key in new.refused}  # it says itself which value is out
    for value in entry.values:
        rivals = [other for other in mine if other.kind == value.kind]
        stays = value.key in new.affirmed or value.key in entry.refused or any(rival.key in entry.keys for rival in rivals)
        if (
            rivals
            and not stays
            and (value.key in new.refused or (value.kind not in named and same_subject(entry, new, value, corrects)))
        ):
            return entry.text[value.start : value.end].strip()
    return None


def same_subject(entry: Entry, new: Entry, value: Value, corrects: bool) -> bool:
    """Whether the new entry speaks of what the value belongs to: by its terms, or as a bare correction right after it."""
    subject = (entry.keys - {other.key for other in entry.values} - terms(value.text)) & new.keys
    if len(subject) >= 2 and shared(entry.keys, new.keys) >= 0.5:
        return True
    away = new.position - entry.position
    elliptic = len(terms(new.text)) <= FEW and away <= NEAR
    if not corrects or (value.kind == "number" and not (elliptic and len(entry.keys) <= FEW)):
        return False
    beyond = (entry.keys - terms(value.text) - {value.key}) & new.around
    if value.kind.startswith("quantity") and beyond:
        return True
    setting = entry.keys & new.around or away <= CLOSE or value.kind.startswith("quantity")
    return bool(subject) or bool(elliptic and setting)


def displaced(entry: Entry, new: Entry) -> str | None:
    """The words of a decision that a new one takes the place of: the message that brings the new one speaks of it."""
    text = SPEAKER.sub("", new.text)
    cue = next(reversed(list(acts.TURNS_TO.finditer(text))), None)
    brought = keys(text[cue.end() :]) if cue else new.keys
    named = entry.keys & ((new.around | new.keys) - brought)
    if named and not entry.values and len(named) / len(entry.keys) >= 0.34 and not brought <= entry.keys:
        return phrase(entry, named)
    return None


def clashes(entry: Entry, new: Entry) -> bool:
    """Whether two entries hold different values of one kind."""
    kinds = {value.kind for value in new.values} & {value.kind for value in entry.values}
    return any(
        {v.key for v in new.values if v.kind == kind}.isdisjoint({v.key for v in entry.values if v.kind == kind})
        for kind in kinds
    )


def phrase(entry: Entry, keys: frozenset[str]) -> str:
    """The clause of an entry that speaks of some keys, briefly."""
    for part in clauses(SPEAKER.sub("", entry.text)):
        if keys & (terms(part) | {value.key for value in values(part)}):
            return clipped(bare(part), keys)
    return brief(entry, None)


def clipped(text: str, keys: frozenset[str]) -> str:
    """A short text as it is, of a long one the words from the first to the last key."""
    if weight(text) <= BRIEF:
        return text
    spots = [
        found.span()
        for found in regex.finditer(r"[\p{Latin}\p{N}][\p{Latin}\p{N}'.+#_-]*|\p{Han}{2}", text, overlapped=True)
        if terms(found[0]) & keys
    ]
    return text[min(start for start, _ in spots) : max(end for _, end in spots)] if spots else text


def brief(entry: Entry, other: Entry | None) -> str:
    """An entry in few words: what sets it apart from another, or its beginning."""
    text = SPEAKER.sub("", entry.text)
    if other is not None:
        lone = [value for value in entry.values if value.key not in other.keys]
        if len(lone) == 1 and values(other.text):
            return entry.text[lone[0].start : lone[0].end].strip()
        return clipped(text, entry.keys - other.keys) if entry.keys - other.keys else text
    return text if weight(text) <= BRIEF else bare(clauses(text)[0])


def swapped(current: Entry, back: Entry) -> str:
    """The standing words with the restored value in them, where that is all that was kept of it."""
    olds = values(back.text)
    if len(olds) != 1 or len(terms(back.text) - terms(olds[0].text)) > 0:
        return ""
    news = [value for value in current.values if value.kind == olds[0].kind]
    if len(news) != 1:
        return ""
    return current.text[: news[0].start] + back.text[olds[0].start : olds[0].end] + current.text[news[0].end :]


def mentions(new: Entry, old: str) -> bool:
    """Whether a statement names by itself what it replaces, as negated."""
    keys = terms(old) | {value.key for value in values(old)}
    return bool(keys) and len(keys & new.refused) / len(keys) >= 0.5
