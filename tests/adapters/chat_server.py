"""A small chat server on loopback that behaves as it is told."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.loopback import Handling, Loopback

Reply = str | int | bytes | dict[str, Any] | Callable[[dict[str, Any]], Any]
"""A text is what the model says, a number a status, bytes the whole body, a dict the fields of the choice and `usage`; a
function makes one of these from the request."""


class ChatServer(Loopback):
    """Answers `script` reply by reply, then `otherwise`. Keeps what it was sent."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.otherwise: Reply = "Goal: to plan a trip"
        self.headers: dict[str, str] = {}
        self.delay_s = 0.0
        self.drop = 0
        self.requests: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        super().__init__(self._handler())

    def said(self, number: int = -1) -> str:
        """All that a request told the model, as one text."""
        return "\n\n".join(message["content"] for message in self.requests[number]["messages"])

    def answer(self, path: str, request: dict[str, Any]) -> tuple[int, bytes]:
        with self.lock:
            self.requests.append(request)
            reply = self.script.pop(0) if self.script else self.otherwise
        if path != "/v1/chat/completions":
            return 404, b"{}"
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, bytes):
            return 200, reply
        if isinstance(reply, int):
            return reply, json.dumps({"error": {"message": f"no: {request}"}}).encode()
        if isinstance(reply, dict) and "status" in reply:
            return reply["status"], json.dumps({"error": {"message": reply["said"]}}).encode()
        return 200, json.dumps(completion(reply)).encode()

    def _handler(self) -> type[Handling]:
        server = self

        class Handler(Handling):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                with server.lock:
                    server.seen.append({name.lower(): value for name, value in self.headers.items()})
                    server.at_once += 1
                    server.most_at_once = max(server.most_at_once, server.at_once)
                    dropped, server.drop = server.drop > 0, server.drop - 1
                try:
                    request = self.asked()
                    time.sleep(server.delay_s)
                    self.close_connection = True
                    if not dropped:
                        status, body = server.answer(self.path, request)
                        self.whole(status, body, server.headers | {"connection": "close"})
                finally:
                    with server.lock:
                        server.at_once -= 1

        return Handler


def completion(reply: str | dict[str, Any]) -> dict[str, Any]:
    """A chat completion with one choice."""
    fields = {"content": reply} if isinstance(reply, str) else dict(reply)
    usage = fields.pop("usage", {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150})
    reason = fields.pop("finish_reason", "stop")
    message = {"role": "assistant", "content": None} | fields
    return {"id": "c1", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]} | (
        {"usage": usage} if usage is not None else {}
    )
