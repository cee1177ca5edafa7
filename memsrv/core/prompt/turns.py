"""Stored messages as units that are kept or dropped whole, and turns, which begin with a user message.

(1) A tool call and all its results are one unit, the results right after the call in the order of the calls, whatever
    came in between. A call that lacks a result, and a result without a call, are set aside.
(2) Turns stand in the order in which their user messages arrived, with one exception: a user message that was sent more
    than an hour before one that had arrived already (a backfill) takes its place among the earlier turns by the time
    it was sent, with what belongs to it; so it is never the current turn. Only user messages are compared with each
    other, for a client that gives the time of one role only, or whose clock is wrong, is wrong by the same amount each
    time. Nothing counts as sent later than it was stored, and what has no time of its own is never late: the server's
    clock may have been put back.
(3) The system messages that open a session are its system prompt and are no part of the talk. A later system message
    stays where it is, unless it says the system prompt or a newer system message over again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from memsrv.core.prompt.sending import SYSTEM_ROLES, plain_text, sendable
from memsrv.core.remembering import Same
from memsrv.model import Message, Payload

LATE = timedelta(hours=1)
REMEMBERED_CHARS = 4000
PLAIN = frozenset({"role", "content", "name", "tool_call_id"})
CURRENT_LOOK_BACK = 64
"""The newest messages among which late turns find their place; older ones stay as they arrived."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as it is sent, and which one it is. `timed`: the client gave a time earlier than that of arrival."""

    number: int
    position: int
    sent_at: datetime
    timed: bool
    payload: Payload


@dataclass(frozen=True, slots=True)
class Unit:
    """One message, or a tool call with its results. What hangs on the messages is worked out once: each is asked for many times
    in a prompt, and the unit of a plain message stands in one prompt after the other."""

    messages: tuple[Shown, ...]
    role: str = field(init=False, compare=False)
    calls: bool = field(init=False, compare=False)
    payloads: tuple[Payload, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        first = self.messages[0].payload
        object.__setattr__(self, "role", str(first["role"]))
        object.__setattr__(self, "calls", "tool_calls" in first)
        object.__setattr__(self, "payloads", tuple(message.payload for message in self.messages))


@dataclass(frozen=True, slots=True)
class Turn:
    """A user message and what follows up to the next; the first turn of a talk may lack the user message."""

    units: tuple[Unit, ...]
    user: Unit | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        first = self.units[0] if self.units and self.units[0].role == "user" else None
        object.__setattr__(self, "user", first)

    @property
    def answered(self) -> bool:
        """Whether nothing is open: the turn ends with what the assistant said."""
        return bool(self.units) and self.units[-1].role == "assistant" and not self.units[-1].calls

    @property
    def size(self) -> int:
        """Messages in the turn."""
        return sum(len(unit.messages) for unit in self.units)

    @property
    def newest_position(self) -> int:
        return max((message.position for unit in self.units for message in unit.messages), default=0)


@dataclass(frozen=True, slots=True)
class Talk:
    """The turns, oldest first, the system prompt that the session opened with, and what was set aside and why."""

    turns: tuple[Turn, ...]
    opening: str = ""
    set_aside: tuple[Mapping[str, Any], ...] = field(default=())


def talk(messages: Sequence[Message], *, system_prompt: str | None, max_tool_bytes: int, opens: bool) -> Talk:
    """Messages in order of position as turns. `opens` says that the session begins with the first of them."""
    opening = leading_system(messages) if opens else ()
    first = (sendable(message.payload, max_tool_bytes=max_tool_bytes)["content"] for message in opening)
    said_first = "\n\n".join(text for content in first if (text := plain_text(content).strip()))
    prompt = system_prompt if system_prompt is not None else said_first
    units, set_aside = paired(messages[len(opening) :], max_tool_bytes=max_tool_bytes)
    units = without_repeats(units, prompt)
    return Talk(in_time(turns_of(units)), said_first, tuple(set_aside))


def leading_system(messages: Sequence[Message]) -> Sequence[Message]:
    """The system messages before the first other one."""
    count = next((n for n, message in enumerate(messages) if message.role not in SYSTEM_ROLES), len(messages))
    return messages[:count]


# --- units ----------------------------------------------------------------------------------------------------------


def paired(messages: Iterable[Message], *, max_tool_bytes: int) -> tuple[list[Unit], list[Mapping[str, Any]]]:
    """Units in order, and what was set aside. A result answers the newest call of its id that has no result yet."""
    found: list[Unit | tuple[Shown, dict[str, Shown | None]]] = []
    waiting: dict[str, list[dict[str, Shown | None]]] = {}
    set_aside: list[Mapping[str, Any]] = []
    for message in messages:
        if message.role != "tool" and is_short(message):
            if unit := short_unit(Same(message), max_tool_bytes):
                found.append(unit)
            continue
        shown = shown_of(message, max_tool_bytes)
        if shown.payload["role"] == "tool":
            call_id = shown.payload["tool_call_id"]
            if calls := waiting.get(call_id):
                calls.pop()[call_id] = shown
            else:
                set_aside.append(aside(shown, "result without its call"))
            continue
        answers: dict[str, Shown | None] = dict.fromkeys(call["id"] for call in shown.payload.get("tool_calls") or ())
        for call_id in answers:
            waiting.setdefault(call_id, []).append(answers)
        found.append((shown, answers))
    units = (one if isinstance(one, Unit) else unit_of(*one, set_aside) for one in found)
    return [unit for unit in units if unit], set_aside


def is_short(message: Message) -> bool:
    """Whether a message is a short text, and calls nothing, as most are: what is made of it is remembered."""
    content = message.payload.get("content")
    return isinstance(content, str) and len(content) <= REMEMBERED_CHARS and message.payload.keys() <= PLAIN


@lru_cache(4096)
def short_unit(message: Same[Message], max_tool_bytes: int) -> Unit | None:
    """The unit of a short message that answers no call; None if there is nothing to show."""
    return unit_of(worked_out(message.value, max_tool_bytes), {}, [])


def unit_of(shown: Shown, answers: Mapping[str, Shown | None], set_aside: list[Mapping[str, Any]]) -> Unit | None:
    """A message with its results; its text alone if a result is missing; None if there is nothing to show."""
    results = tuple(answer for answer in answers.values() if answer)
    if answers and len(results) == len(answers):
        return Unit((shown, *results))
    if answers:
        set_aside.append(aside(shown, "call without its result"))
        set_aside.extend(aside(result, "result of a call that lacks another") for result in results)
        shown = replace(shown, payload={name: value for name, value in shown.payload.items() if name != "tool_calls"})
    return Unit((shown,)) if shown.payload["content"] is not None else None


def shown_of(message: Message, max_tool_bytes: int) -> Shown:
    """A stored message as it is sent. Calls that no provider would take (no id, the same id twice, no name) are left out."""
    return short_shown(Same(message), max_tool_bytes) if is_short(message) else worked_out(message, max_tool_bytes)


@lru_cache(1024)
def short_shown(message: Same[Message], max_tool_bytes: int) -> Shown:
    """A short result of a tool, which stands in one prompt after the other."""
    return worked_out(message.value, max_tool_bytes)


def worked_out(message: Message, max_tool_bytes: int) -> Shown:
    """See `shown_of`; what is not remembered goes here at once."""
    payload = message.payload
    if "tool_calls" in payload and not sound(payload["tool_calls"]):
        payload = {name: value for name, value in payload.items() if name != "tool_calls"}
    sent_at = min(message.sent_at, message.stored_at)
    timed = message.sent_at < message.stored_at
    return Shown(message.number, message.position, sent_at, timed, sendable(payload, max_tool_bytes=max_tool_bytes))


def sound(calls: object) -> bool:
    """Whether every call has an id of its own and names a function."""
    if not isinstance(calls, list | tuple):
        return False
    whole = [
        call["id"]
        for call in calls
        if isinstance(call, Mapping)
        and isinstance(call.get("id"), str)
        and call["id"]
        and isinstance(call.get("function"), Mapping)
        and call["function"].get("name")
    ]
    return len(set(whole)) == len(calls)


def aside(shown: Shown, why: str) -> dict[str, Any]:
    """The note of a message that is not shown."""
    return {"what": "message", "position": shown.position, "why": why}


def without_repeats(units: Sequence[Unit], system_prompt: str) -> list[Unit]:
    """Units without the system messages that repeat the system prompt, or that a newer one repeats; see (3)."""
    kept: list[Unit] = []
    newer: set[str] = set()
    for unit in reversed(units):
        if unit.role != "system":
            kept.append(unit)
            continue
        shown = unit.messages[0]
        text = plain_text(shown.payload["content"]).strip()
        said = text.removeprefix(system_prompt.strip()).strip()
        if not said or said in newer:
            continue
        newer.add(said)
        kept.append(unit if said == text else Unit((replace(shown, payload={**shown.payload, "content": said}),)))
    return kept[::-1]


# --- turns ----------------------------------------------------------------------------------------------------------


def turns_of(units: Iterable[Unit]) -> list[Turn]:
    """Units cut before every user message."""
    groups: list[list[Unit]] = []
    for unit in units:
        if unit.role == "user" or not groups:
            groups.append([])
        groups[-1].append(unit)
    return [Turn(tuple(group)) for group in groups]


def in_time(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Turns with the late ones among the newest put where they belong; see (2)."""
    recent = first_recent(turns)
    placed: list[tuple[datetime, Turn]] = []
    newest: datetime | None = None
    for turn in turns[recent:]:
        sent_at, timed = turn.units[0].messages[0].sent_at, turn.units[0].messages[0].timed
        if turn.user is None or newest is None or not timed or newest - sent_at <= LATE:
            if turn.user:  # one without a time of its own says what the clock says, which may have been put back
                newest = sent_at if newest is None or not timed else max(newest, sent_at)
            placed.append((sent_at, turn))
            continue
        late, on_time = divided(turn, newest)
        if on_time and placed:
            placed[-1] = (placed[-1][0], Turn((*placed[-1][1].units, *on_time)))
        at = next((n for n, (other, held) in enumerate(placed) if held.user and other > sent_at), len(placed))
        placed.insert(at, (sent_at, Turn(late)))
    return (*turns[:recent], *(turn for _, turn in placed))


def first_recent(turns: Sequence[Turn]) -> int:
    """Where the turns begin that hold the newest messages."""
    held = 0
    for at in range(len(turns) - 1, -1, -1):
        held += turns[at].size
        if held > CURRENT_LOOK_BACK:
            return at + 1
    return 0


def divided(turn: Turn, newest: datetime) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """A late turn's units: its user message with what is late like it, or has no time of its own; and what was sent with
    the newest. Times are subtracted from each other only: a time near the first year has none an hour before it."""
    first, *rest = turn.units
    after = tuple(unit for unit in rest if unit.messages[0].timed and newest - unit.messages[0].sent_at <= LATE)
    return (first, *(unit for unit in rest if unit not in after)), after


# --- the window -----------------------------------------------------------------------------------------------------


def window(turns: Sequence[Turn], *, size: int | None, covered_upto: int = 0, whole: bool = False) -> tuple[Turn, ...]:
    """The newest turns that hold at most `size` messages (None: all) and are not wholly covered by a summary.

    The newest turn is always among them: if it alone is longer, its user message and as many of its last units as fit, or all of
    it if it is wanted `whole`.
    With size 0 it stays only while it waits for its answer.
    """
    if not turns:
        return ()
    if size is None:
        return tuple(turns)
    if size == 0 and turns[-1].answered:
        return ()
    chosen = [turns[-1] if whole else shortened(turns[-1], max(1, size))]
    held = chosen[0].size
    for turn in reversed(turns[:-1]):
        if turn.newest_position <= covered_upto:
            continue
        held += turn.size
        if held > size:
            break
        chosen.append(turn)
    return tuple(chosen[::-1])


def beyond(turns: Sequence[Turn], covered_upto: int, *, size: int) -> tuple[Turn, ...]:
    """What no summary covers, whatever its length: nothing may be in neither. Of a turn that is covered in part, its user
    message and the rest. The newest turn is always among them, as it is in a `window` of this size."""
    parts = [part for turn in turns if (part := uncovered(turn, covered_upto))]
    if turns and turns[-1].newest_position <= covered_upto:
        parts.extend(window(turns[-1:], size=size))
    return tuple(parts)


def uncovered(turn: Turn, covered_upto: int) -> Turn | None:
    """What a summary does not cover of a turn, under its user message; None if it covers all."""
    rest = tuple(unit for unit in turn.units if any(message.position > covered_upto for message in unit.messages))
    if not rest:
        return None
    return Turn(rest) if turn.user is None or rest[0] is turn.user else Turn((turn.user, *rest))


def shortened(turn: Turn, size: int) -> Turn:
    """A turn's user message and as many of its last units as make at most `size` messages."""
    if turn.size <= size:
        return turn
    head = turn.units[:1] if turn.user else ()
    kept: list[Unit] = []
    held = sum(len(unit.messages) for unit in head)
    for unit in reversed(turn.units[len(head) :]):
        held += len(unit.messages)
        if held > size:
            break
        kept.append(unit)
    return Turn((*head, *kept[::-1]))
