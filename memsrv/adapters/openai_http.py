"""JSON over HTTP to an OpenAI-compatible server, for whichever of its routes.

(1) Neither key, header, address, nor anything that was sent or answered stands in an error's message; nothing is logged.
(2) What may pass is tried again, `ATTEMPTS` times in all, with waits that are bounded, `Retry-After` honoured within it.
(3) After `OPENS_AFTER` failures in a row the server is left alone for some seconds and calls fail at once; then one may try.
(4) So many calls at a time, so long an attempt, so large an answer, and no more.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential

ATTEMPTS = 3
LONGEST_WAIT_S = 10.0
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED = frozenset({400, 413, 422})
OPENS_AFTER = 3
REST_S = 5.0
CONCURRENCY = 100
MAX_ANSWER_BYTES = 64_000_000
MAX_SAID_CHARS = 2000

Read = TypeVar("Read")


def no_cookies() -> CookieJar:
    """A jar that takes none: a client that all tenants share must not carry what one request was given into the next."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


class EndpointError(Exception):
    """No answer that can be used; `message` is our own and may be shown."""

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


class Unavailable(EndpointError):
    """Worth another try, not before `after_s` seconds have gone."""

    def __init__(self, message: str, after_s: float = 0.0):
        super().__init__(message)
        self.after_s = after_s


class Refused(EndpointError):
    """The server answers, and will not take this input. What it `said` is for code to look into, never to show."""

    def __init__(self, message: str, status: int = 400, said: str = ""):
        super().__init__(message)
        self.status = status
        self.said = said


class Failed(EndpointError):
    """Another try would not help: a wrong key or address, an answer that makes no sense."""


class Missing(Failed):
    """What was asked for is not there; the server itself is well."""


class Endpoint:
    """One server. `url` is its base URL, with `/v1`; `name` is how errors call it, at the beginning of a sentence;
    statuses that are `harmless` say nothing against the server."""

    def __init__(
        self,
        url: str,
        *,
        name: str,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
        wait_s: float = 0.5,
        rest_s: float = REST_S,
        concurrency: int = CONCURRENCY,
        harmless: frozenset[int] = frozenset(),
        transport: httpx.AsyncBaseTransport | None = None,
    ):
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(
            headers=authorization | dict(headers or {}), timeout=timeout_s, transport=transport, cookies=no_cookies()
        )
        self._url, self._name = url.rstrip("/"), name
        self._timeout_s, self._wait_s = timeout_s, wait_s
        self._harmless = harmless
        self._slots = asyncio.Semaphore(concurrency)
        self.circuit = Circuit(name, rest_s, time.monotonic)

    async def post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], Read]) -> Read:
        """What `read` makes of the JSON that the server answers. Raises EndpointError, as `read` may do too; what else it
        raises says nothing of the server's health."""
        return await self._call(path, body, read)

    async def get(self, path: str, read: Callable[[Any], Read]) -> Read:
        """The same without a body."""
        return await self._call(path, None, read)

    async def close(self) -> None:
        await self._client.aclose()

    async def _call(self, path: str, body: Mapping[str, Any] | None, read: Callable[[Any], Read]) -> Read:
        async with self._slots:
            self.circuit.check()
            try:
                answer: Read = await self._retrying()(self._attempt, path, body, read)
            except (Refused, Missing):
                self.circuit.worked()
                raise
            except EndpointError:
                self.circuit.failed()
                raise
            self.circuit.worked()
            return answer

    def _retrying(self) -> AsyncRetrying:
        return AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS), wait=self._wait, retry=retry_if_exception_type(Unavailable), reraise=True
        )

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = error.after_s if isinstance(error, Unavailable) else 0.0
        own_s = wait_random_exponential(multiplier=self._wait_s, max=LONGEST_WAIT_S)(state)
        return max(min(asked_s, LONGEST_WAIT_S), own_s)

    async def _attempt(self, path: str, body: Mapping[str, Any] | None, read: Callable[[Any], Read]) -> Read:
        status, headers, content = await self._exchange(path, body)
        answered = f"{self._name} answered {status}."
        if status in RETRIED:
            raise Unavailable(answered, retry_after_s(headers))
        if status in REFUSED:
            raise Refused(answered, status, content[: 4 * MAX_SAID_CHARS].decode("utf-8", "replace")[:MAX_SAID_CHARS])
        if not httpx.codes.is_success(status):
            raise Missing(answered) if status in self._harmless else Failed(answered)
        try:
            parsed = json.loads(content)
        except (ValueError, RecursionError):
            raise Failed(f"{self._name} answered something that is no JSON.") from None
        return read(parsed)

    async def _exchange(self, path: str, body: Mapping[str, Any] | None) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and content of one answer. The time limit is for the whole of it: a server that sends a byte now
        and then would never run into one for each byte."""
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._client.stream("GET" if body is None else "POST", f"{self._url}/{path}", json=body) as answer,
            ):
                return answer.status_code, answer.headers, await self._content(answer)
        except TimeoutError:
            raise Unavailable(f"{self._name} takes longer than {self._timeout_s:g} seconds.") from None
        except httpx.HTTPError as error:
            raise Unavailable(f"{self._name} cannot be reached ({type(error).__name__}).") from None
        except (httpx.InvalidURL, ValueError):
            raise Failed(f"{self._name} has an address, a key or options that cannot be sent.") from None

    async def _content(self, answer: httpx.Response) -> bytes:
        content = bytearray()
        async for piece in answer.aiter_bytes():
            content += piece
            if len(content) > MAX_ANSWER_BYTES:
                raise Failed(f"{self._name} answered more than {MAX_ANSWER_BYTES // 1_000_000} MB.")
        return bytes(content)


class Circuit:
    """Leaves alone what failed `OPENS_AFTER` times in a row: calls fail at once for `rest_s`, then one may try."""

    def __init__(self, name: str, rest_s: float, clock: Callable[[], float]):
        self._name = name
        self._rest_s = rest_s
        self._clock = clock
        self._failures = 0
        self._closed_at = float("-inf")

    def check(self) -> None:
        """Raise Failed while it rests."""
        if self._clock() < self._closed_at:
            raise Failed(f"{self._name} failed repeatedly and is left alone for some seconds.")
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
