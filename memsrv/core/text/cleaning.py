"""Text as an embedder can take it: no control characters, no half characters, never blank."""

import re

BLANK = "."
"""Stands for text without anything visible: an embedder of blank text answers zeros, an error, or nothing."""

CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127], " ")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
VISIBLE = re.compile("[^\\s\u200b-\u200f\u2060\ufeff]")


def clean(text: str, *, max_chars: int) -> str:
    """The first `max_chars` characters, C0 controls as spaces, lone surrogates as U+FFFD; `BLANK` if there is nothing to see.

    Control characters end a text early in C, lone surrogates cannot be encoded as UTF-8. Linear in `max_chars`.
    """
    cut = LONE_SURROGATE.sub("\ufffd", text[:max_chars].translate(CONTROLS))
    return cut if VISIBLE.search(cut) else BLANK
