"""A line of a summary as it is compared with the sources: its terms in their forms, its values, its clauses."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import regex

from memsrv.core.claims.claims import dates, names, negations, numbers, stretches
from memsrv.core.claims.figures import stated, without_numbers
from memsrv.core.guard.evidence import LIGHT, Evidence, Statement, latin_words, sentences
from memsrv.core.summary.summary import Line

REASON = regex.compile(
    r"\b(?:because|since|due\s+to|owing\s+to|replac(?:es|ed|ing)|formerly|previously|was|were)\b|因为|由于|原为|原来|原先"
    r"|此前|之前是|取代|代替",
    regex.IGNORECASE,
)
PIECE_END = regex.compile(r"[,;:.，；：。]")
REASON_END = regex.compile(r"[,;.。；，)）]|$")
CLAUSE = regex.compile(r"[;，；、]|[,:：](?![0-9])|\b(?:and|but|while|whereas)\b|但|\(|\)|（|）")


Values = Callable[[Statement], frozenset[str]]
"""Reads the values of one kind from a statement."""


def same_kind(mine: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of values can be about the same: amounts and amounts, times and times, days and days."""
    return bool({kind_of(value) for value in mine} & {kind_of(value) for value in other})


def kind_of(value: str) -> str:
    """Time, share, ordinal or amount; a day is a day."""
    return next((sign for sign in ":%#" if sign in value), "")


def numbers_of(statement: Statement) -> frozenset[str]:
    return statement.numbers


def dates_of(statement: Statement) -> frozenset[str]:
    return statement.dates


def names_of(statement: Statement) -> frozenset[str]:
    return statement.names


def has(value: str, statement: Statement, of: Values) -> bool:
    """Whether a statement has a value of a kind; a day of the month may be told as a number."""
    amount = value.partition(" ")[0]
    return (
        stated(value, of(statement))
        or value in statement.dates
        or amount in of(statement)
        or (of is names_of and value in statement.text.casefold())
    )


def plain_of(statement: Statement) -> frozenset[str]:
    """The terms of a statement but for its values."""
    return frozenset(term for term in statement.terms if not term.startswith("="))


def others_of(evidence: Evidence, statement: Statement, of: Values) -> frozenset[str]:
    """The values of a kind in a statement, but for who says it."""
    source = evidence.sources[statement.source]
    return of(statement) - {source.speaker.casefold(), *latin_words(source.speaker)}


def clauses_of(evidence: Evidence, index: int) -> list[Statement]:
    """The clauses of a statement, read each by itself."""
    statement = evidence.statements[index]
    source = evidence.sources[statement.source]
    return [evidence.statement(piece, statement.source, source) for piece in CLAUSE.split(statement.text) if piece.strip()]


@dataclass(frozen=True, slots=True)
class Piece:
    """A clause of a line: what it speaks of, and the values that it gives to that."""

    plain: frozenset[str]
    numbers: frozenset[str]
    dates: frozenset[str]
    people: frozenset[str]


class Subject:
    """A line as it is compared: its terms in the sources' forms, its values, its sentences and what these claim. What only some
    lines are asked for is worked out when it is."""

    def __init__(self, line: Line, evidence: Evidence) -> None:
        self.line = line
        self.evidence = evidence
        self.quoted = evidence.quoted(line.text)
        self.numbers, self.dates, self.names = numbers(line.text), dates(line.text), names(line.text)
        self.statements = [self.read(text) for text in sentences(line.text)]
        self.claims = [self.claim(statement) for statement in self.statements]
        self.affirmed: frozenset[str] = frozenset().union(*(one.affirmed for one in self.claims))
        self.negated: frozenset[str] = frozenset().union(*(one.negated for one in self.claims))
        self.terms: frozenset[str] = frozenset().union(*(one.terms for one in self.statements))
        self.plain = self._plain(self.terms, self.names)

    @cached_property
    def telling(self) -> frozenset[str]:
        """The words that need support."""
        return self._telling(self.line.text)

    @cached_property
    def clauses(self) -> list[frozenset[str]]:
        """The same, clause by clause."""
        return [self._telling(clause) for clause in CLAUSE.split(self.line.text) if clause.strip()]

    @cached_property
    def pieces(self) -> list[Piece]:
        """The clauses and what they give values to."""
        return [piece for statement in self.statements for piece in self._pieces(statement)]

    def _pieces(self, statement: Statement) -> Iterator[Piece]:
        """The clauses of a sentence; one of values alone speaks of what the sentence does."""
        whole = self._plain(statement.terms, statement.names)
        for text in CLAUSE.split(statement.text):
            clause = self.claim(self.read(text))
            affirmed = frozenset(term.removeprefix("=") for term in clause.affirmed)
            known, read = self.evidence.known, self.evidence.read_terms
            people = frozenset(name for name in clause.names if " " not in name and known(read(name)) & affirmed)
            plain = self._plain(clause.terms, clause.names)
            yield Piece(plain or whole, clause.numbers & affirmed, clause.dates & affirmed, people if plain else frozenset())

    def _plain(self, terms: frozenset[str], named: frozenset[str]) -> frozenset[str]:
        """Terms without values and names."""
        names_terms = self.evidence.known(term for name in named for term in self.evidence.read_terms(name))
        return frozenset(term for term in terms - names_terms if not term.startswith("="))

    def _telling(self, text: str) -> frozenset[str]:
        """The words of a text that need support: not those that frame it, nor its cues of negation."""
        pieces = (without_numbers(text[one.span.start : one.span.end]) for one in stretches(text))
        words = (term for piece in pieces if piece.strip() for term in self.evidence.read_terms(piece) if term not in LIGHT)
        return self.evidence.known(words) | {f"={value}" for value in numbers(text) | dates(text)}

    def read(self, text: str) -> Statement:
        """A sentence of the line, in the sources' forms of words."""
        statement, known = self.evidence.statement(text), self.evidence.known
        return replace(statement, affirmed=known(statement.affirmed), negated=known(statement.negated), excluded=())

    def claim(self, statement: Statement) -> Statement:
        """What a sentence claims: not what it gives as a reason, what was before, or of what it denies something, nor what it
        asks and answers with a no ("a car: no car, the train")."""
        text, evidence = statement.text, self.evidence
        aside = evidence.known(term for piece in (*reasons(text), *denied_of(text)) for term in evidence.content(piece))
        _, colon, answer = text.partition(": " if ": " in text else "：")
        denied = evidence.known(evidence.polar(answer).negated) if colon else frozenset()
        return replace(statement, affirmed=statement.affirmed - aside - denied, negated=(statement.negated | denied) - aside)


def reasons(text: str) -> Iterator[str]:
    """Pieces of a line that say why, or what was before."""
    for found in REASON.finditer(text):
        end = REASON_END.search(text, found.end())
        yield text[found.end() : end.start() if end else len(text)]


def denied_of(text: str) -> Iterator[str]:
    """What a line denies something of: "Leon" in "Leon doesn't eat fish"."""
    for one in negations(text):
        if not one.excludes or one.cue == "不":
            yield PIECE_END.split(text[: one.span.start])[-1]
