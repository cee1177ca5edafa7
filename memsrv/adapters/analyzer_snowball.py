"""Analyzer over Snowball stemmers and rjieba.

Text and query go through the same steps, so whatever a step loses, it loses on both sides: accents of Latin and Greek
letters, case, width, apostrophes, endings, and the place of a name inside an identifier.

(1) A term has at most 64 characters; a longer word gives its first 64. Time is linear in the text.
(2) Stop words are left out, but for a text that has nothing else.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import import_module
from itertools import pairwise
from threading import Lock

import regex
import snowballstemmer

LONGEST = 64
HAN_CHARS = 2_000  # segmented at once
CACHED_WORDS = 65_536

BIGRAM_SCRIPTS = r"\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[\p{{Han}}{BIGRAM_SCRIPTS}]]"
SCAN = regex.compile(
    rf"(?P<han>\p{{Han}}+)|(?P<run>[{BIGRAM_SCRIPTS}]+)|(?P<word>{LETTER}++(?:[-_./:@+#&=%~'’]{LETTER}++)*+(?:\+\+|#)?)",
    regex.V1,
)
WIDE_JOINTS = regex.compile(r"[/@:&=%~#]")
JOINTS = regex.compile(r"[-_./:@+#&=%~'’]+")
NAMED = regex.compile(r"[\p{N}@_.]|\+\+$|#$")
APOSTROPHE = regex.compile(r"['’]")
THOUSANDS = regex.compile(r"(?<=\d),(?=\d{3}(?!\d))")
MARK_FLOOD = regex.compile(r"(\p{M}{16})\p{M}+")
ACCENTS = regex.compile(
    r"(?<=[\p{Latin}\p{Greek}])[\u0300-\u036f]+|(?<=е)\u0308|[\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u065f\u0670]+"
)
PLAIN = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "ʼ": "'", "\u00ad": None, "\u200b": " "})

SCRIPTS = {
    "Latin": "english",
    "Cyrillic": "russian",
    "Arabic": "arabic",
    "Greek": "greek",
    "Devanagari": "hindi",
    "Armenian": "armenian",
    "Tamil": "tamil",
}
SCRIPT = regex.compile("|".join(rf"(?P<{name}>\p{{{name}}}+)" for name in SCRIPTS))

# what stands before or after an apostrophe and carries no meaning of its own
CLITICS = frozenset(("s", "m", "d", "ll", "re", "ve"))
ELISIONS = frozenset(("l", "d", "j", "m", "t", "s", "c", "n", "qu"))

STOP_WORD_LIST = """
a about above after again against all also am an and any are arent as at be because been before being below between
both but by can cannot cant could couldnt did didnt do does doesnt doing dont down during each few for from further
had hadnt has hasnt have havent having he her here hers herself him himself his how i if in into is isnt it its itself
just me more most my myself no nor not now of off on once only or other our ours ourselves out over own same she
should shouldnt so some such than that the their theirs them themselves then there these they this those through to
too under until up very was wasnt we were werent what when where which while who whom whose why will with wont would
wouldnt you your yours yourself yourselves
的 了 着 过 地 得 之 是 在 有 和 与 及 或 而 且 但 但是 而且 并 并且 也 都 就 还 又 才
只 很 太 更 最 不 没 没有 把 被 让 给 对 从 向 到 由 于 以 为 因 因为 所以 如果 虽然 然后
那么 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 自己 这 那 这个 那个 这些 那些 这里 那里
这样 那样 一个 一些 什么 谁 哪 哪个 哪些 哪里 哪儿 怎么 怎样 怎么样 如何 为什么 为何 何时 多少
几 几个 吗 呢 吧 啊 呀 嘛 哦 嗯 个 会 能 要 可以
"""
STOP_WORDS = frozenset(STOP_WORD_LIST.split())


class SnowballAnalyzer:
    """Words by script: Han by rjieba, unspaced scripts as pairs of characters, the others stemmed."""

    def warm(self) -> None:
        """Load the Han dictionary (about half a second), so that the first text need not wait for it."""
        han_words("中文")

    def terms(self, text: str) -> list[str]:
        """Terms in order, repeated as often as they occur."""
        found: list[tuple[str, bool]] = []
        for match in SCAN.finditer(folded(text)):
            piece = match.group()
            if match.lastgroup == "word":
                found += word_terms(piece) if len(piece) <= LONGEST else long_terms(piece)
            else:
                found += plain(han_words(piece) if match.lastgroup == "han" else pairs(piece))
        kept = [term for term, stop in found if not stop]
        return kept or [term for term, _ in found]


def folded(text: str) -> str:
    """Text in one spelling: compatibility forms, small letters, no accents where they are ornament."""
    if not text.isascii():
        text = MARK_FLOOD.sub(r"\1", text)  # putting marks in order takes quadratic time in CPython
        text = unicodedata.normalize("NFKC", text).casefold().translate(PLAIN)
        text = unicodedata.normalize("NFC", ACCENTS.sub("", unicodedata.normalize("NFD", text)))
    return THOUSANDS.sub("", text.lower())


def plain(terms: Iterable[str]) -> list[tuple[str, bool]]:
    """Terms with whether each is a stop word."""
    return [(term, term in STOP_WORDS) for term in terms]


def pairs(run: str) -> list[str]:
    """Each two neighbouring characters; a single one is itself."""
    return [first + second for first, second in pairwise(run)] or [run]


def han_words(run: str) -> list[str]:
    """Words of a run of Han characters, the shorter words inside them, and then its characters: a text and a question are
    seldom cut alike, and a character says much."""
    cut_for_search = import_module("rjieba").cut_for_search  # 0.6 s at the first call, so not at import
    parts = [run[at : at + HAN_CHARS] for at in range(0, len(run), HAN_CHARS)]
    words = [word[:LONGEST] for part in parts for word in cut_for_search(part)]
    return [*(word for word in words if len(word) > 1), *run]


@lru_cache(CACHED_WORDS)
def word_terms(word: str) -> tuple[tuple[str, bool], ...]:
    """Terms of one word or compound: itself if it names something, then its parts, stemmed."""
    return tuple(long_terms(word))


def long_terms(word: str) -> list[tuple[str, bool]]:
    """As `word_terms`, for words too long to remember."""
    names = [word, *WIDE_JOINTS.split(word)] if NAMED.search(word) else []
    wholes = dict.fromkeys(name for name in names if len(name) <= LONGEST and NAMED.search(name))
    parts = [part for bare in without_clitics(word) for part in JOINTS.split(bare) if part]
    atoms = [part[:LONGEST] for part in parts if part[:LONGEST] not in wholes]
    return [(whole, False) for whole in wholes] + [(stemmed(atom), atom in STOP_WORDS) for atom in atoms]


def without_clitics(word: str) -> list[str]:
    """The word without apostrophes: `caroline's` and `l'amour` lose a letter, `don't` and `o'brien` are joined."""
    if not APOSTROPHE.search(word):
        return [word]
    first, *rest = APOSTROPHE.split(word)
    if rest[-1] in CLITICS:
        rest.pop()
    if rest and first in ELISIONS:
        first = ""
    return [first + "".join(rest)]


@lru_cache(CACHED_WORDS)
def stemmed(word: str) -> str:
    """The stem by the language of the word's script; a word with digits, or of another script, is its own."""
    match = SCRIPT.fullmatch(word)
    if match is None or match.lastgroup is None:
        return word
    with STEMMING:
        return str(stemmer(SCRIPTS[match.lastgroup]).stemWord(word)) or word


@cache
def stemmer(language: str) -> snowballstemmer.stemmer:
    """One stemmer a language. It keeps state while it works: call it under `STEMMING`."""
    return snowballstemmer.stemmer(language)


STEMMING = Lock()
