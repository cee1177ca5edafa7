"""What the sources of a summary say, sentence by sentence, ready to be asked about a line.

(1) Sources stand in the order in which they hold: pins, the lines of the previous summary, then messages; the newest counts.
(2) A short "no" or "yes" says again what was asked before it, negated or affirmed.
(3) Reading is linear in the sources; a question about a line looks only at the sentences that share a word with it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache, cached_property

import regex

from memsrv.core.claims.claims import FRAMING, Terms, conditional, dates, hedged, meant, names, negations, numbers, stretches
from memsrv.core.claims.days import spellings
from memsrv.core.claims.figures import stated, without_numbers
from memsrv.core.claims.identifiers import folded
from memsrv.core.claims.negation import may_negate
from memsrv.core.summary.summary import Heading, Task
from memsrv.model import Span

SENTENCE_END = regex.compile(r"(?<=[.!?…][\"'”’)\]]{0,2})\s+|(?<=[。！？；…][”’」』）]{0,2})|[\n\r]+|;\s+")
CLAUSE_END = regex.compile(
    r"[;；]|[,，]\s*(?=and\b|so\b|但|不过|所以|那|就)|\b(?:but|however|though|although)\b|但是?|不过", regex.IGNORECASE
)
DOUBT_END = regex.compile(rf"{CLAUSE_END.pattern}|，", regex.IGNORECASE)
LATIN = regex.compile(r"\p{Latin}[\p{Latin}\p{M}\p{N}]*(?:[.&+#-][\p{Latin}\p{N}]+)*[+#]*")
QUESTION = regex.compile(r"[?？]\s*[\"'”’)）」]*\s*$|[吗呢么]\s*[。.]?$")
REQUEST = regex.compile(
    r"^\s*(?:(?:hey|hi|ok|okay|so|and|also|then)\b[,\s]*)*(?:can|could|would|will)\s+you\b(?!\s+(?:like|rather|prefer))"
    r"|\bplease\b|帮我|请(?!问)|能帮|麻烦",
    regex.IGNORECASE,
)
REFUSAL = regex.compile(
    r"\s*(?:(?:oh|ah|well|hm+|哦|嗯)[,，!！.\s]*)?(?:no|nope|nah|no\s+way|no\s+thanks?|rather\s+not|better\s+not"
    r"|not\s+really|absolutely\s+not|definitely\s+not|please\s+don['’]?t|let['’]s\s+not|"
    r"不了?|不用了?|不要了?|不行|算了|不是|不对|别了?|不必了?|不考虑)\s*(?:[,，.。!！;；:—–-]|$|吧|啊)",
    regex.IGNORECASE,
)
ASSENT = regex.compile(
    r"\s*(?:(?:oh|ah|well|hm+|哦|嗯)[,，!！.\s]*)?(?:yes(?:\s+please)?|yep|yeah|yup|sure|ok|okay|agreed|right|correct"
    r"|exactly|perfect|deal|done|sounds\s+good|let['’]s\s+do\s+(?:it|that)|go\s+ahead|good\s+idea|fine|great|absolutely"
    r"|definitely|"
    r"好的?|可以的?|行|对的?|嗯|没问题|同意|确认|就这样|就这么定|就这么办|是的?|没错|定了)\s*(?:[,，.。!！;；:—–-]|$|吧"
    r"|啊|了|，)",
    regex.IGNORECASE,
)
POINTING = regex.compile(r"\b(?:it|that|this|them|those|these|one)\b|[这那](?![次里边时些么])个?|它", regex.IGNORECASE)
LIGHT_LIST = """
i we you he she it they me us him her them my our your his their this that these those a an the and or but so of to
in on at for with by from as is are was were be been am do does did have has had can could not no if then than there
here what which who when where how why all ani some onli veri too about into over after befor thi becaus other again
out off up down same such own dont cant wont doesnt didnt isnt ever never without good idea fan interest reason bad
option work time realli actual much lot kind way try start keep put take come look rather right correct one two told
tell happen last 是否 否 这次 次 这回 回 暂时 暂 用 要 去 做 让 把 给 好 行 对 是 有 来 这 那 个 还 都 就 吧 了 的 点
些 上 下 中 们 可 能 会 得 为 以 于 时 候 后 前 里 到 过 没 不 别 无
"""
LIGHT = FRAMING | frozenset(LIGHT_LIST.split())
"""Words that are no subject of a negation: "don't take it" rules out no taking."""
REQUIRED = regex.compile(
    r"\b(?:as\s+long\s+as|provided(?:\s+that)?|only\s+if|on\s+(?:the\s+)?condition\s+that)\b[^,.;!?]*|只要[^，,。；！？]*"
    r"|前提是[^，,。；！？]*",
    regex.IGNORECASE,
)
"""A condition that is itself a demand: it holds, whatever hangs on it."""
LEFT_OUT = regex.compile(
    r"\b(?:leav|rul|turn|call|cross|cut|tak|keep|writ)\w*\s+(?:it|them|that|this|those)\s+(?:out|off|down)\b"
    r"|\bleft\s+(?:it|them|that)\s+out\b",
    regex.IGNORECASE,
)
PROPOSED = regex.compile(
    r"\b(?:consider|thought|think|idea|plan|want|wanted|would)\w*\b|想|打算|考虑|本来|原本|建议|要不", regex.IGNORECASE
)
COMMA = regex.compile(r"[,，]")
SPEAKER = regex.compile(r"^(?:User|Assistant): |^(?:用户|助手)：")
MARK, WORD = "[,;:—–。.!…]", r"[\p{Latin}\p{N}]"
CLAUSE_BEGINS = regex.compile(rf"(?<!{WORD}{MARK}(?={WORD}))(?<=(?:\A|{MARK})\s*)")
CLAUSE_ENDS = regex.compile(rf"(?!(?<={WORD}){MARK}{WORD})(?=\s*(?:\Z|{MARK}))")
"""Where a clause of a folded text begins and ends; a mark inside a number, an hour or an address parts nothing."""
SHORTEST_QUOTE = 4
"""A text of fewer characters is no quote: it may stand anywhere."""
PASSAGE_SENTENCES = 6
HAN_CHARACTER = 0.3
UNKNOWN = 0.3
"""What a word of a line that no source has weighs in finding what is said about the same."""
ALIKE = 5
"""Latin words that share so many letters at the head, and most of their length, are forms of one word."""


@dataclass(frozen=True, slots=True)
class Said:
    """A text that counts as evidence. `order` grows with time; `settled` is False for what is an open question."""

    text: str
    speaker: str = ""
    position: int = 0
    sent_at: datetime | None = None
    settled: bool = True
    role: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence: its content terms by how they stand in it, and the values it states.

    `doubted` holds the terms of clauses that are hedged, conditional or asked; `excluded` the parts of `negated` that a cue of
    exclusion rules out, each scope by itself. Numbers and days are terms too, led by `=`.
    """

    source: int
    text: str
    affirmed: frozenset[str]
    negated: frozenset[str]
    excluded: tuple[frozenset[str], ...]
    doubted: frozenset[str]
    asks: bool
    numbers: frozenset[str]
    dates: frozenset[str]
    names: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        return self.affirmed | self.negated


@dataclass(frozen=True, slots=True)
class Polar:
    """Terms of a text by how they stand in it."""

    affirmed: frozenset[str]
    negated: frozenset[str]
    excluded: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A few sentences of one source, for judging whether a line has support."""

    source: int
    terms: frozenset[str]
    values: frozenset[str]


def sources_of(task: Task) -> list[Said]:
    """What a summary may draw on, oldest first."""
    kept = [Said(text) for text in task.keep]
    lines = task.previous.lines if task.previous else ()
    previous = [Said(one.text, "", one.position, one.sent_at, one.heading is not Heading.QUESTIONS) for one in lines]
    return [*kept, *previous, *(Said(one.text, one.speaker, one.position, one.sent_at, role=one.role) for one in task.said)]


def sentences(text: str) -> list[str]:
    """The sentences of a text, without blank ones."""
    return [sentence.strip() for sentence in SENTENCE_END.split(text) if sentence and sentence.strip()]


# --- reading --------------------------------------------------------------------------------------------------------


class Evidence:
    """The sources, read once."""

    def __init__(self, sources: Sequence[Said], terms: Terms) -> None:
        self.sources = sources
        self.terms, self.read_terms = terms, cache(terms)
        self.content = cache(self.content_of)
        self.polar = cache(self.polar_of)
        self.statements: list[Statement] = []
        self.passages: list[Passage] = []
        for number, source in enumerate(sources):
            self._read(number, source)
        self.by_term: dict[str, list[int]] = defaultdict(list)
        for index, statement in enumerate(self.statements):
            for term in statement.terms:
                self.by_term[term].append(index)
        self.term_weight, self.form = cache(self.weight_of), cache(self.form_of)
        self.by_head: dict[str, list[str]] = defaultdict(list)
        for term in self.by_term:
            self.by_head[term[:ALIKE]].append(term)

    def _read(self, number: int, source: Said) -> None:
        parts = sentences(source.text)
        before = self.statements[-1] if self.statements else None
        for index, part in enumerate(parts):
            found = self.statement(part, number, source)
            told = self.echo(found, self.statements[-1] if index else asked(self.statements, before), first=index == 0)
            self.statements += [one for one in (told, found) if one]
        for start in range(0, len(parts), PASSAGE_SENTENCES):
            self.passages.append(self.passage(parts[start : start + PASSAGE_SENTENCES], number, source))

    def passage(self, parts: Sequence[str], number: int, source: Said) -> Passage:
        """Some sentences of a source, with who says them."""
        text = " ".join(parts)
        days = meant(text, source.sent_at) if source.sent_at else dates(text)
        return Passage(number, frozenset(self.terms(f"{source.speaker} {text}")), numbers(text) | days)

    def statement(self, text: str, number: int = -1, source: Said | None = None) -> Statement:
        """A sentence, read."""
        at = source.sent_at if source else None
        settled = source.settled if source else True
        read = self.polar(text)
        asks = bool(QUESTION.search(text)) and not REQUEST.search(text)
        days = meant(text, at) | ordinal_days(numbers(text), at) if at else dates(text)
        doubted = read.affirmed | read.negated if asks or not settled else self.doubted(text)
        speaker = (
            frozenset(latin_words(source.speaker)) | {source.speaker.casefold()} if source and source.speaker else frozenset()
        )
        return Statement(
            number, text, read.affirmed, read.negated, read.excluded, doubted, asks, numbers(text), days, names(text) | speaker
        )

    def polar_of(self, text: str) -> "Polar":
        """The terms that a sentence affirms, negates, and rules out; one that it does both with is affirmed.

        A clause that negates nothing but "it" or "one" negates the clause before: "Bob wants a band, but I don't want one".
        """
        affirmed, negated, excluded = set[str](), set[str](), list[frozenset[str]]()
        for clause in CLAUSE_END.split(text):
            here = self.clause_polar(clause)
            if affirmed and self.points_back(clause) and not hedged(clause):
                negated, excluded, affirmed = negated | affirmed, [*excluded, frozenset(affirmed)], set()
            affirmed, negated, excluded = affirmed | here.affirmed, negated | here.negated, [*excluded, *here.excluded]
            for topic in self.topics_denied(clause):
                affirmed, negated, excluded = affirmed - topic, negated | topic, [*excluded, topic]
        out = (scope - affirmed for scope in excluded)
        return Polar(frozenset(affirmed), frozenset(negated - affirmed), tuple(scope for scope in out if scope))

    def topics_denied(self, clause: str) -> Iterator[frozenset[str]]:
        """What stands before a comma and is negated after it by a cue alone (Jenkins太老了，不用): what was proposed, if
        something was, else the piece right before."""
        pieces = COMMA.split(clause) if may_negate(clause) else ()
        for at, piece in enumerate(pieces[1:], 1):
            if not len(negations(piece)) % 2:
                continue
            before, said = pieces[at - 1 :: -1], self.said_in(piece)
            proposed = next((one for one in before if PROPOSED.search(one)), None)
            bare = not said or (proposed and size(said) < 1)
            if bare and not conditional(piece) and not POINTING.search(piece):
                yield self.content(proposed or before[0])

    def said_in(self, text: str) -> set[str]:
        """What a text says besides its cues of negation."""
        return {term for one in stretches(text) for term in self.content(text[one.span.start : one.span.end])}

    def points_back(self, text: str) -> bool:
        """Whether a text negates something that it only points to ("that's not happening", "leave them out")."""
        if LEFT_OUT.search(text):
            return True
        if not may_negate(text):
            return False
        pieces = (text[one.span.start : one.span.end] for one in stretches(text) if one.negated)
        return any(POINTING.search(piece) and not self.content(piece) for piece in pieces)

    def clause_polar(self, clause: str) -> "Polar":
        """What a clause affirms, negates and rules out."""
        affirmed, negated = set[str](), set[str]()
        for stretch in stretches(clause):
            found = self.content(clause[stretch.span.start : stretch.span.end])
            (negated if stretch.negated else affirmed).update(found)
        scopes = (one.scope for one in negations(clause) if one.excludes) if negated else ()
        out = (frozenset(term for span in scope for term in self.content(clause[span.start : span.end])) for scope in scopes)
        return Polar(frozenset(affirmed), frozenset(negated), tuple(scope & negated for scope in out))

    def content_of(self, text: str) -> frozenset[str]:
        """Content terms of a piece of text, numbers and days among them, without light words."""
        if not text.strip():
            return frozenset()
        found = frozenset(term for term in self.read_terms(without_numbers(text)) if term not in LIGHT and not term.isdecimal())
        return found | {f"={value}" for value in numbers(text) | dates(text)}

    def doubted(self, text: str) -> frozenset[str]:
        """Terms of the clauses that are not sure or hang on a condition."""
        if conditional(text):
            return frozenset(self.content(REQUIRED.sub(" ", text)))
        if not hedged(text):
            return frozenset()
        return frozenset(term for clause in DOUBT_END.split(text) if hedged(clause) for term in self.content(clause))

    def echo(self, found: Statement, before: Statement | None, *, first: bool) -> Statement | None:
        """What a "no", a "yes" or a "let's not do that" says of the sentence before it; None if it is no such answer, or if
        that sentence is negated already, where languages differ in what no means."""
        if before is None or not before.terms or before.negated:
            return None
        answered = replace(before, source=found.source, doubted=frozenset(), asks=False)
        if (self.opens_pointing(found.text) and not hedged(found.text)) or (first and self.refuses(found.text, before)):
            return replace(answered, affirmed=frozenset(), negated=before.affirmed, excluded=(before.affirmed,))
        if first and ASSENT.match(found.text) and before.doubted and not hedged(found.text) and not conditional(found.text):
            return answered
        return None

    def opens_pointing(self, text: str) -> bool:
        """Whether a sentence begins by negating what stands before it."""
        pieces = (piece for clause in CLAUSE_END.split(text) for piece in COMMA.split(clause))
        return self.points_back(next((piece for piece in pieces if negations(piece) or self.content(piece)), ""))

    def refuses(self, text: str, before: Statement) -> bool:
        """Whether a message begins with a no, or answers a question by a negation without an object."""
        if REFUSAL.match(text):
            return True
        head = COMMA.split(text)[0]
        alone = any(
            not self.content(head[span.start : span.end]) for one in negations(head) for span in one.scope or (Span(0, 0),)
        )
        return before.asks and alone and not hedged(head) and not conditional(head)

    # --- asking -----------------------------------------------------------------------------------------------------

    @cached_property
    def words(self) -> frozenset[str]:
        """Every Latin word of the sources and their speakers, in small letters."""
        return frozenset(word for one in self.sources for word in latin_words(f"{one.speaker} {one.text}"))

    @cached_property
    def text(self) -> str:
        """All sources in one, folded for looking up quotes."""
        return "\n".join(folded(f"{one.speaker}: {one.text}") for one in self.sources)

    @cached_property
    def folded(self) -> list[str]:
        """The statements, folded for looking up quotes."""
        return [folded(one.text) for one in self.statements]

    @cached_property
    def users(self) -> str:
        """What users said and what was pinned or summarised of it, folded."""
        return "\n".join(folded(one.text) for one in self.sources if one.role in ("user", ""))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number of the sources."""
        return frozenset(value for one in self.statements for value in one.numbers)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name of the sources."""
        return frozenset(name for one in self.statements for name in one.names)

    @cached_property
    def dates(self) -> frozenset[str]:
        """Every day of the sources."""
        return frozenset(value for one in self.statements for value in one.dates)

    def quoted(self, text: str) -> int:
        """The last statement of which a text is a whole or some clauses, word for word; -1 if there is none, or it asks."""
        quote = folded(SPEAKER.sub("", text)).strip(".。 ")
        if len(quote) < SHORTEST_QUOTE:
            return -1
        for index in range(len(self.statements) - 1, -1, -1):
            found = self.folded[index]
            at = found.find(quote)
            if at >= 0 and CLAUSE_BEGINS.match(found, at) and CLAUSE_ENDS.match(found, at + len(quote)):
                return -1 if self.statements[index].asks else index
        return -1

    def weight(self, terms: Iterable[str]) -> float:
        """How much these terms tell: the rarer, the more; a single Han character little, for it stands in many words."""
        return sum(map(self.term_weight, terms))

    def weight_of(self, term: str) -> float:
        total = len(self.statements) + 1
        return math.log(1 + total / (1 + len(self.by_term.get(term, ())))) * size((term,))

    def known(self, terms: Iterable[str]) -> frozenset[str]:
        """Terms as the sources have them: other forms of a word (allergy, allergic) become the source's."""
        return frozenset(self.form(term) for term in terms)

    def form_of(self, term: str) -> str:
        if term in self.by_term or len(term) < ALIKE or not term.isascii():
            return term
        others = (other for other in self.by_head.get(term[:ALIKE], ()) if alike(term, other))
        return min(others, key=len, default=term)

    def near(self, terms: frozenset[str], *, least: float = 0.5, share: float = 0.8) -> list[tuple[int, float]]:
        """The statements that say about the same: index and how much of the terms' weight they have, oldest first."""
        known = frozenset(term for term in terms if term in self.by_term)
        whole = self.weight(known) + UNKNOWN * len(terms - known)
        if not known:
            return []
        found: Counter[int] = Counter()
        for term in known:
            weight = self.term_weight(term)
            for index in self.by_term[term]:
                found[index] += weight  # type: ignore[assignment]
        best = max(found.values(), default=0)
        return sorted((index, held / whole) for index, held in found.items() if held >= max(least * whole, share * best))

    def support(self, terms: frozenset[str]) -> tuple[float, int]:
        """The largest share of terms that stand together in one passage or two neighbours, and the source that has most of
        them (-1: none); of equals the newest."""
        best, source, alone = 0.0, -1, 0.0
        before, whole = frozenset[str](), size(terms)
        values = [term for term in terms if term.startswith("=")]
        for passage in self.passages:
            here = (terms & passage.terms).union(value for value in values if stated(value[1:], passage.values))
            best = max(best, size(here | before) / whole if whole else 0.0)
            if here and size(here) >= alone:
                alone, source = size(here), passage.source
            before = here
        return best, source


def size(terms: Iterable[str]) -> float:
    """How many words a set of terms comes to: a single Han character stands in a word that is a term too."""
    return sum(HAN_CHARACTER if len(term) == 1 and not term.isascii() else 1.0 for term in terms)


def alike(term: str, other: str) -> bool:
    """Whether two Latin stems are forms of one word: the same head, and no more than a third of either left over."""
    head = 0
    for mine, theirs in zip(term, other, strict=False):
        if mine != theirs:
            break
        head += 1
    return head >= ALIKE and 3 * head >= 2 * max(len(term), len(other))


def latin_words(text: str) -> Iterator[str]:
    """Latin words in small letters, compounds whole and in parts."""
    for found in LATIN.finditer(text):
        word = found[0].casefold()
        yield word
        if not word.isalnum():
            yield from (part for part in regex.split(r"[.&+#-]", word) if part)


def ordinal_days(found: Iterable[str], at: datetime) -> frozenset[str]:
    """What "the 12th" comes to: that day of this month and of those beside it."""
    today = at.date()
    days = {int(number[1:]) for number in found if number.startswith("#") and len(number) <= 3}
    return frozenset(spelling for day in days for near in month_days(day, today) for spelling in spellings(near, today))


def month_days(day: int, today: date) -> Iterator[date]:
    index = today.year * 12 + today.month - 1
    for month in (index - 1, index, index + 1):
        try:
            yield date(month // 12, month % 12 + 1, day)
        except ValueError:
            continue


# --- short answers --------------------------------------------------------------------------------------------------


def asked(statements: Sequence[Statement], last: Statement | None) -> Statement | None:
    """What a message answers: the last question of the message before, else its last sentence; "is that right?" asks for
    what stands before it."""
    if last is None:
        return None
    earlier = [one for one in statements[-PASSAGE_SENTENCES:] if one.source == last.source]
    telling = [one for one in earlier if one.terms]
    questions = [one for one in telling if one.asks]
    return questions[-1] if questions else telling[-1] if telling else None
