"""The routes of those who keep the server's data: rebuild the index, verify, purge. They tell numbers, never text."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from memsrv.web.answers import PurgedOut, RebuildingOut, VerifiedOut
from memsrv.web.depends import NOT_HERE, REFUSALS, Services, told
from memsrv.wiring import Runtime

router = APIRouter(tags=["operation"], responses={status: REFUSALS[status] for status in (401, 403, 422, 429, 503, 507)})


@router.post("/reindex", status_code=202, responses=told(RebuildingOut, 202))
async def start_reindex(runtime: Services) -> dict[str, Any]:
    """Build the index anew beside the one that answers, then swap; one that is under way goes on."""
    runtime.indexer.rebuild()
    return await rebuilding_out(runtime)


@router.get("/reindex", responses=told(RebuildingOut))
async def read_reindex(runtime: Services) -> dict[str, Any]:
    """How far the rebuild is."""
    return await rebuilding_out(runtime)


async def rebuilding_out(runtime: Runtime) -> dict[str, Any]:
    now = await runtime.indexer.rebuilding()
    return {"running": now.running, **asdict(now), "degraded": sorted(runtime.indexer.degraded)}


@router.post("/verify", responses=told(VerifiedOut) | NOT_HERE)
async def verify(
    runtime: Services, fix: Annotated[bool, Query(description="Mend what can be made anew from the transcript.")] = False
) -> dict[str, Any]:
    """Check transcript, chunks, vectors, summaries and receipts against each other; answers when all was looked at."""
    found = await runtime.verifier.verify(fix=fix)
    return {"good": found.good, **asdict(found)}


@router.post("/purge", responses=told(PurgedOut) | NOT_HERE)
async def purge(runtime: Services) -> dict[str, Any]:
    """Take every trace of deleted text out of the database file, however large, and of rebuilt vectors; writes wait."""
    await runtime.verifier.purge()
    return {"purged": True}
