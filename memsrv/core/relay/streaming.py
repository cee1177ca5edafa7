"""An answer put together from what a provider sends, in one piece or chunk by chunk.

(1) What is gathered is a message in OpenAI's shape: the first choice, its texts joined, its tool calls by their index.
(2) Whatever comes that cannot be read is passed over: it is the client's to judge, and goes on to it unchanged.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memsrv.model import Payload

TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
LONGEST_LINE = 16_000_000


def lines_of(rest: bytes, piece: bytes) -> tuple[bytes, bytes]:
    """What can be sent on of a stream, and the beginning of a line that is still to come: half of one would be nonsense if the
    stream broke off there."""
    data = rest + piece
    end = len(data) if len(data) > LONGEST_LINE else data.rfind(b"\n") + 1
    return data[:end], data[end:]


class Events:
    """Server-sent events, cut out of bytes as they come."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """The `data` of every line that is complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].decode("utf-8", "replace").strip()


@dataclass(slots=True)
class Call:
    """A tool call so far."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def shape(self) -> dict[str, Any]:
        """OpenAI's."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": "".join(self.arguments)}}


class Gathered:
    """The answer so far."""

    def __init__(self) -> None:
        self._events = Events()
        self._texts: dict[str, list[str]] = {}
        self._others: dict[str, Any] = {}
        self._calls: dict[int, Call] = {}
        self.done = False
        self.failed = False
        self.finish_reason = ""
        self.prompt_tokens = 0

    def feed(self, data: bytes) -> None:
        """Take in a piece of a stream."""
        for event in self._events.feed(data):
            if event == "[DONE]":
                self.done = True
            elif isinstance(chunk := read(event), Mapping):
                self._add(chunk, "delta")

    def whole(self, body: bytes) -> None:
        """Take in an answer that came in one piece."""
        if isinstance(answer := read(body), Mapping):
            self._add(answer, "message")
            self.done = self.message is not None

    @property
    def complete(self) -> bool:
        """Whether the answer came to its end."""
        return not self.failed and (self.done or bool(self.finish_reason))

    @property
    def message(self) -> Payload | None:
        """The message, or None while there is nothing in it."""
        said = {name: "".join(pieces) for name, pieces in self._texts.items()} | self._others
        calls = [self._calls[index].shape for index in sorted(self._calls)]
        if not calls and not any(said.values()):
            return None
        return {"role": "assistant", "content": None} | said | ({"tool_calls": calls} if calls else {})

    def _add(self, chunk: Mapping[str, Any], name: str) -> None:
        self.failed = self.failed or bool(chunk.get("error"))
        self.prompt_tokens = counted(chunk.get("usage")) or self.prompt_tokens
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._choice(choice, choice.get(name))

    def _choice(self, choice: Mapping[str, Any], said: Any) -> None:
        self.finish_reason = str(choice.get("finish_reason") or self.finish_reason)
        if not isinstance(said, Mapping):
            return
        for name in TEXTS:
            if isinstance(said.get(name), str):
                self._texts.setdefault(name, []).append(said[name])
        for name in ("audio", "annotations"):
            if said.get(name):
                self._others[name] = said[name]
        calls = said.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                self._call(call)

    def _call(self, piece: Mapping[str, Any]) -> None:
        """A tool call, or a piece of one: the id and the name come once, the arguments in pieces."""
        index = piece.get("index")
        if not isinstance(index, int):
            index = len(self._calls) if piece.get("id") or not self._calls else max(self._calls)
        call = self._calls.setdefault(index, Call())
        call.id = call.id or str(piece.get("id") or "")
        function = piece.get("function")
        if isinstance(function, Mapping):
            call.name = call.name or str(function.get("name") or "")
            arguments = function.get("arguments")
            call.arguments.append(arguments if isinstance(arguments, str) else written(arguments))


def read(text: str | bytes) -> Any:
    """JSON, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def written(arguments: Any) -> str:
    """Arguments that came as an object, as the text they should have been."""
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def counted(usage: Any) -> int:
    """The tokens of the prompt, as a provider tells them; 0 where it does not."""
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens > 0 else 0
