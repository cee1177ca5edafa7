"""The passages of summaries: what can be recalled of one when another has taken its place.

(1) A line is in the passages of the version that says it first and of no other, so it is recalled once, and they grow no
    faster than what is said anew.
(2) A passage holds lines of one heading, under its title, as they stand in the summary: whole, in order, about
    `MOST_CHARS` characters at most.
(3) A passage whose every line stands in a summary tells nothing beside it.
"""

from collections.abc import Iterator

import regex

from memsrv.core.summary.summary import TITLES, Heading
from memsrv.model import Line, Summary

MOST_CHARS = 400
MARK = "- "
EARLIER = regex.compile(
    r"\b(?:last time|previous(?:ly)?|original(?:ly)?|at first|in the beginning|back then|used to|formerly|summar(?:y|ies)"
    r"|(?:earlier|old|former|first|initial) (?:plan|decision|version|idea|agreement|choice|goal|budget|date|price|deadline))"
    r"|\b(?:had|have) (?:we )?(?:planned|decided|agreed|settled)\b|\bwe had\b"
    r"|上次|上回|上一[次版]|之前(?:的|定|说|讲|商|决)|以前的|原来|原先|原本|原定|最初|最早|起初|一开始|先前|旧的|当时|总结|摘要",
    regex.IGNORECASE,
)


def passages_of(summary: Summary, before: Summary | None) -> list[str]:
    """The passages of a summary that follows on another (None: on none): each some lines under their title."""
    known = {line.text for line in before.lines} if before else set[str]()
    titles = TITLES[summary.language]
    return [
        "\n".join((f"{titles[heading]}:", *(f"{MARK}{line.text}" for line in run)))
        for heading in Heading
        for run in runs([line for line in summary.under(heading) if line.text not in known])
    ]


def runs(lines: list[Line]) -> Iterator[list[Line]]:
    """The lines in runs of at most `MOST_CHARS` characters, one line at least."""
    run: list[Line] = []
    for line in lines:
        if run and sum(len(one.text) for one in run) + len(line.text) > MOST_CHARS:
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def lines_of(passage: str) -> list[str]:
    """What a passage says, without its title and marks."""
    return [line.removeprefix(MARK) for line in passage.split("\n")[1:]]


def asks_for_earlier(question: str) -> bool:
    """Whether a question is after what was planned or settled at another time."""
    return EARLIER.search(question) is not None
