"""A stored payload as it may be sent to a provider: known fields only, nothing blank, none of our own blocks again."""

import json
import re
from collections.abc import Mapping
from typing import Any

from memsrv.core.prompt.sizes import IMAGES
from memsrv.core.text.content import TEXT_PARTS, mended_text, part_texts
from memsrv.core.text.cuts import cut_bytes
from memsrv.core.text.marks import defused, one_line, without_blocks
from memsrv.model import Payload

SYSTEM_ROLES = frozenset({"system", "developer"})
EMPTY_RESULT = "[empty]"
IMAGE = "[image]"
KIND_CHARS = 20
NAME_CHARS = 64
UNNAMEABLE = re.compile(r"[\s<‹|\\/>]+")
DETAILS = frozenset({"low", "high", "auto"})

MEDIA: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "image_url": ("image_url", ("url",), ("detail",)),
    "image": ("source", ("data", "url"), ("type", "media_type")),
    "input_audio": ("input_audio", ("data",), ("format",)),
    "file": ("file", ("file_id", "file_data"), ("filename",)),
}
"""Parts that providers take: the field that holds one, the fields of which it needs one at least, and the others it may have."""

Content = str | list[dict[str, Any]] | None


def sendable(payload: Payload, *, max_tool_bytes: int) -> dict[str, Any]:
    """Role, name, content, tool calls and the id a tool result answers. Content is None when there is nothing to see.

    `developer` becomes `system`, which every provider knows. A tool result over `max_tool_bytes` is cut visibly.
    """
    role = str(payload["role"])
    sent: dict[str, Any] = {"role": "system" if role in SYSTEM_ROLES else role}
    if name := name_of(payload):
        sent["name"] = name
    sent["content"] = content_of(payload)
    if role == "tool":
        sent["content"] = tool_content(sent["content"], max_tool_bytes)
        sent["tool_call_id"] = mended_text(str(payload.get("tool_call_id") or ""))
    if role == "assistant" and payload.get("tool_calls"):
        sent["tool_calls"] = [call_of(call) for call in payload["tool_calls"]]
    return sent


def name_of(payload: Payload) -> str:
    """The speaker's name as providers take one: visible, no blanks, nothing of a tag, at most 64 characters."""
    return UNNAMEABLE.sub("_", one_line(str(payload.get("name") or ""), NAME_CHARS)).strip("_")


def content_of(payload: Payload) -> Content:
    """The content without our own blocks and without blank parts; a refusal stands in for a content that is missing. A tag of
    ours that is left is forged, and made harmless, but in a system message, which only the client writes."""
    content, trusted = payload.get("content"), payload.get("role") in SYSTEM_ROLES
    if isinstance(content, list | tuple):
        parts = [cleaned for part in content if (cleaned := part_of(part, trusted)) is not None]
        return parts or None
    text = content if isinstance(content, str) else payload.get("refusal")
    shown = own_text(text, trusted) if isinstance(text, str) else ""
    return shown if shown.strip() else None


def own_text(text: str, trusted: bool) -> str:
    """What of a text is the speaker's own."""
    left = without_blocks(mended_text(text))
    return left if trusted else defused(left)


def part_of(part: object, trusted: bool = False) -> dict[str, Any] | None:
    """One part of a content, or None if it shows nothing. Of a part that is not text only what its type is known to have
    goes through; one of no known type becomes a mark."""
    if isinstance(part, str):
        part = {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        return None
    kind = part.get("type", "text")
    if isinstance(kind, str) and kind in TEXT_PARTS | {"refusal"}:
        text = own_text("\n".join(part_texts([part])), trusted)
        return {"type": "text", "text": text} if text.strip() else None
    return media_of(part) or mark_of(part)


def media_of(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """A picture, sound or file with its known fields only; None if it is none of these, or lacks what it is about."""
    kind = part.get("type")
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return media_of({"type": "image_url", "image_url": {"url": part["image_url"], "detail": part.get("detail")}})
    if not isinstance(kind, str) or kind not in MEDIA:
        return None
    field, one_of, others = MEDIA[kind]
    held = part.get(field)
    if kind == "image_url" and isinstance(held, str):
        held = {"url": held, "detail": part.get("detail")}
    if not isinstance(held, Mapping):
        return None
    sent = {name: mended_text(held[name]) for name in (*others, *one_of) if isinstance(held.get(name), str)}
    if sent.get("detail") not in DETAILS:
        sent.pop("detail", None)
    return {"type": kind, field: sent} if any(sent.get(name) for name in one_of) else None


def mark_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """The mark of a part as a part."""
    return {"type": "text", "text": stand_in(part)}


def tool_content(content: Content, max_tool_bytes: int) -> Content:
    """A tool's result within the cap; a blank one says that it is."""
    if content is None:
        return EMPTY_RESULT
    if isinstance(content, str):
        return cut_bytes(content, max_tool_bytes)
    if sum(len(text) for text in part_texts(content)) * 4 <= max_tool_bytes:
        return content
    others = [part for part in content if part.get("type") != "text"]
    return [{"type": "text", "text": cut_bytes("\n".join(part_texts(content)), max_tool_bytes)}, *others]


def call_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call in OpenAI's shape, its arguments a string."""
    function = call["function"]
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)
    called = {"name": mended_text(str(function["name"])), "arguments": mended_text(text)}
    return {"id": mended_text(str(call["id"])), "type": "function", "function": called}


def plain_text(content: object) -> str:
    """The text of a content, `[image]` or `[audio]` and the like for parts that have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    return "\n".join(part["text"] if part.get("type") == "text" else stand_in(part) for part in parts)


def stand_in(part: Mapping[str, Any]) -> str:
    """The short mark that stands for a part that is not text."""
    kind = str(part.get("type") or "part")
    return IMAGE if kind in IMAGES else f"[{one_line(kind.removeprefix('input_'), KIND_CHARS) or 'part'}]"


def is_heavy(payload: Payload) -> bool:
    """Whether a message holds parts that a mark could stand for."""
    content = payload.get("content")
    return isinstance(content, list) and any(part.get("type") != "text" for part in content)


def lightened(payload: Payload) -> Payload:
    """The message with a mark in place of every part that is not text."""
    if not is_heavy(payload):
        return payload
    parts = [part if part.get("type") == "text" else mark_of(part) for part in payload["content"]]
    return {**payload, "content": parts}
