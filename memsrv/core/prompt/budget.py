"""One budget over everything that is sent.

(1) The rendered prompt costs at most the budget, counted once more after it is rendered.
(2) The system prompt and the newest user message are given up last, and then cut visibly, never dropped; goal and state go
    before them. Beyond that whole items are dropped: half a recalled piece reads as a different statement. Only a summary
    (after a line), a profile and a pin that alone are longer than their share are cut, visibly.
(3) What the required parts leave is shared. Profile and pins are sure of a quarter, for they stand in every prompt; recall
    of half of the rest; meta, summary and window share what then is left as 1 : 2 : 3. What one does not use another
    may: of these three first, then recall, then the window, the summary, meta.
(4) A budget that is refused names a smallest one; that one works, and so does every larger one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from memsrv.core.prompt.meta import fit_meta, meta_cost, pins_cost
from memsrv.core.prompt.regions import (
    Chosen,
    Material,
    Quotes,
    dated_entry,
    profile_text,
    recall_note,
    recall_text,
    summary_text,
)
from memsrv.core.prompt.render import FIRST_USER, rendered
from memsrv.core.prompt.required import Required, framed, least_tokens, newest_user, required
from memsrv.core.prompt.sizes import MESSAGE_TOKENS, PROMPT_TOKENS, Sizes
from memsrv.core.prompt.window import Fitted, fit_turns
from memsrv.core.text.cuts import cut_end, fits
from memsrv.core.text.marks import block, listed
from memsrv.errors import BudgetTooSmall
from memsrv.model import Format, Payload, Recall, RegionName

GUIDE = {RegionName.META: 1, RegionName.SUMMARY: 2, RegionName.WINDOW: 3}
TEXT_FRAME_TOKENS = 8
"""What the text format's labels may cost beyond the frames of the messages that they stand for."""
TRIES = 8

Note = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fit:
    """What was chosen, as messages, and its account: what each region was allowed, and what fell out and why.
    `numbers` are those of the stored messages in the window."""

    chosen: Chosen
    messages: tuple[Payload, ...]
    total_tokens: int
    numbers: frozenset[int]
    limits: Mapping[RegionName, int]
    dropped: Mapping[RegionName, tuple[Note, ...]]


def fit(material: Material, *, budget_tokens: int, shape: Format, sizes: Sizes) -> Fit:
    """The best prompt within a budget. Raises BudgetTooSmall."""
    if shape is Format.TEXT:
        material = replace(material, system_prompt=listed(material.system_prompt).strip())
    frame = frame_tokens(material, shape, sizes)
    over = frame
    for _ in range(TRIES):
        made = attempt(material, budget_tokens - over, shape, sizes)
        if made is None:
            break
        if made.total_tokens <= budget_tokens:
            return made
        over += made.total_tokens - budget_tokens
    made = attempt(material.bare(), budget_tokens - frame, shape, sizes)
    if made is None:
        raise BudgetTooSmall(budget_tokens, smallest_tokens(material, shape, sizes))
    assert made.total_tokens <= budget_tokens, "what is required costs no more than it was taken to cost"
    return made


def in_window(material: Material, *, budget_tokens: int, shape: Format, sizes: Sizes) -> frozenset[int]:
    """The numbers of the stored messages that the window will show whatever recall finds: `fit` without rendering."""
    notes: dict[RegionName, list[Note]] = {name: [] for name in RegionName}
    room = budget_tokens - frame_tokens(material, shape, sizes) - PROMPT_TOKENS
    parts = required(material, room, sizes, notes)
    if parts is None:
        return frozenset()
    _, window, _ = chosen_of(material, parts, room - parts.total_tokens, sizes, notes)
    return window.numbers


def frame_tokens(material: Material, shape: Format, sizes: Sizes) -> int:
    """What a shape may add to the required parts: labels and the block of the system prompt, or the user turn that strict
    providers ask for."""
    if shape is Format.TEXT:
        return TEXT_FRAME_TOKENS + (sizes.text(block("system", "")) if material.system_prompt else 0)
    return sizes.message(FIRST_USER) if shape is Format.STRICT and newest_user(material) is None else 0


def smallest_tokens(material: Material, shape: Format, sizes: Sizes) -> int:
    """The smallest budget that works."""
    return least_tokens(material, sizes) + PROMPT_TOKENS + frame_tokens(material, shape, sizes)


def attempt(material: Material, budget_tokens: int, shape: Format, sizes: Sizes) -> Fit | None:
    """Choose within a budget and render; joined texts may cost a little more than apart. None if what is required does
    not fit."""
    notes: dict[RegionName, list[Note]] = {name: [] for name in RegionName}
    parts = required(material, budget_tokens - PROMPT_TOKENS, sizes, notes)
    if parts is None:
        return None
    chosen, window, limits = chosen_of(material, parts, budget_tokens - PROMPT_TOKENS - parts.total_tokens, sizes, notes)
    messages = rendered(chosen, shape)
    dropped = {name: tuple(fallen) for name, fallen in notes.items()}
    return Fit(chosen, messages, sizes.prompt(messages), window.numbers, limits, dropped)


def chosen_of(
    material: Material, parts: Required, left: int, sizes: Sizes, notes: Mapping[RegionName, list[Note]]
) -> tuple[Chosen, Fitted, Mapping[RegionName, int]]:
    """Spend what the required parts leave; see (3)."""
    limits = guided(material, parts, left, sizes)
    profile, pins, meta_tokens = fit_meta(material, limits[RegionName.META], sizes)
    summary, summary_tokens = fit_summary(material, limits[RegionName.SUMMARY], sizes)
    window = fit_turns(material.turns, parts.user, limit_tokens=limits[RegionName.WINDOW], sizes=sizes)
    rest = left - meta_tokens - summary_tokens - window.tokens
    limits[RegionName.RECALL] = rest if material.wants_recall else 0
    hits, recall_tokens = fit_recall(unseen(material, window), rest, material.session, sizes, material.quotes)
    picked = Picked(profile, pins, summary, hits, window)
    if material.hits is not None:
        picked = grown(picked, material, parts, limits=limits, left=left - recall_tokens, sizes=sizes)
    chosen = picked.chosen(material, parts)
    note(notes, material, chosen, picked.window)
    return chosen, picked.window, {name: limits.get(name, 0) + parts.tokens.get(name, 0) for name in RegionName}


@dataclass(frozen=True, slots=True)
class Picked:
    """What stands beside the required parts."""

    profile: str
    pins: tuple[str, ...]
    summary: str
    hits: tuple[Recall, ...]
    window: Fitted

    def chosen(self, material: Material, parts: Required) -> Chosen:
        """All of it together."""
        return Chosen(
            session=material.session,
            system_prompt=parts.system_prompt,
            profile=self.profile,
            pins=self.pins,
            summary=self.summary,
            hits=self.hits,
            window=self.window.messages,
            current=self.window.current,
            state=parts.state,
            quotes=material.quotes,
        )


def grown(
    picked: Picked, material: Material, parts: Required, *, limits: dict[RegionName, int], left: int, sizes: Sizes
) -> Picked:
    """Give what recall did not use (`left` holds the other regions too) to the window, then the summary, then meta."""
    summary_tokens = framed(summary_text(picked.summary), sizes)
    meta_tokens = meta_cost(picked.profile, picked.pins, sizes)
    limits[RegionName.WINDOW] = left - summary_tokens - meta_tokens
    window = fit_turns(material.turns, parts.user, limit_tokens=limits[RegionName.WINDOW], sizes=sizes)
    limits[RegionName.SUMMARY] = left - window.tokens - meta_tokens
    summary, summary_tokens = fit_summary(material, limits[RegionName.SUMMARY], sizes)
    limits[RegionName.META] = left - window.tokens - summary_tokens
    profile, pins, _ = fit_meta(material, limits[RegionName.META], sizes)
    hits = tuple(hit for hit in picked.hits if hit.chunk.message_number not in window.numbers)
    return Picked(profile, pins, summary, hits, window)


def note(notes: Mapping[RegionName, list[Note]], material: Material, chosen: Chosen, window: Fitted) -> None:
    """Write down what fell out, and why."""
    if material.profile != chosen.profile:
        notes[RegionName.META].append({"what": "profile", "why": "cut to the budget" if chosen.profile else "budget"})
    notes[RegionName.META].extend(pin_notes(material, frozenset(chosen.pins)))
    if material.summary and listed(material.summary.text.strip()) != chosen.summary:
        why = "cut to the budget" if chosen.summary else "budget"
        notes[RegionName.SUMMARY].append({"what": "summary", "version": material.summary.version, "why": why})
    shown = {hit.chunk.number for hit in chosen.hits}
    for hit in material.hits or ():
        if hit.chunk.message_number in window.numbers:
            notes[RegionName.RECALL].append(recall_note(hit, "the window shows it"))
        elif hit.chunk.number not in shown:
            notes[RegionName.RECALL].append(recall_note(hit, "budget"))
    notes[RegionName.WINDOW].extend(window.dropped)


def pin_notes(material: Material, shown: frozenset[str]) -> Iterator[Note]:
    """The notes of the pins that do not stand whole, by their ids: no text goes into an account."""
    for pin, id in zip_longest(material.pins, material.pin_ids):
        if pin not in shown:
            yield {"what": "pin", "id": id, "why": "budget"}


# --- shares ---------------------------------------------------------------------------------------------------------


def guided(material: Material, parts: Required, left: int, sizes: Sizes) -> dict[RegionName, int]:
    """What meta, summary and window may use before recall is known; see (3)."""
    wanted = needs(material, parts, left, sizes)
    sure = min(wanted[RegionName.META], left // 4)
    for_recall = recall_floor(material, left - sure, sizes)
    limits = shared(left - sure - for_recall, wanted | {RegionName.META: wanted[RegionName.META] - sure})
    return limits | {RegionName.META: limits[RegionName.META] + sure}


def recall_floor(material: Material, left: int, sizes: Sizes) -> int:
    """What recall is sure of: half of what is left, or less if it has less to show."""
    if material.hits is None:
        return left // 2
    whole = recall_text(material.hits, material.session, material.quotes)
    return framed(whole, sizes) if fits(whole, left // 2 - MESSAGE_TOKENS, sizes.text) else left // 2


def needs(material: Material, parts: Required, left: int, sizes: Sizes) -> dict[RegionName, int]:
    """What meta, summary and window would cost whole, up to what is left."""
    everything = fit_turns(material.turns, parts.user, limit_tokens=left, sizes=sizes)
    summary = listed(material.summary.text.strip()) if material.summary else ""
    return {
        RegionName.META: min(left, framed(profile_text(material.profile), sizes) + pins_cost(material.pins, left, sizes)),
        RegionName.SUMMARY: min(left, framed(summary_text(summary), sizes)),
        RegionName.WINDOW: left if everything.dropped else everything.tokens,
    }


def shared(total: int, wanted: Mapping[RegionName, int]) -> dict[RegionName, int]:
    """Divide a total by `GUIDE`; what one does not want goes to the others in the same ratio."""
    given = dict.fromkeys(wanted, 0)
    open_names = {name for name, need in wanted.items() if need > 0}
    while open_names and total > 0:
        weight = sum(GUIDE[name] for name in open_names)
        sated = {name for name in open_names if wanted[name] <= total * GUIDE[name] // weight}
        if not sated:
            return given | {name: total * GUIDE[name] // weight for name in open_names}
        given |= {name: wanted[name] for name in sated}
        total -= sum(wanted[name] for name in sated)
        open_names -= sated
    return given


# --- regions --------------------------------------------------------------------------------------------------------


def fit_summary(material: Material, limit_tokens: int, sizes: Sizes) -> tuple[str, int]:
    """The summary within a limit, cut after a line if it must be, and its tokens."""
    if not material.summary:
        return "", 0
    whole = listed(material.summary.text.strip())
    text = cut_end(whole, limit_tokens - MESSAGE_TOKENS, lambda text: sizes.text(summary_text(text))) or ""
    return text, framed(summary_text(text), sizes)


def unseen(material: Material, window: Fitted) -> tuple[Recall, ...]:
    """The hits that the window does not show."""
    return tuple(hit for hit in material.hits or () if hit.chunk.message_number not in window.numbers)


def fit_recall(
    hits: tuple[Recall, ...], limit_tokens: int, session: str, sizes: Sizes, quotes: Quotes
) -> tuple[tuple[Recall, ...], int]:
    """As many of the best hits as fit, and their tokens.

    Mostly all do. If not, entries are counted one by one, with their dates, to see how many more could fit; what they cost
    together is counted anew then, for most go without a date.
    """
    whole = recall_text(hits, session, quotes)
    if fits(whole, limit_tokens - MESSAGE_TOKENS, sizes.text):
        return hits, framed(whole, sizes)
    taken, spent = 0, 0
    while taken < len(hits):
        room = limit_tokens - (spent or frame_cost(sizes))
        more = max(1, count_fitting(hits[taken:], room, session, sizes, quotes))
        tokens = framed(recall_text(hits[: taken + more], session, quotes), sizes)
        while tokens > limit_tokens and more > 0:
            more -= 1
            tokens = framed(recall_text(hits[: taken + more], session, quotes), sizes)
        if more == 0:
            break
        taken, spent = taken + more, tokens
    return hits[:taken], spent


def count_fitting(hits: Sequence[Recall], room: int, session: str, sizes: Sizes, quotes: Quotes) -> int:
    """How many entries of hits, each counted by itself with date and line end, are within a room."""
    for place, hit in enumerate(hits):
        room -= sizes.text(dated_entry(quotes.of(hit, session))) + 1
        if room < 0:
            return place
    return len(hits)


def frame_cost(sizes: Sizes) -> int:
    """Tokens of a recall block around nothing."""
    return framed(block("recall", ""), sizes)
