"""A talk as statements: what each sentence settles, rules out, leaves open or tells, in the words in which it was said.

(1) What the assistant proposes is nothing until the user takes it or turns it down; then it is a decision, or ruled out.
(2) What is doubted, joked, imagined, or somebody else's plan is no decision and no fact.
(3) A statement is understood without the one before it: an answer that cannot stand alone is given with its question.
(4) Words aimed at the summary are never followed: they are no statement.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import regex

from memsrv.core.summary import acts
from memsrv.core.summary.acts import asks, excludes, folded, negated
from memsrv.core.summary.clauses import CLAUSE, bare, clauses, plain, sentences, shortened, weight
from memsrv.core.summary.subjects import shared, terms, values
from memsrv.core.summary.summary import Heading, Source

SETTLED = (Heading.DECISIONS, Heading.CONSTRAINTS)
GENERIC = frozenset(
    ("", "user", "assistant", "ai", "bot", "system", "human", "client", "model", "chatgpt", "用户", "助手", "助理", "客服")
)
HAN = regex.compile(r"\p{Han}")
ATTRIBUTED = regex.compile(r"(?:User|Assistant): |(?:用户|助手)：")
SHORT = 6
"""Words of an answer that may need its question, and nearly of the question."""
LONG_TALK = 16
"""Words of a correction, up to which it is not taken apart: it names what it replaces."""
AT_ONCE = 4
"""Words of a sentence that is not taken apart."""
FEW = 3
"""With fewer terms than this an answer may not stand alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something said that may stand in a summary.

    `marks`: why it may belong there, names of `features.MARKS`. `said`: the sentence, folded, for its cues. `around`: the terms
    of its message and of what it answers. `exchange`: the position of the user's message that it comes from or follows.
    """

    heading: Heading
    text: str
    position: int
    sent_at: datetime | None
    marks: frozenset[str]
    said: str
    around: frozenset[str] = frozenset()
    exchange: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """What the other side said last: a proposal, a question, or a plain sentence that "that" may point to."""

    text: str
    core: str
    proposal: bool
    question: bool

    @property
    def yes_or_no(self) -> bool:
        return not acts.WH_QUESTION.search(folded(self.text)) and not self.choice

    @property
    def choice(self) -> bool:
        return self.question and len(options(self.text)) > 1


@dataclass(slots=True)
class Turn:
    """One message on its way to statements."""

    source: Source
    sentences: list[str]
    around: frozenset[str]
    asked: list[Asked]
    found: list[Statement] = field(default_factory=list)


def statements(said: Sequence[Source]) -> list[Statement]:
    """The statements of a talk, in order. Linear time."""
    talk = Talk()
    for source in said:
        talk.read(source)
    talk.close()
    return talk.found


class Talk:
    """Reads messages in order and remembers what the next one may answer."""

    def __init__(self) -> None:
        self.found: list[Statement] = []
        self.fresh: list[Statement] = []  # of the user's last message: the assistant may say them again, and better
        self.asked: list[Asked] = []
        self.questions: list[Statement] = []  # the user's, not answered yet
        self.goal_sought = 4
        self.exchange = 0
        self.known: set[str] = set()  # all that was spoken of
        self.last: frozenset[str] = frozenset()  # in the message before

    def read(self, source: Source) -> None:
        """Take one message; those of systems and tools say nothing."""
        if source.role not in ("user", "assistant"):
            return
        kept = list(unaimed(sentences(plain(source.text))))
        if source.role == "user":
            self.hear_user(source, kept)
        else:
            self.hear_assistant(source, kept)
        self.last = frozenset().union(*map(keys, kept))
        self.known |= self.last

    def close(self) -> None:
        """The talk is over: what was not answered is open."""
        self.settle()
        self.found += self.questions
        self.questions = []

    def settle(self) -> None:
        self.found += self.fresh
        self.fresh = []

    # --- the user ---

    def hear_user(self, source: Source, said: list[str]) -> None:
        self.settle()
        self.exchange = source.position
        around = terms(" ".join(said)) | frozenset().union(*(terms(asked.text) for asked in self.asked[-3:]))
        turn = Turn(source, said, around, self.asked)
        self.asked = [self.as_asked(sentence) for sentence in said if len(terms(sentence)) > 1] if named(source) else []
        answered = False
        for sentence in earnest(said):
            rest = sentence
            if turn.asked and not answered:
                rest, answered = self.answer(turn, sentence)
            if rest:
                self.state(turn, rest)
        self.fresh = turn.found
        if self.goal_sought and said:
            self.goal_sought -= 1
            self.seek_goal(turn)

    def answer(self, turn: Turn, sentence: str) -> tuple[str, bool]:
        """Deal with a sentence as an answer to what was asked; what is left of it, and whether it was one."""
        text = folded(sentence)
        rejected, accepted = acts.REJECTS.match(text), acts.ACCEPTS.match(text)
        if acts.DEFERS.search(text) and (accepted is None or acts.UNCERTAIN.search(text)) and len(terms(sentence)) < FEW + 2:
            self.defer(turn, sentence)
            return "", True
        if rejected and not accepted:
            return self.reject(turn, sentence), True
        if accepted:
            rest = cut_front(sentence, text, accepted.end())
            return self.accept(turn, sentence, rest), True
        target = self.target(turn, sentence)
        if acts.AGREES.search(text) and not negated(text) and target and target.proposal and not target.choice:
            self.settled(turn, target.core, text)
            return "", True
        return sentence, False

    def accept(self, turn: Turn, sentence: str, rest: str) -> str:
        """A yes: a proposal becomes a decision, a question a fact; what follows the yes is left."""
        target = self.target(turn, sentence)
        more = folded(rest)
        if target is None:
            return rest
        picked = picked_option(turn.asked, folded(sentence))
        if picked:
            self.settled(turn, picked, folded(sentence))
            return ""
        if target.choice or (acts.CORRECTS.search(more) and negated(more)):
            return rest
        if acts.QUALIFIES.match(more):
            self.settled(turn, f"{target.core}{joint(target.core)}{bare(rest)}", folded(sentence))
            return ""
        if target.proposal and (target.yes_or_no or not target.question):
            if not (rest and shared(terms(rest), terms(target.core)) >= 0.6 and len(terms(rest)) >= len(terms(target.core)) - 1):
                self.settled(turn, target.core, folded(sentence))
        elif target.question and target.yes_or_no and not terms(rest):
            self.add(turn, Heading.FACTS, yes_text(target), {"answers"}, folded(sentence))
        elif (
            not target.question
            and not terms(rest)
            and (acts.DEICTIC.search(folded(sentence)) or acts.EMPHATIC.search(folded(sentence)))
        ):
            self.settled(turn, target.core, folded(sentence))
        return rest

    def reject(self, turn: Turn, sentence: str) -> str:
        """A no: the proposal is ruled out, in the user's words if they name it, else in its own."""
        target = self.target(turn, sentence)
        if target is None or not (target.proposal or target.question):
            return sentence
        if not target.yes_or_no or not target.proposal:
            return self.deny(turn, target, sentence)
        if acts.HYPOTHETICAL.search(folded(sentence)) or negated(folded(target.text)):
            return sentence  # a no to a no says the same
        own, about = terms(sentence), terms(target.core)
        if not (own & about and excludes(folded(sentence)) and len(own & about) >= min(2, len(about))):
            mark = "不采用：" if HAN.search(target.core) else "Rejected: "
            self.add(turn, Heading.CONSTRAINTS, mark + target.core, {"rejected"}, folded(target.core))
        return without_reply(sentence)

    def deny(self, turn: Turn, target: Asked, sentence: str) -> str:
        rest = without_reply(sentence)
        if target.question and target.yes_or_no and not terms(rest):
            self.add(
                turn,
                Heading.FACTS,
                f"{target.core}{colon(target.core)}{'否' if HAN.search(target.core) else 'no'}",
                {"answers"},
                folded(sentence),
            )
            return ""
        return rest or sentence

    def defer(self, turn: Turn, sentence: str) -> None:
        target = self.target(turn, sentence)
        text = bare(sentence)
        if target and (target.proposal or target.question) and len(terms(text)) < FEW:
            text = f"{target.core}{colon(target.core)}{text}"
        if terms(text):
            self.add(turn, Heading.QUESTIONS, text, {"doubt", "answers"}, folded(sentence))

    def settled(self, turn: Turn, core: str, said: str) -> None:
        """A proposal that was accepted."""
        heading = Heading.CONSTRAINTS if excludes(folded(core)) else Heading.DECISIONS
        if len(terms(core)) + len(values(core)):
            self.add(turn, heading, core, {"accepted"}, f"{said} {folded(core)}")

    def target(self, turn: Turn, sentence: str) -> Asked | None:
        """What a sentence answers: the asked that shares most terms with it, else the last question or proposal."""
        own = terms(sentence)
        near = [(len(own & terms(asked.text)), index) for index, asked in enumerate(turn.asked)]
        best = max(near, default=(0, -1))
        if best[0] > 0:
            return turn.asked[best[1]]
        open_ones = [asked for asked in turn.asked if asked.question] or [asked for asked in turn.asked if asked.proposal]
        candidates = open_ones or turn.asked
        return candidates[-1] if candidates else None

    def state(self, turn: Turn, sentence: str) -> None:
        """A sentence that says something of its own."""
        for index, text in enumerate(parts(sentence)):
            self.judge(turn, text, {"later"} if index else set())

    def judge(self, turn: Turn, sentence: str, more: set[str]) -> None:
        text, said = bare(without_reply(sentence)), folded(without_reply(sentence))
        if not text or acts.SMALL_TALK.match(said) or acts.SMALL_TALK.match(folded(text)):
            return
        if asks(said):
            self.ask(turn, sentence)
            return
        verdict = heading_of(said, answers=bool(turn.asked))
        if verdict is None:
            return
        heading, marks = verdict
        marks |= more
        if acts.DOES_THAT.search(said) and not values(text) and len(terms(text)) < FEW and turn.asked and not turn.found:
            about = turn.asked[-1].core
            text = f"{about}{colon(about)}{text}"
            marks |= {"accepted"}
        own = keys(text)
        if heading is not Heading.QUESTIONS and own and len(own & self.last) / len(own) >= 0.5:
            marks |= {"mirrors"}
        self.add(turn, heading, self.complete(turn, shortened(text), heading), marks, said)

    def ask(self, turn: Turn, sentence: str) -> None:
        """A question of the user's: a request, or open until it is answered."""
        said = folded(sentence)
        if acts.REQUEST.match(said):
            self.add(turn, Heading.DECISIONS, requested(bare(sentence)), {"decides"}, said)
            return
        text = bare(sentence)
        if len(terms(text)) >= 2 or (terms(text) and HAN.search(text)):
            self.questions.append(self.made(turn, Heading.QUESTIONS, text, {"asks"}, said))

    def complete(self, turn: Turn, text: str, heading: Heading) -> str:
        """An answer that cannot stand alone, with the question that it answers in front."""
        if heading is Heading.QUESTIONS or not turn.asked:
            return text
        about = [asked for asked in turn.asked if asked.question]
        alone = len(keys(text)) >= FEW and not acts.PRONOUN.match(folded(text))
        if len(about) != 1 or alone or about[0].choice or weight(text) > SHORT or turn.found:
            return text
        question = last_clause(about[0].core)
        return text if weight(question) > SHORT + 2 else f"{question}{colon(question)}{text}"

    def add(self, turn: Turn, heading: Heading, text: str, marks: set[str], said: str) -> None:
        turn.found.append(self.made(turn, heading, text, marks, said))

    def made(self, turn: Turn, heading: Heading, text: str, marks: set[str], said: str) -> Statement:
        source = turn.source
        if heading is Heading.DECISIONS and named(source) and not marks & {"firm", "accepted", "requires"}:
            heading = Heading.FACTS  # between people, much is said that settles nothing
        if acts.POINTS.match(folded(text)):
            marks = marks | {"points"}
        return Statement(
            heading=heading,
            text=attributed(source, text),
            position=source.position,
            sent_at=source.sent_at,
            marks=frozenset(marks | {"said" if source.role == "user" or named(source) else "told"}),
            said=said,
            around=turn.around,
            exchange=self.exchange,
        )

    def seek_goal(self, turn: Turn) -> None:
        """The first thing that the user is after."""
        for sentence in turn.sentences:
            said = folded(sentence)
            if acts.GOALS.search(said) and len(terms(sentence)) >= 2 and not no_goal(said):
                self.found.append(self.made(turn, Heading.GOAL, goal_text(shortened(bare(sentence))), {"aims"}, said))
                self.goal_sought = 0
                return

    # --- the assistant ---

    def hear_assistant(self, source: Source, said: list[str]) -> None:
        around = terms(" ".join(said))
        turn = Turn(source, said, around, [])
        self.drop_laughed_at(said)
        open_questions, self.questions = self.questions, []
        answered = any(not asks(folded(sentence)) and not acts.SMALL_TALK.match(folded(sentence)) for sentence in said)
        unresolved = not answered or any(acts.UNRESOLVED.search(folded(sentence)) for sentence in said[:3])
        if unresolved:
            self.found += open_questions
        self.asked = []
        for sentence in said:
            self.hear_sentence(turn, sentence)
        self.settle()
        self.found += turn.found

    def hear_sentence(self, turn: Turn, sentence: str) -> None:
        text = folded(sentence)
        if acts.SMALL_TALK.match(text):
            return
        asked = self.as_asked(sentence)
        if terms(asked.core) or values(asked.core):
            self.asked.append(asked)
        if asked.question or (asked.proposal and not acts.ACKNOWLEDGES.match(text)):
            return
        for part in parts(sentence):
            self.echo(turn, part)

    def as_asked(self, sentence: str) -> Asked:
        text = folded(sentence)
        question = asks(text)
        proposal = acts.PROPOSES.search(text) is not None and acts.POLITE_IF.search(text) is None
        fragment = question and not acts.WH_QUESTION.search(text) and not acts.INFORMATION.search(text)
        return Asked(sentence, core_of(sentence), proposal or fragment, question)

    def echo(self, turn: Turn, sentence: str) -> None:
        """A plain sentence of the assistant's: it says again what the user said, or tells something."""
        said = folded(sentence)
        text = shortened(
            bare(cut_front(sentence, said, found.end()) if (found := acts.ACKNOWLEDGES.match(said)) else bare(sentence))
        )
        if not terms(text) and not values(text):
            return
        if acts.UNCERTAIN.search(said) or acts.HYPOTHETICAL.search(said):
            return
        own = keys(text)
        echoes = len(own & self.last) / len(own) >= (0.3 if found else 0.4)
        again = [one for one in self.fresh if covered(one, text, own)] if echoes else []
        verdict = heading_of(folded(text), answers=False) or (Heading.FACTS, set())
        heading, marks = verdict
        if heading is Heading.FACTS and echoes and self.fresh and not named(turn.source):
            heading = Heading.DECISIONS
        if again:
            kept = max(again, key=lambda one: (one.heading in SETTLED, len(one.marks)))
            if kept.heading in SETTLED:
                heading = Heading.CONSTRAINTS if denies(text) else kept.heading
            best = better(kept, text) if len(again) == 1 else text
            self.fresh = [one for one in self.fresh if one not in again]
            fresh = self.made(turn, heading, best, (marks | kept.marks | {"echoed"}) - {"told"}, f"{kept.said} {said}")
            self.fresh.append(replace(fresh, around=fresh.around | kept.around))
            return
        if echoes or named(turn.source):
            marks |= {"echoed"} if echoes else set()
        elif len(own & self.known) / len(own) >= 0.6 and len(own) > 2:
            marks |= {"restates"}
        elif heading is Heading.QUESTIONS:
            return
        else:
            marks |= {"explains"}
        if turn.sentences[0].startswith(sentence[:8]):
            marks |= {"first"}
        if acts.REFERENCE.search(said) and values(text):
            marks |= {"reference"}
        if marks:
            self.add(turn, heading, text, marks, said)

    def drop_laughed_at(self, said: Sequence[str]) -> None:
        """What the assistant only laughs at was a joke."""
        if said and acts.LAUGHS.match(folded(said[0])) and len(said) < 3:
            self.fresh = [statement for statement in self.fresh if not acts.WILD.search(statement.said)]


def no_goal(said: str) -> bool:
    """Whether a folded sentence that sounds like a goal is something else."""
    others = (acts.RESTORES, acts.TODO, acts.CANCELS)
    return bool(acts.SMALL_TALK.match(said) or acts.POINTS.match(said)) or any(cue.search(said) for cue in others)


# --- sentences ------------------------------------------------------------------------------------------------------


def unaimed(said: Iterable[str]) -> Iterator[str]:
    """Sentences without those that are aimed at the summary, and what follows such a one to the end of its message."""
    for sentence in said:
        if acts.ADDRESSES_SUMMARY.search(folded(sentence)):
            return
        yield sentence


def earnest(said: Sequence[str]) -> list[str]:
    """Sentences without jokes, what is only imagined, and others' plans that the speaker does not take up."""
    kept: list[str] = []
    other = ""  # somebody else's plan, told in the sentence before
    for sentence in said:
        text = folded(sentence)
        if other and acts.ADOPTS.search(text) and not negated(text):
            kept.append(other)
            other = ""
        elif acts.JOKES.search(text):
            if kept and len(terms(sentence)) < 2:
                kept.pop()
            other = ""
        elif acts.LAUGHS.search(text) and acts.WILD.search(text) and not negated(text):
            other = ""
        elif others_plan(sentence, text, bool(other)):
            other = sentence
            kept += own_clauses(sentence)
        else:
            other = ""
            kept.append(sentence)
    return kept


def others_plan(sentence: str, text: str, before: bool) -> bool:
    """Whether a sentence tells what somebody else says or plans, with no authority over this talk."""
    if before and acts.THIRD_PERSON.match(text):
        return True
    found = acts.QUOTED.search(text) or acts.NAMED_SPEECH.search(sentence)
    if found is None or found.start() > 40:
        return False
    return not acts.BINDING.search(text[: found.end() + 10])


def own_clauses(sentence: str) -> list[str]:
    """What the speaker adds of their own to another's plan: the clauses from a "but" or "I" on."""
    parts_ = clauses(sentence)
    for index, part in enumerate(parts_[1:], 1):
        if acts.OWN_VOICE.match(folded(part).strip()):
            return [bare("".join(parts_[index:]))]
    return []


def parts(sentence: str) -> list[str]:
    """A sentence, or its clauses where each stands alone: with things of its own to say, no condition, no link to the other."""
    found = clauses(sentence)
    if weight(sentence) <= AT_ONCE or (weight(sentence) < LONG_TALK and acts.SUBSTITUTES.search(folded(sentence))):
        return [sentence]
    groups: list[str] = [found[0]]
    for part in found[1:]:
        if stands_alone(groups[-1]) and stands_alone(part) and begins_anew(part):
            groups.append(part)
        else:
            groups[-1] += part
    return [group.strip() for group in groups]


def stands_alone(clause: str) -> bool:
    """Whether a clause says enough by itself and hangs on no other."""
    said = folded(clause).strip()
    return len(keys(clause)) >= 2 and not acts.CONDITION.search(said) and not acts.LINKS.match(said)


def begins_anew(clause: str) -> bool:
    """Whether a clause begins a new statement: always in Chinese, in English with a subject and a verb of its own."""
    said = folded(clause).strip()
    return HAN.search(clause) is not None or acts.SUBJECT_VERB.match(said) is not None or acts.IMPERATIVE.match(said) is not None


def heading_of(said: str, *, answers: bool) -> tuple[Heading, set[str]] | None:
    """Where a folded sentence belongs and why, or None for talk that nobody needs later."""
    known = len(terms(said)) + len(values(said))
    if acts.RESTORES.search(said) and not acts.HYPOTHETICAL.search(said):
        return Heading.DECISIONS, {*marks_of(said)}
    if not known or acts.HYPOTHETICAL.search(said):
        return None
    marks = set(marks_of(said)) | ({"answers"} if answers else set())
    if is_doubt(said, marks):
        return (Heading.QUESTIONS, {"doubt"}) if known > 1 else None
    if acts.TODO.search(said) and not acts.DONE.search(said) and "excludes" not in marks:
        return Heading.QUESTIONS, {"todo"}
    heading = settled_heading(said, marks)
    tells = heading is not Heading.FACTS or bool(marks & {"answers", "values"}) or known > 2
    return (heading, marks) if tells else None


def is_doubt(said: str, marks: set[str]) -> bool:
    """Whether a folded sentence leaves open what it speaks of."""
    return acts.UNCERTAIN.search(said) is not None and "condition" not in marks and not acts.OVERRIDES_DOUBT.search(said)


def settled_heading(said: str, marks: set[str]) -> Heading:
    """Where a folded sentence belongs that is neither in doubt nor to do."""
    if "excludes" in marks:
        return Heading.CONSTRAINTS
    going = not marks & {"decides", "requires", "condition"} and acts.PROGRESS.search(said)
    if going or (acts.DONE.search(said) and "firm" not in marks):
        return Heading.STATE
    if marks & {"decides", "condition"}:
        return Heading.DECISIONS
    return Heading.CONSTRAINTS if "requires" in marks else Heading.FACTS


def marks_of(said: str) -> Iterator[str]:
    """What the words of a folded sentence show by themselves."""
    firm = acts.FIRM.search(said) is not None
    if firm:
        yield "firm"
    if firm or acts.DECIDES.search(said) or acts.IMPERATIVE.match(said):
        yield "decides"
    if acts.REQUIRES.search(said):
        yield "requires"
    if excludes(said):
        yield "excludes"
    if acts.CONDITION.search(said):
        yield "condition"
    if values(said):
        yield "values"
    if acts.CORRECTS.search(said):
        yield "corrects"
    if acts.PAST_TALE.search(said):
        yield "tale"
    if acts.PAST.search(said):
        yield "past"
    if acts.ONLY.search(said):
        yield "only"
    if acts.THIRD.search(said):
        yield "third"
    if acts.FIRST_PERSON.search(said):
        yield "personal"


# --- wording --------------------------------------------------------------------------------------------------------


def core_of(sentence: str) -> str:
    """A proposal without the words that propose it, its reasons and its question mark."""
    said = folded(sentence)
    lead = acts.LEADS.match(said)
    text = cut_front(sentence, said, lead.end()) if lead else bare(sentence)
    kept = clauses(text)
    while len(kept) > 1 and acts.REASONS.match(folded(kept[-1]).strip()):
        kept.pop()
    text = "".join(kept)
    tail = acts.TAILS.search(text)
    return bare(text[: tail.start()] if tail and tail.start() > 1 else text).rstrip("?？ ")


def cut_front(sentence: str, said: str, at: int) -> str:
    """The sentence from a place in its folded form on."""
    if len(sentence) == len(said):
        return sentence[at:].strip()
    left = len(said) - at
    return sentence[len(sentence) - left :].strip() if left else ""


def without_reply(sentence: str) -> str:
    """A sentence without a leading no."""
    said = folded(sentence)
    found = acts.BARE_NO.match(said)
    return cut_front(sentence, said, found.end()) if found else sentence


def options(text: str) -> list[str]:
    """The things between which a question lets choose."""
    if not asks(folded(text)):
        return []
    found = acts.OR.split(text)
    return [core_of(option) for option in found] if len(found) > 1 else []


def picked_option(asked: Sequence[Asked], said: str) -> str:
    """The option that "the second one" or 后者 picks, or nothing."""
    found = acts.ORDINAL.search(said)
    if found is None or not asked:
        return ""
    choices = options(asked[-1].text) or [one.core for one in asked if not one.question]
    index = next(at for at, name in enumerate(("first", "second", "third", "last")) if found[name])
    index = -1 if index == 3 else index
    return choices[index] if -len(choices) <= index < len(choices) and len(choices) > 1 else ""


def attributed(source: Source, text: str) -> str:
    """The text with its speaker in front where it speaks in the first person."""
    if not acts.FIRST_PERSON.search(folded(text)) or ATTRIBUTED.match(text):
        return text
    han = HAN.search(text) is not None
    name = source.speaker if named(source) else {"user": ("User", "用户"), "assistant": ("Assistant", "助手")}[source.role][han]
    return f"{name}{'：' if han else ': '}{text}"


def named(source: Source) -> bool:
    """Whether a person with a name speaks, whatever the role."""
    return source.speaker.strip().casefold() not in GENERIC


def colon(text: str) -> str:
    return "：" if HAN.search(text[-1:]) else ": "


def joint(text: str) -> str:
    return "，" if HAN.search(text[-1:]) else ", "


def yes_text(target: Asked) -> str:
    return target.core if HAN.search(target.core) else f"{target.core}: yes"


def requested(text: str) -> str:
    said = folded(text)
    found = acts.REQUEST_LEAD.match(said)
    return (cut_front(text, said, found.end()) if found else text).rstrip("?？吗 ")


def goal_text(text: str) -> str:
    return text.rstrip("?？")


def last_clause(text: str) -> str:
    return CLAUSE.split(text)[-1].strip() if weight(text) > 12 else text


def keys(text: str) -> frozenset[str]:
    """Terms and values together."""
    return terms(text) | {value.key for value in values(text)}


def denies(text: str) -> bool:
    return negated(folded(text))


def covered(statement: Statement, echo: str, own: frozenset[str]) -> bool:
    """Whether an echo says what a statement says: half of its terms, all of its values, and denies as much."""
    said = keys(statement.text)
    if not said or shared(own, said) < 0.5 or denies(echo) != denies(statement.text):
        return False
    return len(said & own) / len(said) >= 0.5 and {one.key for one in values(statement.text)} <= {one.key for one in values(echo)}


def better(statement: Statement, echo: str) -> str:
    """The assistant's words where they say as much and more, or as much in fewer words; else the user's."""
    said, again = keys(statement.text), keys(echo)
    return echo if len(again) >= len(said) or (weight(echo) < weight(statement.text) and said <= again) else statement.text
