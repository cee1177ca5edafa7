"""Visible cuts: what is shortened says so, and by how much.

(1) A cut falls between two graphemes, never inside one.
(2) The result is never over the limit that it was given, or there is no result.
"""

from collections.abc import Callable

from memsrv.core.text.graphemes import edge_after, edge_before

Count = Callable[[str], int]
"""Tokens of a text."""

LONGEST_TOKEN_CHARS = 128
"""No token of the encodings in use stands for more characters: a longer text costs more tokens than its length over this."""
PROBE_TOKENS = 16
"""A beginning may cost a little more than it does as part of the whole."""
TRIES = 12


def left_out(characters: int) -> str:
    """The mark of a cut."""
    return f"[… {characters:,} characters left out …]"


def without_middle(text: str, kept_chars: int) -> str:
    """About `kept_chars` characters of a longer text, two thirds from its head and the rest from its tail."""
    start = edge_before(text, kept_chars * 2 // 3)
    end = edge_after(text, len(text) - (kept_chars - kept_chars * 2 // 3))
    head, tail = text[:start], text[end:]
    return "\n".join(piece for piece in (head, left_out(end - start), tail) if piece)


def cut_bytes(text: str, limit_bytes: int) -> str:
    """The text, without its middle if it is longer than `limit_bytes` in UTF-8; of a limit too small for anything else
    the mark is left."""
    if len(text) * 4 <= limit_bytes or len(text.encode("utf-8", "replace")) <= limit_bytes:
        return text
    kept = min(len(text) - 1, limit_bytes)
    while kept > 0 and len((shown := without_middle(text, kept)).encode("utf-8", "replace")) > limit_bytes:
        kept = kept * 3 // 4
    return shown if kept > 0 else left_out(len(text))


def cut_tokens(text: str, limit_tokens: int, count: Count) -> str | None:
    """The text, without its middle if it costs more than `limit_tokens`; None if not even the mark fits."""
    if fits(text, limit_tokens, count):
        return text
    return longest(lambda kept: without_middle(text, kept), len(text) - 1, limit_tokens, count)


def cut_end(text: str, limit_tokens: int, count: Count) -> str | None:
    """The text, cut after a whole line if it costs more than `limit_tokens`; None if no line fits."""
    if fits(text, limit_tokens, count):
        return text

    def ended(kept: int) -> str:
        at = text.rfind("\n", 0, kept)
        return f"{text[:at].rstrip()}\n{left_out(len(text) - at)}" if at > 0 else without_middle(text, kept)

    return longest(ended, len(text) - 1, limit_tokens, count)


def fits(text: str, limit_tokens: int, count: Count) -> bool:
    """Whether a text costs at most `limit_tokens`. One that is far too long is not counted whole: its length or its
    beginning tells."""
    if len(text) > max(0, limit_tokens) * LONGEST_TOKEN_CHARS:
        return False
    probe = (limit_tokens + PROBE_TOKENS) * 8
    if len(text) > 2 * probe and count(text[:probe]) > limit_tokens + PROBE_TOKENS:
        return False
    return count(text) <= limit_tokens


def longest(shortened: Callable[[int], str], most_chars: int, limit_tokens: int, count: Count) -> str | None:
    """The longest cut within the limit that a bounded search finds; None if none does.

    Counts texts of the order of the limit only, whatever the length of the whole.
    """
    if limit_tokens <= 0:
        return None
    low, high, best = 0, most_chars, None
    guess = min(high, limit_tokens * 4)
    for _ in range(TRIES):
        shown = shortened(guess)
        if fits(shown, limit_tokens, count):
            low, best = guess, shown
            guess = min(high, max(guess * 2, guess + 1)) if high == most_chars else (low + high) // 2
        else:
            high = guess
            guess = (low + high) // 2
        if high - low <= 8 or guess == low:
            break
    if best is None and fits(shortened(0), limit_tokens, count):
        return shortened(0)
    return best
