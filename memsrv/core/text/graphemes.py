"""Where a text may be cut without splitting what a reader sees as one character.

Edges are those of extended grapheme clusters (Unicode Standard Annex 29, as the `regex` package has them: combining
marks, joined emoji, flags, Hangul, Indic conjuncts). Two halves of a surrogate pair also stay together.
"""

from collections.abc import Callable

import regex

LONGEST = 400
CLUSTER = regex.compile(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X")
NEEDS_CONTEXT = regex.compile(r"[\p{M}\u200c\u200d\U0001F1E6-\U0001F1FF\U0001F3FB-\U0001F3FF]")
HALVES_BEFORE = regex.compile(r"(?r)(?:[\U0001F1E6-\U0001F1FF]+|[\uD800-\uDBFF]?)")
LONE_ASCII = regex.compile(r"(?<=[ -~\n])[ -~\n]")


def edges(text: str, start: int, end: int) -> set[int]:
    """The edges from `start`, which counts as one, to `end`."""
    if text.isascii() and "\r" not in text:
        return set(range(start, end + 1))
    part = text[start : end + 2]  # the pattern looks back as far as it may, through a whole row of flags
    found = {start + match.end() for match in CLUSTER.finditer(part)}
    return {start, *(edge for edge in found if edge <= end)}


def is_edge(text: str, at: int, known: Callable[[], set[int]]) -> bool:
    """Whether `at`, inside the text, is an edge. The `known` edges are asked for only where two characters cannot tell."""
    if NEEDS_CONTEXT.match(text, at - 1):
        return at in known()
    match = CLUSTER.match(text[at - 1 : at + 1])
    return match is not None and match.end() == 1


def edge_before(text: str, at: int) -> int:
    """The last edge at or before a position. A cluster of more than 400 characters may be cut."""
    start = safe_start(text, at)
    return at if start == at else max(edges(text, start, at))


def edge_after(text: str, at: int) -> int:
    """The first edge at or after a position. A cluster of more than 400 characters may be cut."""
    last = safe_start(text, at)
    end = min(at + LONGEST, len(text))
    return min((edge for edge in edges(text, last, end) if edge >= at), default=at)


def safe_start(text: str, at: int) -> int:
    """An edge from which clusters can be told: between two plain ASCII characters, else about 400 characters back."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    first = max(0, at - LONGEST)
    starts = [match.start() for match in LONE_ASCII.finditer(text, first, at)]
    if starts:
        return starts[-1]
    halves = HALVES_BEFORE.search(text, 0, first)
    return first - len(halves.group()) % 2 if halves else first
