"""Cut a text into pieces of 200 to 400 characters at sentence ends.

(1) Pieces stand in order, do not overlap, hold every character that is not blank, and none is blank.
(2) No piece has more than 400 characters. None has fewer than 200 where the text has more than 400, unless a word, a
    URL or a grapheme that fits a piece would be cut for it, or only blanks could fill it.
(3) A cut stands between graphemes; only one of more than 400 characters is cut itself.
(4) Linear time: each cut is looked for in the 400 characters after the one before.

No segmenter is used: the best, sentencex, must be told the language, knows no tables or code, and weighs no cut against
another to keep pieces within a size; `core.text.sentences` judges the places and this module chooses among them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain

import regex

from memsrv.core.text.graphemes import edges, is_edge
from memsrv.core.text.sentences import BLANK, WORD_EDGE, Cut, Strength, cuts, fences, next_start, strongest, word_cuts
from memsrv.model import Span

LEAST = 200
MOST = 400
TIGHT = 100  # a rest of 401 to 500 characters leaves little choice for its own cut ...
TIGHT_COST = 1.5  # ... so a cut that leaves one counts as so much weaker
URL = regex.compile(rf"(?:https?|ftp)://[^{BLANK}<>\"'，。、；：！？（）「」『』《》“”]+")


def spans(text: str, within: Sequence[Span] | None = None) -> list[Span]:
    """The pieces of a text, or only those of some (ordered, disjoint) stretches of it. Positions are in `text`."""
    code = fences(text)
    stretches = [Span(0, len(text))] if within is None else within
    return [piece for stretch in stretches for piece in pieces(text, stretch, code)]


def pieces(text: str, stretch: Span, code: Sequence[int]) -> Iterator[Span]:
    """The pieces of one stretch, without the blanks around them; one of at most 400 characters is one piece."""
    stop = stretch.start + len(text[stretch.start : stretch.end].rstrip())
    start = next_start(text, stretch.start, stop)
    while stop - start > MOST:
        cut = best_cut(text, start, stop, code)
        assert start < cut.end <= min(start + MOST, cut.start)
        yield Span(start, cut.end)
        start = cut.start
    if start < stop:
        yield Span(start, stop)


def best_cut(text: str, start: int, stop: int, code: Sequence[int]) -> Cut:
    """The strongest place that leaves 200 characters on both sides, of equals the last; else one that keeps words whole."""
    urls = whole_urls(text, start)
    known = cache(partial(edges, text, start, start + MOST))

    def usable(cut: Cut) -> bool:
        return is_edge(text, cut.end, known) and not any(url.start < cut.end < url.end for url in urls)

    first, last = start + LEAST, min(start + MOST, stop - LEAST)
    roomy = filter(
        usable, (cut for cut in cuts(text, start, first=first, last=last, stop=stop, code=code) if stop - cut.start >= LEAST)
    )
    best = strongest_of(roomy, strongest(text, first, last), stop) or next(filter(usable, word_cuts(text, first, last)), None)
    return best or uneven_cut(text, start, stop, code, usable) or cut_in_word(text, start, stop)


def strongest_of(found: Iterable[Cut], ceiling: Strength, stop: int) -> Cut | None:
    """The strongest cut, of equals the first; looks no further once there can be no stronger one."""
    best, best_worth = None, -TIGHT_COST
    for cut in found:
        worth = cut.strength - TIGHT_COST * leaves_tight(stop - cut.start)
        if worth > best_worth:
            best, best_worth = cut, worth
        if best_worth >= ceiling:
            break
    return best


def uneven_cut(text: str, start: int, stop: int, code: Sequence[int], usable: Callable[[Cut], bool]) -> Cut | None:
    """The most even place that leaves fewer than 200 characters on a side and keeps the next word whole, if that fits."""
    first, last = start + 1, start + MOST
    found = chain(cuts(text, start, first=first, last=last, stop=stop, code=code), word_cuts(text, first, last))
    best = max(filter(usable, found), key=lambda cut: min(cut.end - start, stop - cut.start), default=None)
    return best if best and word_fits(text, best.start, stop) else None


def leaves_tight(rest: int) -> bool:
    """Whether a rest of so many characters needs one cut more and leaves it little room."""
    return MOST < rest < MOST + TIGHT


def whole_urls(text: str, start: int) -> list[Span]:
    """URLs that begin in the next piece and fit one."""
    if text.find("://", start, start + MOST) < 0:
        return []
    found = (Span(*match.span()) for match in URL.finditer(text, start, start + 2 * MOST))
    return [url for url in found if url.end - url.start <= MOST]


def word_fits(text: str, start: int, stop: int) -> bool:
    """Whether the word at `start` ends within a piece."""
    if stop - start <= MOST:
        return True
    edge = WORD_EDGE.search(text, start + 1, start + MOST + 2)
    return edge is not None and edge.start() <= start + MOST


def cut_in_word(text: str, start: int, stop: int) -> Cut:
    """The last edge of a grapheme that leaves 200 characters on both sides, else the last one, else a place in it."""
    inner = edges(text, start, start + MOST) - {start}
    roomy = [edge for edge in inner if edge - start >= LEAST and stop - edge >= LEAST]
    at = max(roomy or inner, default=min(start + MOST, stop - LEAST))
    end = start + len(text[start:at].rstrip())
    return Cut(Strength.WORD, end, next_start(text, at, stop))
