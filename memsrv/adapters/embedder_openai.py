"""Any OpenAI-compatible `/embeddings` endpoint.

(1) What comes out was checked: one finite unit row for each text, in order, of the dimension that the first answer had.
(2) Neither the key nor a text stands in an error or a log; retries and rests are those of `openai_http`.
(3) A text is called poison only when the endpoint refuses it alone and made shorter.
"""

import asyncio
import base64
import binascii
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import httpx
import numpy as np

from memsrv.adapters.openai_http import REST_S, Endpoint, EndpointError, Failed, Refused
from memsrv.core.text.cleaning import clean
from memsrv.errors import EmbedderDown

MAX_CHARS = 8000
LEAST_CHARS = 200
"""A refused text is halved, its end kept (what came before stands in front), until so little is left."""
QUERY_LIMIT_S = 8.0
NAME = "The embedding endpoint"


class OpenAIEmbedder:
    """ports.Embedder over HTTP. `url` is the base URL, with `/v1`; `dimensions` 0 leaves them to the model."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        dimensions: int = 0,
        query_prefix: str = "",
        passage_prefix: str = "",
        batch: int = 32,
        timeout_s: float = 30.0,
        base64_answers: bool = False,
        wait_s: float = 0.5,
        rest_s: float = REST_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ):
        self._endpoint = Endpoint(url, name=NAME, key=key, timeout_s=timeout_s, wait_s=wait_s, rest_s=rest_s, transport=transport)
        self._options: dict[str, Any] = {"model": model} | ({"dimensions": dimensions} if dimensions else {})
        if base64_answers:
            self._options["encoding_format"] = "base64"
        self._query_prefix, self._passage_prefix = query_prefix, passage_prefix
        self._batch = batch
        self._dimension: int | None = None
        self.model = model

    @property
    def fingerprint(self) -> str:
        """Without the address: the same model elsewhere makes the same vectors."""
        asked = self._options.get("dimensions", "own")
        return f"openai|{self.model}|{asked}|{sha256(self._passage_prefix.encode()).hexdigest()[:8]}"

    @property
    def dimension(self) -> int | None:
        return self._dimension

    @property
    def cosine_scale(self) -> None:
        """Not measured: every model has its own."""
        return None

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows, float32, shape (len(texts), dimension). EmbedderDown, with `poison` if the texts are to blame."""
        if not texts:
            return np.zeros((0, self._dimension or 0), np.float32)
        prepared = [self._passage_prefix + clean(text, max_chars=MAX_CHARS) for text in texts]
        parts = [prepared[start : start + self._batch] for start in range(0, len(prepared), self._batch)]
        return np.concatenate([await self._embed(part) for part in parts])

    async def query(self, text: str) -> np.ndarray:
        """One unit vector, float32, shape (dimension,). Given up after `QUERY_LIMIT_S`: a prompt waits for it."""
        try:
            async with asyncio.timeout(QUERY_LIMIT_S):
                rows = await self._embed([self._query_prefix + clean(text, max_chars=MAX_CHARS)])
        except TimeoutError:
            self._endpoint.circuit.failed()
            raise EmbedderDown(f"{NAME} takes too long.") from None
        return np.asarray(rows[0], np.float32)

    async def close(self) -> None:
        await self._endpoint.close()

    async def _embed(self, texts: list[str]) -> np.ndarray:
        """A batch; one that is refused is halved until the text that is to blame stands alone."""
        try:
            return await self._ask(texts)
        except Refused as error:
            if len(texts) == 1:
                return await self._shortened(texts[0], error)
        middle = len(texts) // 2
        return np.concatenate([await self._embed(texts[:middle]), await self._embed(texts[middle:])])

    async def _shortened(self, text: str, error: Refused) -> np.ndarray:
        while len(text) > LEAST_CHARS:
            text = text[len(text) // 2 :]
            try:
                return await self._ask([text])
            except Refused as again:
                error = again
        raise EmbedderDown(str(error), poison=True) from None

    async def _ask(self, texts: list[str]) -> np.ndarray:
        """One batch. Raises Refused, or EmbedderDown."""
        try:
            return await self._endpoint.post(
                "embeddings", {"input": texts, **self._options}, lambda answer: self._rows(answer, texts)
            )
        except Refused:
            raise
        except EndpointError as error:
            raise EmbedderDown(error.message) from None

    def _rows(self, answer: Any, texts: Sequence[str]) -> np.ndarray:
        rows = unit_rows(embeddings_of(answer), len(texts))
        if self._dimension not in (None, rows.shape[1]):
            raise Failed(f"{NAME} answered {rows.shape[1]} dimensions, before it were {self._dimension}.")
        self._dimension = rows.shape[1]
        return rows


def embeddings_of(answer: Any) -> list[Any]:
    """The embeddings of an answer, in the order of the texts."""
    try:
        items = answer["data"]
        if all(isinstance(item.get("index"), int) for item in items):
            items = sorted(items, key=lambda item: item["index"])
        return [item["embedding"] for item in items]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Failed(f"{NAME} answered something that is no list of embeddings.") from None


def unit_rows(embeddings: Sequence[Any], count: int) -> np.ndarray:
    """Embeddings (lists, or float32 in base64) as unit rows; Failed if they are not rows for each text, EmbedderDown
    with `poison` if one is no direction."""
    if len(embeddings) != count:
        raise Failed(f"{NAME} answered {len(embeddings)} embeddings for {count} texts.")
    try:
        with np.errstate(over="ignore"):
            rows = np.array([decoded(embedding) for embedding in embeddings], np.float32)
    except (ValueError, TypeError, binascii.Error):
        raise Failed(f"{NAME} answered embeddings that are no rows of numbers.") from None
    if rows.ndim != 2 or not rows.shape[1]:
        raise Failed(f"{NAME} answered embeddings that are no rows of numbers.")
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise EmbedderDown(f"{NAME} answered a vector that is zero or not finite.", poison=True)
    return np.asarray(rows / norms, np.float32)


def decoded(embedding: Any) -> Any:
    return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4") if isinstance(embedding, str) else embedding
