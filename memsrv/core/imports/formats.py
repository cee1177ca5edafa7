"""The values of an export as conversations, whichever program wrote it.

A value tells by its content what it is. Messages that stand by themselves, a line or an item each, belong to one
conversation; they are given out in parts, so that none has to be held whole.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from memsrv.core.imports import chatbotui, chatgpt, claude, grok, librechat, openai, openwebui, own, sillytavern
from memsrv.core.imports.drafts import Conversation, Gathering, Skipped
from memsrv.core.imports.splitting import Unreadable, Value

PART_MESSAGES = 500
DERIVED = "h_"
UNKNOWN = "no conversation of a known format"
FORMATS = (chatgpt, claude, grok, openwebui, librechat, chatbotui, openai)
"""In the order in which they are asked."""


class Lines(Protocol):
    """A conversation whose messages come one by one."""

    gathering: Gathering

    def add(self, data: Any, place: str) -> None:
        """One message."""
        ...


def conversations(values: Iterable[Value | Unreadable], *, branches: bool = False) -> Iterator[Conversation | Skipped]:
    """The conversations of an export in its order, and what belongs to none. With `branches` the branches that the app does
    not show are conversations too; without, what stands on them is skipped."""
    reader = Reader(branches=branches)
    for value in values:
        yield from reader.read(value)
    yield from reader.end()


class Reader:
    """Reads values one after the other."""

    def __init__(self, *, branches: bool):
        self._branches = branches
        self._lines: Lines | None = None
        self._parts = 0
        self._derived: Counter[tuple[str, str]] = Counter()

    def read(self, value: Value | Unreadable) -> Iterator[Conversation | Skipped]:
        """What a value completes."""
        if isinstance(value, Unreadable):
            if self._lines:
                self._lines.gathering.skip(value.why, value.place)
            else:
                yield Skipped(value.why, value.place)
        elif (begun := beginning(value.data, self._lines)) is not None:
            yield from self.end()
            self._lines = begun
            if not is_head(value.data):
                begun.add(value.data, value.place)
        elif self._lines and (belongs(value.data) or isinstance(self._lines, own.Lines)):
            self._lines.add(value.data, value.place)
            if len(self._lines.gathering.drafts) >= PART_MESSAGES:
                yield self._part(self._lines)
        else:
            yield from self.end()
            yield from self._whole(value)

    def end(self) -> Iterator[Conversation]:
        """The messages that came one by one have an end."""
        if isinstance(self._lines, own.Lines):
            self._lines.end()
        if self._lines and (not self._parts or self._lines.gathering.drafts or self._lines.gathering.skipped):
            yield self._part(self._lines)
        self._lines, self._parts = None, 0

    def _part(self, lines: Lines) -> Conversation:
        found = lines.gathering.take()
        if not self._parts:
            found = self._distinct(found)
            lines.gathering.id = found.id
        self._parts += 1
        return replace(found, state=lines.state) if isinstance(lines, own.Lines) else found

    def _whole(self, value: Value) -> Iterator[Conversation | Skipped]:
        """A value that is a conversation by itself."""
        reading = format_of(value.data)
        if reading is None:
            yield Skipped(UNKNOWN, value.place)
            return
        named: dict[str, str] = {}
        for found in reading.read(value.data, branches=self._branches):
            if not found.branch:
                named[found.id] = self._distinct(found).id
            yield replace(found, id=named.get(found.id, found.id))

    def _distinct(self, found: Conversation) -> Conversation:
        """Conversations without ids that begin alike are told apart by their order."""
        if not found.id.startswith(DERIVED):
            return found
        self._derived[found.source, found.id] += 1
        nth = self._derived[found.source, found.id]
        return found if nth == 1 else replace(found, id=f"{found.id}-{nth}")


def beginning(data: Any, lines: Lines | None) -> Lines | None:
    """The lines that a value begins: a header always does, a message where no lines are open that it can belong to."""
    if not isinstance(data, dict):
        return None
    if own.is_header(data):
        return own.Lines(data)
    if sillytavern.is_header(data):
        return sillytavern.Lines(data)
    if lines is None and sillytavern.is_line(data):
        return sillytavern.Lines({})
    return openai.Lines({}) if lines is None and openai.is_message(data) else None


def is_head(data: Any) -> bool:
    return own.is_header(data) or sillytavern.is_header(data)


def belongs(data: Any) -> bool:
    """Whether a value is a message that stands by itself."""
    return isinstance(data, dict) and (sillytavern.is_line(data) or openai.is_message(data))


def format_of(data: Any) -> Any:
    """The module that reads a value, None if there is none."""
    if isinstance(data, list):
        return openai if openai.is_conversation(data) else None
    return next((one for one in FORMATS if one.is_conversation(data)), None) if isinstance(data, dict) else None
