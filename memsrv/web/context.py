"""The routes of a session: its messages, its prompt, its state."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from memsrv.core.merge import merged
from memsrv.core.receipts import recall_body, receipt_body
from memsrv.errors import BadRequest
from memsrv.model import Message, Meta, Pin, Prompt, Session, SessionKey, Snapshot
from memsrv.web.edge import JsonRoute, name_of
from memsrv.web.metrics import Metrics
from memsrv.web.schemas import (
    MAX_NAME,
    MAX_WAIT_MS,
    AppendedOut,
    Batch,
    EditIn,
    Failure,
    Messages,
    MetaIn,
    PinIn,
    PromptIn,
    RecallIn,
    SessionIn,
    StoredOut,
    message_out,
    written,
)
from memsrv.wiring import Runtime

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Failure, "description": text}
    for status, text in (
        (400, "The body is not JSON"),
        (401, "No key that fits"),
        (404, "Nothing of this name"),
        (422, "A field cannot be used"),
        (429, "Too many writes wait"),
        (503, "The store is not available"),
        (507, "The disk is full"),
    )
}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": Failure, "description": "The id or key is taken"},
    413: {"model": Failure, "description": "The body is too large"},
}

router = APIRouter(route_class=JsonRoute, responses=REFUSALS)


def runtime_of(request: Request) -> Runtime:
    """The services behind this app."""
    runtime = request.app.state.runtime
    assert isinstance(runtime, Runtime)
    return runtime


def key_of(request: Request, session: str) -> SessionKey:
    """The session that the path names, inside the tenant of the request's key."""
    return SessionKey(request.state.tenant, name_of(session))


def id_of(id: str) -> str:
    """The message or pin that the path names."""
    return name_of(id)


def metrics_of(request: Request) -> Metrics:
    """The counters of this app."""
    metrics = request.app.state.metrics
    assert isinstance(metrics, Metrics)
    return metrics


Services = Annotated[Runtime, Depends(runtime_of)]
Counters = Annotated[Metrics, Depends(metrics_of)]
Key = Annotated[SessionKey, Depends(key_of)]
Id = Annotated[str, Depends(id_of)]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many, at most.")]


async def session_of(runtime: Services, key: Key) -> Session:
    """The session, which must be there."""
    return await runtime.sessions.find(key)


Found = Annotated[Session, Depends(session_of)]


# --- messages -------------------------------------------------------------------------------------------------------


@router.post("/context/{session}/messages", status_code=201, responses=CONFLICT, tags=["messages"])
async def post_messages(
    request: Request,
    runtime: Services,
    metrics: Counters,
    key: Key,
    body: Messages,
    wait_ms: Annotated[int, Query(ge=0, le=MAX_WAIT_MS, description="Wait so long until they can be recalled.")] = 0,
    idempotency_key: Annotated[str | None, Header(max_length=MAX_NAME)] = None,
) -> AppendedOut:
    """Store one message or a batch: all or none, durable when this answers."""
    drafts = [message.draft() for message in (body.messages if isinstance(body, Batch) else [body])]
    if len(drafts) > runtime.settings.max_messages:
        raise BadRequest(f"messages: {len(drafts)} in one request; at most {runtime.settings.max_messages} are taken.")
    digest = hashlib.sha256(await request.body()).hexdigest() if idempotency_key else ""
    appended = await runtime.ingest.append(key, drafts, idempotency_key=idempotency_key, request_digest=digest)
    metrics.stored(sum(message.created for message in appended.messages))
    pending = await runtime.ingest.wait_indexed(appended.session, wait_ms)
    stored = [StoredOut(id=m.id, position=m.position, created=m.created, chunks=m.chunks) for m in appended.messages]
    return AppendedOut(session=key.name, messages=stored, pending_index=pending)


@router.get("/context/{session}/messages", tags=["messages"])
async def read_messages(
    runtime: Services,
    session: Found,
    after: Annotated[int, Query(ge=0, description="Positions after this one.")] = 0,
    before: Annotated[int | None, Query(ge=1, description="Positions before this one.")] = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The transcript in order, verbatim; `next` is the `after` of the next page."""
    found = await runtime.transcript.messages(session.number, after=after, before=before, limit=limit)
    return page("messages", [message_out(message) for message in found], limit, found[-1].position if found else None)


@router.get("/context/{session}/messages/{id}", tags=["messages"])
async def read_message(runtime: Services, session: Found, id: Id) -> dict[str, Any]:
    """One message with its chunks."""
    return await with_chunks(runtime, await runtime.transcript.message(session.number, id))


@router.patch("/context/{session}/messages/{id}", responses=CONFLICT, tags=["messages"])
async def edit_message(runtime: Services, session: Found, id: Id, body: EditIn) -> dict[str, Any]:
    """Change a message in place; its chunks and vectors follow."""
    old = await runtime.transcript.message(session.number, id)
    return await with_chunks(runtime, await runtime.ingest.edit(session, old, body.draft(old)))


@router.delete("/context/{session}/messages/{id}", tags=["messages"])
async def delete_message(runtime: Services, session: Found, id: Id) -> dict[str, Any]:
    """Take a message out of the transcript and of all memory."""
    await runtime.ingest.delete(session, id)
    return {"session": session.key.name, "deleted": id}


async def with_chunks(runtime: Runtime, message: Message) -> dict[str, Any]:
    chunks = await runtime.transcript.chunks_of(message)
    return message_out(message) | {"chunks": [{"text": c.text, "start": c.span.start, "end": c.span.end} for c in chunks]}


def page(name: str, items: Sequence[Any], limit: int, last: int | str | None) -> dict[str, Any]:
    """A list with the cursor of what follows, or null at its end."""
    return {name: items, "next": last if len(items) == limit else None}


# --- prompt and recall ----------------------------------------------------------------------------------------------


@router.get("/context/{session}/prompt", tags=["prompt"])
async def get_prompt(
    request: Request, response: Response, runtime: Services, metrics: Counters, key: Key, asked: Annotated[PromptIn, Query()]
) -> dict[str, Any]:
    """The prompt, ready to send and within its budget."""
    return answer_prompt(request, response, metrics, await runtime.assembler.prompt(key, asked.request()))


@router.post("/context/{session}/prompt", responses=CONFLICT, tags=["prompt"])
async def post_prompt(
    request: Request, response: Response, runtime: Services, metrics: Counters, key: Key, asked: PromptIn
) -> dict[str, Any]:
    """The same, for queries too long for an address."""
    return answer_prompt(request, response, metrics, await runtime.assembler.prompt(key, asked.request()))


def answer_prompt(request: Request, response: Response, metrics: Metrics, made: Prompt) -> dict[str, Any]:
    metrics.prompt(made)
    tokens = {str(region.name): region.tokens for region in made.receipt.regions}
    request.state.noted = {"mode": made.mode, "tokens": made.total_tokens, "budget": made.budget_tokens, "regions": tokens}
    if made.receipt.degraded:
        request.state.noted["degraded"] = list(made.receipt.degraded)
    response.headers["x-context-mode"] = made.mode
    response.headers["x-context-tokens"] = str(made.total_tokens)
    response.headers["x-context-receipt"] = made.receipt.id
    return {
        "session": made.session,
        "mode": made.mode,
        "model": made.model,
        "budget_tokens": made.budget_tokens,
        "total_tokens": made.total_tokens,
        "messages": made.messages,
        "receipt": receipt_body(made),
    }


@router.get("/context/{session}/recall", tags=["prompt"])
async def get_recall(request: Request, runtime: Services, session: Found, asked: Annotated[RecallIn, Query()]) -> dict[str, Any]:
    """The search alone: hits best first."""
    found = await runtime.assembler.recall(session, asked.query, k=asked.k, reach=asked.scope)
    return {"session": session.key.name, "recall": [recall_body(hit) for hit in found.hits], "degraded": list(found.degraded)}


@router.get("/context/{session}/receipts", tags=["prompt"])
async def read_receipts(runtime: Services, session: Found, limit: Limit = 50) -> dict[str, Any]:
    """What the last prompts were made of, the newest first."""
    return page("receipts", await runtime.receipts.listing(session.number, limit), limit=0, last=None)


@router.get("/context/{session}/summaries", tags=["prompt"])
async def read_summaries(
    runtime: Services, session: Found, after: Annotated[int, Query(ge=0)] = 0, limit: Limit = 100
) -> dict[str, Any]:
    """The stored summaries by version."""
    found = await runtime.snapshots.listing(session.number, after=after, limit=limit)
    return page("summaries", [snapshot_out(snapshot) for snapshot in found], limit, found[-1].version if found else None)


def snapshot_out(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "version": snapshot.version,
        "covers_upto": snapshot.covers_upto,
        "text": snapshot.text,
        "made_at": written(snapshot.made_at),
        "stale": snapshot.stale,
    }


# --- session, meta, pins --------------------------------------------------------------------------------------------


@router.get("/context", tags=["sessions"])
async def list_sessions(
    request: Request,
    runtime: Services,
    owner: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
    after: Annotated[str | None, Query(max_length=MAX_NAME, description="Names after this one.")] = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """The sessions (of one owner), in order of name."""
    found = await runtime.sessions.listing(request.state.tenant, owner=owner, after=after, limit=limit)
    return page("sessions", [session_out(session) for session in found], limit, found[-1].key.name if found else None)


def session_out(session: Session) -> dict[str, Any]:
    return {
        "session": session.key.name,
        "owner": session.owner,
        "settings": session.settings,
        "last_position": session.last_position,
        "made_at": written(session.made_at),
        "changed_at": written(session.changed_at),
    }


@router.get("/context/{session}", tags=["sessions"])
async def read_session(runtime: Services, session: Found) -> dict[str, Any]:
    """Settings, counts, and how far the summary reaches."""
    counts = await runtime.sessions.counts(session.number)
    latest = await runtime.snapshots.latest(session.number)
    policy = runtime.assembler.policy(session)
    return session_out(session) | {
        "mode": policy.mode,
        "messages": counts.messages,
        "chunks": counts.chunks,
        "pending_index": counts.pending_index,
        "set_aside": counts.set_aside,
        "summary": {"version": latest.version, "covers_upto": latest.covers_upto} if latest else None,
    }


@router.put("/context/{session}", responses=CONFLICT, tags=["sessions"])
async def put_session(runtime: Services, key: Key, body: SessionIn) -> dict[str, Any]:
    """Make the session if it is new, and set its settings, whole."""
    session = await runtime.sessions.save(key, owner=body.owner, settings=merged({}, body.settings()))
    return await read_session(runtime, session)


@router.patch("/context/{session}", responses=CONFLICT, tags=["sessions"])
async def patch_session(runtime: Services, session: Found, body: SessionIn) -> dict[str, Any]:
    """Change the given settings; null takes one back to its default."""
    settings = merged(session.settings, body.settings())
    return await read_session(runtime, await runtime.sessions.save(session.key, owner=body.owner, settings=settings))


@router.delete("/context/{session}", tags=["sessions"])
async def forget_session(
    runtime: Services, session: Found, dry_run: Annotated[bool, Query(description="Only say what would go.")] = False
) -> dict[str, Any]:
    """Forget the session whole: transcript, chunks, vectors, summaries, receipts."""
    counts = await runtime.sessions.counts(session.number)
    if not dry_run:
        await runtime.ingest.forget(session.key)
    return {"session": session.key.name, "dry_run": dry_run, "messages": counts.messages, "chunks": counts.chunks}


@router.get("/context/{session}/meta", tags=["sessions"])
async def read_meta(session: Found) -> dict[str, Any]:
    """What stands in every prompt."""
    return meta_out(session.meta)


@router.put("/context/{session}/meta", responses=CONFLICT, tags=["sessions"])
async def put_meta(runtime: Services, key: Key, body: MetaIn) -> dict[str, Any]:
    """Set what stands in every prompt, whole; the session comes into being if it is new."""
    session = await runtime.sessions.save(key, meta=meta_from(body.model_dump(exclude_unset=True)))
    return meta_out(session.meta)


@router.patch("/context/{session}/meta", responses=CONFLICT, tags=["sessions"])
async def patch_meta(runtime: Services, session: Found, body: MetaIn) -> dict[str, Any]:
    """Change the given keys; null takes one out."""
    changed = merged(meta_out(session.meta), body.model_dump(exclude_unset=True))
    return meta_out((await runtime.sessions.save(session.key, meta=meta_from(changed))).meta)


META_FIELDS = ("system_prompt", "profile", "goal", "task_state")


def meta_from(values: dict[str, Any]) -> Meta:
    own = {name: values[name] for name in META_FIELDS if values.get(name) is not None}
    extra = {name: value for name, value in values.items() if name not in META_FIELDS and value is not None}
    return Meta(**own, extra=extra)


def meta_out(meta: Meta) -> dict[str, Any]:
    return {name: getattr(meta, name) for name in META_FIELDS} | dict(meta.extra)


@router.get("/context/{session}/pins", tags=["sessions"])
async def read_pins(runtime: Services, session: Found) -> dict[str, Any]:
    """Facts and decisions that stand in every prompt."""
    return {"pins": [pin_out(pin) for pin in await runtime.sessions.pins(session.number)], "next": None}


@router.post("/context/{session}/pins", status_code=201, responses=CONFLICT, tags=["sessions"])
async def add_pin(runtime: Services, session: Found, body: PinIn) -> dict[str, Any]:
    """Pin a fact or a decision."""
    return pin_out(await runtime.sessions.add_pin(session.number, body.text, body.kind))


@router.delete("/context/{session}/pins/{id}", tags=["sessions"])
async def remove_pin(runtime: Services, session: Found, id: Id) -> dict[str, Any]:
    """Take a pin out."""
    await runtime.sessions.remove_pin(session.number, id)
    return {"session": session.key.name, "deleted": id}


def pin_out(pin: Pin) -> dict[str, Any]:
    return {"id": pin.id, "text": pin.text, "kind": pin.kind, "made_at": written(pin.made_at)}
