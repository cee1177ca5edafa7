"""An OpenAI-compatible endpoint that the proxy passes requests on to, as they are.

(1) What the endpoint answers comes back unchanged: status, body, and the headers of `PASSED`; nothing is tried again, for the
    client decides on that.
(2) Neither key, address nor text stands in an error or a log. (3) One client, and so one pool of connections, for all requests.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from memsrv.adapters.openai_http import no_cookies
from memsrv.core.relay.providers import Provider
from memsrv.core.text.content import mended
from memsrv.errors import UpstreamDown

CONNECT_S = 10.0
LIST_S = 20.0
KEPT_OPEN = 100
PASSED = frozenset({"content-type", "retry-after", "retry-after-ms", "x-should-retry"})
PASSED_BEGINNINGS = ("x-ratelimit-", "openai-")


class OpenAIUpstream:
    """ports.Upstream over HTTP."""

    def __init__(self, provider: Provider, *, transport: httpx.AsyncBaseTransport | None = None):
        self.name, self.model = provider.name, provider.model
        self._url = provider.base_url
        key = {"Authorization": f"Bearer {provider.api_key}"} if provider.api_key else {}
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity"} | key | dict(provider.headers),
            timeout=httpx.Timeout(provider.timeout_s, connect=min(CONNECT_S, provider.timeout_s)),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_OPEN),
            transport=transport,
            cookies=no_cookies(),
        )

    async def ask(self, body: Mapping[str, Any]) -> "HttpReply":
        """The answer of `/chat/completions`, as soon as its headers are there. Raises UpstreamDown."""
        content = encoded(body)
        headers = {"Content-Type": "application/json"}
        try:
            request = self._client.build_request("POST", f"{self._url}/chat/completions", content=content, headers=headers)
            answer = await self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise self._down(error) from None
        if answer.is_redirect:
            await answer.aclose()
            raise UpstreamDown(f"The upstream {self.name} answered {answer.status_code}, a redirect.")
        return HttpReply(answer, self._down)

    async def models(self) -> list[dict[str, Any]]:
        """What `/models` lists. Raises UpstreamDown."""
        try:
            answer = await self._client.get(f"{self._url}/models", timeout=LIST_S)
            listed = answer.json() if answer.is_success else None
        except httpx.HTTPError as error:
            raise self._down(error) from None
        except (ValueError, RecursionError):
            listed = None
        models = listed.get("data") if isinstance(listed, dict) else listed
        if not isinstance(models, list):
            raise UpstreamDown(f"The upstream {self.name} answered {answer.status_code} when it was asked for its models.")
        return [model for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)]

    async def close(self) -> None:
        await self._client.aclose()

    def _down(self, error: Exception) -> UpstreamDown:
        if isinstance(error, httpx.TimeoutException):
            return UpstreamDown(f"The upstream {self.name} takes too long ({type(error).__name__}).")
        return UpstreamDown(f"The upstream {self.name} cannot be reached ({type(error).__name__}).")


class HttpReply:
    """ports.Reply over HTTP."""

    def __init__(self, answer: httpx.Response, down: Any):
        self._answer, self._down = answer, down
        self.status = answer.status_code
        self.headers = {
            name: value for name, value in answer.headers.items() if name in PASSED or name.startswith(PASSED_BEGINNINGS)
        }

    async def content(self) -> AsyncIterator[bytes]:
        """The body, piece by piece as it comes. Raises UpstreamDown where it breaks off."""
        try:
            async for piece in self._answer.aiter_bytes():
                yield piece
        except httpx.HTTPError as error:
            raise self._down(error) from None

    async def close(self) -> None:
        await self._answer.aclose()


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON in UTF-8, lone surrogates mended."""
    try:
        return written(body).encode()
    except UnicodeEncodeError:
        return written(mended(body)).encode()


def written(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict)
