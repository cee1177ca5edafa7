"""What a prompt can be made of, what it is made of, and the text of each region.

Two orders, two tables: `READING` is how a model meets the regions; `GIVING_UP` is what goes first when tokens are short.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any

from memsrv.core.prompt.turns import Turn
from memsrv.core.text.content import mended_text
from memsrv.core.text.marks import block, called, listed, one_line, quoted, without_blocks
from memsrv.model import Meta, Payload, Pin, Recall, RegionName, Snapshot

READING = (RegionName.META, RegionName.SUMMARY, RegionName.RECALL, RegionName.WINDOW, RegionName.STATE)
GIVING_UP = (RegionName.RECALL, RegionName.WINDOW, RegionName.SUMMARY, RegionName.META, RegionName.STATE)
"""The system prompt (of meta) and the newest user message (of the window) go after all of these."""

DATE_REACH_CHARS = 200
SPEAKER_CHARS = 60
INDENT = "\n  "
"""Leads the further lines of a pin, so that none of them passes for a pin of its own."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A hit as it is written: its day, then its time of day, speaker, score and text."""

    hit: Recall
    day: str
    said: str


class Quotes:
    """What hits say, each worked out once for a prompt, and blocks of them."""

    def __init__(self) -> None:
        self._quotes: dict[int, Quote] = {}
        self._blocks: dict[tuple[int, ...], str] = {}

    def of(self, hit: Recall, session: str) -> Quote:
        """A hit as it is written in a prompt of this session."""
        known = self._quotes.get(id(hit))
        if known is None:
            at = hit.chunk.sent_at.astimezone(UTC)
            said = f"{at.hour:02}:{at.minute:02} {speaker(hit, session)}: {quoted(hit.chunk.text.strip())}"
            known = self._quotes[id(hit)] = Quote(hit, at.date().isoformat(), said)
        return known

    def block(self, hits: Sequence[Recall], session: str) -> str:
        """The block of these hits, which are held by the quotes."""
        key = tuple(map(id, hits))
        if key not in self._blocks:
            self._blocks[key] = block("recall", "\n".join(recall_lines([self.of(hit, session) for hit in hits])))
        return self._blocks[key]


@dataclass(frozen=True, slots=True)
class Material:
    """All that could stand in a prompt. Texts are ready to stand in their blocks; hits come best first, turns oldest
    first. `hits` is None while they are yet to be found: half of the room is kept for them. `pin_ids` go with `pins`."""

    session: str
    system_prompt: str = ""
    profile: str = ""
    pins: tuple[str, ...] = ()
    summary: Snapshot | None = None
    hits: tuple[Recall, ...] | None = ()
    turns: tuple[Turn, ...] = ()
    state: str = ""
    pin_ids: tuple[str, ...] = ()
    quotes: Quotes = field(default_factory=Quotes, compare=False)

    @property
    def wants_recall(self) -> bool:
        return self.hits is None or bool(self.hits)

    def bare(self) -> "Material":
        """Only what is given up last."""
        newest = self.turns[-1:] if self.turns and self.turns[-1].user else ()
        turns = tuple(Turn(turn.units[:1]) for turn in newest)
        return replace(self, profile="", pins=(), pin_ids=(), summary=None, hits=(), turns=turns)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What stands in a prompt. `current` is the place of the newest user message in the window."""

    session: str
    system_prompt: str = ""
    profile: str = ""
    pins: tuple[str, ...] = ()
    summary: str = ""
    hits: tuple[Recall, ...] = ()
    window: tuple[Payload, ...] = ()
    current: int | None = None
    state: str = ""
    quotes: Quotes = field(default_factory=Quotes, compare=False)


def material_of(
    session: str,
    meta: Meta,
    pins: Sequence[Pin],
    *,
    opening: str,
    summary: Snapshot | None,
    turns: tuple[Turn, ...],
    recalls: bool,
) -> Material:
    """The material of a session; `opening` stands in for a system prompt that meta does not set."""
    system_prompt = without_blocks(mended_text(meta.system_prompt)) if meta.system_prompt is not None else opening
    listed_pins = [(pin.id, text.replace("\n", INDENT)) for pin in pins if (text := listed(pin.text).strip())]
    return Material(
        session=session,
        system_prompt=system_prompt.strip(),
        profile="\n".join(profile_lines(meta)),
        pins=tuple(text for _, text in listed_pins),
        pin_ids=tuple(id for id, _ in listed_pins),
        summary=summary if summary and summary.text.strip() else None,
        hits=None if recalls else (),
        turns=turns,
        state="\n".join(state_lines(meta)),
    )


def profile_lines(meta: Meta) -> Iterator[str]:
    """The profile, then the client's own keys, one line each."""
    if meta.profile and meta.profile.strip():
        yield listed(meta.profile.strip())
    for key, value in meta.extra.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if text.strip():
            yield f"{one_line(key, SPEAKER_CHARS)}: {listed(text.strip())}"


def state_lines(meta: Meta) -> Iterator[str]:
    """The goal and the task state, one line each."""
    for label, text in (("Goal", meta.goal), ("Task state", meta.task_state)):
        if text and text.strip():
            yield f"{label}: {listed(text.strip())}"


# --- the text of each region ----------------------------------------------------------------------------------------


def meta_text(chosen: Chosen) -> str:
    """System prompt, profile and pins."""
    return joined(chosen.system_prompt, profile_text(chosen.profile), pins_text(chosen.pins))


def profile_text(profile: str) -> str:
    return block("profile", profile) if profile else ""


def pins_text(pins: Sequence[str]) -> str:
    return block("pins", "\n".join(f"- {pin}" for pin in pins)) if pins else ""


def summary_text(summary: str) -> str:
    return block("summary", summary) if summary else ""


def state_text(state: str) -> str:
    return block("state", state) if state else ""


def recall_text(hits: Sequence[Recall], session: str, quotes: Quotes | None = None) -> str:
    """The recalled pieces in the order in which they were said, whatever their rank."""
    return (quotes or Quotes()).block(hits, session) if hits else ""


def recall_lines(quotes: Iterable[Quote]) -> Iterator[str]:
    """One entry a piece: time, speaker, session if it is another, score, text. The date comes with the first piece of a
    day, and again when the last date stands more than 200 characters back."""
    day, since = "", 0
    for quote in sorted(quotes, key=lambda quote: chronology(quote.hit)):
        dated = quote.day != day or since > DATE_REACH_CHARS
        entry = dated_entry(quote) if dated else f"- {quote.said}"
        day, since = quote.day, len(entry) if dated else since + len(entry)
        yield entry


def dated_entry(quote: Quote) -> str:
    """An entry as it is when no other stands before it."""
    return f"- {quote.day} {quote.said}"


def chronology(hit: Recall) -> tuple[Any, ...]:
    """When a piece was said, then where it stands."""
    return (hit.chunk.sent_at, hit.chunk.session_number, hit.chunk.position, hit.chunk.ordinal)


def speaker(hit: Recall, session: str) -> str:
    """Who said it, in which other session, and how near it comes to the query: `Ada (trip) .83`, or `summary v3 .83`."""
    chunk = hit.chunk
    name = called(chunk.name, chunk.role, SPEAKER_CHARS)
    if chunk.summary_version is not None:
        name = f"{chunk.role} v{chunk.summary_version}"
    other = f" ({one_line(chunk.session, SPEAKER_CHARS)})" if chunk.session != session else ""
    return f"{name}{other}{written_score(hit.score)}"


def written_score(score: float | None) -> str:
    """A cosine in two digits without the zero before the point; nothing when there is none."""
    return "" if score is None else " " + f"{score:.2f}".replace("0.", ".", 1)


def joined(*texts: str) -> str:
    """Texts with a blank line between them."""
    return "\n\n".join(text for text in texts if text)


def recall_note(hit: Recall, why: str) -> Mapping[str, Any]:
    """The note of a hit that fell out."""
    chunk = hit.chunk
    where: dict[str, Any] = {"message_id": chunk.message_id, "position": chunk.position, "session": chunk.session}
    if chunk.summary_version is not None:
        where = {"summary_version": chunk.summary_version, "session": chunk.session}
    return {"what": "recalled piece", **where, "score": hit.score, "why": why}
