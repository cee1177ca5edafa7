"""From what the stores hold to a prompt: the talk as turns, what could stand in a prompt, and the prompt with its account."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memsrv.core.advice import advice
from memsrv.core.prompt.budget import Fit, fit
from memsrv.core.prompt.policy import Policy
from memsrv.core.prompt.receipts import bounded, receipt_id
from memsrv.core.prompt.regions import READING, Material, material_of, meta_text, recall_text, state_text, summary_text
from memsrv.core.prompt.required import framed
from memsrv.core.prompt.sections import spoken
from memsrv.core.prompt.sizes import MESSAGE_TOKENS, Sizes
from memsrv.core.prompt.turns import Talk, Turn, beyond, talk, window
from memsrv.core.text.content import text_of
from memsrv.core.text.cuts import fits
from memsrv.model import (
    Message,
    Mode,
    Pin,
    Prompt,
    PromptRequest,
    Recalls,
    Receipt,
    Region,
    RegionName,
    Session,
    Snapshot,
)

CONSIDERED = 500
OVERSIZE_SHARE = 64
"""In mode full a message over the budget counts as this part of it: it is passed over, but reading it has a cost too."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the stores hold for one prompt."""

    session: Session
    pins: Sequence[Pin]
    snapshot: Snapshot | None
    talk: Talk
    unread: int


def least_cost(page: Sequence[Message], limit_tokens: int, sizes: Sizes) -> int:
    """About what messages cost as they are; one that is over the limit alone counts little, for it is passed over."""
    said = (text_of(message.payload) for message in page)
    passed = limit_tokens // OVERSIZE_SHARE
    return sum(MESSAGE_TOKENS + (sizes.text(text) if fits(text, limit_tokens, sizes.text) else passed) for text in said)


def talked(session: Session, opening: Sequence[Message], messages: Sequence[Message], policy: Policy) -> Talk:
    """The messages as turns; `opening` are the session's first, if they lie before the others."""
    prompt = session.meta.system_prompt
    if policy.holds_events:
        return talk(messages, system_prompt=prompt, max_tool_bytes=policy.max_tool_bytes, opens=False)
    if opening:
        first = talk(opening, system_prompt=prompt, max_tool_bytes=policy.max_tool_bytes, opens=True).opening
        prompt = prompt if prompt is not None else first
        said = talk(messages, system_prompt=prompt, max_tool_bytes=policy.max_tool_bytes, opens=False)
        return replace(said, opening=first)
    return talk(messages, system_prompt=prompt, max_tool_bytes=policy.max_tool_bytes, opens=True)


def material_for(sources: Sources, policy: Policy) -> Material:
    """What could stand in a prompt of this policy."""
    return material_of(
        sources.session.key.name,
        sources.session.meta,
        sources.pins,
        opening=sources.talk.opening,
        summary=sources.snapshot,
        turns=turns_for(sources, policy),
        recalls=policy.recalls,
    )


def turns_for(sources: Sources, policy: Policy) -> tuple[Turn, ...]:
    """What the window could show; nothing may be in neither window nor summary."""
    turns, covered = sources.talk.turns, sources.snapshot.covers_upto if sources.snapshot else 0
    if not policy.compacts:
        size = None if policy.mode is Mode.FULL else policy.window_size
        return window(turns, size=size, covered_upto=covered, whole=policy.whole_turn)
    own_words = spoken(turns[:-1], covered, policy.sections) if policy.sections else ()
    return (*own_words, *beyond(turns, covered, size=policy.window_size))


def made_prompt(
    sources: Sources, material: Material, *, policy: Policy, request: PromptRequest, found: Recalls, sizes: Sizes
) -> Prompt:
    """Fit, and account for it."""
    fitted = fit(material, budget_tokens=policy.limit_tokens, shape=request.format, sizes=sizes)
    regions = regions_of(fitted, sources, material, policy=policy, sizes=sizes)
    asked = asdict(request) | {"mode": policy.mode, "budget_tokens": policy.budget_tokens, "model": policy.model}
    asked["hidden"] = sorted(request.hidden)
    name = sources.session.key.name
    considered = fitted.dropped[RegionName.RECALL] + fitted.dropped[RegionName.WINDOW]
    receipt = Receipt(
        id=receipt_id(name, asked, fitted.messages),
        regions=regions,
        recall=fitted.chosen.hits,
        summary=sources.snapshot if fitted.chosen.summary else None,
        degraded=found.degraded,
        considered=bounded(considered, most=CONSIDERED) if request.explain else None,
        factor=policy.percent / 100,
        advice=advice(regions, policy, budget_tokens=policy.limit_tokens),
    )
    return Prompt(name, policy.mode, policy.model, policy.told_tokens, fitted.total_tokens, fitted.messages, receipt)


def regions_of(fitted: Fit, sources: Sources, material: Material, *, policy: Policy, sizes: Sizes) -> tuple[Region, ...]:
    """The account of each region; its tokens are those of the region as messages of its own."""
    chosen = fitted.chosen
    tokens = {
        RegionName.META: framed(meta_text(chosen), sizes),
        RegionName.SUMMARY: framed(summary_text(chosen.summary), sizes),
        RegionName.RECALL: framed(recall_text(chosen.hits, chosen.session, chosen.quotes), sizes),
        RegionName.WINDOW: sizes.messages(chosen.window),
        RegionName.STATE: framed(state_text(chosen.state), sizes),
    }
    items = {
        RegionName.META: bool(chosen.system_prompt) + bool(chosen.profile) + len(chosen.pins),
        RegionName.SUMMARY: int(bool(chosen.summary)),
        RegionName.RECALL: len(chosen.hits),
        RegionName.WINDOW: len(chosen.window),
        RegionName.STATE: int(bool(chosen.state)),
    }
    aside = {RegionName.WINDOW: [*set_aside(sources, material), *unread_note(sources, policy)]}
    return tuple(
        Region(name, tokens[name], fitted.limits[name], items[name], bounded([*fitted.dropped[name], *aside.get(name, ())]))
        for name in READING
    )


def set_aside(sources: Sources, material: Material) -> list[Mapping[str, Any]]:
    """Messages from where the window begins on that could not be shown at all."""
    oldest = min((shown.position for turn in material.turns for unit in turn.units for shown in unit.messages), default=0)
    return [note for note in sources.talk.set_aside if note["position"] >= oldest]


def unread_note(sources: Sources, policy: Policy) -> list[Mapping[str, Any]]:
    """In mode full, what was too far back to be read."""
    if policy.mode is not Mode.FULL or not sources.unread:
        return []
    return [{"what": "older messages", "count": sources.unread, "why": "budget"}]
