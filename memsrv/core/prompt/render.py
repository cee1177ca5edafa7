"""What was chosen, in the shape that is asked for.

(1) Only provider fields are given out, and no message is empty.
(2) `strict`: one system message and it is first, then user and assistant in turn, a user first and always one; a tool
    call is followed by its results and nothing else.
(3) The state stands right before the newest user message; in `strict`, at the head of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memsrv.core.prompt.regions import (
    SPEAKER_CHARS,
    Chosen,
    joined,
    meta_text,
    pins_text,
    profile_text,
    recall_text,
    state_text,
    summary_text,
)
from memsrv.core.prompt.sending import plain_text
from memsrv.core.text.content import call_lines
from memsrv.core.text.marks import block, called, quoted
from memsrv.model import Format, Payload

PLACEHOLDER = "[earlier messages left out]"
FIRST_USER: Payload = {"role": "user", "content": PLACEHOLDER}


def rendered(chosen: Chosen, shape: Format) -> tuple[Payload, ...]:
    """The prompt's messages."""
    return SHAPES[shape](chosen)


def as_openai(chosen: Chosen) -> tuple[Payload, ...]:
    """System messages for our own regions, the window as it was said."""
    regions = (meta_text(chosen), summary_text(chosen.summary), recall_text(chosen.hits, chosen.session, chosen.quotes))
    at = len(chosen.window) if chosen.current is None else chosen.current
    state = system(state_text(chosen.state))
    return (*(message for text in regions for message in system(text)), *chosen.window[:at], *state, *chosen.window[at:])


def system(text: str) -> tuple[Payload, ...]:
    """A system message, if there is anything to say."""
    return ({"role": "system", "content": text},) if text else ()


# --- strict ---------------------------------------------------------------------------------------------------------


def as_strict(chosen: Chosen) -> tuple[Payload, ...]:
    """See (2). Later system messages join the leading one, in order; a leading assistant gets a user before it."""
    state = state_text(chosen.state)
    late = [plain_text(message["content"]) for message in chosen.window if message["role"] == "system"]
    standing = "" if chosen.current is not None else state
    leading = joined(
        meta_text(chosen), summary_text(chosen.summary), recall_text(chosen.hits, chosen.session, chosen.quotes), *late, standing
    )
    talk: list[Payload] = []
    for place, message in enumerate(chosen.window):
        if message["role"] != "system":
            talk += with_state(message, state, talk) if place == chosen.current and state else [message]
    if (talk and talk[0]["role"] != "user") or (leading and not talk):
        talk.insert(0, FIRST_USER)
    return (*system(leading), *neighbours_joined(talk))


def with_state(message: Payload, state: str, before: Sequence[Payload]) -> list[Payload]:
    """The newest user message with the state at its head, or apart where it will be joined to a user message before it:
    a name may then come between, and our block has to begin its line."""
    if before and before[-1]["role"] == "user":
        return [{"role": "user", "content": state}, message]
    return [{**message, "content": both(state, message["content"])}]


def both(first: Any, second: Any) -> Any:
    """Two contents as one: texts with a blank line between, else all parts."""
    if isinstance(first, str) and isinstance(second, str):
        return joined(first, second)
    return [*parts(first), *parts(second)] or None


def parts(content: Any) -> Sequence[Mapping[str, Any]]:
    """A content as parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


def neighbours_joined(messages: Iterable[Payload]) -> tuple[Payload, ...]:
    """Messages with neighbours of one role made one. A call's results stay apart, and so does what follows them."""
    made: list[Payload] = []
    for message in messages:
        if made and message["role"] == made[-1]["role"] != "tool" and "tool_calls" not in made[-1]:
            made[-1] = together(made[-1], message)
        else:
            made.append(message)
    return tuple(made)


def together(first: Payload, second: Payload) -> Payload:
    """Two messages of one role as one; where their names differ, each text is led by its name."""
    if first.get("name") != second.get("name"):
        first, second = nameless(first), nameless(second)
    if second.get("content") is None:
        return {**second, "content": first["content"]}
    return {**second, "content": both(first["content"], second["content"])}


def nameless(message: Payload) -> Payload:
    """A message whose name stands at the head of its text."""
    rest = {field: value for field, value in message.items() if field != "name"}
    name, content = message.get("name"), message["content"]
    if not name or not content:
        return rest
    return {
        **rest,
        "content": f"{name}: {content}" if isinstance(content, str) else [{"type": "text", "text": f"{name}:"}, *content],
    }


# --- text -----------------------------------------------------------------------------------------------------------


def as_text(chosen: Chosen) -> tuple[Payload, ...]:
    """All of it as one text in one user message. Only the newest user message stands outside of a block, as it was said:
    posted back, the text leaves nothing else."""
    at = len(chosen.window) if chosen.current is None else chosen.current
    before = "\n".join(entry(message) for message in chosen.window[:at])
    since = "\n".join(map(entry, chosen.window[at + 1 :]))
    text = joined(
        block("system", chosen.system_prompt) if chosen.system_prompt else "",
        profile_text(chosen.profile),
        pins_text(chosen.pins),
        summary_text(chosen.summary),
        recall_text(chosen.hits, chosen.session, chosen.quotes),
        block("window", before) if before else "",
        state_text(chosen.state),
        plain_text(chosen.window[at]["content"]) if at < len(chosen.window) else "",
        block("since", since) if since else "",
    )
    return ({"role": "user", "content": text},) if text else ()


def entry(message: Payload) -> str:
    """`speaker: text`, tool calls as `name(arguments)`; further lines are led by the quote mark."""
    said = plain_text(message["content"])
    return f"{who(message)}: {quoted(chr(10).join(piece for piece in (said, *call_lines(message)) if piece))}"


def who(message: Payload) -> str:
    """The name in a message, else its role."""
    return called(message.get("name"), str(message["role"]), SPEAKER_CHARS)


SHAPES = {Format.OPENAI: as_openai, Format.STRICT: as_strict, Format.TEXT: as_text}
