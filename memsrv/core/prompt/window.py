"""Fit the turns of the window into a limit: the newest first, whole units or none.

(1) A tool call goes with its results or not at all; within a turn the oldest tool traffic goes first, for it grows stale first.
(2) Turns follow each other without a gap, but for a turn that could not stand in the whole limit: it is passed over.
(3) Images and other parts become a mark before anything is dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memsrv.core.prompt.sending import is_heavy, lightened
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.prompt.turns import Turn, Unit
from memsrv.model import Payload

BUDGET = "budget"
OVERSIZE = "longer than the window's share"


@dataclass(frozen=True, slots=True)
class Fitted:
    """Messages that fit, oldest first; `current` of them is the newest user message. `numbers` are the stored messages' own."""

    messages: tuple[Payload, ...]
    numbers: frozenset[int]
    tokens: int
    current: int | None
    dropped: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A turn, or what is left of it, and its tokens."""

    units: tuple[tuple[Unit, tuple[Payload, ...]], ...]
    tokens: int


def fit_turns(turns: Sequence[Turn], user: Payload | None, *, limit_tokens: int, sizes: Sizes) -> Fitted:
    """Fit turns, oldest first, into a limit. `user` is the newest user message as it will stand; it is not counted here."""
    left = limit_tokens
    dropped: list[Mapping[str, Any]] = []
    kept: list[Kept] = []
    current = turns[-1] if turns and user is not None else None
    if turns:
        kept.append(newest_turn(turns[-1], limit_tokens, sizes, dropped))
        left -= kept[0].tokens
    older = turns[:-1]
    for at in range(len(older) - 1, -1, -1):
        fitted = fit_turn(older[at], left, sizes, dropped)
        if fitted is None and could_stand(older[at], limit_tokens, sizes):
            dropped.extend(noted(turn, BUDGET) for turn in reversed(older[: at + 1]))
            break
        if fitted is None:
            dropped.append(noted(older[at], OVERSIZE))
            continue
        kept.append(fitted)
        left -= fitted.tokens
    return gathered(kept[::-1], current, user, tuple(dropped))


def gathered(kept: Sequence[Kept], current: Turn | None, user: Payload | None, dropped: tuple[Mapping[str, Any], ...]) -> Fitted:
    """The kept turns as one run of messages, the newest user message in its place."""
    messages = [payload for turn in kept for _, payloads in turn.units for payload in payloads]
    numbers = {message.number for turn in kept for unit, _ in turn.units for message in unit.messages}
    place = None
    if current is not None and user is not None:
        place = len(messages) - sum(len(payloads) for _, payloads in kept[-1].units)
        messages.insert(place, user)
        numbers.add(current.units[0].messages[0].number)
    return Fitted(tuple(messages), frozenset(numbers), sum(turn.tokens for turn in kept), place, dropped)


def newest_turn(turn: Turn, limit_tokens: int, sizes: Sizes, dropped: list[Mapping[str, Any]]) -> Kept:
    """What follows the newest user message, or all of a turn that has none, from the end back; units too large for the
    limit are passed over."""
    kept: list[tuple[Unit, tuple[Payload, ...]]] = []
    spent, full = 0, False
    for unit in reversed(turn.units[1:] if turn.user else turn.units):
        payloads, tokens = cheapest_fit(unit, limit_tokens - spent, sizes)
        if tokens is None or full:
            full = full or lighter(unit, limit_tokens, sizes) is not None
            dropped.append(unit_note(unit, BUDGET if full else OVERSIZE))
            continue
        kept.append((unit, payloads))
        spent += tokens
    return Kept(tuple(kept[::-1]), spent)


def cheapest_fit(unit: Unit, left: int, sizes: Sizes) -> tuple[tuple[Payload, ...], int | None]:
    """A unit as it is, or lightened, whichever fits first."""
    tokens = sizes.within(unit.payloads, left)
    if tokens is not None or not any(map(is_heavy, unit.payloads)):
        return unit.payloads, tokens
    light = tuple(map(lightened, unit.payloads))
    return light, sizes.within(light, left)


def lighter(unit: Unit, limit_tokens: int, sizes: Sizes) -> int | None:
    """Tokens of a lightened unit, None if over the limit."""
    return sizes.within(map(lightened, unit.payloads), limit_tokens)


def fit_turn(turn: Turn, left: int, sizes: Sizes, dropped: list[Mapping[str, Any]]) -> Kept | None:
    """A turn whole, else lightened, else without as much of its tool traffic as must go; None if it does not fit."""
    whole = sizes.within((payload for unit in turn.units for payload in unit.payloads), left)
    if whole is not None:
        return Kept(tuple((unit, unit.payloads) for unit in turn.units), whole)
    costs = [lighter(unit, left, sizes) for unit in turn.units]
    gone = shed(turn, costs, left)
    units = [unit for at, unit in enumerate(turn.units) if at not in gone]
    tokens = sum(cost for at, cost in enumerate(costs) if at not in gone and cost is not None)
    if not units or tokens > left or any(cost is None for at, cost in enumerate(costs) if at not in gone):
        return None
    dropped.extend(unit_note(turn.units[at], BUDGET) for at in sorted(gone))
    return Kept(tuple((unit, tuple(map(lightened, unit.payloads))) for unit in units), tokens)


def shed(turn: Turn, costs: Sequence[int | None], left: int) -> set[int]:
    """Places of the tool units that go, those that fit nowhere and then the oldest, until the rest is within what is left."""
    gone = {at for at, unit in enumerate(turn.units) if unit.calls and costs[at] is None}
    spent = sum(cost or 0 for cost in costs)
    for at, unit in enumerate(turn.units):
        if spent <= left:
            break
        if unit.calls and at not in gone:
            gone.add(at)
            spent -= costs[at] or 0
    return gone


def could_stand(turn: Turn, limit_tokens: int, sizes: Sizes) -> bool:
    """Whether a turn, at its least, would fit into the whole limit."""
    least = (payload for unit in turn.units if not unit.calls for payload in map(lightened, unit.payloads))
    return sizes.within(least, limit_tokens) is not None


def noted(turn: Turn, why: str) -> Mapping[str, Any]:
    """The note of a turn that fell out."""
    first = turn.units[0].messages[0]
    return {"what": "turn", "position": first.position, "messages": turn.size, "why": why}


def unit_note(unit: Unit, why: str) -> Mapping[str, Any]:
    """The note of a unit that fell out."""
    return {"what": "tool call" if unit.calls else "message", "position": unit.messages[0].position, "why": why}
