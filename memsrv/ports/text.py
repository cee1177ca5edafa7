"""What is made of a text: vectors, terms, tokens."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from memsrv.model import CosineScale


class Embedder(Protocol):
    """Text to unit vectors."""

    @property
    def fingerprint(self) -> str:
        """Kind and model: what makes two vectors comparable."""
        ...

    @property
    def dimension(self) -> int | None:
        """Dimensions, or None until the first answer tells."""
        ...

    @property
    def cosine_scale(self) -> CosineScale | None:
        """How its cosines read, if that was measured: without it nothing is left out as irrelevant."""
        ...

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows, float32, shape (len(texts), dimension). Any text may come: the adapter cleans it."""
        ...

    async def query(self, text: str) -> np.ndarray:
        """One unit vector, float32, shape (dimension,)."""
        ...

    async def close(self) -> None: ...


class Analyzer(Protocol):
    """Text to search terms: segmented, folded, stemmed, without stop words."""

    def terms(self, text: str) -> list[str]:
        """Terms in order, repeated as often as they occur. Linear time."""
        ...


class TokenCounter(Protocol):
    """Tokens as a model's provider counts them, or a little more, never less."""

    def count(self, text: str, model: str | None) -> int:
        """Tokens of a text. Linear time whatever the text; special-token text is ordinary text."""
        ...

    def head(self, text: str, tokens: int, model: str | None) -> str:
        """The longest beginning of a text that costs at most so many tokens, cut between graphemes."""
        ...

    def tail(self, text: str, tokens: int, model: str | None) -> str:
        """The longest end of a text that costs at most so many tokens, cut between graphemes."""
        ...

    def encoding_name(self, model: str | None) -> str:
        """The encoding that counts for this model."""
        ...
