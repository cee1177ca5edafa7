"""Where a text may be cut without splitting what a reader sees as one character.

Edges are those of extended grapheme clusters (Unicode Standard Annex 29, as the `regex` package has them: combining
marks, joined emoji, flags, Hangul, Indic conjuncts). Two halves of a surrogate pair also stay together.
"""

import regex

LONGEST = 400
CLUSTER = regex.compile(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X")
NEEDS_CONTEXT = regex.compile(r"[\p{M}\u200c\u200d\U0001F1E6-\U0001F1FF\U0001F3FB-\U0001F3FF]")
LONE_ASCII = regex.compile(r"(?<=[ -~\n])[ -~\n]")


def edges(text: str, start: int, end: int) -> set[int]:
    """The edges from `start`, which counts as one, to `end`."""
    if text.isascii() and "\r" not in text:
        return set(range(start, end + 1))
    found = {match.end() for match in CLUSTER.finditer(text, start, min(end + 2, len(text)))}
    return {start, *(edge for edge in found if edge <= end)}


def is_edge(text: str, at: int, start: int) -> bool:
    """Whether `at` is an edge. `start` is one before it: what stands there is looked at only where two characters cannot tell."""
    if NEEDS_CONTEXT.match(text, at - 1):
        return at in edges(text, start, at)
    match = CLUSTER.match(text, at - 1, at + 1)
    return match is not None and match.end() == at


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
    """An edge at most 400 characters back from which clusters can be told: between two plain ASCII characters."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    first = max(0, at - LONGEST)
    starts = [match.start() for match in LONE_ASCII.finditer(text, first, at)]
    return starts[-1] if starts else first
