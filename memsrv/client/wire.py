"""What both transports share: how a call is put on the wire, how its answer is read, when it is tried again.

(1) A call that cannot be repeated is tried again only where it is sure that nothing was done: no connection was made, or the
server said 429 or 503. (2) Tries are counted and waits bounded; `Retry-After` is honoured up to LONGEST_WAIT_S. (3) Whatever
goes wrong leaves as Refused, without the key and without anything that was sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeVar

import httpx
from tenacity import AsyncRetrying, RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from memsrv.client.calls import Call
from memsrv.client.refusals import Invalid, Refused, Unreachable, kind_of

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:8000"
LONGEST_WAIT_S = 30.0
NOTHING_DONE = frozenset({429, 503})
MAYBE_DONE = frozenset({502, 504})
LOST = (httpx.HTTPError, httpx.InvalidURL)
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Wire:
    """How one server is asked: `tries` in all for each call, the first wait at most `backoff_s`, then twice that and so on."""

    url: str = DEFAULT_URL
    key: str | None = None
    timeout_s: float = 60.0
    tries: int = 5
    backoff_s: float = 0.2

    def client(self) -> dict[str, Any]:
        """Options of an httpx client. Proxies of the environment are not used: most servers are on this machine."""
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        return {"base_url": self.url, "headers": headers, "timeout": self.timeout_s, "trust_env": False}

    def blocking(self, call: Call[Any]) -> Retrying:
        """Tries this call."""
        return Retrying(**self._options(call))

    def awaiting(self, call: Call[Any]) -> AsyncRetrying:
        """The same in an event loop."""
        return AsyncRetrying(**self._options(call))

    def _options(self, call: Call[Any]) -> dict[str, Any]:
        return {
            "stop": stop_after_attempt(self.tries),
            "wait": self._wait_s,
            "retry": retry_if_exception(lambda error: worth_a_try(call, error)),
            "reraise": True,
        }

    def _wait_s(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = error.retry_after_s if isinstance(error, Refused) else 0.0
        return max(min(asked_s, LONGEST_WAIT_S), wait_random_exponential(multiplier=self.backoff_s, max=LONGEST_WAIT_S)(state))


def checked(url: str, key: str | None) -> None:
    """Raise ValueError for an address or key that cannot be used."""
    try:
        usable = httpx.URL(url).scheme in ("http", "https") and bool(httpx.URL(url).host)
    except (httpx.InvalidURL, ValueError):
        usable = False
    if not usable:
        raise ValueError("the url is the server's address, such as http://127.0.0.1:8000")
    if key and not (key.isascii() and key.isprintable()):
        raise ValueError("a key is ASCII text")


def worth_a_try(call: Call[Any], error: BaseException) -> bool:
    """Whether another try could help and do no harm."""
    if isinstance(error, Unreachable):
        return call.repeatable or not error.sent
    return isinstance(error, Refused) and (error.status in NOTHING_DONE or (call.repeatable and error.status in MAYBE_DONE))


def request(call: Call[Any]) -> dict[str, Any]:
    """Options of an httpx request."""
    return {"method": call.method, "url": call.path, "params": call.params, "content": call.body, "headers": call.headers}


def read(call: Call[T], answer: httpx.Response) -> T:
    """What the answer tells. Raises Refused."""
    if not answer.is_success:
        raise refusal(answer)
    try:
        return call.read(answer.json())
    except (ValueError, LookupError, TypeError):
        raise Unreachable(f"What answers at {answer.url.host} does not answer as a memsrv does.", sent=True) from None


def refusal(answer: httpx.Response) -> Refused:
    """The server's no; also of something that is not memsrv, such as a proxy before it."""
    try:
        body = answer.json()
        code, message, hint = (str(body[name]) for name in ("code", "message", "hint"))
    except (ValueError, LookupError, TypeError):
        code, message = f"http_{answer.status_code}", f"The server answered {answer.status_code}, not as a memsrv does."
        hint = "Check the address, and what stands between."
    kind = kind_of(answer.status_code)
    return kind(code, message, hint, status=answer.status_code, retry_after_s=retry_after_s(answer.headers))


def lost(url: str, error: Exception) -> Refused:
    """A request without an answer."""
    if isinstance(error, httpx.InvalidURL):
        return Invalid("invalid_request", "The query, name or id is too long for an address.", "Shorten it.")
    if isinstance(error, NOT_SENT):
        return Unreachable(f"No memsrv answers at {url}.", sent=False)
    return Unreachable(f"The memsrv at {url} did not answer ({type(error).__name__}).", sent=True)


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds that the answer asks to wait; 0 if it does not."""
    value = headers.get("retry-after", "")
    for seconds in (float, date_s):
        try:
            return max(0.0, seconds(value))
        except (ValueError, TypeError):
            continue
    return 0.0


def date_s(value: str) -> float:
    return parsedate_to_datetime(value).timestamp() - time()
