"""The faults of a line: what a summariser made up, moved, turned round or made surer than it was.

(1) Each question looks only at what the sources say about the same, and lets the newest of it count.
(2) What is in doubt is let through: a line that is refused wrongly is lost, one that is let through wrongly was at least said.
"""

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from enum import StrEnum

import regex

from memsrv.core.claims.claims import Terms, conditional, hedged, identifiers
from memsrv.core.claims.figures import stated
from memsrv.core.claims.identifiers import folded
from memsrv.core.claims.numbered import numbered
from memsrv.core.guard.compared import (
    Subject,
    Values,
    clauses_of,
    dates_of,
    has,
    names_of,
    numbers_of,
    others_of,
    plain_of,
    same_kind,
)
from memsrv.core.guard.evidence import POINTING, Evidence, Statement, size, sources_of
from memsrv.core.guard.shape import is_empty, is_hostile, is_off_shape
from memsrv.core.summary.summary import Heading, Language, Line, Task


class Kind(StrEnum):
    """What is wrong with a line."""

    NUMBER = "number"
    NAME = "name"
    DATE = "date"
    IDENTIFIER = "identifier"
    NEGATION = "negation"
    HEDGE = "hedge"
    UNSUPPORTED = "unsupported"
    MISSING = "missing"
    LANGUAGE = "language"
    SHAPE = "shape"
    LENGTH = "length"
    INJECTION = "injection"


Fault = tuple[Kind, str]
"""A kind, and the words that it hangs on."""

SUPPORT = 0.4
"""The share of a line's words that must stand together in the sources: honest paraphrase has more, invention less."""
COVERED = 0.5
"""So much of what the sources rule out must stand in a line for the line to be about it."""
INSTRUCTIONS = ("prompt", "update_prompt")
PLAIN = frozenset((Heading.DECISIONS, Heading.CONSTRAINTS, Heading.FACTS, Heading.STATE))
"""Headings under which nothing uncertain may stand as if it were settled."""
CHANGES = regex.compile(
    r"\b(?:now|instead|chang\w*|actually|rather|mov(?:e|ed|ing)|switch\w*|rais\w*|lower\w*|increas\w*|reduc\w*|cut"
    r"|make\s+it|updat\w*|correct\w*|reschedul\w*|postpon\w*|push\w*|bump\w*|no\s+longer|new|revis\w*|replac\w*)\b"
    r"|改|换|调整|调到|现在|更新|更正|变成|变为|推迟|提前|提高|提到|降到|降低|增加到|减少到|不再|重新",
    regex.IGNORECASE,
)
MOVES = regex.compile(
    r"\b(?:instead|actually|make\s+it|changed|moved|rescheduled|postponed|pushed|rather)\b|改|换|推迟|提前|延后", regex.IGNORECASE
)
SETTLES = regex.compile(
    rf"{MOVES.pattern}|\b(?:agreed|settled|deal|ended\s+up|in\s+the\s+end|final(?:ly)?)\b|谈下来|最后|最终|定在|定为|就定",
    regex.IGNORECASE,
)
SHORT = 4.0
"""So many words at most has an answer that only gives a value."""
SHORTEST = 2.5
"""So many at most the clause of one that changes it."""
SHORTEST_TEXT = 4
"""A line of so many characters may be judged by a single Han character."""
RARE = 3
"""A word in so few sentences names what they are about; a commoner one ("see") may be about anything."""
SUPPORT_HAN = 0.7
"""The share of a line's Han characters that is support enough where words were cut otherwise."""
ATTRIBUTED = regex.compile(
    r"\b(?:ask\w*|propos\w*|suggest\w*|wonder\w*|consider\w*|request\w*|question\w*|discuss\w*|explor\w*|look\w*\s+(?:at"
    r"|into)|option|idea|hop(?:e|es|ed|ing)|interested|unclear|open|want\w*\s+to\s+know|should\s+we|whether)\b"
    r"|询问|想知道|建议|提议|请求|考虑|讨论|希望|是否|问|选项|待",
    regex.IGNORECASE,
)
HAN = regex.compile(r"\p{Han}")
LATIN_LETTER = regex.compile(r"\p{Latin}")
LATIN_WORD = regex.compile(r"\p{Latin}{2,}")


class Judge:
    """One task's evidence, and the questions that a line is asked."""

    def __init__(self, task: Task, terms: Terms) -> None:
        self.task = task
        self.evidence = Evidence(sources_of(task), terms)
        self.told = [text for name in INSTRUCTIONS if isinstance(text := task.options.get(name), str)]
        self._subjects: dict[str, Subject] = {}

    def subject(self, line: Line) -> Subject:
        """The line, read; one with words that were read before only takes its own place and time."""
        known = self._subjects.get(line.text)
        if known is None:
            known = self._subjects[line.text] = Subject(line, self.evidence)
        found = copy(known)
        found.line = line
        return found

    def fault(self, line: Line) -> Fault | None:
        """The first fault of a line, and what it hangs on. What is cheap to see comes first."""
        shape = self.misshapen(line)
        if shape:
            return shape
        subject = self.subject(line)
        asked = [self.reversed, self.unsure, self.outdated]
        if subject.quoted < 0:
            asked = [self.strange_value, self.unsupported, *asked]
        for ask in asked:
            fault = ask(subject)
            if fault:
                return fault
        return None

    def misshapen(self, line: Line) -> Fault | None:
        text = line.text
        if is_hostile(text, users=self.evidence.users):
            return Kind.INJECTION, ""
        if is_empty(text) or is_off_shape(text, instructions=self.told, said=self.evidence.text):
            return Kind.SHAPE, ""
        return (Kind.LANGUAGE, "") if self.foreign(text) else None

    def foreign(self, text: str) -> bool:
        """Whether a line is in another language than the summary's, and not a quote."""
        han, latin, words = len(HAN.findall(text)), len(LATIN_LETTER.findall(text)), len(LATIN_WORD.findall(text))
        if self.task.language is Language.CHINESE:
            return han == 0 and words >= 4 and folded(text) not in self.evidence.text
        return han > 6 and 2 * han > latin and folded(text).strip(".。") not in self.evidence.text

    # --- values -----------------------------------------------------------------------------------------------------

    def strange_value(self, subject: Subject) -> Fault | None:
        """A number, day, name or quote that the sources do not have, or have only for something else."""
        for identifier in sorted(identifiers(subject.line.text)):
            if identifier not in self.evidence.text:
                return Kind.IDENTIFIER, identifier
        for name in sorted(subject.names):
            if not self.named(name):
                return Kind.NAME, name
        for number in sorted(subject.numbers):
            if not stated(number, self.evidence.numbers) and number not in self.evidence.dates:
                return Kind.NUMBER, number
        for day in sorted(subject.dates - self.evidence.dates):
            if not stated(day, self.evidence.numbers):
                return Kind.DATE, day
        return self.mixed(subject) or self.misplaced(subject)

    def named(self, name: str) -> bool:
        """Whether the sources have a name: as it is, in the plural, as initials, or, of a product, cut short."""
        words = self.evidence.words
        if name in words or name.removeprefix("@") in words or (not name.isascii() and name in self.evidence.text):
            return True
        if " " in name:
            return name in self.evidence.text or all(self.named(part) for part in name.split())
        if not name.isascii():
            return name[:2] in self.evidence.names and HAN.match(name) is not None
        return name.removesuffix("s") in words or f"{name}s" in words or self.initials(name)

    def initials(self, name: str) -> bool:
        """Whether words of the sources that follow each other begin with the letters of a short name."""
        if not 2 <= len(name) <= 5:
            return False
        return regex.search(r"\b" + r"[\p{L}'’]*[\s-]+".join(map(regex.escape, name)), self.evidence.text) is not None

    def mixed(self, subject: Subject) -> Fault | None:
        """A value of one of the things that a number tells apart, given to another of them: flat 5's rent to flat 3."""
        things = numbered(subject.line.text).numbers
        about = [self.evidence.statements[index] for index, _ in self.evidence.near(subject.plain, share=0.6)] if things else []
        for noun, numbers in things.items():
            theirs = [(one, numbered(one.text).numbers.get(noun, frozenset())) for one in about]
            own = [one for one, found in theirs if found & numbers]
            others = [one for one, found in theirs if found and not found & numbers]
            for value in sorted((subject.numbers | subject.dates) - numbers) if own else ():
                if any(has(value, one, numbers_of) for one in others) and not any(has(value, one, numbers_of) for one in own):
                    return Kind.NUMBER, value
        return None

    def misplaced(self, subject: Subject) -> Fault | None:
        """A value that the sources give to something else: whatever says the same of it has other values of the kind."""
        for piece in subject.pieces:
            about = [index for index, _ in self.evidence.near(piece.plain, least=0.6, share=0.85)]
            for kind, values, of in (
                (Kind.NUMBER, piece.numbers, numbers_of),
                (Kind.DATE, piece.dates, dates_of),
                (Kind.NAME, piece.people, names_of),
            ):
                for value in sorted(values):
                    if about and all(self.gives_another(value, index, of, piece.plain) for index in about):
                        return kind, value
        return None

    def gives_another(self, value: str, index: int, of: Values, plain: frozenset[str]) -> bool:
        """Whether a statement gives another value to what a line speaks of: in the clause that says most of it."""
        statement = self.evidence.statements[index]
        if not others_of(self.evidence, statement, of) or self.answered(value, index, of):
            return False
        if not has(value, statement, of):
            return value not in statement.text.casefold()
        return self.parallel(value, index, of, plain)

    def parallel(self, value: str, index: int, of: Values, plain: frozenset[str]) -> bool:
        """Whether a sentence says the same of two things ("Anne brings the cake, Anna the wine") and the clause of a value is not
        that which says most of what the line does."""
        clauses = clauses_of(self.evidence, index)
        best = max((self.evidence.weight(clause.terms & plain) for clause in clauses), default=0.0)
        about = [clause for clause in clauses if best and self.evidence.weight(clause.terms & plain) == best]
        if any(has(value, one, of) or not others_of(self.evidence, one, of) for one in about):
            return False
        given = [clause for clause in clauses if has(value, clause, of)]
        if any(one.terms & other.terms & plain for one in about for other in given):
            return True
        return of is names_of and any(resemble(value, other) for one in about for other in others_of(self.evidence, one, of))

    def answered(self, value: str, index: int, of: Values) -> bool:
        """Whether a short answer right after a statement has a value."""
        return any(has(value, one, of) for one in self.after(index))

    # --- words ------------------------------------------------------------------------------------------------------

    def unsupported(self, subject: Subject) -> Fault | None:
        """A line of which too little stands together in the sources, or that says nothing of its own."""
        if folded(subject.line.text).strip(".。") in self.evidence.text:
            return None
        telling = subject.telling
        if not telling:
            return None if subject.names else (Kind.UNSUPPORTED, "nothing of its own")
        whole = self.evidence.support(telling)[0]
        parts = [part for part in subject.clauses if len(part) >= 2]
        by_part = sum(size(part) * self.evidence.support(part)[0] for part in parts) / sum(map(size, parts)) if parts else 0.0
        share = max(whole, by_part)
        if self.known_by_character(telling):
            return None
        return None if share >= SUPPORT else (Kind.UNSUPPORTED, f"{share:.2f}")

    def known_by_character(self, telling: frozenset[str]) -> bool:
        """Whether a Chinese line has its characters together in the sources, where its words were cut otherwise; its other
        words must all be known."""
        characters = frozenset(term for term in telling if len(term) == 1 and not term.isascii())
        others = (term for term in telling if term.isascii() and not term.startswith("="))
        together = len(characters) > 1 and self.evidence.support(characters)[0] >= SUPPORT_HAN
        return together and all(term in self.evidence.by_term for term in others)

    def reversed(self, subject: Subject) -> Fault | None:
        """A line that affirms what the newest statement about it negates, or the other way round. What was said before the
        statement that a line quotes does not count, and what came after only if it plainly speaks of the same."""
        sure = not hedged(subject.line.text) and not conditional(subject.line.text)
        for part in subject.claims:
            stands = part if sure else replace(part, negated=frozenset())
            after = max(subject.quoted, 0) - 1
            terms = self.against(stands, after=after) or self.excluded(part, after=after)
            if terms and (subject.quoted < 0 or self.solid(terms, after)):
                return Kind.NEGATION, " ".join(sorted(terms))
        return None

    def solid(self, terms: frozenset[str], after: int) -> bool:
        """Whether terms are enough to turn round what was said word for word: two words, or half of what a statement of it or
        after it says."""
        weight = self.evidence.weight
        later = (self.evidence.statements[index] for term in terms for index in self.evidence.by_term[term] if index > after)
        return size(terms) >= 2 or any(2 * weight(terms & one.terms) >= weight(one.terms) for one in later)

    def against(self, part: Statement, *, after: int) -> frozenset[str]:
        """The terms in which a sentence of a line is the reverse of the newest statement about the same."""
        evidence = self.evidence
        near = [(index, held) for index, held in evidence.near(part.terms) if index > after]
        decided = [index for index, _ in near if not evidence.statements[index].asks]
        if not decided:
            return frozenset()
        newest = evidence.statements[decided[-1]]
        shared = evidence.weight(part.terms & newest.terms)
        if part.negated & newest.negated:
            return frozenset()
        affirmed, negated = part.affirmed & newest.negated - newest.doubted, part.negated & newest.affirmed - newest.doubted
        weight = evidence.weight(affirmed)
        if tells(affirmed, part) and (
            10 * weight >= 3 * shared or (any(affirmed & out for out in newest.excluded) and 4 * weight >= shared)
        ):
            return affirmed
        return negated if tells(negated, part) and 2 * evidence.weight(negated) >= shared else frozenset()

    def excluded(self, part: Statement, *, after: int) -> frozenset[str]:
        """The terms that the sources rule out, and did not affirm again since, in a sentence that affirms them."""
        evidence = self.evidence
        found = {index for term in part.affirmed for index in evidence.by_term.get(term, ()) if index > after}
        for index in sorted(found, reverse=True):
            for out in evidence.statements[index].excluded:
                hit = out & part.affirmed
                if self.rules_out(part, index, out) and not any(self.affirms(later, hit) for later in self.since(hit, index)):
                    return hit
        return frozenset()

    def rules_out(self, part: Statement, index: int, out: frozenset[str]) -> bool:
        """Whether what a statement rules out is what a sentence affirms, and it does not rule out the same."""
        hit = out & part.affirmed
        if not tells(hit, part) or out & part.negated or self.evidence.weight(hit) < COVERED * self.evidence.weight(out):
            return False
        return self.concerns(part, index, out, hit)

    def since(self, terms: Iterable[str], index: int) -> list[Statement]:
        """The statements after one that have any of the terms."""
        later = {other for term in terms for other in self.evidence.by_term[term] if other > index}
        return [self.evidence.statements[other] for other in later]

    def affirms(self, statement: Statement, terms: frozenset[str]) -> bool:
        """Whether a statement takes an exclusion back: it affirms most of what was ruled out, and means it."""
        held = (statement.affirmed - statement.doubted) & terms
        return 2 * self.evidence.weight(held) >= self.evidence.weight(terms)

    def concerns(self, part: Statement, index: int, out: frozenset[str], hit: frozenset[str]) -> bool:
        """Whether an exclusion is about what a sentence speaks of: they share more than the excluded words, or these are
        values or names, or a good part of what the sentence says. One that points back speaks of what stands before it."""
        evidence, statement = self.evidence, self.evidence.statements[index]
        context = statement.affirmed
        if POINTING.search(statement.text):
            context = context.union(*(one.terms for one in evidence.statements[max(0, index - 2) : index]))
        if (
            (hit == out and size(out) >= 1 and all(len(evidence.by_term[term]) <= RARE for term in hit))
            or context & (part.terms - hit)
            or any(term.startswith("=") or term in statement.names for term in hit)
        ):
            return True
        return 3 * evidence.weight(hit) >= evidence.weight(part.affirmed)

    def unsure(self, subject: Subject) -> Fault | None:
        """A plain statement of what the sources only consider, ask, or tie to a condition."""
        line = subject.line
        if line.heading not in PLAIN or hedged(line.text) or conditional(line.text) or ATTRIBUTED.search(line.text):
            return None
        for part in subject.statements:
            near = self.evidence.near(part.terms, least=0.4, share=0.5)
            if (
                near
                and max(held for _, held in near) >= 0.5
                and all(self.doubts(part, self.evidence.statements[index]) for index, _ in near)
            ):
                return Kind.HEDGE, self.evidence.statements[near[-1][0]].text[:80]
        return None

    def doubts(self, part: Statement, statement: Statement) -> bool:
        """Whether most of what a sentence shares with a statement is uncertain there."""
        shared = part.terms & statement.terms
        if statement.asks and self.answers(part, statement):
            return False
        return 2 * self.evidence.weight(shared & statement.doubted) > self.evidence.weight(shared)

    def answers(self, part: Statement, question: Statement) -> bool:
        """Whether what follows a question settles a part of what a sentence says."""
        following = self.answering(question)
        settled = ((one.affirmed - one.doubted) & part.affirmed | (one.negated - one.doubted) & part.negated for one in following)
        if any(settled):
            return True
        return any(
            has(value, one, numbers_of) or has(value, one, dates_of) for one in following for value in part.numbers | part.dates
        )

    def answering(self, question: Statement) -> list[Statement]:
        """What the message after a question says."""
        return [one for one in self.evidence.statements if one.source == question.source + 1]

    def outdated(self, subject: Subject) -> Fault | None:
        """A value that a later sentence changed."""
        newer = self.changed(subject, after=-1)
        return (Kind.DATE if subject.dates else Kind.NUMBER, newer) if newer else None

    def changed(self, subject: Subject, *, after: int) -> str:
        """The sentence that gives what a line speaks of another value, if the sources have one after all that give it the
        line's; empty if not."""
        statements = self.evidence.statements
        if not subject.plain or not (subject.numbers or subject.dates):
            return ""
        near = [index for index, _ in self.evidence.near(subject.plain, least=0.5, share=0.6) if index > after]
        for mine, of in ((subject.numbers, numbers_of), (subject.dates, dates_of)):
            told = [index for index in near if of(statements[index]) and not statements[index].asks]
            having = [i for i in told if any(has(value, statements[i], of) or self.answered(value, i, of) for value in mine)]
            later = [i for i in told if i > max(having, default=after) and CHANGES.search(statements[i].text)]
            if mine and later and (having or after >= 0):
                return statements[later[-1]].text[:80]
            if mine and having and (self.changed_inside(having[-1], mine, of) or self.changed_after(having[-1], mine, of)):
                return statements[having[-1]].text[:80]
        return ""

    def changed_after(self, index: int, mine: frozenset[str], of: Values) -> bool:
        """Whether a short answer after a sentence settles on another value of the kind."""
        told = SETTLES if of is numbers_of else MOVES
        following = range(index + 1, min(index + 4, len(self.evidence.statements)))
        answers = (
            clause
            for later in following
            if told.search(self.evidence.statements[later].text)
            for clause in clauses_of(self.evidence, later)
        )
        short = [one for one in answers if size(plain_of(one)) <= SHORTEST]
        return any(same_kind(mine, of(one)) for one in short) and not any(has(value, one, of) for one in short for value in mine)

    def after(self, index: int) -> list[Statement]:
        """The short answers right after a statement."""
        following = self.evidence.statements[index + 1 : index + 4]
        return [one for one in following if size(plain_of(one)) <= SHORT]

    def changed_inside(self, index: int, mine: frozenset[str], of: Values) -> bool:
        """Whether a sentence gives a value and then another ("it was 300 but we raised it to 450"), and a line has only the
        first."""
        clauses = [clause for clause in clauses_of(self.evidence, index) if of(clause)]
        if len(clauses) < 2 or not CHANGES.search(clauses[-1].text):
            return False
        return not any(has(value, clauses[-1], of) for value in mine) and any(
            has(value, one, of) for one in clauses[:-1] for value in mine
        )


def tells(terms: frozenset[str], part: Statement) -> bool:
    """Whether terms are enough to judge by: a single Han character is not, unless a sentence has nothing else."""
    return bool(terms) and (size(terms) > 0.5 or len(part.text) <= SHORTEST_TEXT)


def resemble(name: str, other: str) -> bool:
    """Whether two names are easily taken for each other: Pete and Petra, 王磊 and 王蕾."""
    head = 3 if name.isascii() else 1
    return name != other and min(len(name), len(other)) > head and name[:head] == other[:head]
