"""What stands before every route: raw paths, size limit, keys, one log line, counters, security headers.

(1) A path is matched as it was sent: an encoded slash stays inside its segment. (2) No more than `max_body_bytes` of a
body is ever held. (3) With keys, nothing but /healthz answers without one, and none does more than its scopes and its rate
allow; without keys, only loopback names are served, and no web page of another origin. (4) A log line holds no message text,
and of a key only its id. (5) Whatever breaks inside is answered in the one shape, with every header that other answers have.
"""

import json
import math
import time
import uuid
from collections.abc import Collection
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import structlog
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memsrv.core.text.content import mended
from memsrv.errors import BadJson, BadSessionName, BodyTooLarge, MemsrvError, RateLimited
from memsrv.model import AccessKey
from memsrv.services.access import ANYBODY, Access
from memsrv.services.rates import Rates
from memsrv.web.failures import crashed, shaped
from memsrv.web.metrics import Metrics
from memsrv.web.origins import headers_for, refuse_foreign
from memsrv.web.schemas import MAX_NAME, has_controls
from memsrv.web.scopes import OPEN_PATHS, refuse_unless_scoped

log = structlog.get_logger()
POLICY_VIOLATION = 1008
DEEPEST = 64
"""Levels of a body: deeper ones can be parsed, but not always written again."""


class Edge:
    """The one middleware. `origins`: web pages that may ask a server without keys."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Access,
        any_host: bool,
        max_body_bytes: int,
        metrics: Metrics,
        rate_per_minute: int = 0,
        origins: Collection[str] = (),
    ):
        self._app = app
        self._access = access
        self._any_host = any_host
        self._max_body_bytes = max_body_bytes
        self._metrics = metrics
        self._rate_per_minute = rate_per_minute
        self._rates = Rates()
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket: no route speaks it, and none would stand behind the keys
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            return
        scope["path"] = scope["raw_path"].decode("latin-1")
        account = Account(scope, send)
        began = time.perf_counter()
        try:
            key = self._let_in(scope)
            account.key = key.id
            scope["state"]["tenant"] = key.tenant
            body = Limited(receive, Headers(scope=scope), key.max_body_bytes or self._max_body_bytes)
            await self._app(scope, body, account.send)
        except MemsrvError as error:  # raised before a route was reached
            await shaped(error, scope["path"])(scope, receive, account.send)
        except Exception as error:  # noqa: BLE001 - the last resort
            answer = crashed(error, scope["path"])
            if not account.begun:
                await answer(scope, receive, account.send)
        finally:
            account.close(time.perf_counter() - began, self._metrics)

    def _let_in(self, scope: Scope) -> AccessKey:
        """The key of a request that may be answered. What is refused here costs little, whatever its body."""
        headers = Headers(scope=scope)
        if not self._access.wanted and not self._any_host:
            refuse_foreign(headers, self._origins)
        if scope["path"] in OPEN_PATHS:
            return ANYBODY
        key = self._access.key(headers.get("authorization", ""))
        scope["state"]["key"] = key
        limit = self._rate_per_minute if key.rate_per_minute is None else key.rate_per_minute
        if limit and (wait_s := self._rates.wait_s(key.id, limit)):
            raise RateLimited(f"This key may ask {limit} times a minute.", math.ceil(wait_s))
        refuse_unless_scoped(key, scope["method"], scope["path"])
        return key


def bearer_of(headers: Headers) -> str:
    """The key that a request brings, empty if it brings none."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


class Limited:
    """`receive` that stops reading a body above the limit."""

    def __init__(self, receive: Receive, headers: Headers, limit_bytes: int):
        self._receive = receive
        self._limit_bytes = limit_bytes
        self._read_bytes = 0
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit_bytes:
            raise self._too_large()

    async def __call__(self) -> Message:
        message = await self._receive()
        self._read_bytes += len(message.get("body", b""))
        if self._read_bytes > self._limit_bytes:
            raise self._too_large()
        return message

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"The body is larger than {self._limit_bytes} bytes.")


class Account:
    """`send` that notes what was answered, for the log line and the counters."""

    def __init__(self, scope: Scope, send: Send):
        self._scope = scope
        self._send = send
        self._status = 500
        self.begun = False
        self.key = ""
        self._id = uuid.uuid4().hex[:12]
        scope.setdefault("state", {})["request_id"] = self._id

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self.begun = True
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self._id
            for name, value in headers_for(self._scope["path"]).items():
                headers.setdefault(name, value)
        await self._send(message)

    def close(self, took_s: float, metrics: Metrics) -> None:
        """Write the line. The route's pattern stands in for the path, which holds a session's name."""
        route = getattr(self._scope.get("route"), "path", "-")
        noted: dict[str, Any] = self._scope["state"].get("noted", {})
        if self.key:
            noted = {"key": self.key, **noted}
        metrics.request(route, self._scope["method"], self._status, noted.get("mode", ""), took_s)
        log.info(
            "request",
            method=self._scope["method"],
            route=route,
            status=self._status,
            ms=round(took_s * 1000, 1),
            id=self._id,
            **noted,
        )


class JsonRequest(Request):
    """A request whose JSON is read strictly: UTF-8, no NaN, lone surrogates mended."""

    async def json(self) -> Any:
        if not hasattr(self, "_parsed"):
            self._parsed = parse(await self.body())
        return self._parsed


def parse(body: bytes) -> Any:
    """A body as JSON values, or BadJson."""
    try:
        value = json.loads(body.decode(), parse_constant=refuse_constant, parse_float=finite)
        refuse_depth(value)
        return mended(value)
    except UnicodeDecodeError:
        raise BadJson("The body is not UTF-8.") from None
    except RecursionError:
        raise BadJson("The body is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise BadJson(f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except ValueError as error:  # a number of thousands of digits
        raise BadJson(f"The body is not JSON: {error}.") from None


def refuse_constant(name: str) -> Any:
    raise BadJson(f"{name} is not JSON.")


def finite(written: str) -> float:
    """A number, unless it is too large for one: it would come back as something else."""
    value = float(written)
    if not math.isfinite(value):
        raise BadJson("The body has a number that is too large.")
    return value


def refuse_depth(value: Any) -> None:
    """Refuse what is nested deeper than DEEPEST levels."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise BadJson(f"The body is nested more than {DEEPEST} levels deep.")


class JsonRoute(APIRoute):
    """A route that reads its body with JsonRequest."""

    def get_route_handler(self) -> Any:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Any:
            return await handle(JsonRequest(request.scope, request.receive))

        return handler


def segment_in(header: str) -> str:
    """A header's value in the form that it has in a path: it may be percent-encoded, or as it is, also in UTF-8."""
    return quote(header.encode("latin-1"), safe="%")


def name_of(segment: str) -> str:
    """A name from its percent-encoded form in a path or header, kept to the character; else BadSessionName."""
    try:
        name = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise BadSessionName("The name is not percent-encoded UTF-8.") from None
    if not 1 <= len(name) <= MAX_NAME:
        raise BadSessionName(f"The name has {len(name)} characters.")
    if has_controls(name):
        raise BadSessionName("The name has a control character.")
    return name
