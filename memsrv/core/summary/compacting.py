"""Which messages leave the window for the summary, why, and what a summarizer is shown of them.

(1) What leaves are the oldest messages, whole turns, up to a position: all before it, none after it. Only in a turn that
    alone is over the limit is the cut between units; a tool call never parts from its results, nor the newest turn from
    its user message.
(2) A cut stands where no turn reaches across it, by position: a result that came late holds its turn together.
(3) A plan always covers something new. After it the rest is within what `keep` says, or is one turn, so no plan follows on a
    plan without a new message.
(4) Nothing is left out of what a summarizer is shown, but reasoning, bytes, our own blocks, and the middle of a tool result.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from memsrv.core.prompt.policy import Policy
from memsrv.core.prompt.sections import Sections, newest_within, size_bytes, staying
from memsrv.core.prompt.sending import plain_text, sendable
from memsrv.core.prompt.sizes import CALL_TOKENS, IMAGE_TOKENS, MESSAGE_TOKENS, Sizes, texts
from memsrv.core.prompt.turns import Turn, Unit, leading_system, paired, turns_of
from memsrv.core.summary.summary import Count, Source
from memsrv.core.text.chunking import spans
from memsrv.core.text.content import call_lines
from memsrv.core.text.cuts import without_middle
from memsrv.model import Message, Mode, Payload, Trigger

WINDOW_SHARE = 3 / 6
"""Of a budget, by the guide ratio meta : summary : window = 1 : 2 : 3."""
FAR_OVER = 1.5
"""A window of so many times its share is compacted to its share."""
LEAST_ROOM_TOKENS = 1024
"""Below this budget a prompt is no measure for a window."""
TOOL_CHARS = 600
CALL_CHARS = 200
MOST_FRAME_TOKENS = 2 * MESSAGE_TOKENS
"""A message may cost so much beside its texts, their rounding up included."""
ENDLESS = 2**60
SOURCE_TOKENS = 12
"""What a source may cost beside its text: who said it, and when."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All messages up to this position leave."""

    upto: int
    reason: Trigger


@dataclass(frozen=True)
class Ground:
    """The messages that no summary covers, in order of arrival. `opens`: the session begins with the first of them; `more`:
    others follow the last of them, and are not read yet."""

    messages: Sequence[Message]
    max_tool_bytes: int
    opens: bool
    more: bool = False

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns, as they arrived."""
        opening = leading_system(self.messages) if self.opens else ()
        units, _ = paired(self.messages[len(opening) :], max_tool_bytes=self.max_tool_bytes)
        return turns_of(units)

    @property
    def last_position(self) -> int:
        return self.messages[-1].position if self.messages else 0


# --- when, and how much ---------------------------------------------------------------------------------------------


def due(ground: Ground, policy: Policy, sizes: Sizes, *, stale_upto: int = 0) -> Plan | None:
    """What must leave now: by the policy's trigger, by the window's share, or because it had been covered before an edit."""
    plan = by_trigger(ground, policy, sizes) or crowded(ground, policy, sizes)
    again = derived_again(ground, stale_upto)
    return again if again and again.upto > (plan.upto if plan else 0) else plan


def derived_again(ground: Ground, stale_upto: int) -> Plan | None:
    """What had been covered, up to where that ended; where more follows that is not read yet, up to the last place for a cut."""
    if not any(message.position <= stale_upto for message in ground.messages):
        return None
    if ground.more and stale_upto > ground.last_position:
        return planned(ground, 1, Trigger.STALE) or within_newest(ground, 0, 0, lambda unit: len(unit.messages), Trigger.STALE)
    return Plan(min(stale_upto, ground.last_position), Trigger.STALE)


def by_trigger(ground: Ground, policy: Policy, sizes: Sizes) -> Plan | None:
    """What leaves by the policy's trigger."""
    trigger, keep = policy.summary.trigger, policy.window_keep
    if trigger.type is Trigger.SECTIONS:
        assert policy.sections, "a session that is cut by sections has a policy for them"
        return by_sections(ground, policy.sections)
    if trigger.type is Trigger.MESSAGES:
        return by_messages(ground, keep, most=trigger.value)
    least = trigger.value * keep // policy.window_size if policy.window_size else 0
    return by_tokens(ground, trigger.value, least, sizes, trigger.type, keep=keep)


def by_sections(ground: Ground, sections: Sections) -> Plan | None:
    """What does not stay of the sections leaves; a section that alone is over `last_bytes` is cut to half of that."""
    last, inside = sections.last_bytes, None
    if last is not None:
        inside = within_newest(ground, last, last // 2, lambda unit: size_bytes(Turn((unit,))), Trigger.SECTIONS)
    return inside or planned(ground, staying([size_bytes(turn) for turn in ground.turns], sections), Trigger.SECTIONS)


def by_messages(ground: Ground, keep: int, *, most: int, reason: Trigger = Trigger.MESSAGES) -> Plan | None:
    """When there are more than `most` messages, all leave but the newest turns of at most `keep`."""
    held = [turn.size for turn in ground.turns]
    if sum(held) <= most and not ground.more:
        return None
    inside = within_newest(ground, most, keep, lambda unit: len(unit.messages), reason)
    return inside or planned(ground, newest_within(held, keep), reason)


def by_tokens(ground: Ground, most: int, least: int, sizes: Sizes, reason: Trigger, *, keep: int | None = None) -> Plan | None:
    """When they cost more than `most` tokens, all leave but the newest turns of at most `least` (and `keep` messages)."""
    if not ground.more and cost_bound(ground.turns) <= most:
        return None
    held = [sizes.messages(payloads(turn)) for turn in ground.turns]
    if sum(held) <= most and not ground.more:
        return None
    stay = newest_within(held, least)
    if keep is not None:
        stay = min(stay, newest_within([turn.size for turn in ground.turns], keep))
    inside = within_newest(ground, most, least, lambda unit: sizes.messages(unit.payloads), reason)
    return inside or planned(ground, stay, reason)


def crowded(ground: Ground, policy: Policy, sizes: Sizes, reason: Trigger = Trigger.SHARE) -> Plan | None:
    """When the window is far over its share of the budget, it is brought back to it."""
    share = int(policy.limit_tokens * WINDOW_SHARE)
    if policy.limit_tokens < LEAST_ROOM_TOKENS:
        return None
    return by_tokens(ground, int(share * FAR_OVER), share, sizes, reason)


def is_crowded(turns: Sequence[Turn], policy: Policy, sizes: Sizes) -> bool:
    """Whether the turns of a window are far over their share of the budget, and more than the newest."""
    if policy.limit_tokens < LEAST_ROOM_TOKENS or len(turns) < 2:
        return False
    limit = int(policy.limit_tokens * WINDOW_SHARE * FAR_OVER)
    said = (payload for turn in turns for payload in payloads(turn))
    return cost_bound(turns) > limit and sizes.within(said, limit) is None


def asked(ground: Ground, keep: int, reason: Trigger = Trigger.ASKED) -> Plan | None:
    """What leaves so that at most `keep` messages stay; with 0 everything."""
    if keep == 0 and not ground.more:
        return Plan(ground.last_position, reason) if ground.messages else None
    return by_messages(ground, keep, most=keep, reason=reason)


def why_nothing(ground: Ground, keep: int) -> str:
    """Why nothing leaves, where it was asked for."""
    if not ground.messages:
        return "There is no message that the summary does not cover."
    held = sum(turn.size for turn in ground.turns)
    if held <= keep:
        return f"The summary does not cover {held} of the messages, and up to {keep} stay."
    return "What the summary does not cover is one turn, which is not cut while it may go on; keep 0 covers that too."


def switching(ground: Ground, after: Policy, sizes: Sizes) -> Plan | None:
    """What leaves the prompt when its mode changes to that of `after`."""
    if not after.summary.enabled or after.mode is Mode.FULL:
        return None
    if not after.summarises:
        return by_messages(ground, after.window_size, most=after.window_size, reason=Trigger.SWITCH)
    plan = by_trigger(ground, after, sizes)
    return Plan(plan.upto, Trigger.SWITCH) if plan else None


# --- where ----------------------------------------------------------------------------------------------------------


def planned(ground: Ground, stay: int, reason: Trigger) -> Plan | None:
    """All but the newest `stay` turns leave, at least one of these staying; None if there is no place for a cut."""
    turns = ground.turns
    for at in range(len(turns) - max(1, stay), 0, -1):
        first = oldest_position(turns[at:])
        if max(turn.newest_position for turn in turns[:at]) < first:
            return Plan(first - 1, reason)
    return None


def within_newest(ground: Ground, most: int, keep: int, size: Callable[[Unit], int], reason: Trigger) -> Plan | None:
    """In a newest turn that alone is over the limit, even without its user message, all but the newest units leave, and so does
    everything before it."""
    if not ground.turns:
        return None
    turn = ground.turns[-1]
    units = turn.units[1:] if turn.user else turn.units
    held = [size(unit) for unit in units]
    if sum(held) <= most:
        return None
    before = max((older.newest_position for older in ground.turns[:-1]), default=0)
    for at in range(len(units) - max(1, newest_within(held, keep)), 0, -1):
        first = oldest_position([Turn(units[at:])])
        if max(before, Turn(units[:at]).newest_position) < first:
            return Plan(first - 1, reason)
    return None


def oldest_position(turns: Sequence[Turn]) -> int:
    return min(message.position for turn in turns for unit in turn.units for message in unit.messages)


def payloads(turn: Turn) -> Iterator[Payload]:
    for unit in turn.units:
        yield from unit.payloads


def cost_bound(turns: Sequence[Turn]) -> int:
    """Tokens that turns cost at most, by their bytes: cheap, and most windows are far below every limit."""
    said = [payload for turn in turns for payload in payloads(turn)]
    bytes_said = sum(len(text.encode()) for payload in said for text in texts(payload))
    return bytes_said + len(said) * MOST_FRAME_TOKENS + sum(map(frames, said))


def frames(payload: Payload) -> int:
    """Tokens that a message's parts and calls may cost beside their texts, at most."""
    content = payload.get("content")
    parts = len(content) * IMAGE_TOKENS if isinstance(content, list) else 0
    names = (payload.get("name"), payload.get("tool_call_id"))
    calls = [(call.get("id"), (call.get("function") or {}).get("name")) for call in payload.get("tool_calls") or ()]
    named = sum(len(str(name).encode()) for name in (*names, *(part for call in calls for part in call)) if name)
    return parts + named + len(calls) * CALL_TOKENS


@dataclass(frozen=True, slots=True)
class Within:
    """Messages and tokens."""

    messages: int
    tokens: int


def certainly_within(policy: Policy) -> Within:
    """What a window may hold before anything can be due."""
    trigger, sections = policy.summary.trigger, policy.sections
    crowded_at = int(policy.limit_tokens * WINDOW_SHARE * FAR_OVER) if policy.limit_tokens >= LEAST_ROOM_TOKENS else ENDLESS
    if trigger.type is Trigger.MESSAGES:
        return Within(trigger.value, crowded_at)
    if trigger.type is Trigger.TOKENS:
        return Within(ENDLESS, min(trigger.value, crowded_at))
    assert sections, "a session that is cut by sections has a policy for them"
    limits = [crowded_at] if sections.last_bytes is None else [crowded_at, sections.last_bytes]
    return Within(sections.max_qa, min(*limits, sections.max_qa_bytes)) if sections.use_qa else Within(ENDLESS, min(limits))


def payload_bound(payload: Payload) -> int:
    """Tokens, and bytes of text, that a message has at most; cheap."""
    content = payload.get("content")
    parts = len(content) * IMAGE_TOKENS if isinstance(content, list | tuple) else 0
    calls = payload.get("tool_calls") or ()
    return len(json.dumps(payload, default=dict)) + parts + MOST_FRAME_TOKENS + CALL_TOKENS * len(calls)


# --- what a summarizer is shown -------------------------------------------------------------------------------------


def sources(ground: Ground, upto: int) -> list[Source]:
    """The messages that leave, as plain text; the system messages that open a session stand in every prompt as they are."""
    opening = len(leading_system(ground.messages)) if ground.opens else 0
    found = (source_of(message) for message in ground.messages[opening:] if message.position <= upto)
    return [source for source in found if source.text]


def source_of(message: Message) -> Source:
    """A message as a summarizer sees it; its text is empty if there is nothing to see."""
    sent = sendable(message.payload, max_tool_bytes=TOOL_CHARS * 4)
    text = plain_text(sent["content"] or "").strip()
    if message.role == "tool" and len(text) > TOOL_CHARS:
        text = without_middle(text, TOOL_CHARS)
    calls = (line[:CALL_CHARS] for line in call_lines(sent) if line)
    said = "\n".join(piece for piece in (text, *(f"[called {line}]" for line in calls)) if piece)
    return Source(message.position, message.role, message.name or message.role, message.sent_at, said)


WORD = regex.compile(r"[\p{L}\p{N}--\p{Han}]+|\p{Han}", regex.V1)
MOST_MUTE_CHARS = 16
MOST_MUTE_LETTERS = 2
"""A long word of so few letters ("hahahaha...") is none."""


def tells(source: Source) -> bool:
    """Whether a message says anything: two different words, or one that is not said over and over. A sign or two may be an
    answer, so what is short is taken to tell."""
    if len(source.text) <= MOST_MUTE_CHARS:
        return True
    words = Counter[str]()
    for found in WORD.finditer(source.text):
        words[found[0].casefold()] += 1
        if len(words) > 1:
            return True
    return any(times == 1 and len(set(word)) > MOST_MUTE_LETTERS for word, times in words.items())


def spoken_of(pins: Sequence[str], said: Sequence[Source]) -> list[str]:
    """The pins that stand in what was said: a summary of it must keep them. Others stand in every prompt, and in no summary,
    where they would outlive their removal."""
    talk = "\n".join(" ".join(source.text.casefold().split()) for source in said)
    return [pin for pin in pins if (text := " ".join(pin.casefold().split())) and text in talk]


def parts(said: Sequence[Source], limit_tokens: int, count: Count) -> Iterator[tuple[Source, ...]]:
    """The sources in runs of at most `limit_tokens`, in order; one that is longer is cut at sentence ends."""
    run: list[Source] = []
    spent = 0
    for source in said:
        for piece, cost in pieces(source, limit_tokens, count):
            if run and spent + cost > limit_tokens:
                yield tuple(run)
                run, spent = [], 0
            run.append(piece)
            spent += cost
    if run:
        yield tuple(run)


def pieces(source: Source, limit_tokens: int, count: Count) -> Iterator[tuple[Source, int]]:
    """A source with its tokens; in pieces, if it is over the limit."""
    cost = count(source.text) + SOURCE_TOKENS
    if cost <= limit_tokens:
        yield source, cost
        return
    for span in spans(source.text):
        text = source.text[span.start : span.end]
        yield Source(source.position, source.role, source.speaker, source.sent_at, text), count(text) + SOURCE_TOKENS
