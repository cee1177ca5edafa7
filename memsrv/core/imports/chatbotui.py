"""chatbot-ui's export: a `history` of conversations, whose messages have neither ids nor times."""

from collections.abc import Iterator, Mapping
from typing import Any

from memsrv.core.imports.drafts import Conversation, Gathering
from memsrv.core.imports.fields import first, mapping, objects, written

SOURCE = "chatbotui"

Raw = Mapping[str, Any]


def is_conversation(data: Raw) -> bool:
    return isinstance(data.get("messages"), list) and isinstance(data.get("prompt"), str) and "folderId" in data


def read(data: Raw, *, branches: bool = False) -> Iterator[Conversation]:
    """The conversation; it has no branches. Its prompt is its system message."""
    gathering = Gathering(SOURCE, first(data, "id"), first(data, "name"))
    model = first(mapping(data.get("model")), "id")
    if prompt := first(data, "prompt"):
        gathering.say("system", prompt)
    for message in objects(data["messages"]):
        role = first(message, "role")
        gathering.say(role, written(message.get("content")), metadata={"model": model} if role == "assistant" else None)
    yield gathering.take()
