"""Open WebUI's export of chats: a `history` of messages by id with the `currentId` of what is shown, or a list of messages.

Thoughts and calls of tools stand in `output`, or else in `<details>` blocks inside the content.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from html import unescape
from typing import Any

import regex

from memsrv.core.imports.blocks import Blocks
from memsrv.core.imports.drafts import Conversation, Gathering
from memsrv.core.imports.fields import cut, first, mapping, objects, parent, text, unmarked, written
from memsrv.core.imports.moments import moment_of
from memsrv.core.imports.trees import Node, told, tree_of

SOURCE = "openwebui"
DETAILS = regex.compile(r'<details\s[^<>]*?type="(reasoning|tool_calls|code_interpreter)"[^<>]*>')
SUMMARY = regex.compile(r"(<summary>)")

Raw = Mapping[str, Any]


def chat_of(data: Raw) -> Raw:
    """The chat inside its record, or the chat itself."""
    inner = data.get("chat")
    return inner if isinstance(inner, dict) else data


def is_conversation(data: Raw) -> bool:
    chat = chat_of(data)
    if isinstance(mapping(chat.get("history")).get("messages"), dict):
        return True
    return chat is not data and isinstance(chat.get("messages"), list)


def read(data: Raw, *, branches: bool = False) -> Iterator[Conversation]:
    """The conversation, and its other branches."""
    chat = chat_of(data)
    history = mapping(chat.get("history"))
    by_id = mapping(history.get("messages"))
    listed = [(first(message, "id") or f"#{place}", message) for place, message in enumerate(objects(chat.get("messages")))]
    nodes = [
        Node(id, parent(message.get("parentId")), moment_of(message.get("timestamp")), message)
        for id, message in (by_id.items() or listed)
        if isinstance(message, dict)
    ]
    began = moment_of(data.get("created_at")) or moment_of(chat.get("timestamp"))
    named = first(data, "id") or first(chat, "id") or (nodes[0].id if by_id and nodes else "")
    gathering = Gathering(SOURCE, named, first(chat, "title") or first(data, "title"), began)
    prompt = first(mapping(chat.get("params")), "system") or first(chat, "system")
    tree = tree_of(nodes, text(history.get("currentId")) or None)
    yield from told(tree, partial(Talk, gathering.fresh, prompt), branches=branches)


class Talk:
    """One path of a conversation, told."""

    def __init__(self, gathering: Any, prompt: str):
        self.gathering: Gathering = gathering()
        if prompt:
            self.gathering.say("system", prompt)

    def tell(self, node: Node) -> None:
        """Say a message: what its `output` tells, or its content."""
        message = node.message
        id = None if node.id.startswith("#") else node.id
        blocks = Blocks(self.gathering, first(message, "role"), id, node.at, first(message, "model"))
        for item in objects(message.get("output")):
            tell_output(blocks, item)
        if blocks.is_blank():
            words, details = cut(written(message.get("content")), DETAILS, "</details>")
            for kind, inside in details:
                if kind == "reasoning":
                    blocks.thought(unescape(cut(inside, SUMMARY, "</summary>")[0]).strip())
            blocks.text(unmarked(words.strip() if details else words))
        for file in objects(message.get("files")):
            kind, name = first(file, "type"), first(file, "name") or first(mapping(file.get("file")), "filename")
            blocks.text("[image]" if kind == "image" else f"[file {name or 'without a name'}]")
        blocks.end()

    def end(self) -> None:
        """Nothing waits."""


def tell_output(blocks: Blocks, item: Raw) -> None:
    """One item of an answer's output."""
    kind = first(item, "type")
    if kind == "reasoning":
        blocks.thought(written(item.get("content")))
    elif kind == "function_call":
        blocks.call(first(item, "call_id", "id"), first(item, "name"), item.get("arguments") or "")
    elif kind == "function_call_output":
        blocks.result(first(item, "call_id"), written(item.get("output")))
    elif kind == "message":
        blocks.text(unmarked(written(item.get("content"))))
