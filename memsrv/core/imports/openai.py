"""Messages in OpenAI's shape: `{"messages": [...]}`, a list of messages, or a message a line."""

from collections.abc import Iterator, Mapping
from typing import Any

from memsrv.core.imports.drafts import NO_CALL, NOT_A_MESSAGE, Conversation, Gathering, call_of, is_part
from memsrv.core.imports.fields import first, mapping, objects, text
from memsrv.core.imports.moments import moment_of

SOURCE = "openai"
ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "gpt": "assistant", "model": "assistant", "function": "tool"}
TIMES = ("sent_at", "timestamp", "created_at", "createdAt", "create_time", "created", "date", "time")
KEPT = ("refusal", "reasoning_content", "reasoning", "audio", "annotations")

Raw = Mapping[str, Any]


def is_message(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("role"), str) and "messages" not in data


def is_conversation(data: Any) -> bool:
    """An object with messages, or a list of them."""
    listed = data.get("messages") if isinstance(data, dict) else data
    return isinstance(listed, list) and any(map(is_message, listed))


def read(data: Any, *, branches: bool = False) -> Iterator[Conversation]:
    """The conversation; it has no branches."""
    lines = Lines(data if isinstance(data, dict) else {})
    for place, message in enumerate(data["messages"] if isinstance(data, dict) else data, start=1):
        lines.add(message, f"message {place}")
    yield lines.gathering.take()


class Lines:
    """The messages of a conversation, one after the other; `about` is what stands around them."""

    def __init__(self, about: Raw):
        began = next((at for name in TIMES if (at := moment_of(about.get(name)))), None)
        self.gathering = Gathering(
            SOURCE, first(about, "id", "conversation_id", "session_id", "session"), first(about, "title", "name"), began
        )
        self._open: list[str] = []
        self._made = 0

    def add(self, data: Any, place: str) -> None:
        """One message."""
        if not is_message(data):
            self.gathering.skip(NOT_A_MESSAGE, place)
            return
        role = ROLES.get(data["role"].lower(), data["role"].lower())
        answers = self._answered(data) if role == "tool" else ""
        if role == "tool" and not answers:
            self.gathering.skip(NO_CALL, place)
            return
        self.gathering.say(
            role,
            content_of(data),
            id=data.get("id"),
            at=next((at for name in TIMES if (at := moment_of(data.get(name)))), None),
            metadata=mapping(data.get("metadata")),
            place=place,
            name="" if data["role"] == "function" else first(data, "name"),
            tool_calls=self._called(data) if role == "assistant" else [],
            tool_call_id=answers,
            **{name: data.get(name) for name in KEPT},
        )

    def _called(self, data: Raw) -> list[dict[str, Any]]:
        """The calls of a message, the old `function_call` included. Those without an id are given one."""
        calls = []
        for call in [*objects(data.get("tool_calls")), {"function": mapping(data.get("function_call"))}]:
            called = mapping(call.get("function") or call.get("custom"))
            if name := first(called, "name"):
                self._made += 1
                id = first(call, "id") or f"call_{self._made}"
                calls.append(call_of(id, name, called.get("arguments", called.get("input")) or ""))
        self._open += [call["id"] for call in calls]
        return calls

    def _answered(self, data: Raw) -> str:
        """The call that a result belongs to: the one it names, else the first that is open."""
        named = first(data, "tool_call_id")
        if named in self._open:
            self._open.remove(named)
        return named or (self._open.pop(0) if self._open else "")


def content_of(data: Raw) -> Any:
    """Text, parts, or null; whatever else it is, what it says as text."""
    content = data.get("content")
    if isinstance(content, list):
        parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
        return [part for part in parts if is_part(part)]
    if isinstance(content, str):
        return content
    return first(mapping(content), "text", "value") or text(data.get("text")) or None
