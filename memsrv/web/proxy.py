"""The OpenAI-compatible routes: a client needs only another base URL.

(1) What the upstream answers goes on as it comes, with its status; our own headers say which session it belongs to.
(2) A client that goes away takes its request to the upstream with it; what had come by then is stored.
(3) The end of an answer is sent on only when the answer is stored.
"""

import asyncio
import json
import string
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from memsrv.core.relay.relaying import is_task, messages_of
from memsrv.core.relay.resent import instructions_of, line_of
from memsrv.core.relay.streaming import lines_of
from memsrv.errors import UpstreamDown
from memsrv.model import Mode
from memsrv.ports import Reply
from memsrv.services.lines import Telling
from memsrv.services.relay import Exchange, Relay
from memsrv.web.depends import CONFLICT, REFUSALS, Counters, Services
from memsrv.web.edge import JsonRoute, name_of, segment_in
from memsrv.web.failures import openai_body
from memsrv.web.metrics import Metrics

router = APIRouter(route_class=JsonRoute, responses=REFUSALS, tags=["proxy"])

STREAM = "text/event-stream"
GONE = 499
PLAIN = string.punctuation.replace("%", "")
Done = TypeVar("Done")


class ChatIn(BaseModel):
    """A chat completion request as OpenAI has it; every field goes on to the upstream."""

    model_config = ConfigDict(extra="allow", frozen=True)
    messages: list[dict[str, Any]] = Field(description="The whole history, or its end, or only what is new.")
    model: str | None = Field(None, description="As `GET /v1/models` lists it; default: the upstream's own.")
    stream: bool | None = None
    user: str | None = Field(None, description="The owner, if the header names none.")


@router.post("/v1/chat/completions", responses=CONFLICT | {502: {"description": "The upstream does not answer"}})
async def complete(
    request: Request,
    runtime: Services,
    metrics: Counters,
    body: ChatIn,
    x_memory_session: Annotated[str | None, Header(description="The session, percent-encoded.")] = None,
    x_memory_owner: Annotated[str | None, Header(description="Its owner, percent-encoded.")] = None,
    x_memory_mode: Annotated[Mode | None, Header(description="The mode of this prompt.")] = None,
    x_memory_task: Annotated[str | None, Header(description="Any text: a task on the side, of which nothing is stored.")] = None,
    x_stainless_retry_count: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Store what is new, ask the upstream with the prompt of the session, store the answer."""
    asked = await request.json()
    messages = messages_of(asked)
    line = line_of(messages)
    if x_memory_task or is_task(line):
        return await answered(request, runtime.relay, runtime.relay.task(asked), metrics)
    telling = Telling(
        tenant=request.state.tenant,
        line=line,
        name=header_name(x_memory_session) if x_memory_session else None,
        owner=owner_of(x_memory_owner, body.user),
        owner_fixed=bool(x_memory_owner),
        instructions=instructions_of(messages),
        again=(x_stainless_retry_count or "0") != "0",
    )
    exchange = await runtime.relay.prepare(telling, asked, mode=x_memory_mode)
    if exchange.prompt:
        metrics.prompt(exchange.prompt)
    request.state.noted = noted(exchange)
    return await answered(request, runtime.relay, exchange, metrics)


@router.get("/v1/models", responses={502: {"description": "No upstream answers"}})
async def list_models(runtime: Services) -> dict[str, Any]:
    """What the upstreams list; with several, `name/model` but for the default one."""
    return {"object": "list", "data": await runtime.relay.models()}


async def answered(request: Request, relay: Relay, exchange: Exchange, metrics: Metrics) -> Response:
    """The upstream's answer: as a stream if it is one, else whole."""
    try:
        reply, content = await unless_gone(request.receive, taken(relay, exchange)) or (None, None)
        if reply is not None and content is None:
            return Passing(relay, exchange, reply, metrics)
        if content is not None:
            exchange.gathered.whole(content)
        await relay.keep(exchange, cut="client" if content is None else "")
    finally:
        if exchange.outcome:
            metrics.relayed(exchange)
            request.state.noted = noted(exchange)
    if reply is None or content is None:
        return Response(status_code=GONE)
    return Response(content, reply.status, headers=headers_of(exchange, reply))


async def taken(relay: Relay, exchange: Exchange) -> tuple[Reply, bytes | None]:
    """What the upstream answers, with all of it unless it is a stream. Raises UpstreamDown."""
    reply = await relay.ask(exchange)
    is_stream = reply.headers.get("content-type", "").startswith(STREAM)
    return reply, None if is_stream else await whole(reply)


async def whole(reply: Reply) -> bytes:
    """All that the upstream answers. Raises UpstreamDown if it breaks off."""
    try:
        return b"".join([piece async for piece in reply.content()])
    finally:
        await reply.close()


class Passing(Response):
    """A stream on its way from the upstream to the client, piece by piece."""

    def __init__(self, relay: Relay, exchange: Exchange, reply: Reply, metrics: Metrics):
        super().__init__(status_code=reply.status, headers=headers_of(exchange, reply))
        del self.headers["content-length"]
        self._relay, self._exchange, self._reply, self._metrics = relay, exchange, reply, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_gone(receive, self._pass(send))
        finally:
            await self._reply.close()
            await self._relay.keep(self._exchange, cut="client")
            self._metrics.relayed(self._exchange)
            scope["state"]["noted"] = noted(self._exchange)

    async def _pass(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        gathered, rest = self._exchange.gathered, b""
        try:
            async for piece in self._reply.content():
                gathered.feed(piece)
                if gathered.done:
                    await self._relay.keep(self._exchange)
                ready, rest = lines_of(rest, piece)
                if ready:
                    await send({"type": "http.response.body", "body": ready, "more_body": True})
            await self._relay.keep(self._exchange)
        except UpstreamDown as error:
            await self._relay.keep(self._exchange, cut="upstream")
            rest = f"\n\ndata: {json.dumps(openai_body(error))}\n\n".encode()
        await send({"type": "http.response.body", "body": rest, "more_body": False})


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, Done]) -> Done | None:
    """What the work comes to; None, and the work is cancelled, if the client goes away before."""
    doing, gone = asyncio.ensure_future(work), asyncio.ensure_future(until_gone(receive))
    try:
        await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        doing.cancel()
        gone.cancel()
        await asyncio.gather(doing, gone, return_exceptions=True)


async def until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# --- headers ----------------------------------------------------------------------------------------------------------


def header_name(value: str) -> str:
    """A name from a header."""
    return name_of(segment_in(value))


def owner_of(header: str | None, user: str | None) -> str | None:
    """The owner that the header names, else the one of the field `user`, which is not percent-encoded."""
    if header:
        return header_name(header)
    return name_of(quote(user, safe="")) if user else None


def headers_of(exchange: Exchange, reply: Reply) -> dict[str, str]:
    """The upstream's headers, and where the request stands in memory."""
    place, prompt = exchange.place, exchange.prompt
    if not (place and prompt):
        return dict(reply.headers)
    return {
        **reply.headers,
        "x-memory-session": quote(place.session.key.name, safe=PLAIN),
        "x-context-mode": prompt.mode.value,
        "x-context-tokens": str(prompt.total_tokens),
        "x-context-receipt": prompt.receipt.id,
    }


def noted(exchange: Exchange) -> dict[str, Any]:
    """What the log line tells of a request."""
    told: dict[str, Any] = {"upstream": exchange.upstream.name}
    if prompt := exchange.prompt:
        told |= {"mode": prompt.mode, "tokens": prompt.total_tokens, "budget": prompt.budget_tokens}
        told |= {"degraded": list(prompt.receipt.degraded)} if prompt.receipt.degraded else {}
    return told | ({"outcome": exchange.outcome} if exchange.outcome else {})
