"""Any OpenAI-compatible `/embeddings` endpoint.

(1) What comes out was checked: one finite unit row for each text, in order, of the dimension that the first answer had.
(2) Neither the key nor a text stands in an error or a log.
(3) After some failures in a row the endpoint is left alone for some seconds, and calls fail at once.
(4) A text is called poison only when the endpoint refuses it alone and made shorter.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any

import httpx
import numpy as np
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from memsrv.core.cleaning import clean
from memsrv.errors import EmbedderDown

MAX_CHARS = 8000
LEAST_CHARS = 200
"""A refused text is halved, its end kept (what came before stands in front), until so little is left."""
ATTEMPTS = 3
LONGEST_WAIT_S = 10.0
QUERY_LIMIT_S = 8.0
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED = frozenset({400, 413, 422})
OPENS_AFTER = 3
REST_S = 5.0


class Unavailable(Exception):
    """Worth another try, not before `after_s` seconds have gone."""

    def __init__(self, message: str, after_s: float = 0.0):
        super().__init__(message)
        self.message = message
        self.after_s = after_s


class Refused(Exception):
    """The endpoint answers, and will not take this input."""


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
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=timeout_s, transport=transport)
        self._address = f"{url.rstrip('/')}/embeddings"
        self._options: dict[str, Any] = {"model": model} | ({"dimensions": dimensions} if dimensions else {})
        if base64_answers:
            self._options["encoding_format"] = "base64"
        self._query_prefix, self._passage_prefix = query_prefix, passage_prefix
        self._batch, self._wait_s = batch, wait_s
        self._circuit = Circuit(rest_s, time.monotonic)
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
            self._circuit.failed()
            raise EmbedderDown("The embedding endpoint takes too long.") from None
        return np.asarray(rows[0], np.float32)

    async def close(self) -> None:
        await self._client.aclose()

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
        """One batch, tried again where that helps."""
        self._circuit.check()
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=self._wait,
            retry=retry_if_exception_type(Unavailable),
            reraise=True,
        )
        try:
            rows: np.ndarray = await retrying(self._request, texts)
        except Unavailable as error:
            self._circuit.failed()
            raise EmbedderDown(error.message) from None
        except EmbedderDown as error:
            if not error.poison:
                self._circuit.failed()
            raise
        except Refused:
            self._circuit.worked()
            raise
        self._circuit.worked()
        return rows

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = error.after_s if isinstance(error, Unavailable) else 0.0
        own_s = wait_random_exponential(multiplier=self._wait_s, max=LONGEST_WAIT_S)(state)
        return max(min(asked_s, LONGEST_WAIT_S), own_s)

    async def _request(self, texts: list[str]) -> np.ndarray:
        try:
            answer = await self._client.post(self._address, json={"input": texts, **self._options})
        except httpx.HTTPError as error:
            raise Unavailable(f"The embedding endpoint cannot be reached ({type(error).__name__}).") from None
        except (httpx.InvalidURL, UnicodeError):
            raise EmbedderDown("The address or the key of the embedding endpoint cannot be used.") from None
        said = f"The embedding endpoint answered {answer.status_code}."
        if answer.status_code in RETRIED:
            raise Unavailable(said, retry_after_s(answer.headers))
        if answer.status_code in REFUSED:
            raise Refused(said)
        if not answer.is_success:
            raise EmbedderDown(said)
        rows = unit_rows(parsed(answer), len(texts))
        if self._dimension not in (None, rows.shape[1]):
            raise EmbedderDown(f"The embedding endpoint answered {rows.shape[1]} dimensions, before it were {self._dimension}.")
        self._dimension = rows.shape[1]
        return rows


class Circuit:
    """Leaves alone what failed `OPENS_AFTER` times in a row: calls fail at once for `rest_s`, then one may try."""

    def __init__(self, rest_s: float, clock: Callable[[], float]):
        self._rest_s = rest_s
        self._clock = clock
        self._failures = 0
        self._closed_at = float("-inf")

    def check(self) -> None:
        """Raise EmbedderDown while it rests."""
        if self._clock() < self._closed_at:
            raise EmbedderDown("The embedding endpoint failed repeatedly and is left alone for some seconds.")
        if self._failures >= OPENS_AFTER:
            self._closed_at = self._clock() + self._rest_s  # the others wait for what this one finds

    def failed(self) -> None:
        """Count a failure."""
        self._failures += 1
        if self._failures >= OPENS_AFTER:
            self._closed_at = self._clock() + self._rest_s

    def worked(self) -> None:
        """Forget the failures."""
        self._failures = 0
        self._closed_at = float("-inf")


def parsed(answer: httpx.Response) -> list[Any]:
    """The embeddings of an answer, in the order of the texts."""
    try:
        items = answer.json()["data"]
        if all(isinstance(item.get("index"), int) for item in items):
            items = sorted(items, key=lambda item: item["index"])
        return [item["embedding"] for item in items]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EmbedderDown("The embedding endpoint answered something that is no list of embeddings.") from None


def unit_rows(embeddings: Sequence[Any], count: int) -> np.ndarray:
    """Embeddings (lists, or float32 in base64) as unit rows; EmbedderDown if they are not one direction for each text."""
    if len(embeddings) != count:
        raise EmbedderDown(f"The embedding endpoint answered {len(embeddings)} embeddings for {count} texts.")
    try:
        with np.errstate(over="ignore"):
            rows = np.array([decoded(embedding) for embedding in embeddings], np.float32)
    except (ValueError, TypeError, binascii.Error):
        raise EmbedderDown("The embedding endpoint answered embeddings that are no rows of numbers.") from None
    if rows.ndim != 2 or not rows.shape[1]:
        raise EmbedderDown("The embedding endpoint answered embeddings that are no rows of numbers.")
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise EmbedderDown("The embedding endpoint answered a vector that is zero or not finite.", poison=True)
    return np.asarray(rows / norms, np.float32)


def decoded(embedding: Any) -> Any:
    return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4") if isinstance(embedding, str) else embedding


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds that a Retry-After header asks to wait; 0 if there is none that can be read."""
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
