"""A message of blocks (text, thoughts, calls, results) as the messages that OpenAI's shape has for it.

The first of them has the id of the source's message, those behind it the same with `#2`, `#3`; a call is followed by its
result, and what is said after that is a message of its own.
"""

from datetime import datetime
from typing import Any

from memsrv.core.imports.drafts import NO_CALL, Gathering, call_of


class Blocks:
    """The blocks of one message, told one after the other."""

    def __init__(self, gathering: Gathering, role: str, id: str | None, at: datetime | None, model: str = ""):
        self._gathering = gathering
        self._role = role
        self._id = id
        self._at = at
        self._model = model
        self._words: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._open: list[str] = []
        self._said = 0

    def is_blank(self) -> bool:
        """Whether nothing was told that is shown."""
        return not (self._said or self._words or self._calls)

    def text(self, words: str) -> None:
        """Something that is said."""
        if self._calls:
            self._flush()
        if words.strip():
            self._words.append(words)

    def on(self, words: str) -> None:
        """What was said last goes on, in the same sentence."""
        if self._words and not self._calls:
            self._words[-1] += words
        else:
            self.text(words)

    def thought(self, words: str) -> None:
        """Something that is thought."""
        if words.strip():
            self._thoughts.append(words)

    def call(self, id: str, name: str, arguments: Any) -> None:
        """A tool is called. Without an id it gets one."""
        call = call_of(id or f"{self._id or 'call'}/{len(self._open) + self._said + 1}", name or "tool", arguments)
        self._calls.append(call)
        self._open.append(call["id"])

    def result(self, id: str, words: str) -> None:
        """A tool answered: the call of this id, or the first that is open."""
        call = id if id in self._open else self._open[0] if self._open and not id else ""
        if not call:
            self._gathering.skip(NO_CALL, self._next() or "")
            return
        self._open.remove(call)
        self._flush()
        self._say("tool", words, tool_call_id=call)

    def end(self) -> None:
        """The message ends; one without anything is noted as skipped."""
        if not self._said or self._words or self._calls:
            self._flush(always=True)

    def _flush(self, *, always: bool = False) -> None:
        """Say what was told so far."""
        if not (self._words or self._calls or always):
            return
        more = {"tool_calls": self._calls, "reasoning_content": "\n\n".join(self._thoughts)}
        self._say(self._role, "\n\n".join(self._words) or (None if self._calls else ""), **more)
        self._words, self._thoughts, self._calls = [], [], []

    def _say(self, role: str, content: Any, **more: Any) -> None:
        metadata = {"model": self._model} if role == "assistant" else None
        self._said += self._gathering.say(role, content, id=self._next(), at=self._at, metadata=metadata, **more)

    def _next(self) -> str | None:
        if self._id is None:
            return None
        return self._id if not self._said else f"{self._id}#{self._said + 1}"
