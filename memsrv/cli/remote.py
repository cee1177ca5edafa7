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
        text = f"{body.get('message', 'The server refuses.')} {body.get('hint', '')}" if body else "The server refuses."
        raise Refused(text, answer.status_code, seconds(answer.headers.get("retry-after", "")))
    return body


def seconds(written: str) -> float:
    """What a header says in seconds; 0 if it says nothing that can be waited for."""
    return float(written) if written.isdigit() else 0.0
