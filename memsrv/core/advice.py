"""What to change when a region takes far more than its share of a prompt and something else had no room for it.

The guide is meta : summary : window = 1 : 2 : 3 of the budget. A share alone is no fault: where all had room, nothing is said.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memsrv.core.prompt.budget import GUIDE
from memsrv.core.prompt.policy import Policy
from memsrv.core.summary.compacting import FAR_OVER
from memsrv.model import Mode, Region, RegionName

FEW_RECALLED = 3
"""Recall always finds more than there is room for; it is short of room when fewer pieces than this stand in the prompt."""
FOR_ROOM = frozenset({"budget", "cut to the budget"})
MORE_ROOM = "or raise budget.tokens"

Advice = Mapping[str, Any]
Remedy = tuple[str, str]
"""The setting, and what to do with it."""


def advice(regions: Sequence[Region], policy: Policy, *, budget_tokens: int) -> tuple[Advice, ...]:
    """Which region takes too much of a budget, in our count, and which setting changes that: `region`, `share` and `guide` (parts
    of the budget), `setting` (as the session's settings name it) and `text`. Nothing while nothing fell out for want of room."""
    fallen = {region.name: out_of_room(region) for region in regions}
    lacking = sorted({str(note["what"]) for notes in fallen.values() for note in notes})
    if not lacking:
        return ()
    return tuple(
        entry(region, region.tokens / budget_tokens, remedy(region, policy, fallen), lacking)
        for region in regions
        if region.name in GUIDE and region.tokens / budget_tokens > FAR_OVER * guide(region.name)
    )


def guide(name: RegionName) -> float:
    """The part of the budget that is a region's."""
    return GUIDE[name] / sum(GUIDE.values())


def out_of_room(region: Region) -> list[Mapping[str, Any]]:
    """The notes of what a region had to do without."""
    if region.name is RegionName.RECALL and region.items >= FEW_RECALLED:
        return []
    return [note for note in region.dropped if note["why"] in FOR_ROOM]


def entry(region: Region, share: float, remedy: Remedy, lacking: Iterable[str]) -> Advice:
    """One piece of advice, as a receipt shows it."""
    setting, what_to_do = remedy
    usual = guide(region.name)
    return {
        "region": region.name.value,
        "share": round(share, 2),
        "guide": round(usual, 2),
        "setting": setting,
        "text": f"The {region.name.value} takes {share:.0%} of the budget, {usual:.0%} is the guide, and there was no room for: "
        f"{', '.join(lacking)}. {what_to_do}",
    }


def remedy(region: Region, policy: Policy, fallen: Mapping[RegionName, Sequence[Mapping[str, Any]]]) -> Remedy:
    """What makes a region smaller."""
    if region.name is RegionName.META:
        return "budget.tokens", "Shorten the system prompt or the profile, take out pins, " + MORE_ROOM + "."
    if region.name is RegionName.SUMMARY:
        return "summary.max_tokens", f"Lower summary.max_tokens, {MORE_ROOM}."
    return window_remedy(region, policy, fallen)


def window_remedy(region: Region, policy: Policy, fallen: Mapping[RegionName, Sequence[Mapping[str, Any]]]) -> Remedy:
    """What makes the window smaller, or what leaves it less of a loss."""
    own = fallen[RegionName.WINDOW]
    alone = not any(notes for name, notes in fallen.items() if name is not RegionName.WINDOW)
    if region.items <= 1:
        return "budget.tokens", "The newest message alone is so long: raise budget.tokens, or send less at once."
    if policy.mode is Mode.FULL or (policy.mode is Mode.WINDOW and alone):
        return "mode", f"Switch to mode hybrid, where what leaves the window is summarised and recalled, {MORE_ROOM}."
    if any(note["what"] == "tool call" for note in own):
        return "sections.max_tool_bytes", f"Lower sections.max_tool_bytes, {MORE_ROOM}."
    if policy.summarises and not policy.compacts:
        return "summary.enabled", f"Set summary.enabled, so that what leaves the window is summarised, {MORE_ROOM}."
    if policy.compacts and policy.sections is not None:
        return "sections.last_bytes", f"Lower sections.last_bytes, {MORE_ROOM}."
    return "window.size", f"Lower window.size, {MORE_ROOM}."
