"""A scripted OpenAI-compatible server on loopback, streaming too, for what stands in front of one."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Handling, Loopback

USAGE = {"prompt_tokens": 40, "completion_tokens": 5, "total_tokens": 45}
WAIT_S = 30


@dataclass
class Say:
    """An answer. `pieces` are what a stream brings one by one (texts, whole deltas, or bytes as they are); a function among them
    is called in its place, and `DIE` breaks the connection there. `more` are messages of further choices."""

    pieces: Sequence[Any] = ("Hello", " there.")
    message: dict[str, Any] = field(default_factory=dict)
    more: Sequence[str] = ()
    finish_reason: str = "stop"
    usage: dict[str, int] | None = field(default_factory=lambda: dict(USAGE))


@dataclass
class Refuse:
    """An error, with its body and headers."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


DIE = object()


class UpstreamServer(Loopback):
    """Answers `script` reply by reply, then `otherwise`. Keeps what it was sent; `gone` is set when a client left mid-stream."""

    def __init__(self) -> None:
        self.script: list[Say | Refuse] = []
        self.otherwise: Callable[[dict[str, Any]], Say | Refuse] = lambda request: Say()
        self.requests: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []
        self.models = [{"id": "small", "object": "model"}]
        self.gone = threading.Event()
        self.lock = threading.Lock()
        super().__init__(self._handler())

    def prompt(self, number: int = -1) -> list[tuple[str, Any]]:
        """Role and content of what a request sent as messages, without system messages."""
        return [(m["role"], m["content"]) for m in self.requests[number]["messages"] if m["role"] != "system"]

    def system(self, number: int = -1) -> str:
        """What the system messages of a request said."""
        return "\n\n".join(m["content"] for m in self.requests[number]["messages"] if m["role"] == "system")

    def taken(self, request: dict[str, Any]) -> Say | Refuse:
        with self.lock:
            self.requests.append(request)
            return self.script.pop(0) if self.script else self.otherwise(request)

    def _handler(self) -> type[Handling]:
        server = self

        class Handler(Handling):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.told(200, {"object": "list", "data": server.models}, {})

            def do_POST(self) -> None:
                server.seen.append({name.lower(): value for name, value in self.headers.items()})
                request = self.asked()
                reply = server.taken(request)
                if isinstance(reply, Refuse):
                    self.told(reply.status, reply.body, reply.headers)
                elif request.get("stream"):
                    self.stream(reply, request)
                else:
                    self.answer(reply)

            def answer(self, reply: Say) -> None:
                for piece in reply.pieces:
                    if piece is DIE:
                        return self.die()
                    if callable(piece):
                        piece()
                self.told(200, completion(reply), {"x-ratelimit-remaining-requests": "59"})

            def told(self, status: int, body: Any, headers: dict[str, str]) -> None:
                self.whole(status, json.dumps(body).encode(), headers | {"content-type": "application/json"})

            def stream(self, reply: Say, request: dict[str, Any]) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream; charset=utf-8")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                try:
                    for event in events(reply, request):
                        if event is DIE:
                            return self.die()
                        self.chunk(event)
                    self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    self.close_connection = True
                    server.gone.set()

            def chunk(self, event: Any) -> None:
                if callable(event):
                    event()
                    return
                text = event if isinstance(event, str) else json.dumps(event)
                data = event if isinstance(event, bytes) else f"data: {text}\n\n".encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()

            def die(self) -> None:
                """Break the connection off without a word."""
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True

        return Handler


def delta_of(piece: Any) -> dict[str, Any]:
    return {"content": piece} if isinstance(piece, str) else piece


def chunk(delta: dict[str, Any], index: int = 0, finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": [choice]}


def events(reply: Say, request: dict[str, Any]) -> Iterator[Any]:
    """The events of a stream, `[DONE]` included."""
    yield chunk({"role": "assistant", "content": ""})
    for piece in reply.pieces:
        yield piece if piece is DIE or callable(piece) or isinstance(piece, bytes) else chunk(delta_of(piece))
    for index, text in enumerate(reply.more, 1):
        yield chunk({"role": "assistant", "content": text}, index)
    for index in range(len(reply.more) + 1):
        yield chunk({}, index, reply.finish_reason)
    if reply.usage and (request.get("stream_options") or {}).get("include_usage"):
        yield {**chunk({}), "choices": [], "usage": reply.usage}
    yield "[DONE]"


def completion(reply: Say) -> dict[str, Any]:
    """The answer in one piece."""
    text = "".join(piece for piece in reply.pieces if isinstance(piece, str))
    first = {"role": "assistant", "content": text or None} | reply.message
    messages = [first, *({"role": "assistant", "content": one} for one in reply.more)]
    choices = [{"index": n, "message": m, "finish_reason": reply.finish_reason} for n, m in enumerate(messages)]
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "small", "choices": choices, "usage": reply.usage}


def call(id: str, name: str, arguments: str) -> dict[str, Any]:
    """A tool call in OpenAI's shape."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
