"""ChatGPT's data export: `conversations.json`, each conversation a `mapping` of nodes and the `current_node` of what is shown.

What a user and the model said is kept, calls of tools with what they answered as one result for each call, and thoughts as
the reasoning of the answer after them. Hidden messages, blank ones and the app's own notes are skipped.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import regex

from memsrv.core.imports.drafts import HIDDEN, NO_ANSWER, NO_CALL, NOTE, Conversation, Gathering, call_of
from memsrv.core.imports.fields import first, mapping, objects, parent, text, unmarked
from memsrv.core.imports.moments import moment_of
from memsrv.core.imports.trees import Node, told, tree_of

SOURCE = "chatgpt"
EVERYONE = ("", "all", "user")
NOTES = frozenset({"reasoning_recap"})
CONTEXTS = frozenset({"user_editable_context", "model_editable_context"})
MOST_CITATIONS = 50
QUOTED = regex.compile("【[^【】]{0,200}†[^【】]{0,200}】")
"""Marks a citation in older exports."""

Raw = Mapping[str, Any]


def is_conversation(data: Raw) -> bool:
    return isinstance(data.get("mapping"), dict)


def read(data: Raw, *, branches: bool = False) -> Iterator[Conversation]:
    """The conversation, and its other branches."""
    nodes = [
        Node(id, parent(node.get("parent")), moment_of(mapping(node.get("message")).get("create_time")), node.get("message"))
        for id, node in mapping(data["mapping"]).items()
        if isinstance(node, dict)
    ]
    named = first(data, "conversation_id", "id")
    began = moment_of(data.get("create_time"))
    tree = tree_of(nodes, text(data.get("current_node")) or None)
    yield from told(tree, partial(Talk, Gathering(SOURCE, named, first(data, "title", "name"), began).fresh), branches=branches)


class Talk:
    """One path of a conversation, told."""

    def __init__(self, gathering: Any):
        self.gathering = gathering()
        self._thoughts: list[str] = []
        self._calls: dict[str, str] = {}
        self._results: list[tuple[str, Node, str]] = []

    def tell(self, node: Node) -> None:
        """Say the message of a node, or note why not."""
        message = node.message
        if not isinstance(message, dict):
            return  # a root
        content, notes = message.get("content"), mapping(message.get("metadata"))
        kind = text(mapping(content).get("content_type"))
        role = text(mapping(message.get("author")).get("role"))
        if role != "tool":
            self._end_call()
        if role == "user":
            self._end_thoughts()
        if kind == "thoughts":
            self._thoughts += [first(thought, "content", "summary") for thought in objects(mapping(content).get("thoughts"))]
        elif kind in NOTES:
            self.gathering.skip(NOTE, node.id)
        elif kind in CONTEXTS or notes.get("is_visually_hidden_from_conversation") is True:
            self.gathering.skip(HIDDEN, node.id)
        elif role == "tool":
            self._answer(node, text(mapping(message.get("author")).get("name")), said(content, notes))
        elif role == "assistant" and text(message.get("recipient")) not in EVERYONE:
            self._call(node, text(message.get("recipient")), said(content, notes))
        else:
            self._say(node, role, said(content, notes), notes)

    def end(self) -> None:
        """Say what waits."""
        self._end_call()
        self._end_thoughts()

    def _end_thoughts(self) -> None:
        """Thoughts that no answer came of belong to none."""
        if self._thoughts:
            self.gathering.skip(NO_ANSWER)
        self._thoughts = []

    def _end_call(self) -> None:
        """Say the results of the call before, as one."""
        if self._results:
            call, node, _ = self._results[0]
            self.gathering.say("tool", "\n\n".join(one[2] for one in self._results), id=node.id, at=node.at, tool_call_id=call)
            self._results = []

    def _say(self, node: Node, role: str, words: str, notes: Raw) -> None:
        metadata = {"model": text(notes.get("model_slug")), "citations": citations(notes), "attachments": attached(notes)}
        thoughts = "\n\n".join(self._thoughts) if role == "assistant" else ""
        words = unmarked(QUOTED.sub("", words) if role == "assistant" else words)
        if self.gathering.say(role, words, id=node.id, at=node.at, reasoning_content=thoughts, metadata=metadata) and thoughts:
            self._thoughts = []

    def _call(self, node: Node, tool: str, arguments: str) -> None:
        call = call_of(node.id, tool, arguments)
        if self.gathering.say("assistant", None, id=node.id, at=node.at, tool_calls=[call]):
            self._calls[tool] = call["id"]

    def _answer(self, node: Node, tool: str, words: str) -> None:
        """A result belongs to the open call of its tool; those that follow it without another message, to the same call."""
        if self._results and tool not in self._calls:
            self._results.append((self._results[0][0], node, words))
            return
        self._end_call()
        if tool not in self._calls and len(self._calls) == 1:
            tool = next(iter(self._calls))
        call = self._calls.pop(tool, None)
        if call is None:
            self.gathering.skip(NO_CALL, node.id)
        else:
            self._results.append((call, node, words))


def said(content: Any, notes: Raw) -> str:
    """What a message says as text, with a mark for each image, recording and file."""
    if isinstance(content, str):
        return content
    raw = mapping(content)
    parts = raw.get("parts")
    words = [part_text(part) for part in parts] if isinstance(parts, list) else []
    if raw.get("content_type") == "tether_quote":
        words = [first(raw, "title"), first(raw, "url")]
    words.append(first(raw, "text", "result", "content"))
    files = [one for one in objects(notes.get("attachments")) if not text(one.get("mime_type")).startswith("image/")]
    words += [f"[file {name}]" for one in files if (name := first(one, "name"))]
    return "\n".join(word for word in words if word)


def part_text(part: Any) -> str:
    """A part of a message: text, or a mark for what is none."""
    if not isinstance(part, dict):
        return text(part)
    kind = first(part, "content_type", "type")
    if found := first(part, "text"):
        return found
    return "[image]" if "image" in kind else "[recording]" if "audio" in kind or "video" in kind else ""


def citations(notes: Raw) -> list[dict[str, str]]:
    """Title and address of what a message cites, each address once."""
    found: dict[str, dict[str, str]] = {}
    for citation in objects(notes.get("citations")):
        note(found, mapping(citation.get("metadata")))
    for reference in objects(notes.get("content_references")):
        note(found, reference)
        for item in objects(reference.get("items")):
            note(found, item)
    return list(found.values())[:MOST_CITATIONS]


def note(found: dict[str, dict[str, str]], cited: Raw) -> None:
    if url := text(cited.get("url")):
        found.setdefault(url, {"title": text(cited.get("title")), "url": url})


def attached(notes: Raw) -> list[str]:
    """Names of the files that a user added."""
    return [name for one in objects(notes.get("attachments")) if (name := first(one, "name"))]
