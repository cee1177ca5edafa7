"""How long until a POST of one message is acknowledged while indexing runs at full speed, and how busy is the embedder kept?

    python -m bench.writes [--backlog 2000] [--posts 200] [--plot writes.svg]

A real server with the bundled embedder. A backlog of messages is posted, and while it is indexed single messages are posted
one after the other to another session. Then the same number of messages is posted again and indexed with nothing beside it:
its rate against the raw embedder's, which embeds the very same texts in this process, is the share of time for which the
embedder is kept busy.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from bench.machine import SERVER, Server, bars, milliseconds, percentiles, server, show
from bench.talk import Talk
from memsrv.adapters.embedder_bundled import BundledEmbedder
from memsrv.core.recall.view import passage
from memsrv.model import PendingChunk, Said
from memsrv.services.ingest import prepare

BATCH = 500


def post(running: Server, session: str, messages: list[dict[str, object]]) -> None:
    """A backlog, in batches."""
    for start in range(0, len(messages), BATCH):
        body = {"messages": messages[start : start + BATCH]}
        running.http.post(f"/context/{session}/messages", json=body).raise_for_status()


def passages(messages: list[dict[str, object]]) -> list[str]:
    """The texts that the indexer embeds for these messages."""
    from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
    from memsrv.model import Draft

    analyzer, texts, before = SnowballAnalyzer(), [], None
    for number, message in enumerate(messages):
        for chunk in prepare(Draft(payload=message), analyzer).chunks:
            said = Said(str(message["role"]), chunk.text)
            texts.append(passage(PendingChunk(number, 1, number, "bench", said, before)))
            before = said
    return sorted(texts, key=len)


def raw_rate(texts: list[str]) -> float:
    """Texts a second that the embedder alone makes into vectors, with nothing beside it."""

    async def embed() -> float:
        with tempfile.TemporaryDirectory() as folder:
            embedder = BundledEmbedder.open(Path(folder))
            await embedder.passages(texts[:32])
            began = time.perf_counter()
            for start in range(0, len(texts), 32):
                await embedder.passages(texts[start : start + 32])
            spent = time.perf_counter() - began
            await embedder.close()
            return len(texts) / spent

    return asyncio.run(embed())


def query_ms() -> float:
    """Milliseconds for one query embedding, the median."""

    async def embed() -> float:
        talk = Talk(7)
        with tempfile.TemporaryDirectory() as folder:
            embedder = BundledEmbedder.open(Path(folder))
            spent = []
            for _ in range(50):
                question, began = talk.question(), time.perf_counter()
                await embedder.query(question)
                spent.append((time.perf_counter() - began) * 1000)
            await embedder.close()
            return sorted(spent)[len(spent) // 2]

    return asyncio.run(embed())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backlog", type=int, default=2000, help="messages that are being indexed meanwhile")
    parser.add_argument("--posts", type=int, default=200)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    talk = Talk()
    messages, others = list(talk.messages(options.backlog)), list(talk.messages(options.backlog))
    with server(SERVER) as running:
        post(running, "backlog", messages)
        spent = [
            milliseconds(lambda one=one: running.http.post("/context/live/messages", json=one).raise_for_status())
            for one in talk.messages(options.posts)
        ]
        assert running.http.get("/context/backlog").json()["pending_index"], "the backlog lasted as long as the posts"
        acknowledged = percentiles(spent)
        running.indexed("live")
        running.indexed("backlog")
        post(running, "alone", others)
        began, before = time.perf_counter(), running.http.get("/context/alone").json()["pending_index"]
        running.indexed("alone")
        indexed = before / (time.perf_counter() - began)
    raw = raw_rate(passages(others))
    rows = [
        *([f"POST acknowledged while indexing, {name}", value, "ms"] for name, value in acknowledged.items()),
        ["indexed alone", indexed, "chunks/s"],
        ["raw embedder, the same texts", raw, "chunks/s"],
        ["embedder kept busy", 100 * indexed / raw, "%"],
        ["one query embedding", query_ms(), "ms"],
        ["start to ready", running.started_s, "s"],
    ]
    show("writes beside indexing", ("", "", ""), rows)
    if options.plot:
        bars(options.plot, "POST of one message, acknowledged while indexing runs", acknowledged, "ms")


if __name__ == "__main__":
    main()
