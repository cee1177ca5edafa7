"""Grok's data export: `conversations`, each with a `conversation` and its `responses`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import regex

from memsrv.core.imports.drafts import Conversation, Gathering
from memsrv.core.imports.fields import cut, first, mapping, objects, parent, text, unmarked
from memsrv.core.imports.moments import moment_of
from memsrv.core.imports.trees import Node, stamp, told, tree_of

SOURCE = "grok"
RENDERED = regex.compile(r"(<grok:render)\b[^<>]*>")
USERS = frozenset({"human", "user"})

Raw = Mapping[str, Any]


def is_conversation(data: Raw) -> bool:
    return isinstance(data.get("responses"), list)


def read(data: Raw, *, branches: bool = False) -> Iterator[Conversation]:
    """The conversation, and its other branches."""
    about = mapping(data.get("conversation")) or data
    responses = [mapping(one.get("response")) or one for one in objects(data["responses"])]
    nodes = [
        Node(
            first(one, "_id", "response_id", "responseId", "id") or f"#{place}",
            parent(one.get("parent_response_id")),
            moment_of(one.get("create_time") or one.get("createTime")),
            one,
        )
        for place, one in enumerate(responses)
    ]
    if not any(node.parent for node in nodes):
        nodes.sort(key=lambda node: stamp(node.at))
    named = first(about, "id", "conversation_id", "conversationId")
    gathering = Gathering(SOURCE, named, first(about, "title"), moment_of(about.get("create_time")))
    tree = tree_of(nodes, text(about.get("leaf_response_id")) or None)
    yield from told(tree, partial(Talk, gathering.fresh), branches=branches)


class Talk:
    """One path of a conversation, told."""

    def __init__(self, gathering: Any):
        self.gathering: Gathering = gathering()

    def tell(self, node: Node) -> None:
        """Say a response; files and images are marks."""
        one = node.message
        role = "user" if first(one, "sender").lower() in USERS else "assistant"
        words = [cut(unmarked(first(one, "message", "text", "query")), RENDERED, "</grok:render>")[0]]
        files, images = one.get("file_attachments"), one.get("image_attachments") or one.get("generated_image_urls")
        words += [f"[file {first(file, 'fileName', 'file_name', 'name') or 'without a name'}]" for file in objects(files)]
        words += ["[image]"] * (len(images) if isinstance(images, list) else 0)
        model = first(one, "model") or first(mapping(mapping(one.get("metadata")).get("requestModelDetails")), "modelId")
        self.gathering.say(
            role,
            "\n\n".join(word for word in words if word),
            id=None if node.id.startswith("#") else node.id,
            at=node.at,
            reasoning_content=text(one.get("thinking_trace")) if role == "assistant" else "",
            metadata={"model": model if role == "assistant" else ""},
        )

    def end(self) -> None:
        """Nothing waits."""
