"""memsrv's own JSON Lines: for each session a line with its state, then a message a line.

    {"memsrv": 1, "session": "anna", "owner": null, "settings": {}, "meta": {}, "pins": [], "messages": 2}
    {"id": "m-1", "position": 1, "role": "user", "content": "Hello", "sent_at": "2026-03-01T09:30:00Z", "metadata": null}

Messages are taken as they are: also empty ones, and nothing is added to their metadata. Where some were deleted while the export
was written, a last line says so, for fewer follow than the state's line counts: {"deleted_meanwhile": 1}.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memsrv.core.imports.drafts import NOT_A_MESSAGE, UNFIT, Gathering, State, draft_of, is_name
from memsrv.core.imports.fields import mapping, text
from memsrv.core.imports.moments import moment_of
from memsrv.core.prompt.receipts import written
from memsrv.core.text.content import mended_text
from memsrv.model import Draft, Message, Meta, Pin, Session

SOURCE = "memsrv"
VERSION = 1
META_FIELDS = ("system_prompt", "profile", "goal", "task_state")
DELETED = "deleted_meanwhile"
NEWER = "of a newer memsrv"
BROKEN_OFF = "missing: the export was cut off"

Raw = Mapping[str, Any]


def is_header(data: Raw) -> bool:
    return isinstance(data.get("memsrv"), int)


class Lines:
    """A session's messages, line by line."""

    def __init__(self, header: Raw):
        pins, count = header.get("pins"), header.get("messages")
        self.state = State(
            owner=text(header.get("owner")) or None,
            settings=mapping(header.get("settings")),
            meta=mapping(header["meta"]) if "meta" in header else None,
            pins=pins if isinstance(pins, list) else (),
            messages=count if isinstance(count, int) else None,
        )
        self.gathering = Gathering(SOURCE, mended_text(text(header.get("session"))))
        self._is_newer = header["memsrv"] > VERSION
        self._seen = 0

    def add(self, data: Any, place: str) -> None:
        """One message, or the line that says how many are none any more."""
        if isinstance(data, dict) and isinstance(gone := data.get(DELETED), int):
            self._seen += gone
            return
        self._seen += 1
        if self._is_newer or not isinstance(data, dict) or "role" not in data:
            self.gathering.skip(NEWER if self._is_newer else NOT_A_MESSAGE, place)
            return
        id, metadata = data.get("id"), data.get("metadata")
        if (id is None or (isinstance(id, str) and is_name(id))) and isinstance(metadata, dict | None):
            draft = draft_of(data, id=id, sent_at=moment_of(data.get("sent_at")), metadata=metadata)
            if draft is not None:
                named = replace(draft, id=id or self.gathering.derived(draft.payload, draft.sent_at))
                self.gathering.drafts.append(named)
                return
        self.gathering.skip(UNFIT, place)

    def end(self) -> None:
        """The session ends: note if its export had more messages."""
        if self.state.messages is not None and self._seen < self.state.messages:
            self.gathering.skip(BROKEN_OFF, f"{self._seen} of {self.state.messages} messages")


# --- writing ----------------------------------------------------------------------------------------------------------


def header_line(name: str, state: State) -> bytes:
    """The line that a session begins with."""
    head = {"memsrv": VERSION, "session": name, "owner": state.owner, "settings": state.settings, "meta": state.meta}
    head |= {"pins": list(state.pins), "messages": state.messages}
    return line({name: value for name, value in head.items() if value is not None})


def state_of(session: Session, pins: Iterable[Pin], messages: int) -> State:
    """What is exported of a session beside its messages."""
    meta = {name: value for name in META_FIELDS if (value := getattr(session.meta, name)) is not None}
    listed = [{"text": pin.text, "kind": pin.kind} for pin in pins]
    return State(session.owner, session.settings, meta | dict(session.meta.extra), listed, messages)


def meta_of(meta: Raw) -> Meta:
    """The meta of an exported session."""
    own = {name: text(meta.get(name)) or None for name in META_FIELDS}
    return Meta(**own, extra={name: value for name, value in meta.items() if name not in META_FIELDS})


def message_line(message: Message) -> bytes:
    """A stored message as a line."""
    own = {"id": message.id, "position": message.position}
    return line(own | dict(message.payload) | {"sent_at": written(message.sent_at), "metadata": message.metadata})


def deleted_line(count: int) -> bytes:
    """The last line of an export in whose midst messages were deleted."""
    return line({DELETED: count})


def draft_line(draft: Draft) -> bytes:
    """A draft as a line."""
    own = {"id": draft.id, "sent_at": written(draft.sent_at) if draft.sent_at else None, "metadata": draft.metadata}
    return line({name: value for name, value in own.items() if value is not None} | dict(draft.payload))


def line(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
