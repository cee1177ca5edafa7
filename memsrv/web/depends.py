"""What the routes of a session share: who asks, which session, how answers are told.

Every dependency is `async`, though few wait for anything: one that is not costs each request a trip through a thread.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from memsrv.core.relay.providers import Provider, chosen
from memsrv.model import Session, SessionKey
from memsrv.web.edge import JsonRoute, name_of
from memsrv.web.metrics import Metrics
from memsrv.web.schemas import Failure, SessionIn
from memsrv.wiring import Runtime

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Failure, "description": text}
    for status, text in (
        (400, "The body is not JSON"),
        (401, "No key that fits"),
        (403, "The key may not do this; or, without keys, asked from elsewhere"),
        (404, "Nothing of this name"),
        (422, "A field cannot be used"),
        (429, "Too many writes wait, or the key has asked too often"),
        (503, "The store is not available"),
        (507, "The disk is full"),
    )
}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": Failure, "description": "The id or key is taken"},
    413: {"model": Failure, "description": "The body is too large"},
}
NOT_HERE: dict[int | str, dict[str, Any]] = {
    409: {"model": Failure, "description": "Another process does this, or the database itself"},
}


def told(model: type[BaseModel], status: int = 200) -> dict[int | str, dict[str, Any]]:
    """The shape of a route's answer, for the page /docs."""
    return {status: {"model": model}}


def router_of(tag: str) -> APIRouter:
    """A router for session routes."""
    return APIRouter(route_class=JsonRoute, responses=REFUSALS, tags=[tag])


async def runtime_of(request: Request) -> Runtime:
    """The services behind this app."""
    runtime = request.app.state.runtime
    assert isinstance(runtime, Runtime)
    return runtime


async def key_of(request: Request, session: str) -> SessionKey:
    """The session that the path names, inside the tenant of the request's key."""
    return SessionKey(request.state.tenant, name_of(session))


def refuse_unknown_provider(known: Mapping[str, Provider], settings: SessionIn) -> None:
    """Raises BadRequest for settings that name a provider which this server does not have."""
    if settings.summary and settings.summary.provider:
        chosen(known, settings.summary.provider)


async def id_of(id: str) -> str:
    """The message or pin that the path names."""
    return name_of(id)


async def metrics_of(request: Request) -> Metrics:
    """The counters of this app."""
    metrics = request.app.state.metrics
    assert isinstance(metrics, Metrics)
    return metrics


Services = Annotated[Runtime, Depends(runtime_of)]


async def writing(runtime: Services) -> AsyncIterator[None]:
    with runtime.writes.turn():
        yield


async def summarising(runtime: Services) -> AsyncIterator[None]:
    with runtime.summaries.turn():
        yield


WRITING = Depends(writing, scope="function")
"""A route that writes takes a turn, unless its service does: beyond `max_waiting_writes` it answers 429."""
SUMMARISING = Depends(summarising, scope="function")
"""The same for what waits for a summarizer, which may be slow: apart, so that it holds up no write."""
Counters = Annotated[Metrics, Depends(metrics_of)]
Key = Annotated[SessionKey, Depends(key_of)]
Id = Annotated[str, Depends(id_of)]
DryRun = Annotated[bool, Query(description="Only say what would go.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many, at most.")]


async def session_of(runtime: Services, key: Key) -> Session:
    """The session, which must be there."""
    return await runtime.sessions.find(key)


Found = Annotated[Session, Depends(session_of)]


def page(name: str, items: Sequence[Any], limit: int, last: int | str | None) -> dict[str, Any]:
    """A list with the cursor of what follows, or null at its end."""
    return {name: items, "next": last if len(items) == limit else None}
