"""The routes that take conversations in and give them out.

A body is looked through to its end before anything of it is stored: of one that cannot be read, nothing is.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from memsrv.core.imports.drafts import Conversation, Skipped, State
from memsrv.core.imports.formats import conversations
from memsrv.core.imports.naming import session_of
from memsrv.core.imports.report import Report
from memsrv.core.imports.splitting import values
from memsrv.core.relay.providers import Provider
from memsrv.errors import BadExport, BadRequest
from memsrv.model import SessionKey
from memsrv.services.exporting import exported
from memsrv.web.answers import ImportOut
from memsrv.web.depends import CONFLICT, Counters, Found, Key, Services, refuse_unknown_provider, router_of, told
from memsrv.web.metrics import Metrics
from memsrv.web.schemas import MAX_NAME, Name, StateIn
from memsrv.wiring import Runtime

PIECE_BYTES = 1 << 20
Owner = Annotated[Name | None, Query(description="Whose sessions they are; what an export says counts after it.")]
Branches = Annotated[bool, Query(description="Store the branches that the app does not show as sessions of their own.")]
ANY_EXPORT = {"requestBody": {"required": True, "content": {"application/json": {}, "application/x-ndjson": {}}}}

router = router_of("transfer")


@router.post("/context/{session}/import", responses=CONFLICT | told(ImportOut), openapi_extra=ANY_EXPORT)
async def import_session(
    request: Request, runtime: Services, metrics: Counters, key: Key, owner: Owner = None, branches: Branches = False
) -> dict[str, Any]:
    """Store the conversation of an export, or memsrv's own JSON Lines, in this session; messages that are there stay."""
    body = await request.body()
    if await asyncio.to_thread(count_in, runtime, body, branches) > 1:
        raise BadRequest(
            "The export holds several conversations, and this route takes one.", "Send it to POST /import: each gets a session."
        )
    return await stored(runtime, metrics, key.tenant, body, owner=owner, branches=branches, session=key.name)


@router.post("/import", responses=CONFLICT | told(ImportOut), openapi_extra=ANY_EXPORT)
async def import_conversations(
    request: Request,
    runtime: Services,
    metrics: Counters,
    owner: Owner = None,
    prefix: Annotated[str, Query(max_length=MAX_NAME, description="Put before the names of the sessions.")] = "",
    branches: Branches = False,
) -> dict[str, Any]:
    """Store every conversation of an export in a session of its own, named `source:id`; messages that are there stay."""
    body = await request.body()
    await asyncio.to_thread(count_in, runtime, body, branches)
    return await stored(runtime, metrics, request.state.tenant, body, owner=owner, branches=branches, prefix=prefix)


@router.get(
    "/context/{session}/export",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/x-ndjson": {}}, "description": "A line with the session's state, then a message a line"}
    },
)
async def export_session(runtime: Services, session: Found) -> StreamingResponse:
    """The session as JSON Lines, which an import takes back."""
    pins = await runtime.sessions.pins(session.number)
    lines = exported(runtime.sessions, runtime.transcript, session, pins)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def read(body: bytes, branches: bool) -> Iterator[Conversation | Skipped]:
    """The conversations of a body. Raises BadExport."""
    pieces = (body[start : start + PIECE_BYTES] for start in range(0, len(body), PIECE_BYTES))
    return conversations(values(pieces), branches=branches)


def count_in(runtime: Runtime, body: bytes, branches: bool) -> int:
    """How many conversations can be read. Raises BadExport if none can, or not to the end, and RequestValidationError for a
    state that cannot be set."""
    found = set()
    for one in read(body, branches):
        if isinstance(one, Conversation):
            found.add((one.source, one.id))
            checked(one.state, runtime.providers)
    if not found:
        raise BadExport("It holds no conversation of a format that memsrv reads.")
    return len(found)


def checked(state: State | None, known: Mapping[str, Provider]) -> State | None:
    """The state of an exported session, as its routes would take it; RequestValidationError if they would not, BadRequest if it
    names none of the providers that are known."""
    if state is None:
        return None
    given = {"owner": state.owner, "settings": state.settings, "meta": state.meta, "pins": state.pins}
    try:
        sound = StateIn.model_validate(given)
    except ValidationError as error:
        raise RequestValidationError([problem | {"loc": ("body", *problem["loc"])} for problem in error.errors()]) from None
    refuse_unknown_provider(known, sound.settings)
    return replace(
        state,
        settings=sound.settings.settings(),
        meta=sound.meta.model_dump(exclude_unset=True) if sound.meta else None,
        pins=[pin.model_dump() for pin in sound.pins],
    )


async def stored(
    runtime: Runtime,
    metrics: Metrics,
    tenant: str,
    body: bytes,
    *,
    owner: str | None,
    branches: bool,
    session: str = "",
    prefix: str = "",
) -> dict[str, Any]:
    """Store what a body holds, one conversation after the other, and tell what became of it."""
    report, reading = Report(), read(body, branches)
    while (one := await asyncio.to_thread(next, reading, None)) is not None:
        if isinstance(one, Skipped):
            report.skip(one)
            continue
        name = session_of(one, session=session, prefix=prefix)
        state = checked(one.state, runtime.providers)
        done = await runtime.importing.store(SessionKey(tenant, name), one.drafts, owner=owner, state=state)
        metrics.stored(done.stored)
        report.add(name, one, done)
    return report.body()
