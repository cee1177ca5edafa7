"""The routes of what a session remembers: prompt, recall, receipts."""

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse

from memsrv.core.prompt.receipts import recall_body, receipt_body
from memsrv.model import Prompt
from memsrv.web.answers import (
    PromptOut,
    RecallsOut,
    ReceiptsOut,
)
from memsrv.web.depends import CONFLICT, Counters, Found, Key, Limit, Services, router_of, told
from memsrv.web.metrics import Metrics
from memsrv.web.schemas import PromptIn, RecallIn

router = router_of("prompt")


@router.get("/context/{session}/prompt", responses=told(PromptOut))
async def get_prompt(
    request: Request, runtime: Services, metrics: Counters, key: Key, asked: Annotated[PromptIn, Query()]
) -> JSONResponse:
    """The prompt, ready to send and within its budget."""
    return answer_prompt(request, metrics, await runtime.assembler.prompt(key, asked.request()))


@router.post("/context/{session}/prompt", responses=CONFLICT | told(PromptOut))
async def post_prompt(request: Request, runtime: Services, metrics: Counters, key: Key, asked: PromptIn) -> JSONResponse:
    """The same, for queries too long for an address."""
    return answer_prompt(request, metrics, await runtime.assembler.prompt(key, asked.request()))


def answer_prompt(request: Request, metrics: Metrics, made: Prompt) -> JSONResponse:
    """Written as it is: it is plain JSON already, and looking through all of it again would take milliseconds."""
    metrics.prompt(made)
    tokens = {str(region.name): region.tokens for region in made.receipt.regions}
    request.state.noted = {"mode": made.mode, "tokens": made.total_tokens, "budget": made.budget_tokens, "regions": tokens}
    if made.receipt.degraded:
        request.state.noted["degraded"] = list(made.receipt.degraded)
    headers = {
        "x-context-mode": made.mode.value,
        "x-context-tokens": str(made.total_tokens),
        "x-context-receipt": made.receipt.id,
    }
    body = {
        "session": made.session,
        "mode": made.mode,
        "model": made.model,
        "budget_tokens": made.budget_tokens,
        "total_tokens": made.total_tokens,
        "messages": made.messages,
        "receipt": receipt_body(made),
    }
    return JSONResponse(body, headers=headers)


@router.get("/context/{session}/recall", responses=told(RecallsOut))
async def get_recall(runtime: Services, session: Found, asked: Annotated[RecallIn, Query()]) -> dict[str, Any]:
    """The search alone: hits best first."""
    found = await runtime.assembler.recall(session, asked.query, k=asked.k, reach=asked.scope)
    return {"session": session.key.name, "recall": [recall_body(hit) for hit in found.hits], "degraded": list(found.degraded)}


@router.get("/context/{session}/receipts", responses=told(ReceiptsOut))
async def read_receipts(runtime: Services, session: Found, limit: Limit = 50) -> dict[str, Any]:
    """What the last prompts were made of, the newest first."""
    return {"receipts": await runtime.receipts.listing(session.number, limit), "next": None}
