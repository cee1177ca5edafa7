"""The task state that an assistant tells at the end of a turn, on a marked line of its message.

(1) Only what an assistant said itself counts: its content, without reasoning and tool calls. Nothing that a user, a tool or a
    system message says can set it, nor a quotation: code, quoted lines and our own blocks are passed over.
(2) A mark stands at the beginning of a line. Of several marked lines the last counts.
(3) The state is one visible line of at most `MAX_CHARS` characters, cleaned like all text inside our blocks. Linear time.
"""

import re
from collections.abc import Iterator

from memsrv.core.text.content import part_texts
from memsrv.core.text.marks import one_line, without_blocks
from memsrv.core.text.visible import LINE_ENDS
from memsrv.model import Payload

MAX_CHARS = 300

MARKED = re.compile(
    r" {0,3}(?P<bold>\*\*|__)?"
    r"(?:(?:task[ _-]?state|任务状态)(?P<inner>\*\*|__)?[ ]?[:：]|\[(?:task[ _-]?)?state\][:：]?|[\[【]任务状态[\]】][:：]?)"
    r"(?:\*\*|__)?(?P<state>.*)",
    re.IGNORECASE,
)
"""`Task state: ...`, `[task state] ...`, `[state] ...`, `任务状态：...`, `【任务状态】...`, also in bold."""
FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)")
EMPHASIS = "*_ "


def task_state_of(payload: Payload) -> str | None:
    """The state that a message tells, or None. Takes any message in OpenAI's shape."""
    if payload.get("role") != "assistant":
        return None
    content = payload.get("content")
    text = content if isinstance(content, str) else "\n".join(part_texts(content))
    return marked_state(text)


def marked_state(text: str) -> str | None:
    """What stands on the last marked line of a text; lines without a state do not count."""
    state = None
    for line in own_lines(without_blocks(text)):
        if found := MARKED.fullmatch(line):
            state = cleaned(found) or state
    return state


def cleaned(found: re.Match[str]) -> str:
    """The state on a marked line, without the stars of a line that is bold as a whole."""
    text = found["state"][: 4 * MAX_CHARS].strip()
    whole_bold = found["bold"] and text.endswith(found["bold"])
    return one_line(text.strip(EMPHASIS) if whole_bold else text, MAX_CHARS)


def own_lines(text: str) -> Iterator[str]:
    """The lines of a text outside of fenced code; a fence that is not closed goes on to the end."""
    fence = ""
    for line in LINE_ENDS.sub("\n", text).split("\n"):
        found = FENCE.fullmatch(line)
        if fence:
            fence = "" if found and closes(found, fence) else fence
        elif found and not ("`" in found["fence"] and "`" in found["rest"]):
            fence = found["fence"]
        else:
            yield line


def closes(found: re.Match[str], fence: str) -> bool:
    """Whether a line of fence characters closes a fence: the same, as many at least, and nothing after them."""
    return found["fence"].startswith(fence) and not found["rest"].strip()
