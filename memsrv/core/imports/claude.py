"""Claude's data export: conversations with `chat_messages`, each of text or of blocks.

Text is kept, thinking as the reasoning of its answer, calls of tools and their results as messages of their own, the
text of attachments behind the message that they came with. Messages that name their parents are a tree.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from memsrv.core.imports.blocks import Blocks
from memsrv.core.imports.drafts import Conversation, Gathering
from memsrv.core.imports.fields import first, mapping, objects, parent, text, unmarked
from memsrv.core.imports.moments import moment_of
from memsrv.core.imports.trees import Node, told, tree_of

SOURCE = "claude"
SENDERS = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
ALTERNATING = ("user", "assistant")
UNSHOWN = "This block is not supported on your current device yet."

Raw = Mapping[str, Any]


def is_conversation(data: Raw) -> bool:
    return isinstance(data.get("chat_messages"), list)


def read(data: Raw, *, branches: bool = False) -> Iterator[Conversation]:
    """The conversation, and its other branches."""
    nodes = [
        Node(
            first(message, "uuid", "id") or f"#{place}",
            parent(message.get("parent_message_uuid")),
            moment_of(message.get("created_at") or message.get("updated_at")),
            {"role": ALTERNATING[place % 2]} | message,
        )
        for place, message in enumerate(objects(data["chat_messages"]))
    ]
    began = moment_of(data.get("created_at") or data.get("create_time"))
    named = first(data, "uuid", "conversation_id", "id")
    gathering = Gathering(SOURCE, named, first(data, "name", "title"), began)
    tree = tree_of(nodes, text(data.get("current_leaf_message_uuid")) or None)
    yield from told(tree, partial(Talk, gathering.fresh), branches=branches)


class Talk:
    """One path of a conversation, told."""

    def __init__(self, gathering: Any):
        self.gathering = gathering()

    def tell(self, node: Node) -> None:
        """Say the blocks of a message."""
        message = node.message
        sender = text(message.get("sender") or message.get("role")).lower()
        id = None if node.id.startswith("#") else node.id
        blocks = Blocks(self.gathering, SENDERS.get(sender, sender), id, node.at)
        before = ""
        for block in objects(message.get("content")):
            tell_block(blocks, block, before)
            before = first(block, "type")
        if blocks.is_blank():
            blocks.text(unmarked(first(message, "text") or text(message.get("content"))))
        for attachment in objects(message.get("attachments")):
            blocks.text(f"{mark(attachment)}\n{first(attachment, 'extracted_content')}".strip())
        for file in objects(message.get("files")):
            blocks.text(mark(file))
        blocks.end()

    def end(self) -> None:
        """Nothing waits."""


def mark(file: Raw) -> str:
    return f"[file {first(file, 'file_name') or 'without a name'}]"


def tell_block(blocks: Blocks, block: Raw, before: str) -> None:
    """One block of a message, behind one of kind `before`: text is cut where something is cited, in mid-sentence. Blocks of
    other kinds (budgets, flags) say nothing."""
    kind = first(block, "type")
    if kind in ("text", "voice_note", ""):
        words = first(block, "text")
        words = unmarked("" if words.strip("` \n") == UNSHOWN else words)
        (blocks.on if before == "text" else blocks.text)(words)
    elif kind == "thinking":
        blocks.thought(first(block, "thinking", "text"))
    elif kind == "tool_use":
        blocks.call(first(block, "id"), first(block, "name"), block.get("input") or {})
    elif kind == "tool_result":
        blocks.result(first(block, "tool_use_id"), answer(block.get("content")))
    elif kind in ("image", "document"):
        blocks.text(f"[{kind}]")


def answer(content: Any) -> str:
    """What a tool answered, as text."""
    if isinstance(content, str):
        return content
    parts = [first(part, "text", "title", "url") or f"[{first(part, 'type') or 'part'}]" for part in objects(content)]
    return "\n".join(parts) or first(mapping(content), "text")
