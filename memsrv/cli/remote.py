"""A running server, asked over HTTP.

Commands that look at what a server holds ask it and don't read its data folder: so they work for a server on another machine
and for every tenant, obey the keys, and need no lock that the server holds.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from memsrv import settings
from memsrv.errors import CannotStart, SettingsError

WAIT_S = 30.0

Body = Mapping[str, Any]

HINTS = {
    "invalid_request": "Mend what the message names; --help tells the options.",
    "model_not_found": "Name another one with --model; with several upstreams that is provider/model.",
    "not_found": "Check the address that --url names; an older memsrv may be running there.",
    "rate_limited": "Wait a minute, then try again; MEMSRV_RATE_PER_MINUTE is the limit.",
    "session_not_found": "'memsrv sessions' lists those that are there.",
    "store_unavailable": "Try again in a moment; the server's log says what is wrong.",
    "too_many_waiting": "Wait a moment, then try again.",
    "unauthorized": "Give a key of this server with --key, or in MEMSRV_KEYS; 'memsrv keys create' makes one.",
    "unknown_field": "An older memsrv may be running at the address that --url names.",
}
"""What to do about a refusal on the command line, where the server's hint speaks of routes and headers."""


class Refused(Exception):
    """The server's answer is no. `wait_s` is how long it asks to wait before the next try, 0 if that is no use."""

    def __init__(self, text: str, status: int = 0, wait_s: float = 0.0):
        super().__init__(text)
        self.status = status
        self.wait_s = wait_s


def place(*, url: str | None, key: str | None) -> tuple[str, str]:
    """Address and key of the server that the settings describe, or of the one at `url`; of several keys the first is taken,
    and with none it is empty."""
    ours = settings.load({})
    host = f"[{ours.host}]" if ":" in ours.host else ours.host
    known = next((secret.get_secret_value() for secret in ours.keys.values()), "")
    return url or f"http://{host}:{ours.port}", key or known


def server(*, url: str | None, key: str | None) -> httpx.Client:
    """A client of that server."""
    address, known = place(url=url, key=key)
    headers = {"authorization": f"Bearer {known}"} if known else {}
    try:
        return httpx.Client(base_url=address, headers=headers, timeout=WAIT_S, trust_env=False)
    except (httpx.InvalidURL, ValueError):
        raise SettingsError("The --url or --key cannot be used.") from None


def answers(http: httpx.Client) -> bool:
    """Whether a memsrv is there."""
    try:
        return bool(http.get("/healthz").json().get("status") == "ok")
    except (httpx.HTTPError, ValueError, AttributeError):
        return False


def path_of(session: str) -> str:
    """Where a session's routes begin."""
    return f"/context/{quote(session, safe='')}"


def ask(http: httpx.Client, path: str, *, method: str = "GET", **options: Any) -> Any:
    """The body of an answer. Raises CannotStart when no server answers, and Refused."""
    try:
        answer = http.request(method, path, **options)
        body = answer.json() if answer.content else None
    except (httpx.HTTPError, ValueError):
        raise CannotStart(
            f"No memsrv answers at {http.base_url}.", "Start it with 'memsrv serve', or name another one with --url."
        ) from None
    if not answer.is_success:
        raise Refused(told(body or {}), answer.status_code, seconds(answer.headers.get("retry-after", "")))
    return body


def told(refusal: Body) -> str:
    """A refusal in words, with what to do about it."""
    hint = HINTS.get(refusal.get("code", ""), refusal.get("hint", ""))
    return f"{refusal.get('message', 'The server refuses.')} {hint}".strip()


def seconds(written: str) -> float:
    """What a header says in seconds; 0 if it says nothing that can be waited for."""
    return float(written) if written.isdigit() else 0.0
