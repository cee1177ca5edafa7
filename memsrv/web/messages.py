"""The routes of a session's messages."""

import hashlib
from typing import Annotated, Any

from fastapi import Header, Query, Request

from memsrv.errors import BadRequest
from memsrv.model import Forgotten, Message, Stretch
from memsrv.web.answers import (
    ErasedOut,
    MessageDeletedOut,
    MessagesOut,
    MessageWithChunksOut,
)
from memsrv.web.depends import CONFLICT, Counters, DryRun, Found, Id, Key, Limit, Services, page, router_of, told
from memsrv.web.schemas import (
    MAX_NAME,
    MAX_POSITION,
    MAX_WAIT_MS,
    AppendedOut,
    Batch,
    EditIn,
    Instant,
    Messages,
    StoredOut,
    message_out,
)
from memsrv.wiring import Runtime

router = router_of("messages")


@router.post("/context/{session}/messages", status_code=201, responses=CONFLICT)
async def post_messages(
    request: Request,
    runtime: Services,
    metrics: Counters,
    key: Key,
    body: Messages,
    wait_ms: Annotated[int, Query(ge=0, le=MAX_WAIT_MS, description="Wait so long until they can be recalled.")] = 0,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=MAX_NAME)] = None,
) -> AppendedOut:
    """Store one message or a batch: all or none, durable when this answers."""
    drafts = [message.draft() for message in (body.messages if isinstance(body, Batch) else [body])]
    if len(drafts) > runtime.settings.max_messages:
        raise BadRequest(f"messages: {len(drafts)} in one request; at most {runtime.settings.max_messages} are taken.")
    digest = hashlib.sha256(await request.body()).hexdigest() if idempotency_key is not None else ""
    appended = await runtime.ingest.append(key, drafts, idempotency_key=idempotency_key, request_digest=digest)
    metrics.stored(sum(message.created for message in appended.messages))
    pending = await runtime.ingest.wait_indexed(appended.session, wait_ms)
    stored = [StoredOut(id=m.id, position=m.position, created=m.created, chunks=m.chunks) for m in appended.messages]
    return AppendedOut(session=key.name, messages=stored, pending_index=pending)


@router.get("/context/{session}/messages", responses=told(MessagesOut))
async def read_messages(
    runtime: Services,
    session: Found,
    after: Annotated[int, Query(ge=0, le=MAX_POSITION, description="Positions after this one.")] = 0,
    before: Annotated[int | None, Query(ge=1, le=MAX_POSITION, description="Positions before this one.")] = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The transcript in order, verbatim; `next` is the `after` of the next page."""
    found = await runtime.transcript.messages(session.number, after=after, before=before, limit=limit)
    return page("messages", [message_out(message) for message in found], limit, found[-1].position if found else None)


@router.get("/context/{session}/messages/{id}", responses=told(MessageWithChunksOut))
async def read_message(runtime: Services, session: Found, id: Id) -> dict[str, Any]:
    """One message with its chunks."""
    return await with_chunks(runtime, await runtime.transcript.message(session.number, id))


@router.patch("/context/{session}/messages/{id}", responses=CONFLICT | told(MessageWithChunksOut))
async def edit_message(runtime: Services, session: Found, id: Id, body: EditIn) -> dict[str, Any]:
    """Change a message in place; its chunks and vectors follow."""
    return await with_chunks(runtime, await runtime.ingest.edit(session, id, body.draft))


@router.delete("/context/{session}/messages", responses=told(ErasedOut))
async def delete_messages(
    runtime: Services,
    session: Found,
    after: Annotated[int | None, Query(ge=0, le=MAX_POSITION, description="Positions after this one.")] = None,
    before: Annotated[int | None, Query(ge=1, le=MAX_POSITION, description="Positions before this one.")] = None,
    since: Annotated[Instant | None, Query(description="Sent at this time or later.")] = None,
    until: Annotated[Instant | None, Query(description="Sent before this time.")] = None,
    dry_run: DryRun = False,
) -> dict[str, Any]:
    """Take out the messages within all of the bounds, at least one of which must be given; all at once."""
    if all(bound is None for bound in (after, before, since, until)):
        raise BadRequest("No bound is given.", "Give after, before, since or until; after=0 is every message of the session.")
    stretch = Stretch(after or 0, before, since, until)
    if dry_run:
        taken = await runtime.transcript.erase(session.number, stretch, dry_run=True)
    else:
        taken = await runtime.ingest.erase(session, stretch)
    return {"session": session.key.name, "dry_run": dry_run, **erased_out(taken)}


@router.delete("/context/{session}/messages/{id}", responses=told(MessageDeletedOut))
async def delete_message(runtime: Services, session: Found, id: Id, dry_run: DryRun = False) -> dict[str, Any]:
    """Take a message out of the transcript and of all memory."""
    if dry_run:
        taken = await runtime.transcript.delete(session.number, id, dry_run=True)
    else:
        taken = await runtime.ingest.delete(session, id)
    return {"session": session.key.name, "deleted": id, "dry_run": dry_run, **erased_out(taken)}


def erased_out(taken: Forgotten) -> dict[str, int]:
    return {name: getattr(taken, name) for name in ("messages", "chunks", "summaries", "receipts")}


async def with_chunks(runtime: Runtime, message: Message) -> dict[str, Any]:
    chunks = await runtime.transcript.chunks_of(message)
    return message_out(message) | {"chunks": [{"text": c.text, "start": c.span.start, "end": c.span.end} for c in chunks]}
