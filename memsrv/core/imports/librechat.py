"""LibreChat's export of a conversation: messages that name their parents, flat or each with its `children` inside.

The path to the newest message is the shown one. What the app said itself (errors) is skipped.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from memsrv.core.imports.blocks import Blocks
from memsrv.core.imports.drafts import NOTE, Conversation, Gathering
from memsrv.core.imports.fields import first, mapping, objects, parent, text, unmarked
from memsrv.core.imports.moments import moment_of
from memsrv.core.imports.trees import Node, told, tree_of

SOURCE = "librechat"

Raw = Mapping[str, Any]


def is_conversation(data: Raw) -> bool:
    """Whether its messages are LibreChat's."""
    if isinstance(data.get("messagesTree"), list):
        return True
    return any("messageId" in message or "isCreatedByUser" in message for message in objects(data.get("messages")))


def read(data: Raw, *, branches: bool = False) -> Iterator[Conversation]:
    """The conversation, and its other branches."""
    nodes = list(flat(data.get("messagesTree") or data.get("messages")))
    began = nodes[0].at if nodes else None
    gathering = Gathering(SOURCE, first(data, "conversationId"), first(data, "title"), began)
    prompt = first(mapping(data.get("options")), "promptPrefix", "system")
    yield from told(tree_of(nodes), partial(Talk, gathering.fresh, prompt), branches=branches)


def flat(messages: Any) -> Iterator[Node]:
    """The messages, each before its children; a child's parent is the message that it stands in."""
    waiting: list[tuple[Any, str | None]] = [(message, None) for message in reversed(list(objects(messages)))]
    number = 0
    while waiting:
        message, above = waiting.pop()
        number += 1
        id = first(message, "messageId", "id", "_id") or f"#{number}"
        yield Node(id, above or parent(message.get("parentMessageId")), moment_of(message.get("createdAt")), message)
        waiting += [(child, id) for child in reversed(list(objects(message.get("children"))))]


class Talk:
    """One path of a conversation, told."""

    def __init__(self, gathering: Any, prompt: str):
        self.gathering: Gathering = gathering()
        if prompt:
            self.gathering.say("system", prompt)

    def tell(self, node: Node) -> None:
        """Say a message: its text, or its parts."""
        message = node.message
        if message.get("error") is True:
            self.gathering.skip(NOTE, node.id)
            return
        id = None if node.id.startswith("#") else node.id
        blocks = Blocks(self.gathering, role_of(message), id, node.at, first(message, "model"))
        for part in objects(message.get("content")):
            tell_part(blocks, part)
        if blocks.is_blank():
            blocks.text(unmarked(first(message, "text") or text(message.get("content"))))
        for file in objects(message.get("files")):
            blocks.text(f"[file {first(file, 'filename', 'name') or 'without a name'}]")
        blocks.end()

    def end(self) -> None:
        """Nothing waits."""


def role_of(message: Raw) -> str:
    by_user = message.get("isCreatedByUser")
    if isinstance(by_user, bool):
        return "user" if by_user else "assistant"
    return "user" if first(message, "sender", "role").lower() == "user" else "assistant"


def tell_part(blocks: Blocks, part: Raw) -> None:
    """One part of an answer. Those of other kinds say nothing."""
    kind = first(part, "type")
    inner = part.get(kind)
    if kind == "text":
        blocks.text(unmarked(text(inner) or first(mapping(inner), "value")))
    elif kind == "think":
        blocks.thought(text(inner) or first(mapping(inner), "value"))
    elif kind == "tool_call":
        call = mapping(inner)
        id = first(call, "id")
        blocks.call(id, first(call, "name"), call.get("args") or "")
        if output := first(call, "output"):
            blocks.result(id, output)
    elif kind.startswith("image"):
        blocks.text("[image]")
