"""A memsrv server whose embedder costs nothing, so that what is measured is the server's own work.

    python -m bench.standin --data-dir DIR --port 0

The stand-in's vectors are sums of one random vector a word: texts that share words are near each other, as with a real model.
"""

import argparse
import asyncio
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from memsrv.model import CosineScale
from memsrv.settings import load
from memsrv.web.server import run

DIMENSION = 384
WORDS_KEPT = 4096


class StandIn:
    """ports.Embedder without a model."""

    dimension = DIMENSION
    cosine_scale: CosineScale | None = None

    def __init__(self, fingerprint: str = "stand-in") -> None:
        self.fingerprint = fingerprint

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows, shape (len(texts), 384)."""
        return np.stack([self._vector(text) for text in texts])

    async def query(self, text: str) -> np.ndarray:
        """One unit vector."""
        return self._vector(text)

    async def close(self) -> None: ...

    def _vector(self, text: str) -> np.ndarray:
        # a common direction, as real models have it
        total = np.sum([direction(word) for word in text.lower().split()], axis=0) + 2 * direction("")
        return np.asarray(total / np.linalg.norm(total), np.float32)


@lru_cache(WORDS_KEPT)
def direction(word: str) -> np.ndarray:
    """A word's random vector."""
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).normal(size=DIMENSION)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fingerprint", default="stand-in", help="another one has every vector made anew")
    options = parser.parse_args()
    settings = load({"data_dir": options.data_dir, "port": options.port, "log_level": "warning"})
    asyncio.run(run(settings, embedder=StandIn(options.fingerprint)))


if __name__ == "__main__":
    main()
