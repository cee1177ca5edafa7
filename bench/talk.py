"""Talk made up for measuring: words as frequent as words are (Zipf), subjects that come and go, a few speakers.

The same seed gives the same talk. A message is 8 to 90 words, so most are one chunk.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
import tiktoken

from memsrv.adapters.tokens_tiktoken import cache_folder, shipped_vocabularies

WORDS = 15_000
COMMON = 300
"""The most frequent words belong to no subject."""
SUBJECTS = 200
SUBJECT_WORDS = 60
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
WORD = re.compile(rb" [a-z]{3,12}")


class Talk:
    """An endless conversation."""

    def __init__(self, seed: int = 1):
        self._rng = np.random.default_rng(seed)
        self._words = vocabulary()
        frequencies = 1 / np.arange(10, COMMON + 10)
        self._common = frequencies / frequencies.sum()
        self._subjects = self._rng.integers(COMMON, WORDS, (SUBJECTS, SUBJECT_WORDS))
        self._count = 0

    def messages(self, count: int) -> Iterator[dict[str, Any]]:
        """The next messages, one role after the other."""
        for _ in range(count):
            if self._count % 20 == 0:
                self._subject = int(self._rng.integers(SUBJECTS))
            role = "assistant" if self._count % 2 else "user"
            sent_at = BEGAN + timedelta(minutes=7 * self._count)
            self._count += 1
            yield {"role": role, "content": self._sentence(int(self._rng.integers(8, 90))), "sent_at": sent_at.isoformat()}

    def question(self) -> str:
        """Something to recall: a few words of a subject among common ones."""
        self._subject = int(self._rng.integers(SUBJECTS))
        return self._sentence(12).rstrip(".") + "?"

    def _sentence(self, words: int) -> str:
        common = self._rng.choice(COMMON, words, p=self._common)
        own = self._rng.choice(self._subjects[self._subject], words)
        chosen = np.where(self._rng.random(words) < 0.35, own, common)
        text = " ".join(self._words[word] for word in chosen)
        return ". ".join(part.capitalize() for part in split(text, 14)) + "."


def split(text: str, words: int) -> list[str]:
    """Runs of so many words."""
    all_words = text.split()
    return [" ".join(all_words[start : start + words]) for start in range(0, len(all_words), words)]


@cache
def vocabulary() -> list[str]:
    """The words of a tokenizer's vocabulary, which stand in it about as frequent as they are."""
    with cache_folder(shipped_vocabularies()):
        encoding = tiktoken.get_encoding("o200k_base")
    pieces = (encoding.decode_single_token_bytes(token) for token in range(100_000))
    words = [piece[1:].decode() for piece in pieces if WORD.fullmatch(piece)]
    assert len(words) >= WORDS, "enough different words"
    return words[:WORDS]
