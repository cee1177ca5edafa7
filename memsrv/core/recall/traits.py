"""What ranking has to know of a chunk besides its words and its vector: one row of numbers each, kept in memory.

The texts of the few hundred candidates of a search are never read: what matters of them is worked out when the chunk is.
"""

import numpy as np
import regex

from memsrv.core.recall.cues import is_question

TRAITS = np.dtype(
    [
        ("number", np.int64),
        ("session", np.int64),
        ("message", np.int64),
        ("position", np.int64),
        ("sent_at", np.float64),  # seconds since 1970
        ("role", object),
        ("name", object),  # the speaker's, or None
        ("asks", np.bool_),  # ends as a question
        ("han", np.bool_),  # holds Chinese characters
        ("said", np.int64),  # the same for texts that say the same
    ]
)
SIGNS = " .,;:!…。，、；：！"
HAN = regex.compile(r"\p{Han}")


def traits_of_text(text: str) -> tuple[bool, bool, int]:
    """`asks`, `han` and `said` of a text."""
    return is_question(text), has_han(text), hash(plain(text))


def has_han(text: str) -> bool:
    """Whether a text holds Chinese characters."""
    return not text.isascii() and HAN.search(text) is not None


def plain(text: str) -> str:
    """A text without what does not change its meaning: case, white space, signs at the ends."""
    return " ".join(text.casefold().split()).strip(SIGNS) or text


def no_traits() -> np.ndarray:
    return np.empty(0, TRAITS)
