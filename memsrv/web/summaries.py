"""The routes of a session's summaries, and of the switches of its mode."""

from typing import Annotated, Any

from fastapi import Path as InPath
from fastapi import Query

from memsrv.core.prompt.receipts import written
from memsrv.core.summary.summary import Line, Summary, difference
from memsrv.core.text.content import text_of
from memsrv.errors import SummaryNotFound
from memsrv.model import Message, Snapshot, Standing, Switch
from memsrv.web.answers import CompactedOut, ModeOut, SummariesOut, SummaryDetailOut, SummaryOut, SwitchedOut
from memsrv.web.depends import CONFLICT, SUMMARISING, Found, Key, Limit, Services, page, router_of, told
from memsrv.web.schemas import MAX_POSITION, CompactIn, SwitchIn
from memsrv.wiring import Runtime

router = router_of("summaries")

Version = Annotated[int, InPath(ge=1, le=2**31 - 1)]


@router.get("/context/{session}/summaries", responses=told(SummariesOut))
async def read_summaries(
    runtime: Services, session: Found, after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0, limit: Limit = 100
) -> dict[str, Any]:
    """The stored summaries by version, stale ones too, and whether the next one fails."""
    found = await runtime.snapshots.listing(session.number, after=after, limit=limit)
    listed = page("summaries", [snapshot_out(snapshot) for snapshot in found], limit, found[-1].version if found else None)
    return listed | {"failing": failing_out(await runtime.compactions.standing(session.number))}


@router.get("/context/{session}/summaries/{version}", responses=told(SummaryDetailOut))
async def read_summary(
    runtime: Services,
    session: Found,
    version: Version,
    after: Annotated[int, Query(ge=0, le=MAX_POSITION, description="Source messages of positions after this one.")] = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """One version: its lines, what went in, what the guard did, and how it differs from the version it was folded from."""
    snapshot = await runtime.snapshots.get(session.number, version)
    base = await base_of(runtime, session.number, snapshot)
    sources = await runtime.transcript.messages(
        session.number, after=max(after, snapshot.covers_from - 1), before=snapshot.covers_upto + 1, limit=limit
    )
    listed = page("messages", [source_out(message) for message in sources], limit, sources[-1].position if sources else None)
    return snapshot_out(snapshot) | {
        "language": snapshot.summary.language if snapshot.summary else None,
        "lines": lines_out(snapshot.summary),
        "findings": [dict(finding) for finding in snapshot.findings],
        "difference": difference_out(base, snapshot),
        **listed,
    }


async def base_of(runtime: Runtime, session_number: int, snapshot: Snapshot) -> Snapshot | None:
    """The version that a snapshot was folded from, if there was one."""
    try:
        return await runtime.snapshots.get(session_number, snapshot.base) if snapshot.base else None
    except SummaryNotFound:
        return None


@router.post("/context/{session}/compact", responses=CONFLICT | told(CompactedOut), dependencies=[SUMMARISING])
async def compact(runtime: Services, key: Key, body: CompactIn | None = None) -> dict[str, Any]:
    """Summarise now all but the newest messages; `made` says whether there was anything to do, `reason` why not."""
    made, why = await runtime.compaction.compact(key, keep=body.keep if body else None)
    session = await runtime.sessions.find(key)
    newest = made or await runtime.snapshots.latest(session.number)
    return {
        "session": key.name,
        "made": made is not None,
        "reason": why or None,
        "summary": snapshot_out(newest) if newest else None,
    }


@router.post("/context/{session}/summaries/{version}/restore", responses=CONFLICT | told(SummaryOut), dependencies=[SUMMARISING])
async def restore_summary(runtime: Services, key: Key, version: Version) -> dict[str, Any]:
    """Make a version the newest again, as a new version; messages after its reach are in the window again."""
    return snapshot_out(await runtime.compaction.restore(key, version))


@router.get("/context/{session}/mode", responses=told(ModeOut))
async def read_mode(runtime: Services, session: Found, limit: Limit = 100) -> dict[str, Any]:
    """The session's mode, and its switches, the newest first."""
    switches = await runtime.switches.listing(session.number, limit=limit)
    mode = runtime.assembler.policy(session).mode
    return {"session": session.key.name, "mode": mode, "switches": [switch_out(switch) for switch in switches]}


@router.post("/context/{session}/mode", responses=CONFLICT | told(SwitchedOut), dependencies=[SUMMARISING])
async def switch_mode(runtime: Services, key: Key, body: SwitchIn) -> dict[str, Any]:
    """Switch safely: what would leave the prompt is summarised first, then writes wait for a moment; refused if that fails."""
    switch = await runtime.switching.switch(key, body.mode, body.reason)
    return {"session": key.name, **switch_out(switch)}


def snapshot_out(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "version": snapshot.version,
        "covers_from": snapshot.covers_from,
        "covers_upto": snapshot.covers_upto,
        "text": snapshot.text,
        "made_at": written(snapshot.made_at),
        "made_by": snapshot.made_by,
        "reason": snapshot.reason,
        "base": snapshot.base or None,
        "stale": snapshot.stale,
    }


def failing_out(standing: Standing | None) -> dict[str, Any] | None:
    if standing is None or not standing.failures:
        return None
    return {"tries": standing.failures, "reason": standing.reason, "wait_s": round(standing.wait_s, 1)}


def source_out(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "position": message.position,
        "role": message.role,
        "name": message.name,
        "sent_at": written(message.sent_at),
        "text": text_of(message.payload),
    }


def lines_out(summary: Summary | None) -> list[dict[str, Any]]:
    return [line_out(line) for line in summary.lines] if summary else []


def line_out(line: Line) -> dict[str, Any]:
    sent_at = written(line.sent_at) if line.sent_at else None
    return {"heading": line.heading, "text": line.text, "position": line.position or None, "sent_at": sent_at}


def difference_out(base: Snapshot | None, snapshot: Snapshot) -> dict[str, Any]:
    found = difference(base.summary if base else None, snapshot.summary)
    return {
        "against": base.version if base else None,
        "added": [line_out(line) for line in found.added],
        "removed": [line_out(line) for line in found.removed],
        "changed": [{"before": line_out(before), "after": line_out(after)} for before, after in found.changed],
    }


def switch_out(switch: Switch) -> dict[str, Any]:
    return {
        "at": written(switch.at),
        "before": switch.before,
        "after": switch.after,
        "reason": switch.reason,
        "summary_version": switch.version,
    }
