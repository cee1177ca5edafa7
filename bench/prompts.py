"""How long does a prompt take in sessions of growing size, the embedding of the query aside?

    python -m bench.prompts [--messages 620,6200,62000] [--prompts 100] [--plot prompts.svg]

Over HTTP, against a server whose embedder costs nothing (`bench.standin`), with the default settings; every question is another
one. `first` is the first prompt after a restart, which reads the session's words and vectors into memory. Ratios: to the
smallest session, and to a plain query of Chroma's index (embedded, the same number of vectors, no filter, the best 300).
"""

import argparse
import tempfile
from pathlib import Path

import chromadb
import numpy as np
from rich.progress import track

from bench.machine import STANDIN, Server, bars, milliseconds, percentiles, server, show
from bench.standin import DIMENSION
from bench.talk import Talk

BATCH = 500
WARM_UP = 5
HITS = 300


def fill(running: Server, session: str, messages: int) -> int:
    """A session of so many messages, indexed; how many chunks it has."""
    talk = Talk()
    for _ in track(range(0, messages, BATCH), f"filling {messages:,} messages"):
        running.http.post(f"/context/{session}/messages", json={"messages": list(talk.messages(BATCH))}).raise_for_status()
        running.indexed(session)
    chunks: int = running.http.get(f"/context/{session}").json()["chunks"]
    return chunks


def ask(running: Server, session: str, prompts: int) -> tuple[float, list[float]]:
    """Milliseconds of the first prompt, and of the others."""
    talk = Talk(seed=99)
    spent = [
        milliseconds(lambda: running.http.get(f"/context/{session}/prompt", params={"query": talk.question()}).raise_for_status())
        for _ in range(prompts + WARM_UP)
    ]
    return spent[0], spent[WARM_UP:]


def plain_query_ms(vectors: int, queries: int) -> float:
    """The median of a plain query of Chroma over so many vectors."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        client = chromadb.PersistentClient(folder)
        collection = client.create_collection("plain", configuration={"hnsw": {"space": "cosine"}})
        for start in range(0, vectors, 5000):
            rows = rng.normal(size=(min(5000, vectors - start), DIMENSION)).astype(np.float32)
            collection.add(ids=[str(start + n) for n in range(len(rows))], embeddings=rows)
        asked = rng.normal(size=(queries, DIMENSION)).astype(np.float32)
        return float(np.median([milliseconds(lambda q=q: collection.query(q[None], n_results=HITS)) for q in asked]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", default="620,6200,62000", help="sizes of the sessions")
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    sizes = [int(size) for size in options.messages.split(",")]
    rows: list[list[object]] = []
    medians: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        with server(STANDIN, data_dir=Path(folder)) as running:
            chunks = {size: fill(running, f"s{size}", size) for size in sizes}
        smallest = None
        for size in sizes:
            with server(STANDIN, data_dir=Path(folder)) as running:
                first, spent = ask(running, f"s{size}", options.prompts)
                found = percentiles(spent)
                smallest = smallest or found["p50"]
                plain = plain_query_ms(chunks[size], 30)
                ratios = found["p50"] / smallest, found["p50"] / plain
                medians[f"{chunks[size]:,} chunks"] = found["p50"]
                rows.append([f"{chunks[size]:,}", *found.values(), first, f"{running.rss_mb():.0f}", plain, *ratios])
    columns = ("chunks", "p50 ms", "p95 ms", "p99 ms", "first ms", "RSS MB", "plain Chroma ms", ": smallest", ": plain Chroma")
    show("one prompt, without embedding the query", columns, rows)
    if options.plot:
        bars(
            options.plot,
            "one prompt, without embedding the query (p50)",
            {f"{row[0]} chunks": float(row[1]) for row in rows},
            "ms",
        )  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
