"""What can be told about an entry in numbers, for the trees that say how much it is worth keeping.

(1) The numbers come from words alone: cues, who speaks and where, what is said again, answered or changed; never from vectors.
(2) The order of the numbers is part of the weights: whoever changes it raises VERSION, and learns the weights anew.
(3) Time is linear in the talk but for the comparison of sentences, which looks at the `NEAREST` messages of each.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
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
UNHEARD = np.zeros(7, np.float32)
"""The numbers of no echo, beside its cues."""
FAR = 20
"""Messages to a later sentence that are told apart."""
NEAREST = 60
"""Messages before and after that a sentence is compared with."""
NOTHING: frozenset[str] = frozenset()


@lru_cache(maxsize=20_000)
def cues(said: str) -> np.ndarray:
    """Which of the cues a folded sentence shows, and whether it excludes, denies, asks. Float32, not to be written to."""
    shown = [*(cue.search(said) is not None for cue in CUES), excludes(said), negated(said), asks(said)]
    return constant(np.array(shown, np.float32))


def constant(array: np.ndarray) -> np.ndarray:
    """The array, which cannot be written to from now on."""
    array.flags.writeable = False
    return array


SILENT = constant(np.zeros(len(CUES) + 3, np.float32))


class Message:
    """A message as its sentences, each with its cues and keys."""

    def __init__(self, position: int, role: str, text: str):
        self.position, self.role = position, role
        self.said = [folded(sentence) for sentence in sentences(plain(text))]
        self.keys = [keys(sentence) for sentence in self.said]
        self.all = NOTHING.union(*self.keys)

    def cues(self, at: int) -> np.ndarray:
        """Of the sentence there; none where there is no such sentence."""
        return cues(self.said[at]) if -len(self.said) <= at < len(self.said) else SILENT

    @cached_property
    def any_cues(self) -> np.ndarray:
        """Of any sentence."""
        return np.maximum.reduce([cues(said) for said in self.said]) if self.said else SILENT

    def place(self, entry: Entry) -> int:
        """The sentence from which an entry comes: the one with which it shares most."""
        shared = [len(entry.keys & own) - len(own) / 100 for own in self.keys]
        return shared.index(max(shared)) if shared else 0


EMPTY = Message(0, "user", "")


class Talk:
    """The messages that are summarised, and where and how often each key is spoken of."""

    def __init__(self, said: Iterable[Source]):
        spoken = (source for source in said if source.role in ("user", "assistant"))
        self.messages = [Message(source.position, source.role, source.text) for source in spoken]
        self.at = {message.position: index for index, message in enumerate(self.messages)}
        self.spoken: Counter[str] = Counter()
        self.places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, message in enumerate(self.messages):
            self.spoken.update(message.all)
            for place, own in enumerate(message.keys):
                for key in own:
                    self.places[key].append((index, place))

    def message(self, index: int) -> Message:
        """The message of this place, an empty one outside of the talk."""
        return self.messages[index] if 0 <= index < len(self.messages) else EMPTY

    def near(self, key: str, at: int) -> list[tuple[int, int]]:
        """The messages around one of them, and the sentences there, that speak of a key; in order."""
        places = self.places.get(key, [])
        return places[bisect_left(places, (at - NEAREST,)) : bisect_left(places, (at + NEAREST,))]


class Shares:
    """What the messages around an entry have of its keys. `at`: the place of its own message."""

    def __init__(self, entry: Entry, talk: Talk, at: int):
        self.entry, self.talk, self.at = entry, talk, at
        self.size = max(1, len(entry.keys))
        self.told = {value.key for value in entry.values}
        self.keys: dict[str, list[int]] = {}
        """The messages that speak of each key."""
        self.sentences: dict[int, Counter[int]] = defaultdict(Counter)
        """By message, how many keys each sentence has that has any."""
        self.messages: Counter[int] = Counter()
        for key in entry.keys | self.told:
            near = talk.near(key, at)
            self.keys[key] = sorted({index for index, _ in near})
            if key in entry.keys:
                self.messages.update(self.keys[key])
                for index, place in near:
                    self.sentences[index][place] += 1

    def known(self, keys: Iterable[str], begin: int, end: int) -> int:
        """How many of the keys the messages from one place up to another speak of."""
        return sum(any(begin <= index < end for index in self.keys[key]) for key in keys)

    def between(self, begin: int, end: int) -> list[int]:
        """The messages from one place up to another that have any of the keys, in order."""
        return sorted(index for index in self.sentences if begin <= index < end)

    def best(self, index: int) -> tuple[int, int]:
        """The most keys that a sentence of a message has, and the first sentence that has so many."""
        shared: Mapping[int, int] = self.sentences.get(index) or {}
        return max(((count, -place) for place, count in shared.items()), default=(0, 0))


def features(entries: Sequence[Entry], said: Iterable[Source], tokens: Sequence[int]) -> np.ndarray:
    """A row of numbers for each entry, float32. `tokens`: of each entry's line."""
    talk = Talk(said)
    return np.array([row(entry, talk, size) for entry, size in zip(entries, tokens, strict=True)])


def row(entry: Entry, talk: Talk, tokens: int) -> np.ndarray:
    """The numbers of one entry."""
    at = talk.at.get(entry.position, len(talk.messages))
    own = talk.message(at)
    place = own.place(entry)
    before, after = talk.message(at - 1), talk.message(at + 1)
    shares = Shares(entry, talk, at)
    shown = [cues(entry.said), before.cues(-1), after.cues(0), talk.message(at + 2).cues(0), own.cues(place + 1)]
    shown += [own.cues(place - 1) if place else SILENT, before.any_cues]
    kinds = {value.kind.split(":")[0] for value in entry.values}
    numbers = [
        *(kind in kinds for kind in KINDS),
        *(mark in entry.marks for mark in MARKS),
        *(heading is entry.heading for heading in Heading),
        NAME.search(entry.text) is not None,
        bool(entry.replaced),
        entry.repeats,
        *shape(entry, talk, own, at, place, tokens),
        *relations(shares),
        *later_changes(shares),
    ]
    return np.concatenate([*shown, np.array(numbers, np.float32), *echoes(shares)])


def shape(entry: Entry, talk: Talk, own: Message, at: int, place: int, tokens: int) -> Iterable[float]:
    """How long it is, where it stands, who says it."""
    yield from (log1p(weight(entry.text)), log1p(len(entry.text)), log1p(len(entry.keys)), len(entry.values), log1p(tokens))
    count = max(1, len(talk.messages))
    yield from (at / count, log(count), min(4, len(talk.messages) - at), min(4, at))
    yield from (place, place == 0, place == len(own.said) - 1, len(own.said), own.role == "user")


def relations(shares: Shares) -> Iterable[float]:
    """How much of it is said in the messages around, and how often the talk comes back to it."""
    own, size, at, talk = shares.entry.keys, shares.size, shares.at, shares.talk
    after, before, later, earlier = (at + 1, at + 2), (at - 1, at), (at + 2, at + NEAREST), (at - NEAREST, at - 1)
    for group in (after, before, later, earlier):
        yield max((shares.best(index)[0] for index in shares.between(*group)), default=0) / size
        yield shares.known(own, *group) / size
        yield shares.known(shares.told, *group)
    for begin, end in (later, earlier):
        yield sum(begin <= index < end and count / size >= 0.5 for index, count in shares.messages.items())
    yield sum(log(talk.spoken[key]) for key in own if talk.spoken[key]) / size
    yield sum(talk.spoken[key] > 1 for key in own) / size


def later_changes(shares: Shares) -> Iterable[float]:
    """What later sentences about the same do to it: how much of it they share who correct, cancel, go back, deny, revalue."""
    entry = shares.entry
    kinds = {value.kind for value in entry.values}
    denied = negated(entry.said)
    most = [0.0] * (len(CHANGES) + 3)
    for index in shares.between(shares.at + 1, shares.at + NEAREST):
        message = shares.talk.messages[index]
        for place, count in shares.sentences[index].items():
            shown = cues(message.said[place])
            found = [bool(shown[at]) for at in CHANGES]
            other = {value.key for value in values(message.said[place]) if value.kind in kinds}
            found += [bool(shown[DENIES]) != denied, bool(other) and not other & shares.told, bool(other & shares.told)]
            most = [max(one, count / shares.size * hit) for one, hit in zip(most, found, strict=True)]
    yield from most


def echoes(shares: Shares) -> Iterable[np.ndarray]:
    """What is said of it in the next message, in the one before, and in the last of those that say most of it later."""
    later, most = -1, 0
    for index in shares.between(shares.at + 2, shares.at + NEAREST):
        count, _ = shares.best(index)
        if count >= most:
            later, most = index, count
    for index in (shares.at + 1, shares.at - 1, later):
        yield from echo(shares, index)
    message = shares.talk.message(later)
    away = min(FAR, message.position - shares.entry.position) if most else 0
    yield np.array([most > 0 and message.role == "user", away], np.float32)


def echo(shares: Shares, index: int) -> tuple[np.ndarray, np.ndarray]:
    """The cues of the sentence of a message that shares most with an entry; how much they share, and whether it denies other
    things or has other values."""
    most, place = shares.best(index)
    if not most:
        return SILENT, UNHEARD
    entry, message, place = shares.entry, shares.talk.message(index), -place
    spoken, theirs, share = cues(message.said[place]), len(message.keys[place]), most / shares.size
    kinds = {value.kind for value in entry.values}
    other = any(value.kind in kinds and value.key not in shares.told for value in values(message.said[place]))
    denies_other = bool(spoken[DENIES]) != negated(entry.said)
    numbers = (share, most / max(1, theirs), theirs - most, len(entry.keys) - most, denies_other, other, place == 0)
    return spoken if share >= ALIKE else SILENT, np.array(numbers, np.float32)


def near_pairs(keys: Sequence[Collection[str]]) -> Iterable[tuple[int, int]]:
    """The pairs of places that have a key in common, both ways round, and each with itself, if it has any; each once."""
    places: dict[str, list[int]] = defaultdict(list)
    for at, own in enumerate(keys):
        for key in own:
            places[key].append(at)
    for at, own in enumerate(keys):
        yield from ((at, other) for other in {other for key in own for other in places[key]})


def pair_features(entries: Sequence[Entry], spoken: Counter[str]) -> np.ndarray:
    """For each entry (row) and each other (column): what tells whether the other says it too. Shape (n, n, 17), float32."""
    n = len(entries)
    rare = [{key: 1 / (spoken[key] or 1) ** 0.5 for key in entry.keys} for entry in entries]
    whole = np.array([sum(own.values()) for own in rare]) + 1e-6
    common, shared = np.zeros((n, n)), np.zeros((n, n))
    told = [{value.key for value in entry.values} for entry in entries]
    for at, other in near_pairs([own.keys() for own in rare]):
        common[at, other] = sum(rare[at][key] for key in rare[at].keys() & rare[other].keys())
    for at, other in near_pairs(told):
        shared[at, other] = len(told[at] & told[other]) / len(told[at])
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
