"""The route of what providers counted."""

from typing import Any

from memsrv.services.calibration import Usage
from memsrv.web.answers import UsageOut
from memsrv.web.depends import CONFLICT, WRITING, Found, Services, router_of, told
from memsrv.web.schemas import UsageIn

router = router_of("prompt")


@router.post("/context/{session}/usage", responses=CONFLICT | told(UsageOut), dependencies=[WRITING])
async def report_usage(runtime: Services, session: Found, body: UsageIn) -> dict[str, Any]:
    """Tell what the provider counted for a prompt: budgets for its model keep to that from now on."""
    usage = await runtime.calibrator.report(session, body.prompt_tokens, receipt=body.receipt, model=body.model)
    return {"session": session.key.name, **usage_out(usage)}


def usage_out(usage: Usage) -> dict[str, Any]:
    return {
        "receipt": usage.receipt,
        "model": usage.model,
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "counted": usage.counted,
        "factor": usage.calibration.factor,
        "reports": usage.calibration.reports,
    }
