"""What does the proxy add to the upstream's own time, the embedding of the query aside?

    python -m bench.relay [--requests 200] [--messages 600] [--pause-ms 0]

A server whose embedder costs nothing (`bench.standin`), in front of an upstream that answers at once. One client talks on in a
session of so many messages, and sends its last twenty messages with every request, as chat front ends do; another asks
the upstream itself. Told are both, whole and as streams, and what is between them. With `--pause-ms` the client thinks before
each request, as people do; without, the server indexes and summarises what was just said while the next request comes.
"""

import argparse
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from bench.machine import STANDIN, milliseconds, percentiles, server, show
from bench.talk import Talk

HISTORY = 20
ANSWER = "That was settled in the second week: the bus, because the train does not go on Sundays."


class Upstream(BaseHTTPRequestHandler):
    """Answers every chat completion with the same words."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = {"role": "assistant", "content": ANSWER}
        if asked.get("stream"):
            pieces = [{"delta": said, "index": 0, "finish_reason": None}, {"delta": {}, "index": 0, "finish_reason": "stop"}]
            events = [f"data: {json.dumps({'choices': [piece]})}\n\n" for piece in pieces]
            self.answer("text/event-stream", "".join([*events, "data: [DONE]\n\n"]))
        else:
            self.answer("application/json", json.dumps({"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}))

    def answer(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


@contextmanager
def upstream() -> Iterator[str]:
    """Its base URL, while it runs."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_address[1]}/v1"
    listening.shutdown()
    listening.server_close()


def talked(
    http: httpx.Client, session: str, said: list[dict[str, Any]], requests: int, *, stream: bool, pause_s: float = 0.0
) -> list[float]:
    """Milliseconds of each request of a client that talks on."""
    talk, headers, spent = Talk(seed=7 + stream), {"x-memory-session": session}, []
    for _ in range(requests):
        time.sleep(pause_s)
        said.append({"role": "user", "content": talk.question()})
        body = {"model": "toy", "messages": said[-HISTORY:], "stream": stream}
        spent.append(milliseconds(lambda b=body: http.post("/v1/chat/completions", json=b, headers=headers).raise_for_status()))
        said.append({"role": "assistant", "content": ANSWER})
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--messages", type=int, default=600)
    parser.add_argument("--pause-ms", type=float, default=0)
    options = parser.parse_args()
    rows: list[list[object]] = []
    with upstream() as url, server(STANDIN, MEMSRV_UPSTREAM_URL=url) as running, httpx.Client(base_url=url[:-3]) as direct:
        said = [{name: message[name] for name in ("role", "content")} for message in Talk().messages(options.messages)]
        running.http.post("/context/talk/messages", json={"messages": said}).raise_for_status()
        running.indexed("talk")
        for stream in (False, True):
            alone = percentiles(talked(direct, "none", list(said), options.requests, stream=stream))
            through = percentiles(
                talked(running.http, "talk", said, options.requests, stream=stream, pause_s=options.pause_ms / 1000)
            )
            kind = "stream" if stream else "whole"
            rows += [[f"{kind}, the upstream alone", *alone.values(), ""]]
            rows += [[f"{kind}, through memsrv", *through.values(), through["p50"] - alone["p50"]]]
    show(f"a chat completion in a session of {options.messages:,} messages", ("", "p50 ms", "p95 ms", "p99 ms", "added ms"), rows)


if __name__ == "__main__":
    main()
