"""Messages of a source as drafts that `POST /context/{session}/messages` would take."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from memsrv.core.text.content import mended, mended_text
from memsrv.model import Draft

ROLES = frozenset({"user", "assistant", "system", "tool", "developer"})
FIELDS = frozenset(
    "role content name tool_calls tool_call_id reasoning_content reasoning refusal audio annotations".split()  # noqa: SIM905
)
LONGEST_NAME = 512
LONGEST_KIND = 64
DEEPEST = 60
"""Levels of a value inside a message: the whole stays below what a request body may have."""
ID_CHARS = 24

EMPTY = "empty"
HIDDEN = "hidden by the app"
ASIDE = "on another branch"
OTHER_ANSWER = "another answer that was not chosen"
NOTE = "a note of the app"
NO_ANSWER = "reasoning without an answer"
NO_CALL = "a tool result without its call"
SAME_ID = "an id that another message has"
NOT_A_MESSAGE = "not a message"
UNFIT = "a message that cannot be stored"


@dataclass(frozen=True, slots=True)
class Skipped:
    """What is not stored: why, and where it stands in its source."""

    why: str
    place: str


@dataclass(frozen=True, slots=True)
class State:
    """What a session has beside its messages, as JSON values; `messages` is how many its export says that it has. A `meta` of
    None is not told."""

    owner: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] | None = None
    pins: Sequence[Any] = ()
    messages: int | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of a source, or a part of a long one: parts have the same `source`, `id` and `branch`, and follow one
    another. `branch` is empty for the path that the app shows. `state` is told only by memsrv's own exports."""

    source: str
    id: str
    title: str
    drafts: tuple[Draft, ...]
    skipped: tuple[Skipped, ...] = ()
    branch: str = ""
    state: State | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of messages. `conflicts` is how many say something else than what is stored under their id, `changed` the ids
    of the first of them."""

    stored: int = 0
    already_there: int = 0
    conflicts: int = 0
    changed: tuple[str, ...] = ()
    too_large: tuple[Skipped, ...] = ()

    def __add__(self, other: "Imported") -> "Imported":
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return Imported(*(one + two for one, two in pairs))


class Gathering:
    """The messages of one conversation, as a source tells them one after the other."""

    def __init__(self, source: str, id: str = "", title: str = "", began: datetime | None = None):
        self.drafts: list[Draft] = []
        self.skipped: list[Skipped] = []
        self.id = id
        self.title = plain(" ".join(title.split()))
        self._source = source
        self._began = self._last_at = began
        self._seen: Counter[str] = Counter()

    def fresh(self) -> "Gathering":
        """An empty gathering of the same conversation."""
        return Gathering(self._source, self.id, self.title, self._began)

    def say(
        self,
        role: str,
        content: Any,
        *,
        id: Any = None,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        place: str = "",
        **more: Any,
    ) -> bool:
        """Add a message; whether it could be. Without a time of its own it has that of the one before. `more` are fields of
        the message; those that are None or empty are left out."""
        payload = {"role": role, "content": content} | {name: value for name, value in more.items() if value}
        where = place or id
        if not says_something(payload):
            return self.skip(EMPTY, where)
        told = {name: value for name, value in ({"title": self.title} | dict(metadata or {})).items() if value}
        draft = draft_of(payload, id=None, sent_at=at or self._last_at, metadata={"source": self._source} | told)
        if draft is None:
            return self.skip(UNFIT, where)
        self._last_at = at or self._last_at
        own = id if isinstance(id, str) and is_name(id) else self.derived(draft.payload, at)
        self.drafts.append(Draft(draft.payload, own, draft.sent_at, draft.metadata))
        return True

    def skip(self, why: str, place: object = "") -> bool:
        """Note what is not stored; always False."""
        self.skipped.append(Skipped(why, plain(str(place or f"message {len(self.drafts) + len(self.skipped) + 1}"))))
        return False

    def take(self, branch: str = "") -> Conversation:
        """What was gathered since the last time."""
        self.id = self.id or self._named()
        found = Conversation(self._source, self.id, self.title, tuple(self.drafts), tuple(self.skipped), branch)
        self.drafts, self.skipped = [], []
        return found

    def derived(self, payload: Mapping[str, Any], at: datetime | None) -> str:
        """The id of a message that has none: a hash of what it says and when, and which of those that are alike it is."""
        same = hashed([payload, at.isoformat() if at else None])
        self._seen[same] += 1
        return f"h_{same}" if self._seen[same] == 1 else f"h_{same}_{self._seen[same]}"

    def _named(self) -> str:
        """The id of a conversation that has none: a hash of how it begins, up to what a user said first."""
        begins: list[Any] = []
        for draft in self.drafts:
            begins.append(draft.payload)
            if draft.payload["role"] == "user":
                break
        return f"h_{hashed(begins)}"


def draft_of(
    payload: Mapping[str, Any], *, id: str | None, sent_at: datetime | None, metadata: Mapping[str, Any] | None
) -> Draft | None:
    """The draft, if the message would be taken; None if not. Strings are mended (see `core.text.content`)."""
    if depth(payload) > DEEPEST or depth(metadata) > DEEPEST:
        return None
    said = {name: value for name, value in mended(payload).items() if name in FIELDS}
    return Draft({"content": None} | said, id, sent_at, None if metadata is None else mended(metadata)) if fits(said) else None


def fits(payload: Mapping[str, Any]) -> bool:
    """Whether a message has the shape that memsrv takes."""
    role, calls = payload.get("role"), payload.get("tool_calls")
    return (
        isinstance(role, str)
        and role in ROLES
        and is_content(payload.get("content"))
        and all(payload.get(name) is None or isinstance(payload[name], str) for name in ("name", "tool_call_id", "refusal"))
        and all(len(payload.get(name) or "") <= LONGEST_NAME for name in ("name", "tool_call_id"))
        and (role != "tool" or bool(payload.get("tool_call_id")))
        and (calls is None or (isinstance(calls, list) and all(map(is_call, calls)) and (not calls or role == "assistant")))
    )


def is_content(content: Any) -> bool:
    """Text, a list of parts, or null."""
    return content is None or isinstance(content, str) or (isinstance(content, list) and all(map(is_part, content)))


def is_part(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and 1 <= len(kind) <= LONGEST_KIND and isinstance(part.get("text"), str | None)


def is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str) or not 1 <= len(call["id"]) <= LONGEST_NAME:
        return False
    called = call.get("function")
    return (
        call.get("type", "function") == "function"
        and isinstance(called, dict)
        and isinstance(called.get("name"), str)
        and isinstance(called.get("arguments", ""), str)
    )


def is_name(value: str) -> bool:
    """Whether a string can be an id or a session's name as it is."""
    return 1 <= len(value) <= LONGEST_NAME and not any(is_control(char) or "\ud800" <= char <= "\udfff" for char in value)


def plain(text: str) -> str:
    """A text that can be shown anywhere: no control characters, no half surrogate pairs, not too long."""
    return mended_text("".join(char for char in text[: 2 * LONGEST_NAME] if not is_control(char)))[:LONGEST_NAME]


def is_control(char: str) -> bool:
    return ord(char) < 32 or 127 <= ord(char) < 160


def call_of(id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call; arguments that are no text are written as JSON."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return {"id": id[:LONGEST_NAME], "type": "function", "function": {"name": name, "arguments": written}}


def says_something(payload: Mapping[str, Any]) -> bool:
    """Whether a message has content, calls a tool, or refuses."""
    content = payload.get("content")
    said = content.strip() if isinstance(content, str) else content
    return bool(said or payload.get("tool_calls") or payload.get("refusal") or payload.get("role") == "tool")


def depth(value: Any) -> int:
    """How many lists and objects stand inside one another, at most DEEPEST + 1."""
    level, deep = [value], 0
    while deep <= DEEPEST:
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            break
        deep += 1
    return deep


def hashed(value: Any) -> str:
    """A short hash of a value."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(canonical.encode()).hexdigest()[:ID_CHARS]
