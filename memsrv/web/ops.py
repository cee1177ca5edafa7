"""The routes of those who run the server."""

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from memsrv import __version__
from memsrv.web.depends import REFUSALS, Counters, Services

router = APIRouter(tags=["operation"])
REFUSED: dict[int | str, dict[str, Any]] = {status: REFUSALS[status] for status in (401, 403, 429)}


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", responses={403: REFUSALS[403]})
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok", "version": __version__}


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: {"description": "The transcript is not available"}, **REFUSED})
async def readyz(runtime: Services, response: Response) -> dict[str, Any]:
    """The state of each part. 503 while the transcript is down; a degraded index or embedder is told, and serves on."""
    state = await runtime.state()
    response.status_code = 200 if state.transcript_ok else 503
    return {
        "status": "ok" if not state.degraded else "degraded" if state.transcript_ok else "down",
        "degraded": sorted(state.degraded),
        "pending_index": state.pending,
        "set_aside": state.set_aside,
        "leads": runtime.lead.held,
        "embedder": runtime.embedder.fingerprint,
    }


@router.get("/metrics", response_class=PlainTextResponse, responses=REFUSED)
async def read_metrics(runtime: Services, metrics: Counters) -> Response:
    """The counters, for Prometheus."""
    state = await runtime.state()
    counters = runtime.indexer.counters
    metrics.summaries(runtime.compaction.counted, runtime.writer.counted)
    text = metrics.text(
        pending=state.pending,
        set_aside=state.set_aside,
        indexed=counters.indexed_chunks,
        failed=counters.failed_batches,
        degraded=state.degraded,
    )
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def put_faults(runtime: Services, body: dict[str, str]) -> dict[str, str]:
    """Put faults in force. This route exists only while MEMSRV_FAULTS is set."""
    assert runtime.faults is not None
    runtime.faults.update(body)
    return body
