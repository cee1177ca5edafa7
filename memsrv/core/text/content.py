"""What can be searched in an OpenAI-shaped message payload, and what makes two payloads the same.

(1) A string content stands first in the text, unchanged: a position in the text is a position in the content.
(2) Neither reasoning nor the bytes of images, sounds and files ever become text.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from memsrv.model import Payload

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


def text_of(payload: Payload) -> str:
    """The content, a refusal, then one line `name(arguments)` for each tool call; blank parts are left out."""
    content = payload.get("content")
    pieces = [content] if isinstance(content, str) else list(part_texts(content))
    pieces += [refusal_of(payload), *call_lines(payload)]
    return "\n".join(piece for piece in pieces if piece)


def part_texts(content: object) -> Iterator[str]:
    """The texts of a list of parts, in order. Parts of other kinds (images, sounds, files) have none."""
    for part in content if isinstance(content, list | tuple) else ():
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            kind = part.get("type", "text")
            text = part.get("text") if kind in TEXT_PARTS else part.get("refusal") if kind == "refusal" else None
            if isinstance(text, str):
                yield text


def refusal_of(payload: Payload) -> str:
    """The refusal beside a null content, or nothing."""
    refusal = payload.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def call_lines(payload: Payload) -> Iterator[str]:
    """One readable line for each tool call, the deprecated `function_call` included."""
    calls = payload.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            yield call_line(call.get("function") or call.get("custom"))
    yield call_line(payload.get("function_call"))


def call_line(called: object) -> str:
    """`name(arguments)` of a called function or custom tool; nothing if it is neither."""
    if not isinstance(called, Mapping) or not called.get("name"):
        return ""
    arguments = called.get("arguments", called.get("input")) or ""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    return f"{called['name']}({arguments})"


def digest(payload: Payload, sent_at: datetime | None, metadata: Mapping[str, Any] | None) -> str:
    """SHA-256 (hex) of what was said and of the metadata beside it; an empty metadata is none.

    `sent_at` is left out on purpose: a client that sends a message again after a timeout often stamps it anew, and
    its retry must find the message that is there.
    """
    said: dict[str, Any] = {"payload": payload}
    if metadata:
        said["metadata"] = metadata
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), default=dict)
    return sha256(canonical.encode("ascii")).hexdigest()


def without_nul(text: str) -> str:
    """Text that every database takes: PostgreSQL has no NUL, so its picture stands in for it."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


def mended(value: Any) -> Any:
    """The value with every string valid UTF-8: halves of a surrogate pair joined, a lone half replaced by U+FFFD.

    Lists and mappings are copied, keys mended too; all else stays as it is.
    """
    if isinstance(value, str):
        return mended_text(value)
    if isinstance(value, Mapping):
        return {mended(key): mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mended(item) for item in value]
    return value


def mended_text(text: str) -> str:
    """A string without surrogates."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
