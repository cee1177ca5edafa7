"""What a model thought aloud, told from what it answers.

(1) A thought in the text is between marks: `<think>` and its kin, or the channels of some open models.
(2) A closing mark without an opening one ends a thought that began before the text does (some servers eat the opening
    mark); a thought that is not closed goes on to the end of the text.
(3) A mark in the middle of a line is talk about marks, and none.
"""

import regex

NAMES = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
MARK = regex.compile(
    rf"^[ \t]*(?P<open><(?:{NAMES})>|◁think▷|\[THINK\])|(?P<close></(?:{NAMES})>|◁/think▷|\[/THINK\])",
    regex.IGNORECASE | regex.MULTILINE,
)
FINAL = regex.compile(r"<\|channel\|>\s*final\s*<\|message\|>", regex.IGNORECASE)
LONGEST_INDENT = 80
BEGINNINGS = "<◁["
"""Every mark begins with one of these."""
CHANNEL = regex.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>", regex.IGNORECASE)


def without_reasoning(text: str) -> str:
    """The text without what was thought aloud in it; one without any is not touched. Linear time."""
    if not any(sign in text for sign in BEGINNINGS):  # most have none, and a search for the marks costs fifty times as much
        return text
    if CHANNEL.match(text):
        finals = list(FINAL.finditer(text))
        text = text[finals[-1].end() :].lstrip() if finals else ""
    kept: list[str] = []
    at, inside, found = 0, False, False
    for mark in MARK.finditer(text):
        if mark["open"] and not inside:
            kept.append(text[at : mark.start()])
        elif not (mark["close"] and (inside or at_edge(text, mark))):
            continue
        elif not inside:
            kept.clear()
        inside, at, found = mark["open"] is not None, mark.end(), True
    if not inside:
        kept.append(text[at:])
    return "".join(kept).strip() if found else text


def at_edge(text: str, mark: regex.Match[str]) -> bool:
    """Whether a mark begins or ends its line."""
    before = text[max(0, mark.start() - LONGEST_INDENT) : mark.start()]
    row = before.rpartition("\n")[2]
    return (len(row) < LONGEST_INDENT and not row.strip()) or text[mark.end() : mark.end() + 1] in ("", "\n", "\r")
