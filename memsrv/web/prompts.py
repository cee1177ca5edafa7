"""The routes of what a session remembers: prompt, recall, receipts, summaries."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from memsrv.core.receipts import recall_body, receipt_body, written
from memsrv.model import Prompt, Snapshot
from memsrv.web.answers import (
    PromptOut,
    RecallsOut,
    ReceiptsOut,
    SummariesOut,
)
from memsrv.web.depends import CONFLICT, Counters, Found, Key, Limit, Services, page, router_of, told
from memsrv.web.metrics import Metrics
from memsrv.web.schemas import (
    MAX_POSITION,
    PromptIn,
    RecallIn,
)

router = router_of("prompt")


@router.get("/context/{session}/prompt", responses=told(PromptOut))
async def get_prompt(
    request: Request, response: Response, runtime: Services, metrics: Counters, key: Key, asked: Annotated[PromptIn, Query()]
) -> dict[str, Any]:
    """The prompt, ready to send and within its budget."""
    return answer_prompt(request, response, metrics, await runtime.assembler.prompt(key, asked.request()))


@router.post("/context/{session}/prompt", responses=CONFLICT | told(PromptOut))
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


@router.get("/context/{session}/recall", responses=told(RecallsOut))
async def get_recall(runtime: Services, session: Found, asked: Annotated[RecallIn, Query()]) -> dict[str, Any]:
    """The search alone: hits best first."""
    found = await runtime.assembler.recall(session, asked.query, k=asked.k, reach=asked.scope)
    return {"session": session.key.name, "recall": [recall_body(hit) for hit in found.hits], "degraded": list(found.degraded)}


@router.get("/context/{session}/receipts", responses=told(ReceiptsOut))
async def read_receipts(runtime: Services, session: Found, limit: Limit = 50) -> dict[str, Any]:
    """What the last prompts were made of, the newest first."""
    return {"receipts": await runtime.receipts.listing(session.number, limit), "next": None}


@router.get("/context/{session}/summaries", responses=told(SummariesOut))
async def read_summaries(
    runtime: Services, session: Found, after: Annotated[int, Query(ge=0, le=MAX_POSITION)] = 0, limit: Limit = 100
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
