"""The routes of a session's state: settings, meta, pins."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import Query, Request

from memsrv.core.merge import merged
from memsrv.core.prompt.receipts import written
from memsrv.model import Meta, Mode, Pin, Session
from memsrv.web.answers import (
    DeletedOut,
    ForgottenOut,
    MetaOut,
    OwnerForgottenOut,
    PinOut,
    PinsOut,
    SessionsOut,
    SessionStateOut,
)
from memsrv.web.depends import (
    CONFLICT,
    WRITING,
    DryRun,
    Found,
    Id,
    Key,
    Limit,
    Services,
    page,
    refuse_unknown_provider,
    router_of,
    told,
)
from memsrv.web.schemas import (
    MAX_NAME,
    MetaIn,
    PinIn,
    SessionIn,
)
from memsrv.wiring import Runtime

router = router_of("sessions")


@router.get("/context", responses=told(SessionsOut))
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


@router.get("/context/{session}", responses=told(SessionStateOut))
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


@router.put("/context/{session}", responses=CONFLICT | told(SessionStateOut), dependencies=[WRITING])
async def put_session(runtime: Services, key: Key, body: SessionIn) -> dict[str, Any]:
    """Make the session if it is new, and set its settings, whole."""
    refuse_unknown_provider(runtime.providers, body)
    session = await runtime.sessions.save(
        key,
        lambda old: replace(old, owner=body.owner, settings=merged({}, body.settings())),
        create=True,
        mode_of=mode_in(runtime),
    )
    runtime.compaction.notify(session)
    return await read_session(runtime, session)


@router.patch("/context/{session}", responses=CONFLICT | told(SessionStateOut), dependencies=[WRITING])
async def patch_session(runtime: Services, key: Key, body: SessionIn) -> dict[str, Any]:
    """Change the given settings; null takes one back to its default."""
    refuse_unknown_provider(runtime.providers, body)

    def change(old: Session) -> Session:
        owner = body.owner if "owner" in body.model_fields_set else old.owner
        return replace(old, owner=owner, settings=merged(old.settings, body.settings()))

    session = await runtime.sessions.save(key, change, create=False, mode_of=mode_in(runtime))
    runtime.compaction.notify(session)
    return await read_session(runtime, session)


def mode_in(runtime: Runtime) -> Callable[[Session], Mode]:
    """Tells the mode that holds in a session."""
    return lambda session: runtime.assembler.policy(session).mode


@router.delete("/context/{session}", responses=told(ForgottenOut))
async def forget_session(runtime: Services, key: Key, dry_run: DryRun = False) -> dict[str, Any]:
    """Forget the session whole: transcript, chunks, vectors, summaries, receipts, pins."""
    taken = await (runtime.sessions.forget(key, dry_run=True) if dry_run else runtime.ingest.forget(key))
    return {"session": key.name, "dry_run": dry_run, **without(asdict(taken), "sessions")}


@router.delete("/context", responses=told(OwnerForgottenOut))
async def forget_owner(
    request: Request,
    runtime: Services,
    owner: Annotated[str, Query(min_length=1, max_length=MAX_NAME, description="Whose sessions.")],
    dry_run: DryRun = False,
) -> dict[str, Any]:
    """Forget every session of an owner whole, all at once."""
    tenant = request.state.tenant
    if dry_run:
        taken = await runtime.sessions.forget_owner(tenant, owner, dry_run=True)
    else:
        taken = await runtime.ingest.forget_owner(tenant, owner)
    return {"owner": owner, "dry_run": dry_run, **asdict(taken)}


def without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in values.items() if other != name}


@router.get("/context/{session}/meta", responses=told(MetaOut))
async def read_meta(session: Found) -> dict[str, Any]:
    """What stands in every prompt."""
    return meta_out(session.meta)


@router.put("/context/{session}/meta", responses=CONFLICT | told(MetaOut), dependencies=[WRITING])
async def put_meta(runtime: Services, key: Key, body: MetaIn) -> dict[str, Any]:
    """Set what stands in every prompt, whole; the session comes into being if it is new."""
    meta = meta_from(body.model_dump(exclude_unset=True))
    return meta_out((await runtime.sessions.save(key, lambda old: replace(old, meta=meta), create=True)).meta)


@router.patch("/context/{session}/meta", responses=CONFLICT | told(MetaOut), dependencies=[WRITING])
async def patch_meta(runtime: Services, key: Key, body: MetaIn) -> dict[str, Any]:
    """Change the given keys; null takes one out."""
    given = body.model_dump(exclude_unset=True)

    def change(old: Session) -> Session:
        return replace(old, meta=meta_from(merged(meta_out(old.meta), given)))

    return meta_out((await runtime.sessions.save(key, change, create=False)).meta)


META_FIELDS = ("system_prompt", "profile", "goal", "task_state")


def meta_from(values: dict[str, Any]) -> Meta:
    own = {name: values[name] for name in META_FIELDS if values.get(name) is not None}
    extra = {name: value for name, value in values.items() if name not in META_FIELDS and value is not None}
    return Meta(**own, extra=extra)


def meta_out(meta: Meta) -> dict[str, Any]:
    return {name: getattr(meta, name) for name in META_FIELDS} | dict(meta.extra)


@router.get("/context/{session}/pins", responses=told(PinsOut))
async def read_pins(runtime: Services, session: Found) -> dict[str, Any]:
    """Facts and decisions that stand in every prompt."""
    return {"pins": [pin_out(pin) for pin in await runtime.sessions.pins(session.number)], "next": None}


@router.post("/context/{session}/pins", status_code=201, responses=CONFLICT | told(PinOut, 201), dependencies=[WRITING])
async def add_pin(runtime: Services, session: Found, body: PinIn) -> dict[str, Any]:
    """Pin a fact or a decision."""
    return pin_out(await runtime.sessions.add_pin(session.number, body.text, body.kind))


@router.delete("/context/{session}/pins/{id}", responses=told(DeletedOut), dependencies=[WRITING])
async def remove_pin(runtime: Services, session: Found, id: Id) -> dict[str, Any]:
    """Take a pin out."""
    await runtime.sessions.remove_pin(session.number, id)
    return {"session": session.key.name, "deleted": id}


def pin_out(pin: Pin) -> dict[str, Any]:
    return {"id": pin.id, "text": pin.text, "kind": pin.kind, "made_at": written(pin.made_at)}
