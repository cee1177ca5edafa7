"""What can be told about an entry in numbers, for the trees that say how much it is worth keeping.

(1) The numbers come from words alone: cues, who speaks and where, what is said again, answered or changed; never from vectors.
(2) The order of the numbers is part of the weights: whoever changes it raises VERSION, and learns the weights anew.
(3) Time is linear in the talk but for the comparison of sentences, which looks at the `NEAREST` messages of each.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log, log1p

import numpy as np
import regex

from memsrv.core.summary import acts
from memsrv.core.summary.acts import asks, excludes, folded, negated
from memsrv.core.summary.clauses import plain, sentences, weight
from memsrv.core.summary.ledger import Entry
from memsrv.core.summary.statements import keys
from memsrv.core.summary.subjects import values
from memsrv.core.summary.summary import Heading, Source

VERSION = 2

CUES = (
    acts.ACCEPTS, acts.REJECTS, acts.DEICTIC, acts.JOKES, acts.LAUGHS, acts.WILD, acts.HYPOTHETICAL, acts.QUOTED, acts.BINDING,
    acts.ADOPTS, acts.UNCERTAIN, acts.DEFERS, acts.UNRESOLVED, acts.CONDITION, acts.POLITE_IF, acts.QUESTION_MARK, acts.ASKING,
    acts.WH_QUESTION, acts.INFORMATION, acts.PROPOSES, acts.LEADS, acts.DECIDES, acts.FIRM, acts.IMPERATIVE, acts.REQUIRES,
    acts.TODO, acts.DONE, acts.PROGRESS, acts.GOALS, acts.NEW_GOAL, acts.CORRECTS, acts.SLIPS, acts.SUBSTITUTES, acts.CANCELS,
    acts.RESTORES, acts.FIRST_PLAN, acts.DOUBLE, acts.HARMLESS, acts.PRONOUN, acts.FIRST_PERSON, acts.SMALL_TALK,
    acts.ACKNOWLEDGES, acts.AGREES, acts.QUALIFIES, acts.EMPHATIC, acts.LINKS, acts.SUBJECT_VERB, acts.POINTS, acts.FORMERLY,
    acts.TURNS_TO, acts.DOES_THAT, acts.REQUEST, acts.REFERENCE, acts.THIRD_PERSON, acts.OWN_VOICE, acts.OVERRIDES_DOUBT,
    acts.PAST_TALE, acts.PAST, acts.ONLY, acts.THIRD, acts.REASONS, acts.BARE_NO, acts.ORDINAL,
)  # fmt: skip
CHANGES = tuple(CUES.index(cue) for cue in (acts.CORRECTS, acts.CANCELS, acts.RESTORES, acts.SUBSTITUTES))
DENIES = len(CUES) + 1
"""Its place among `cues`."""
KINDS = ("weekday", "clock", "date", "money", "percent", "quantity", "number", "code")
MARKS = (
    "said", "told", "accepted", "rejected", "echoed", "restates", "explains", "first", "reference", "mirrors", "answers", "later",
    "firm", "decides", "requires", "excludes", "condition", "corrects", "tale", "past", "only", "third", "personal", "points",
    "doubt", "asks", "todo", "aims", "values", "rest",
)  # fmt: skip
NAME = regex.compile(r"(?<=\s)\p{Lu}\p{L}+|[《「“\"]")
ALIKE = 0.3
"""A sentence that has so much of an entry may be its echo: its cues tell about the entry."""
ECHO = 7
"""Numbers of an echo beside its cues."""
FAR = 20
"""Messages to a later sentence that are told apart."""
NEAREST = 60
"""Messages before and after that a sentence is compared with."""
NOTHING: frozenset[str] = frozenset()


@lru_cache(maxsize=20_000)
def cues(said: str) -> tuple[bool, ...]:
    """Which of the cues a folded sentence shows, and whether it excludes, denies, asks."""
    return (*(cue.search(said) is not None for cue in CUES), excludes(said), negated(said), asks(said))


SILENT = (False,) * (len(CUES) + 3)


class Message:
    """A message as its sentences, each with its cues and keys."""

    def __init__(self, position: int, role: str, text: str):
        self.position, self.role = position, role
        self.said = [folded(sentence) for sentence in sentences(plain(text))]
        self.keys = [keys(sentence) for sentence in self.said]
        self.all = NOTHING.union(*self.keys)

    def cues(self, at: int) -> tuple[bool, ...]:
        """Of the sentence there; none where there is no such sentence."""
        return cues(self.said[at]) if -len(self.said) <= at < len(self.said) else SILENT

    def place(self, entry: Entry) -> int:
        """The sentence from which an entry comes: the one with which it shares most."""
        shared = [len(entry.keys & own) - len(own) / 100 for own in self.keys]
        return shared.index(max(shared)) if shared else 0


EMPTY = Message(0, "user", "")


class Talk:
    """The messages that are summarised, and how often each key is spoken of."""

    def __init__(self, said: Iterable[Source]):
        spoken = (source for source in said if source.role in ("user", "assistant"))
        self.messages = [Message(source.position, source.role, source.text) for source in spoken]
        self.at = {message.position: index for index, message in enumerate(self.messages)}
        self.spoken: Counter[str] = Counter()
        for message in self.messages:
            self.spoken.update(message.all)

    def message(self, index: int) -> Message:
        """The message of this place, an empty one outside of the talk."""
        return self.messages[index] if 0 <= index < len(self.messages) else EMPTY


def features(entries: Sequence[Entry], said: Iterable[Source], tokens: Sequence[int]) -> np.ndarray:
    """A row of numbers for each entry, float32. `tokens`: of each entry's line."""
    talk = Talk(said)
    return np.array([[*row(entry, talk, size)] for entry, size in zip(entries, tokens, strict=True)], np.float32)


def row(entry: Entry, talk: Talk, tokens: int) -> Iterable[float]:
    """The numbers of one entry."""
    at = talk.at.get(entry.position, len(talk.messages))
    own = talk.message(at)
    place = own.place(entry)
    before, after = talk.message(at - 1), talk.message(at + 1)
    spoken = cues(entry.said)
    yield from spoken
    for context in (before.cues(-1), after.cues(0), talk.message(at + 2).cues(0), own.cues(place + 1)):
        yield from context
    yield from own.cues(place - 1) if place else SILENT
    yield from map(any, zip(*(before.cues(one) for one in range(len(before.said))), strict=True)) if before.said else SILENT
    kinds = {value.kind.split(":")[0] for value in entry.values}
    yield from (kind in kinds for kind in KINDS)
    yield from (mark in entry.marks for mark in MARKS)
    yield from (heading is entry.heading for heading in Heading)
    yield NAME.search(entry.text) is not None
    yield bool(entry.replaced)
    yield entry.repeats
    yield from shape(entry, talk, own, at, place, tokens)
    yield from relations(entry, talk, at)
    yield from later_changes(entry, talk, at)
    yield from echoes(entry, talk, at)


def shape(entry: Entry, talk: Talk, own: Message, at: int, place: int, tokens: int) -> Iterable[float]:
    """How long it is, where it stands, who says it."""
    yield from (log1p(weight(entry.text)), log1p(len(entry.text)), log1p(len(entry.keys)), len(entry.values), log1p(tokens))
    count = max(1, len(talk.messages))
    yield from (at / count, log(count), min(4, len(talk.messages) - at), min(4, at))
    yield from (place, place == 0, place == len(own.said) - 1, len(own.said), own.role == "user")


def relations(entry: Entry, talk: Talk, at: int) -> Iterable[float]:
    """How much of it is said in the messages around, and how often the talk comes back to it."""
    own = entry.keys
    size = max(1, len(own))
    before, after = talk.message(at - 1), talk.message(at + 1)
    later, earlier = talk.messages[at + 2 : at + NEAREST], talk.messages[max(0, at - NEAREST) : max(0, at - 1)]
    told = {value.key for value in entry.values}
    for group in ([after], [before], later, earlier):
        everything = NOTHING.union(*(message.all for message in group))
        yield max((len(own & said) / size for message in group for said in message.keys), default=0)
        yield len(own & everything) / size
        yield len(told & everything)
    yield sum(len(own & message.all) / size >= 0.5 for message in later)
    yield sum(len(own & message.all) / size >= 0.5 for message in earlier)
    yield sum(log(talk.spoken[key]) for key in own if talk.spoken[key]) / size
    yield sum(talk.spoken[key] > 1 for key in own) / size


def later_changes(entry: Entry, talk: Talk, at: int) -> Iterable[float]:
    """What later sentences about the same do to it: how much of it they share who correct, cancel, go back, deny, revalue."""
    own = entry.keys
    size = max(1, len(own))
    kinds = {value.kind for value in entry.values}
    told = {value.key for value in entry.values}
    denied = negated(entry.said)
    most = [0.0] * (len(CHANGES) + 3)
    for message in talk.messages[at + 1 : at + NEAREST]:
        for said, spoken in zip(message.said, message.keys, strict=True):
            share = len(own & spoken) / size
            if not share:
                continue
            shown = cues(said)
            found = [shown[at] for at in CHANGES]
            other = {value.key for value in values(said) if value.kind in kinds}
            found += [shown[DENIES] != denied, bool(other) and not other & told, bool(other & told)]
            most = [max(one, share * hit) for one, hit in zip(most, found, strict=True)]
    yield from most


def echoes(entry: Entry, talk: Talk, at: int) -> Iterable[float]:
    """What is said of it in the next message, in the one before, and in the last of those that say most of it later."""
    own = entry.keys
    later, most = EMPTY, 0
    for message in talk.messages[at + 2 : at + NEAREST]:
        share = max((len(own & said) for said in message.keys), default=0)
        if share and share >= most:
            later, most = message, share
    for message in (talk.message(at + 1), talk.message(at - 1), later):
        yield from echo(entry, message)
    yield from (most > 0 and later.role == "user", min(FAR, later.position - entry.position) if most else 0)


def echo(entry: Entry, message: Message) -> Iterable[float]:
    """The cues of the sentence of a message that shares most with an entry, how much they share, and whether it denies other
    things or has other values."""
    own = entry.keys
    shared = [len(own & said) for said in message.keys]
    most = max(shared, default=0)
    if not most:
        yield from SILENT
        yield from [0.0] * ECHO
        return
    place = shared.index(most)
    spoken, theirs, share = cues(message.said[place]), len(message.keys[place]), most / max(1, len(own))
    yield from spoken if share >= ALIKE else SILENT
    kinds, told = {value.kind for value in entry.values}, {value.key for value in entry.values}
    other = any(value.kind in kinds and value.key not in told for value in values(message.said[place]))
    yield from (
        share,
        most / max(1, theirs),
        theirs - most,
        len(own) - most,
        spoken[DENIES] != negated(entry.said),
        other,
        place == 0,
    )


def pair_features(entries: Sequence[Entry], spoken: Counter[str]) -> np.ndarray:
    """For each entry (row) and each other (column): what tells whether the other says it too. Shape (n, n, 17), float32."""
    n = len(entries)
    rare = [{key: 1 / (spoken[key] or 1) ** 0.5 for key in entry.keys} for entry in entries]
    whole = np.array([sum(own.values()) for own in rare]) + 1e-6
    common = np.array([[sum(own[key] for key in own.keys() & other.keys()) for other in rare] for own in rare]).reshape(n, n)
    told = [{value.key for value in entry.values} for entry in entries]
    shared = np.array([[len(own & other) / max(1, len(own)) for other in told] for own in told]).reshape(n, n)
    has = np.array([[float(bool(own))] for own in told]) * np.ones((n, n))
    no = np.array([negated(entry.said) for entry in entries])
    away = np.array([entry.position for entry in entries])
    away = away[None] - away[:, None]
    length = np.array([log1p(weight(entry.text)) for entry in entries])
    mine, theirs = common / whole[:, None], common / whole[None]
    return np.stack(
        [
            mine, theirs, mine * theirs, np.minimum(mine, theirs), np.log1p(common), shared, shared * has, has * (1 - shared),
            no[:, None] != no[None], away == 0, abs(away) == 1, abs(away) == 2, np.minimum(abs(away), 10) / 10,
            (away == 1) * mine, (away == -1) * mine, length[:, None] * np.ones((n, n)), length[None] * np.ones((n, n)),
        ],
        axis=-1,
    ).astype(np.float32)  # fmt: skip
