"""The routes that pass a session's knowledge on: handoff to another agent, and what is worth a pin."""

from typing import Any

from memsrv.model import SessionKey
from memsrv.services.handoff import HandedOver
from memsrv.web.answers import HandoffOut, SuggestedPinsOut
from memsrv.web.depends import CONFLICT, SUMMARISING, Found, Key, Services, router_of, told
from memsrv.web.schemas import HandoffIn
from memsrv.web.sessions import pin_out
from memsrv.web.summaries import line_out

router = router_of("handoff")


@router.get("/context/{session}/pins/suggested", responses=told(SuggestedPinsOut))
async def suggest_pins(runtime: Services, session: Found) -> dict[str, Any]:
    """The decisions and constraints of the newest summary that no pin says yet; pin one with POST .../pins."""
    return {"suggestions": [line_out(line) for line in await runtime.handoffs.suggested(session)]}


@router.post("/context/{session}/handoff", responses=CONFLICT | told(HandoffOut), dependencies=[SUMMARISING])
async def hand_over(runtime: Services, key: Key, body: HandoffIn | None = None) -> dict[str, Any]:
    """What another agent needs to take over; with `to` it is put into that session, which may be new."""
    body = body or HandoffIn()
    if body.to is None:
        made = await runtime.handoffs.make(key, max_tokens=body.max_tokens)
    else:
        made = await runtime.handoffs.hand_over(key, SessionKey(key.tenant, body.to), max_tokens=body.max_tokens)
    return handoff_out(made) | {"to": body.to}


def handoff_out(made: HandedOver) -> dict[str, Any]:
    handoff, snapshot = made.handoff, made.snapshot
    return {
        "session": handoff.name,
        "language": handoff.language,
        "goal": handoff.goal or None,
        "task_state": handoff.task_state or None,
        "pins": [pin_out(pin) for pin in handoff.pins],
        "decisions": [line_out(line) for line in handoff.decisions],
        "constraints": [line_out(line) for line in handoff.constraints],
        "questions": [line_out(line) for line in handoff.questions],
        "summary": {"version": snapshot.version, "covers_upto": snapshot.covers_upto} if snapshot else None,
        "text": made.text,
        "tokens": made.tokens,
    }
