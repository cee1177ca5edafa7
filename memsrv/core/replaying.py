"""What a later message goes back to, how much of that a prompt shows, and the figures of a replay.

Nobody has labelled an operator's sessions, so what a message goes back to is told by its words. That is a proxy: it is the
same at every run, misses what is put in other words, takes two talks of one matter for a reference, and favours recall, which
searches by words too. It serves to compare modes over the same session, and not to say how much of the past matters.

A term is a search term of at least two characters (a lone Han character is none). Of N messages df(t) hold t; a term is rare
if df(t) <= max(3, N / 50), and weighs idf(t) = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5)).

(1) A user message q goes back to a message m, of a user or an assistant, that lies before the newest `window_size` messages
    (q is one of these), if q and m share two or more rare terms that no other message of the window has, and these weigh at
    least 15% of all the terms of q. A term that is part of another shared one does not count. Of more than three messages the
    three that share the most weight are taken, of equals the later.
(2) A prompt shows m if m stands whole in a message other than q, or if it recalls a piece of m that has one of the shared
    terms and at least 120 characters, or is all of m. Blanks do not count.
(3) A prompt tells a shared term if any of its text but q has it: in a summary, a fact stands in fewer words than it was said in.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from statistics import fmean, median

from memsrv.core.text.content import text_of
from memsrv.model import Mode, Prompt, RegionName

RARE_IN = 3
RARE_SHARE = 1 / 50
LEAST_SHARED = 2
LEAST_WEIGHT = 0.15
MOST_REFERENCES = 3
LEAST_TERM_CHARS = 2
PIECE_CHARS = 120
SPEAKERS = ("user", "assistant")

Terms = Callable[[str], Iterable[str]]
"""An analyzer's search terms of a text."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A message as words. `position` is its 1-based place in the session."""

    position: int
    role: str
    text: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a later message goes back to, and the rare terms that the two share."""

    remark: Remark
    terms: frozenset[str]


def words(text: str, terms: Terms) -> frozenset[str]:
    """The terms of a text that count here."""
    return frozenset(term for term in terms(text) if len(term) >= LEAST_TERM_CHARS)


# --- what is gone back to -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class History:
    """A session's remarks, in order: the remark at place i has position i + 1."""

    remarks: Sequence[Remark]

    @cached_property
    def held_in(self) -> Mapping[str, Sequence[int]]:
        """The places of the remarks that have a term, in order."""
        places = defaultdict[str, list[int]](list)
        for place, remark in enumerate(self.remarks):
            for term in remark.terms:
                places[term].append(place)
        return places

    def rare(self, term: str) -> bool:
        """Whether few remarks have it."""
        return len(self.held_in[term]) <= max(RARE_IN, len(self.remarks) * RARE_SHARE)

    def idf(self, term: str) -> float:
        """How much a term weighs."""
        held = len(self.held_in[term])
        return log(1 + (len(self.remarks) - held + 0.5) / (held + 0.5))

    def weight(self, terms: Iterable[str]) -> float:
        """What terms weigh together, in whatever order they come."""
        return sum(self.idf(term) for term in sorted(terms))

    def references(self, position: int, *, window_size: int) -> tuple[Reference, ...]:
        """What the message at a position goes back to, see (1); the heaviest first."""
        asked, before = self.remarks[position - 1], max(0, position - max(1, window_size))
        shown = frozenset[str]().union(*(remark.terms for remark in self.remarks[before : position - 1]))
        shared: dict[int, set[str]] = defaultdict(set)
        for term in filter(self.rare, asked.terms - shown):
            for place in self.held_in[term]:
                if place < before and self.remarks[place].role in SPEAKERS:
                    shared[place].add(term)
        least = LEAST_WEIGHT * self.weight(asked.terms)
        whole = {place: outermost(terms) for place, terms in shared.items()}
        weights = {place: self.weight(terms) for place, terms in whole.items() if len(terms) >= LEAST_SHARED}
        best = sorted((place for place in weights if weights[place] >= least), key=lambda place: (-weights[place], -place))
        return tuple(Reference(self.remarks[place], whole[place]) for place in best[:MOST_REFERENCES])


def outermost(terms: Iterable[str]) -> frozenset[str]:
    """The terms that are part of no other: a Chinese word comes with the words inside it, an identifier with its parts."""
    held = frozenset(terms)
    return frozenset(term for term in held if not any(term in other and term != other for other in held))


# --- what a prompt shows of it --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """Of what a message goes back to: messages, those that the prompt shows; shared terms, those that it tells."""

    referenced: int = 0
    shown: int = 0
    terms: int = 0
    told: int = 0


def answered(prompt: Prompt, references: Sequence[Reference], terms: Terms) -> Answered:
    """How a prompt, asked for when the newest message was the user's, answers what that message goes back to."""
    if not references:
        return Answered()
    texts = background(prompt)
    said = words("\n".join(texts), terms)
    return Answered(
        referenced=len(references),
        shown=sum(shows(prompt, texts, reference, terms) for reference in references),
        terms=sum(len(reference.terms) for reference in references),
        told=sum(len(reference.terms & said) for reference in references),
    )


def background(prompt: Prompt) -> list[str]:
    """The texts of a prompt but for its newest user message, each in single blanks."""
    asked = max((place for place, message in enumerate(prompt.messages) if message["role"] == "user"), default=-1)
    return [single(text_of(message)) for place, message in enumerate(prompt.messages) if place != asked]


def shows(prompt: Prompt, texts: Iterable[str], reference: Reference, terms: Terms) -> bool:
    """Whether the message that is gone back to stands in the prompt, see (2)."""
    whole = single(reference.remark.text)
    if any(whole in text for text in texts):
        return True
    chunks = (hit.chunk for hit in prompt.receipt.recall)
    pieces = (single(chunk.text) for chunk in chunks if chunk.position == reference.remark.position)
    return any(
        piece in whole and (piece == whole or (len(piece) >= PIECE_CHARS and bool(words(piece, terms) & reference.terms)))
        for piece in pieces
    )


def single(text: str) -> str:
    """A text with single blanks."""
    return " ".join(text.split())


# --- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One prompt of a replay. `position` is that of its newest message; `summaries` counts those that were made up to then;
    `degraded`: something that it could have been made of was out of reach."""

    session: str
    mode: Mode
    position: int
    total_tokens: int
    region_tokens: Mapping[RegionName, int]
    summaries: int
    took_ms: float
    answered: Answered
    degraded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The samples of one mode, taken together. Tokens are means over the prompts; `summaries` is a sum over the sessions, at
    the last prompt of each."""

    mode: Mode
    prompts: int
    total_tokens: float
    most_tokens: int
    region_tokens: Mapping[RegionName, float]
    summaries: int
    referenced: int
    shown: int
    terms: int
    told: int
    p50_ms: float
    degraded: int

    @property
    def recall(self) -> float | None:
        """Share of the messages that were gone back to which the prompts show; None if nothing was gone back to."""
        return self.shown / self.referenced if self.referenced else None

    @property
    def telling(self) -> float | None:
        """Share of the shared terms which the prompts tell; None if there are none."""
        return self.told / self.terms if self.terms else None


def figures(samples: Iterable[Sample]) -> list[Figures]:
    """The figures of each mode that has samples, in the order of the modes."""
    taken: dict[Mode, list[Sample]] = {mode: [] for mode in Mode}
    for sample in samples:
        taken[sample.mode].append(sample)
    return [figures_of(mode, of_mode) for mode, of_mode in taken.items() if of_mode]


def figures_of(mode: Mode, samples: Sequence[Sample]) -> Figures:
    """The figures of one mode from its samples, which are at least one."""
    made = Counter[str]()
    for sample in samples:
        made[sample.session] = max(made[sample.session], sample.summaries)
    found = [sample.answered for sample in samples]
    return Figures(
        mode=mode,
        prompts=len(samples),
        total_tokens=fmean(sample.total_tokens for sample in samples),
        most_tokens=max(sample.total_tokens for sample in samples),
        region_tokens={name: fmean(sample.region_tokens.get(name, 0) for sample in samples) for name in RegionName},
        summaries=made.total(),
        referenced=sum(each.referenced for each in found),
        shown=sum(each.shown for each in found),
        terms=sum(each.terms for each in found),
        told=sum(each.told for each in found),
        p50_ms=median(sample.took_ms for sample in samples),
        degraded=sum(sample.degraded for sample in samples),
    )
