"""What a prompt costs: everything that is sent, in tokens.

A message costs its content, its name (and 1), for each tool call the id, the function's name, the arguments and 8, the
id it answers, and 4 for its frame. A prompt costs its messages and 3. An image costs 765 tokens, 85 in low detail (the
largest and the smallest price of a picture of usual size at OpenAI), or what all of it but the bytes of the picture
costs as text, if that is more; another part that is not text costs what it costs as text, at least 85.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memsrv.core.text.cuts import Count, fits
from memsrv.model import Payload

MESSAGE_TOKENS = 4
PROMPT_TOKENS = 3
NAME_TOKENS = 1
CALL_TOKENS = 8
IMAGE_TOKENS = 765
SMALL_IMAGE_TOKENS = 85
PART_TOKENS = 85
IMAGES = frozenset({"image_url", "input_image", "image"})
PICTURE = "data:image/"
LONG_TEXT_CHARS = 20_000


class Sizes:
    """Counts for one prompt; a text is counted once however often it is asked for."""

    def __init__(self, count: Count):
        self._count = count
        self._known: dict[str, int] = {}
        self._messages: dict[int, tuple[Payload, int]] = {}

    def text(self, text: str) -> int:
        """Tokens of a text. Long ones cost a little more: tokenizers cut them in slices, each in its own way."""
        if not text:
            return 0
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._count(text) + (len(text) // 4_000 + 1 if len(text) > LONG_TEXT_CHARS else 0)
        return known

    def content(self, content: object) -> int:
        """Tokens of a content: a text, a list of parts, or nothing."""
        if isinstance(content, str):
            return self.text(content)
        return sum(self.part(part) + 1 for part in content) if isinstance(content, list | tuple) else 0

    def part(self, part: Mapping[str, Any]) -> int:
        """Tokens of one part: its type says how it is counted, whatever fields it has."""
        if part.get("type") == "text":
            return self.text(str(part.get("text") or ""))
        least = PART_TOKENS
        if part.get("type") in IMAGES:
            least = SMALL_IMAGE_TOKENS if detail(part) == "low" else IMAGE_TOKENS
        return max(least, self.text(as_json(part)))

    def call(self, call: Mapping[str, Any]) -> int:
        """Tokens of one tool call."""
        function = call.get("function") or {}
        texts = (call.get("id"), function.get("name"), function.get("arguments"))
        return CALL_TOKENS + sum(self.text(str(text or "")) for text in texts)

    def message(self, payload: Payload) -> int:
        """Tokens of one message; payloads are not changed, so each is counted once."""
        known = self._messages.get(id(payload))
        if known is None:
            known = self._messages[id(payload)] = (payload, self._message(payload))
        return known[1]

    def _message(self, payload: Payload) -> int:
        name = payload.get("name")
        return (
            MESSAGE_TOKENS
            + self.content(payload.get("content"))
            + (self.text(str(name)) + NAME_TOKENS if name else 0)
            + sum(self.call(call) for call in payload.get("tool_calls") or ())
            + self.text(str(payload.get("tool_call_id") or ""))
        )

    def messages(self, payloads: Iterable[Payload]) -> int:
        """Tokens of some messages, without the prompt's own."""
        return sum(self.message(payload) for payload in payloads)

    def prompt(self, payloads: Iterable[Payload]) -> int:
        """Tokens of a whole prompt."""
        return self.messages(payloads) + PROMPT_TOKENS

    def within(self, payloads: Iterable[Payload], limit_tokens: int) -> int | None:
        """Tokens of some messages, or None if they are more than a limit. Texts far over it are not counted whole."""
        total = 0
        for payload in payloads:
            known = id(payload) in self._messages
            if not known and not all(fits(text, limit_tokens, self.text) for text in texts(payload)):
                return None
            total += self.message(payload)
            if total > limit_tokens:
                return None
        return total


def texts(payload: Payload) -> Iterator[str]:
    """The texts of a message that may be long: content, parts and arguments."""
    content = payload.get("content")
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list | tuple) else ():
        yield str(part.get("text") or "") if part.get("type") == "text" else as_json(part)
    for call in payload.get("tool_calls") or ():
        yield str((call.get("function") or {}).get("arguments") or "")


def detail(part: Mapping[str, Any]) -> object:
    """The detail asked for an image, wherever its dialect puts it."""
    inner = part.get("image_url")
    return part.get("detail") or (inner.get("detail") if isinstance(inner, Mapping) else None)


def as_json(value: object) -> str:
    """A part as JSON, without the bytes of a picture: its price is a fixed one."""
    return json.dumps(without_picture(value), ensure_ascii=False, default=str)


def without_picture(value: object) -> object:
    """The value with nothing in place of a picture's data URL, or of the data beside its type."""
    if isinstance(value, Mapping):
        picture = str(value.get("media_type") or "").startswith("image/")
        return {name: "" if picture and name == "data" else without_picture(item) for name, item in value.items()}
    return PICTURE if isinstance(value, str) and value.startswith(PICTURE) else value
