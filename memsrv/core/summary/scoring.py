"""How well a summary keeps what a talk decided and ruled out, and whether it claims what the talk does not say.

(1) An expectation is met by one line alone: two lines that hold half of it each do not say it.
(2) A question claims nothing: it neither keeps a decision nor contradicts one.
(3) Sums run over expectations, not over dialogues, so that a talk with one decision does not weigh as much as one with six.
(4) The words of negation, of what is past, of what is open are listed here, and not taken from a summarizer's own lists: a
    measure that shares its subject's notions shares its errors.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from memsrv.core.summary.summary import Count, Summary, rendered

Pattern = regex.Pattern[str]

# --- the words of an expectation -----------------------------------------------------------------------------------

HAN_BLANK = regex.compile(r"(?<=\p{Han})\s+|\s+(?=\p{Han})")
THOUSANDS = regex.compile(r"(?<=\d),(?=\d{3}(?!\d))")
WIDE = str.maketrans({"，": ", ", "：": ": "})  # the narrow ones join two numbers: 1,000 and 9:30
SHAPES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "−": "-", "`": None, "*": None})
SENTENCE_END = regex.compile(r"(?<=[.!?]['\")\]]*)\s+|(?<=[。！？；])|(?<=\?)(?=\p{Han})|\n+")
MORE_NUMBER = r"(?![\d_]|[.,:]\d|[kmbw](?!\p{Latin})|[百万亿]|千(?![克米卡瓦]))"
QUESTION_END = regex.compile(r"[?？]['\"”’)）\]]*\s*$")

NOT = """
    no, not, never, none, nothing, nobody, neither, nor, without, cannot, cant, wont, dont, doesnt, didnt, isnt, arent,
    shouldnt, mustnt, avoid*, exclud*, exclusion*, except*, skip*, drop, drops, dropped, dropping, reject*, forbid*, ban, bans,
    banned, declin*, refus*, against, instead of, rather than, rule out, rules out, ruled out, ruling out, out of scope,
    off the table, off limits, off-limits, leave out, left out, leaves out, leave off, stay away, keep away, keep out, remov*,
    cancel*, abandon*, prohibit*, veto*, cut, hands off, is out, are out, 's out, stays out, stay out, is off, are off,
    opt out, opted out, ruled it out, ruled them out,
    不, 没, 別, 别, 无, 禁, 勿, 非, 排除, 取消, 放弃, 拒绝, 避免, 未, 否决, 否掉, 除外, 砍掉, 去掉, 弃用, 忌
"""
NOT_FORMS = r"(?<!\p{L})\p{L}+n't(?!\p{L})"
NOT_REALLY = (
    r"(?<!\p{L})(?:no[,.!:;]|not (?:only|just|bad|sure|to mention|yet sure)"
    r"|no (?:problem|worries|doubt|wonder|idea|brainer|matter)|why not|if not|or not|whether or not|nothing wrong|never ?mind"
    r"|(?:can't|cannot|can not|don't|do not|must not|mustn't|never|not) (?:not|without|forget|skip|drop|avoid|do without)"
    r"|(?:don't|do not|doesn't|does not) (?:mind|worry|know)|cut(?: over|[- ]?off time))"
    r"|不(?:[,。!]|错|过|仅|但|光|只是|少|同|管|论|然|如|久|断|好意思|客气|用谢|知道|确定|一定|对[,。!]|妨|必说)|差不多|只不过|要不|对不起"
    r"|(\p{Han})不\1|能不能|没(?:错|问题|事|关系|准)|有没有|特别|别(?:的|人|忘|担心|急|墅|致)|[分区类级性个告差识]别|别[,。!]"
    r"|无(?:论|线|所谓|疑|锡|非|意)|非(?:常|得|洲|要)|未(?:来|必)|除非|[是莫]非|并非不|[得能可会]不(?=不)|不(?:得|能|可|会|是|要)不"
    r"|没有不|无不|从未不"
)

PAST = """
    was, were, previous*, earlier, originally, original, former*, old, initial*, at first, first idea, first plan,
    used to, no longer, not any more, anymore, any more, instead of, replac*, supersed*, supercede*, changed, change from,
    change to, moved, switched, switch from, switch to, revis*, correct*, overrid*, overrul*, overturn*, dropp*, reject*,
    cancel*, revert*, rolled back, obsolete, outdated, withdrawn, up from, down from, raised from, lowered from, rather than,
    ->, →, =>, ~~,
    原, 之前, 以前, 曾, 旧, 起初, 最初, 本来, 先前, 一开始, 早先, 取代, 替代, 代替, 替换, 改, 换成, 换为, 换到, 换掉, 换用, 更换,
    不再, 更正, 纠正, 作废, 取消, 推翻, 而不是, 而非, 否决, 撤回, 撤销, 放弃, 废弃, 调整, 变更, 推迟, 提前, 升级, 拒绝
"""
OPEN = """
    whether, maybe, perhaps, might, could, would, propos*, suggest*, consider*, idea, ideas, option*, undecided, open, tbd,
    pending, not decided, not yet, unconfirmed, possibl*, alternative*, question, asked, asks, wonder*, thinking about,
    thinking of, discuss*, mention*, hypothetical*, imagin*, joke*, joking, jokingly, sarcas*, ironic*, rumour*, rumor*, claim*,
    是否, 可能, 也许, 考虑, 建议, 提议, 待定, 未定, 还没, 备选, 想法, 要不要, 未确认, 待确认, 待讨论, 讨论, 提到, 假设, 设想,
    万一, 玩笑, 开玩笑, 说笑, 反话, 听说, 传闻, 问过, 曾问
"""
WHEN = """
    if, unless, once, only when, in case, until, provided, assuming, depend*, conditional*, contingent, as long as, otherwise,
    when, should,
    如果, 若, 除非, 一旦, 要是, 的话, 假如, 只有, 前提, 取决于, 视情况, 等到, 直到, 只要, 否则, 的时候
"""


def normalised(text: str) -> str:
    """Text in one case and width, with plain quotes and dashes, no thousands commas, no blanks beside Han characters."""
    text = unicodedata.normalize("NFKC", text.translate(WIDE)).casefold().translate(SHAPES)
    return " ".join(THOUSANDS.sub("", HAN_BLANK.sub("", text)).split())


def claims(line: str) -> str:
    """What a line states: its sentences but for the questions, normalised."""
    sentences = (sentence for sentence in SENTENCE_END.split(line) if sentence)
    return normalised(" ".join(sentence for sentence in sentences if not QUESTION_END.search(sentence)))


def listed(words: str) -> list[str]:
    """The entries of a list of words, split at commas."""
    return [word for entry in words.split(",") if (word := entry.strip())]


def form(word: str) -> str:
    """The expression for one alternative: a Latin or numeric end is the end of a word or number, a number may have its unit
    right after it, and `*` leaves the end of a word open."""
    stem = word.endswith("*") and len(word) > 1
    text = normalised(word[:-1] if stem else word)
    before = r"(?<![\p{Latin}\p{N}_])" if regex.match(r"[\p{Latin}\p{N}]", text) else ""
    after = r"(?![\p{Latin}\p{N}_])" if stem or regex.search(r"\p{Latin}$", text) else ""
    if regex.match(r"\d", text):
        before += r"(?<!\d[.,:])"
    if regex.search(r"\d$", text) and not stem:
        after = MORE_NUMBER
    return before + regex.escape(text).replace(r"\ ", r"\s") + (r"\p{L}*" if stem else "") + after


def any_of(words: Iterable[str], *more: str) -> Pattern:
    """One expression for any of these words or expressions."""
    return regex.compile("|".join([*map(form, words), *more]))


LISTS = {
    "@not": regex.compile(f"(?:{NOT_REALLY})(*SKIP)(*FAIL)|{any_of(listed(NOT), NOT_FORMS).pattern}"),
    "@past": any_of(listed(PAST)),
    "@open": any_of(listed(OPEN)),
    "@when": any_of(listed(WHEN)),
}
"""Words that say no; that something was so, or was changed; that it is open, proposed or a joke; that it hangs on something."""


@lru_cache(maxsize=10_000)
def pattern(alternative: str) -> Pattern:
    """The expression for a word, a phrase, or the name of one of `LISTS`."""
    return LISTS[alternative] if alternative in LISTS else regex.compile(form(alternative))


# --- the nouns -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a summary is looked through for. `says` tells it to people, and meets it; `all` are groups of alternatives, of
    which a line holds one each; of `none` it holds none. `since`: the messages, counted from 1, that made it false."""

    says: str
    all: tuple[tuple[str, ...], ...]
    none: tuple[str, ...] = ()
    since: tuple[int, ...] = ()

    def met_by(self, line: str) -> bool:
        """Whether this line alone says it."""
        text = claims(line)
        return all(holds(text, group) for group in self.all) and not holds(text, self.none)


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message of a dialogue."""

    role: str
    content: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A talk and what is expected of a summary of it. `language` is en, zh or mixed."""

    id: str
    language: str
    topic: str
    traits: tuple[str, ...]
    messages: tuple[Utterance, ...]
    decisions: tuple[Expectation, ...]
    exclusions: tuple[Expectation, ...]
    forbidden: tuple[Expectation, ...]
    droppable: tuple[Expectation, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """An expectation and the first line that meets it, if one does."""

    says: str
    line: str | None

    @property
    def met(self) -> bool:
        return self.line is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one summary, as it stands in a prompt, kept. Sizes are in tokens; `talk` counts what the messages say."""

    dialogue: Dialogue
    summary: str
    talk_tokens: int
    summary_tokens: int
    max_tokens: int
    lines: int
    droppable_lines: int
    decisions: tuple[Outcome, ...]
    exclusions: tuple[Outcome, ...]
    forbidden: tuple[Outcome, ...]

    @property
    def contradictions(self) -> int:
        """Forbidden claims that the summary makes."""
        return met(self.forbidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over scores, and the rates that follow. `contradicted` counts the dialogues with a contradiction, `over` the
    summaries that are longer than was asked for. Of no expectations, all are kept."""

    dialogues: int
    decisions: int
    decisions_kept: int
    exclusions: int
    exclusions_kept: int
    contradictions: int
    contradicted: int
    lines: int
    droppable_lines: int
    talk_tokens: int
    summary_tokens: int
    over: int

    @property
    def decision_retention(self) -> float:
        return rate(self.decisions_kept, self.decisions, empty=1)

    @property
    def exclusion_retention(self) -> float:
        return rate(self.exclusions_kept, self.exclusions, empty=1)

    @property
    def contradiction_rate(self) -> float:
        """Share of dialogues whose summary makes a forbidden claim."""
        return rate(self.contradicted, self.dialogues)

    @property
    def density(self) -> float:
        """Must-keep items in 100 tokens of summary."""
        return 100 * rate(self.decisions_kept + self.exclusions_kept, self.summary_tokens)

    @property
    def droppable_share(self) -> float:
        """Share of lines that are small talk."""
        return rate(self.droppable_lines, self.lines)

    @property
    def compression(self) -> float:
        """Tokens of the talk for each token of summary."""
        return rate(self.talk_tokens, self.summary_tokens)


# --- scoring -------------------------------------------------------------------------------------------------------


def scored(dialogue: Dialogue, summary: Summary, *, max_tokens: int, count: Count) -> Score:
    """Hold a summary against what the dialogue expects."""
    lines = [line.text for line in summary.lines]
    text = rendered(summary)
    return Score(
        dialogue=dialogue,
        summary=text,
        talk_tokens=sum(count(message.content) for message in dialogue.messages),
        summary_tokens=count(text),
        max_tokens=max_tokens,
        lines=len(lines),
        droppable_lines=sum(any(talk.met_by(line) for talk in dialogue.droppable) for line in lines),
        decisions=outcomes(dialogue.decisions, lines),
        exclusions=outcomes(dialogue.exclusions, lines),
        forbidden=outcomes(dialogue.forbidden, lines),
    )


def totals(scores: Sequence[Score]) -> Totals:
    """Sum up over expectations, see (3)."""
    return Totals(
        dialogues=len(scores),
        decisions=sum(len(score.decisions) for score in scores),
        decisions_kept=sum(met(score.decisions) for score in scores),
        exclusions=sum(len(score.exclusions) for score in scores),
        exclusions_kept=sum(met(score.exclusions) for score in scores),
        contradictions=sum(score.contradictions for score in scores),
        contradicted=sum(score.contradictions > 0 for score in scores),
        lines=sum(score.lines for score in scores),
        droppable_lines=sum(score.droppable_lines for score in scores),
        talk_tokens=sum(score.talk_tokens for score in scores),
        summary_tokens=sum(score.summary_tokens for score in scores),
        over=sum(score.summary_tokens > score.max_tokens for score in scores),
    )


def grouped(scores: Sequence[Score], keys: Callable[[Dialogue], Iterable[str]]) -> dict[str, Totals]:
    """Totals by each key, in order of the key; a dialogue counts under all of its keys."""
    names = sorted({key for score in scores for key in keys(score.dialogue)})
    return {name: totals([score for score in scores if name in keys(score.dialogue)]) for name in names}


def holds(text: str, alternatives: Iterable[str]) -> bool:
    """Whether a normalised text holds one of these."""
    return any(pattern(alternative).search(text) for alternative in alternatives)


def outcomes(expectations: Iterable[Expectation], lines: Sequence[str]) -> tuple[Outcome, ...]:
    """Each expectation with the first line that meets it."""
    return tuple(Outcome(wanted.says, next(filter(wanted.met_by, lines), None)) for wanted in expectations)


def met(outcomes: Iterable[Outcome]) -> int:
    """How many are met."""
    return sum(outcome.met for outcome in outcomes)


def rate(part: float, whole: float, *, empty: float = 0) -> float:
    """A part of a whole, or `empty` where there is none."""
    return part / whole if whole else empty
