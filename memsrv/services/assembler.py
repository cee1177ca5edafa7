"""Put a prompt together: read what it could be made of, fit it to the budget, account for it.

(1) The prompt never costs more than its budget, in our count and, as far as that was reported, in its provider's. (2) The same
request on an unchanged session gives the same bytes, until a report moves a factor: no clock and no chance goes in.
(3) What the window or the summary shows is not recalled: the window is fitted first, then recall asked once.
(4) No more of a transcript is read than can be shown, or than it takes to find the newest user message, which is looked for
among the newest 512 messages. (5) With recall down the prompt comes without it, and says so. (6) Cleaning, counting and
fitting run in a thread. (7) Where a summary stands for what left the window, every message is in one of the two, as far as
the budget goes: while no summary covers it, it is in the window, whatever the window's size.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from memsrv.core.advice import advice
from memsrv.core.asof import as_of, first_unknown, knows, said_by_then
from memsrv.core.prompt.budget import Fit, fit, in_window
from memsrv.core.prompt.calibration import needed
from memsrv.core.prompt.policy import Defaults, Policy, resolve
from memsrv.core.prompt.receipts import account_body, bounded, receipt_id
from memsrv.core.prompt.regions import READING, Material, material_of, meta_text, recall_text, state_text, summary_text
from memsrv.core.prompt.required import framed, newest_user
from memsrv.core.prompt.sections import spoken
from memsrv.core.prompt.sending import plain_text
from memsrv.core.prompt.sizes import MESSAGE_TOKENS, Sizes
from memsrv.core.prompt.turns import CURRENT_LOOK_BACK, Talk, Turn, beyond, talk, window
from memsrv.core.summary.compacting import is_crowded
from memsrv.core.text.content import text_of
from memsrv.core.text.cuts import fits
from memsrv.errors import BudgetTooSmall
from memsrv.model import (
    Message,
    Mode,
    Outset,
    Pin,
    Prompt,
    PromptRequest,
    Reach,
    Recalls,
    Receipt,
    Region,
    RegionName,
    Session,
    SessionKey,
    Snapshot,
    Wanted,
)
from memsrv.ports import Outsets, Receipts, TokenCounter, Transcript
from memsrv.services.lull import Lull

OPENING_MESSAGES = 8
"""System messages that can open a session and count as its system prompt."""
QUERY_CHARS = 8_000
CONSIDERED = 500
LOOK_BACK = 512
"""Messages that are read in search of a user message, or of what can be shown; a session of events may hold no user at all."""
OVERSIZE_SHARE = 64
"""In mode full a message over the budget counts as this part of it: it is passed over, but reading it has a cost too."""


class Finder(Protocol):
    """The recall service, as far as a prompt needs it."""

    async def find(
        self,
        session: Session,
        query: str,
        *,
        k: int,
        reach: Reach,
        min_score: float,
        without: frozenset[int] = frozenset(),
        relevant_only: bool = True,
        told: Collection[str] = (),
    ) -> Recalls:
        """Hits for a query, best first; none from the messages `without`, nor, if so asked, what has little to do with it, nor
        passages of summaries of which every line is `told`."""
        ...


class Room(Protocol):
    """The compaction, as far as a prompt needs it."""

    async def make_room(self, session: Session, policy: Policy) -> bool:
        """Compact a window that is far over its share of this prompt's budget; whether it is worth a new look."""
        ...


@dataclass(frozen=True, slots=True)
class Sources:
    """What the stores hold for one prompt."""

    session: Session
    pins: Sequence[Pin]
    snapshot: Snapshot | None
    talk: Talk
    unread: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt before recall: what it can be made of, whether its window is far too long, and which messages it will show."""

    sources: Sources
    material: Material
    crowded: bool
    shown: frozenset[int]


class Assembler:
    """The reading side of a session: its prompts."""

    def __init__(
        self,
        outsets: Outsets,
        transcript: Transcript,
        receipts: Receipts,
        recall: Finder,
        counter: TokenCounter,
        defaults: Defaults,
        room: Room | None = None,
        lull: Lull | None = None,
    ):
        self._room = room
        self._lull = lull or Lull()
        self._outsets = outsets
        self._transcript = transcript
        self._receipts = receipts
        self._recall = recall
        self._counter = counter
        self._defaults = defaults

    def policy(self, session: Session, request: PromptRequest | None = None) -> Policy:
        """What holds for a session's prompts."""
        return resolve(self._defaults, session.settings, request)

    async def recall(self, session: Session, query: str, *, k: int | None = None, reach: Reach | None = None) -> Recalls:
        """The search alone, as the session is set up: the best there is, whether it has much to do with the query or not."""
        policy = self.policy(session, PromptRequest(k=k, reach=reach))
        with self._lull.broken():
            return await self._recall.find(
                session, query, k=policy.k, reach=policy.reach, min_score=policy.min_score, relevant_only=False
            )

    async def prompt(self, key: SessionKey, request: PromptRequest) -> Prompt:
        """The prompt, ready to send. Raises SessionNotFound, BudgetTooSmall or StoreDown."""
        with self._lull.broken():
            return await self._prompt(key, request)

    async def _prompt(self, key: SessionKey, request: PromptRequest) -> Prompt:
        outset = await self._outset(key, request)
        session = outset.session
        policy = replace(self.policy(session, request), percent=outset.percent)
        try:
            made = await self._made(outset, policy, request)
        except BudgetTooSmall as error:
            raise BudgetTooSmall(policy.told_tokens, needed(error.smallest_tokens, policy.percent)) from None
        quotes = [hit.chunk.number for hit in made.receipt.recall]
        await self._receipts.add(session.number, made.receipt.id, account_body(made), quotes=quotes, made_at=datetime.now(UTC))
        return made

    async def _outset(self, key: SessionKey, request: PromptRequest) -> Outset:
        """What the prompt begins with."""

        def wanted(session: Session) -> Wanted:
            policy = self.policy(session, request)
            return Wanted(least_read(policy, request), policy.model)

        outset = await self._outsets.read(key, wanted, opening=OPENING_MESSAGES)
        unknown = await self._unknown(outset.session, request)
        if not unknown:
            return outset
        limit = least_read(self.policy(outset.session, request), request)
        before = outset.session.last_position + 1 if request.upto is None else request.upto + 1
        newest = await self._transcript.messages(outset.session.number, before=before, limit=limit, newest_first=True)
        return as_of(outset, request, newest, unknown, most=limit)

    async def _unknown(self, session: Session, request: PromptRequest) -> Sequence[Message]:
        """The messages that the prompt must not know of, or the first of them."""
        first = first_unknown(request, session.last_position)
        if first > session.last_position:
            return ()
        later = await self._transcript.messages(session.number, after=first - 1, limit=LOOK_BACK)
        return [message for message in later if not knows(request, message.position)]

    async def _made(self, outset: Outset, policy: Policy, request: PromptRequest) -> Prompt:
        """Read on, recall, fit."""
        sizes = Sizes(lambda text: self._counter.count(text, policy.model))
        draft = await self._draft(outset, policy, request, sizes)
        if draft.crowded and self._room and await self._room.make_room(outset.session, policy):
            outset = await self._outset(outset.session.key, request)
            draft = await self._draft(outset, policy, request, sizes)
        material, found = draft.material, Recalls(())
        if policy.recalls:
            found = await self._found(outset.session, policy, request, draft)
            material = replace(material, hits=found.hits)
        return await asyncio.to_thread(
            made_prompt, draft.sources, material, policy=policy, request=request, found=found, sizes=sizes
        )

    async def _found(self, session: Session, policy: Policy, request: PromptRequest, draft: Draft) -> Recalls:
        """What recall has for the query, without what the window shows anyway."""
        newest = newest_user(draft.material)
        query = request.query if request.query is not None else plain_text(newest["content"]) if newest else ""
        if not query.strip():
            return Recalls(())
        unknown = {message.number for message in await self._unknown(session, request)}
        found = await self._recall.find(
            session,
            query[:QUERY_CHARS],
            k=policy.k,
            reach=policy.reach,
            min_score=policy.min_score,
            without=draft.shown | unknown,
            told=lines_in(draft.material.summary),
        )
        return replace(found, hits=said_by_then(found.hits, session, request))

    # --- reading ----------------------------------------------------------------------------------------------------

    async def _draft(self, outset: Outset, policy: Policy, request: PromptRequest, sizes: Sizes) -> Draft:
        """Everything that a prompt of this policy could be made of, and what it will show whatever recall finds."""
        snapshot = outset.snapshot if policy.summarises else None
        read = await self._back_from(outset, policy, request, sizes, snapshot.covers_upto if snapshot else 0)
        messages = [message for message in read if knows(request, message.position)]
        first = messages[0].position if messages else 0
        opening = [message for message in outset.opening if message.position < first]

        def draft() -> Draft:
            said = talked(outset.session, opening, messages, policy)
            sources = Sources(outset.session, outset.pins, snapshot, said, max(0, first - 1))
            material = material_for(sources, policy)
            crowded = self._room is not None and policy.compacts and is_crowded(material.turns, policy, sizes)
            shown = in_window(material, budget_tokens=policy.limit_tokens, shape=request.format, sizes=sizes)
            return Draft(sources, material, crowded, shown)

        return await asyncio.to_thread(draft)

    async def _back_from(
        self, outset: Outset, policy: Policy, request: PromptRequest, sizes: Sizes, covered_upto: int
    ) -> list[Message]:
        """The newest messages in order, hidden ones too, as many as can be shown and up to the newest user message, if
        `LOOK_BACK` holds it."""
        limit = least_read(policy, request)
        most = max(LOOK_BACK, limit)
        endless = policy.mode is Mode.FULL or policy.compacts
        page, read, spent = list(outset.newest), list(outset.newest), 0
        while len(page) == limit:
            shown = not endless or read[-1].position <= covered_upto + 1
            if not shown:
                known = [message for message in page if knows(request, message.position)]
                spent += await asyncio.to_thread(least_cost, known, policy.limit_tokens, sizes)
                shown = spent > policy.limit_tokens
            asked = any(message.role == "user" and knows(request, message.position) for message in read)
            if shown and (asked or len(read) >= most):
                break
            limit = min(limit * 2, most - len(read)) if len(read) < most else LOOK_BACK
            before = read[-1].position
            page = await self._transcript.messages(outset.session.number, before=before, limit=limit, newest_first=True)
            read += page
        return read[::-1]


# --- from what was read to a prompt -----------------------------------------------------------------------------------


def lines_in(snapshot: Snapshot | None) -> list[str]:
    """What a snapshot says, line by line."""
    return [line.text for line in snapshot.summary.lines] if snapshot and snapshot.summary else []


def least_read(policy: Policy, request: PromptRequest) -> int:
    """Messages that are read at once: what the window holds, and what late turns may be among, whatever is hidden of it."""
    return max(CURRENT_LOOK_BACK, 2 * policy.window_size) + len(request.hidden)


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
    """What the window could show; see (7)."""
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
