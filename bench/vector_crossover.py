"""Up to how many chunks is exact search the better way? Prints, for scopes of growing size in one store, what a search costs.

    python bench/vector_crossover.py [--store 100000] [--dimension 384] [--repeats 9]

`cached` is exact search over vectors in memory, `cold` the same with the vectors read from Chroma first, `index` Chroma's own
query with a filter; `index : cached` says how many times as long it takes. `recall` is the share of the true nearest that the
index finds. Run it on a quiet machine; medians.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from memsrv.adapters.vectors_chroma import ChromaVectors
from memsrv.model import Generation, PendingChunk, Said, Scope
from memsrv.ports import Scored

LIMIT = 200
BATCH = 1000
GIB = 2**30
GENERATION = Generation(1, "bench")


def sizes(store: int) -> list[int]:
    """Session sizes, so that all of them together fill the store."""
    wanted = [size for size in (100, 1000, 2000, 5000, 10_000, 20_000, 50_000) if size < store // 2]
    return [*wanted, max(1, store - sum(wanted))]


def clustered(count: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
    """Unit rows in loose groups: independent random rows would all be equally far, which no text is."""
    centres = np.random.default_rng(1).normal(size=(200, dimension))
    rows = centres[rng.integers(0, len(centres), count)] + rng.normal(size=(count, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


async def fill(index: ChromaVectors, sessions: list[int], dimension: int, rng: np.random.Generator) -> None:
    """Messages of all sessions, mixed as they would come in."""
    owners = rng.permutation(np.repeat(np.arange(len(sessions)), sessions))
    for start in track(range(0, len(owners), BATCH), "filling the store"):
        part = owners[start : start + BATCH]
        chunks = [PendingChunk(start + i, int(owner), 0, "bench", Said("", ""), None) for i, owner in enumerate(part)]
        await index.put(chunks, clustered(len(part), dimension, rng))


async def timed(repeats: int, call: Callable[[int], Awaitable[Scored]]) -> tuple[float, list[Scored]]:
    """Median milliseconds, and the answers."""
    spent, answers = [], []
    for i in range(repeats):
        started = time.perf_counter()
        answers.append(await call(i))
        spent.append((time.perf_counter() - started) * 1000)
    return statistics.median(spent), answers


async def search(index: ChromaVectors, scope: Scope, query: np.ndarray) -> Scored:
    """As recall does it."""
    vectors = await index.open(scope)
    return await asyncio.to_thread(vectors.search, query, limit=LIMIT)


async def measure(store: int, dimension: int, repeats: int) -> Table:
    """The table."""
    rng = np.random.default_rng(0)
    table = Table(title=f"one search for {LIMIT}, {store:,} vectors of {dimension} in the store")
    for name in ("chunks in scope", "cached ms", "cold ms", "index ms", "index : cached", "index : cold", "recall"):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        exact = ChromaVectors.embedded(Path(folder), cache_bytes=GIB, exact_chunks=store)
        await exact.use(GENERATION, dimension)
        await fill(exact, sizes(store), dimension, rng)
        through_index = ChromaVectors.embedded(Path(folder), cache_bytes=GIB, exact_chunks=0)
        await through_index.use(GENERATION, dimension)
        queries = clustered(repeats, dimension, rng)
        for session, size in enumerate(sizes(store)):
            scope = Scope("bench", (session,))
            cold_ms, _ = await timed(1, lambda i, scope=scope: search(exact, scope, queries[i]))
            cached_ms, true = await timed(repeats, lambda i, scope=scope: search(exact, scope, queries[i]))
            await search(through_index, scope, queries[0])
            index_ms, found = await timed(repeats, lambda i, scope=scope: search(through_index, scope, queries[i]))
            recall = statistics.mean(
                len(np.intersect1d(a.numbers, b.numbers)) / len(a.numbers) for a, b in zip(true, found, strict=True)
            )
            table.add_row(
                f"{size:,}",
                f"{cached_ms:.2f}",
                f"{cold_ms:.0f}",
                f"{index_ms:.1f}",
                f"{index_ms / cached_ms:.1f}",
                f"{index_ms / cold_ms:.2f}",
                f"{recall:.3f}",
            )
        await through_index.close()
        await exact.close()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    Console().print(asyncio.run(measure(options.store, options.dimension, options.repeats)))


if __name__ == "__main__":
    main()
