"""Put a prompt together: read what it could be made of, fit it to the budget, account for it.

(1) The prompt never costs more than its budget. (2) The same request on an unchanged session gives the same bytes: no
clock and no chance goes in. (3) What the window shows is not recalled: the window is fitted first, then recall asked once.
(4) No more of a transcript is read than can be shown, or than it takes to find the newest user message, which is looked for
among the newest 512 messages. (5) With recall down the prompt comes without it, and says so. (6) Cleaning, counting and
fitting run in a thread.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from memsrv.core.budget import Fit, fit
from memsrv.core.content import text_of
from memsrv.core.cuts import fits
from memsrv.core.policy import Defaults, Policy, resolve
from memsrv.core.receipts import account_body, bounded, receipt_id
from memsrv.core.regions import READING, Material, material_of, meta_text, recall_text, state_text, summary_text
from memsrv.core.required import framed, newest_user
from memsrv.core.sending import plain_text
from memsrv.core.sizes import MESSAGE_TOKENS, Sizes
from memsrv.core.turns import CURRENT_LOOK_BACK, Talk, talk, window
from memsrv.model import (
    Message,
    Mode,
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
)
from memsrv.ports import Receipts, Sessions, Snapshots, TokenCounter, Transcript

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
    ) -> Recalls:
        """Hits for a query, best first; none from the messages `without`, nor, if so asked, what has little to do with it."""
        ...


@dataclass(frozen=True, slots=True)
class Sources:
    """What the stores hold for one prompt."""

    session: Session
    pins: Sequence[Pin]
    snapshot: Snapshot | None
    talk: Talk
    unread: int


class Assembler:
    """The reading side of a session: its prompts."""

    def __init__(
        self,
        transcript: Transcript,
        sessions: Sessions,
        snapshots: Snapshots,
        receipts: Receipts,
        recall: Finder,
        counter: TokenCounter,
        defaults: Defaults,
    ):
        self._transcript = transcript
        self._sessions = sessions
        self._snapshots = snapshots
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
        return await self._recall.find(
            session, query, k=policy.k, reach=policy.reach, min_score=policy.min_score, relevant_only=False
        )

    async def prompt(self, key: SessionKey, request: PromptRequest) -> Prompt:
        """The prompt, ready to send. Raises SessionNotFound, BudgetTooSmall or StoreDown."""
        session = await self._sessions.find(key)
        policy = self.policy(session, request)
        sizes = Sizes(lambda text: self._counter.count(text, policy.model))
        sources = await self._sources(session, policy, sizes)
        material = await asyncio.to_thread(material_for, sources, policy)
        found = Recalls(())
        if policy.recalls:
            found = await self._found(session, policy, request, material, sizes)
            material = replace(material, hits=found.hits)
        made = await asyncio.to_thread(made_prompt, sources, material, policy=policy, request=request, found=found, sizes=sizes)
        quotes = [hit.chunk.number for hit in made.receipt.recall]
        await self._receipts.add(session.number, made.receipt.id, account_body(made), quotes=quotes, made_at=datetime.now(UTC))
        return made

    async def _found(self, session: Session, policy: Policy, request: PromptRequest, material: Material, sizes: Sizes) -> Recalls:
        """What recall has for the query, without what the window shows anyway."""
        newest = newest_user(material)
        query = request.query if request.query is not None else plain_text(newest["content"]) if newest else ""
        if not query.strip():
            return Recalls(())
        first = await asyncio.to_thread(fit, material, budget_tokens=policy.budget_tokens, shape=request.format, sizes=sizes)
        asked = query[:QUERY_CHARS]
        return await self._recall.find(
            session, asked, k=policy.k, reach=policy.reach, min_score=policy.min_score, without=first.numbers
        )

    # --- reading ----------------------------------------------------------------------------------------------------

    async def _sources(self, session: Session, policy: Policy, sizes: Sizes) -> Sources:
        """Everything that a prompt of this policy could be made of."""
        pins, snapshot, messages = await asyncio.gather(
            self._sessions.pins(session.number), self._latest(session, policy), self._newest(session, policy, sizes)
        )
        unread = messages[0].position - 1 if messages else 0
        opening: Sequence[Message] = ()
        if unread:
            first = messages[0].position
            opening = await self._transcript.messages(session.number, before=first, limit=OPENING_MESSAGES)
        said = await asyncio.to_thread(talked, session, opening, messages, policy)
        return Sources(session, pins, snapshot, said, unread)

    async def _latest(self, session: Session, policy: Policy) -> Snapshot | None:
        return await self._snapshots.latest(session.number) if policy.summarises else None

    async def _newest(self, session: Session, policy: Policy, sizes: Sizes) -> list[Message]:
        """The newest messages in order, as many as can be shown and up to the newest user message, if `LOOK_BACK` holds it."""
        limit = max(CURRENT_LOOK_BACK, 2 * policy.window_size)
        most = max(LOOK_BACK, limit)
        read: list[Message] = []
        before, spent = None, 0
        while True:
            page = await self._transcript.messages(session.number, before=before, limit=limit, newest_first=True)
            read += page
            if len(page) < limit:
                break
            before = page[-1].position
            if policy.mode is Mode.FULL:
                spent += await asyncio.to_thread(least_cost, page, policy.budget_tokens, sizes)
            enough = len(read) >= most or any(message.role == "user" for message in read)
            if enough and (policy.mode is not Mode.FULL or spent > policy.budget_tokens):
                break
            limit = min(limit * 2, most - len(read)) if len(read) < most else LOOK_BACK
        return read[::-1]


# --- from what was read to a prompt -----------------------------------------------------------------------------------


def least_cost(page: Sequence[Message], limit_tokens: int, sizes: Sizes) -> int:
    """About what messages cost as they are; one that is over the limit alone counts little, for it is passed over."""
    said = (text_of(message.payload) for message in page)
    passed = limit_tokens // OVERSIZE_SHARE
    return sum(MESSAGE_TOKENS + (sizes.text(text) if fits(text, limit_tokens, sizes.text) else passed) for text in said)


def talked(session: Session, opening: Sequence[Message], messages: Sequence[Message], policy: Policy) -> Talk:
    """The messages as turns; `opening` are the session's first, if they lie before the others."""
    prompt = session.meta.system_prompt
    if opening:
        first = talk(opening, system_prompt=prompt, max_tool_bytes=policy.max_tool_bytes, opens=True).opening
        prompt = prompt if prompt is not None else first
        said = talk(messages, system_prompt=prompt, max_tool_bytes=policy.max_tool_bytes, opens=False)
        return replace(said, opening=first)
    return talk(messages, system_prompt=prompt, max_tool_bytes=policy.max_tool_bytes, opens=True)


def material_for(sources: Sources, policy: Policy) -> Material:
    """What could stand in a prompt of this policy."""
    size = None if policy.mode is Mode.FULL else policy.window_size
    covered = sources.snapshot.covers_upto if sources.snapshot else 0
    return material_of(
        sources.session.key.name,
        sources.session.meta,
        sources.pins,
        opening=sources.talk.opening,
        summary=sources.snapshot,
        turns=window(sources.talk.turns, size=size, covered_upto=covered),
        recalls=policy.recalls,
    )


def made_prompt(
    sources: Sources, material: Material, *, policy: Policy, request: PromptRequest, found: Recalls, sizes: Sizes
) -> Prompt:
    """Fit, and account for it."""
    fitted = fit(material, budget_tokens=policy.budget_tokens, shape=request.format, sizes=sizes)
    regions = regions_of(fitted, sources, material, policy=policy, sizes=sizes)
    asked = asdict(request) | {"mode": policy.mode, "budget_tokens": policy.budget_tokens, "model": policy.model}
    name = sources.session.key.name
    considered = fitted.dropped[RegionName.RECALL] + fitted.dropped[RegionName.WINDOW]
    receipt = Receipt(
        id=receipt_id(name, asked, fitted.messages),
        regions=regions,
        recall=fitted.chosen.hits,
        summary=sources.snapshot if fitted.chosen.summary else None,
        degraded=found.degraded,
        considered=bounded(considered, most=CONSIDERED) if request.explain else None,
    )
    return Prompt(name, policy.mode, policy.model, policy.budget_tokens, fitted.total_tokens, fitted.messages, receipt)


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
