"""Put a prompt together: read what it could be made of, fit it to the budget, account for it.

(1) The prompt never costs more than its budget, in our count and, as far as that was reported, in its provider's. (2) The same
request on an unchanged session gives the same bytes, until a report moves a factor: no clock and no chance goes in.
(3) What the window or the summary shows is not recalled: the window is fitted first, then recall asked once.
(4) No more of a transcript is read than can be shown, or than it takes to find the newest user message, which is looked for
among the newest 512 messages. (5) With recall down the prompt comes without it, and says so. (6) Cleaning, counting and
fitting run in a thread. (7) Where a summary stands for what left the window, every message is in one of the two, as far as
the budget goes: while no summary covers it, it is in the window, whatever the window's size. (8) The query is embedded while
the rest is read.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from memsrv.core.asof import as_of, first_unknown, knows, said_by_then
from memsrv.core.making import Sources, least_cost, made_prompt, material_for, talked
from memsrv.core.prompt.budget import in_window
from memsrv.core.prompt.calibration import needed
from memsrv.core.prompt.policy import Defaults, Policy, resolve
from memsrv.core.prompt.receipts import account_body
from memsrv.core.prompt.regions import Material
from memsrv.core.prompt.required import newest_user
from memsrv.core.prompt.sending import plain_text
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.prompt.turns import CURRENT_LOOK_BACK, is_short, shown_of
from memsrv.core.summary.compacting import is_crowded
from memsrv.errors import BudgetTooSmall
from memsrv.model import Message, Mode, Outset, Prompt, PromptRequest, Reach, Recalls, Session, SessionKey, Snapshot, Wanted
from memsrv.ports import Outsets, Receipts, TokenCounter, Transcript
from memsrv.services.ahead import Ahead
from memsrv.services.lull import Lull

OPENING_MESSAGES = 8
"""System messages that can open a session and count as its system prompt."""
QUERY_CHARS = 8_000
LOOK_BACK = 512
"""Messages that are read in search of a user message, or of what can be shown; a session of events may hold no user at all."""


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
        ahead: Ahead,
        defaults: Defaults,
        room: Room | None = None,
        lull: Lull | None = None,
    ):
        self._room = room
        self._lull = lull or Lull()
        self._outsets = outsets
        self._transcript = transcript
        self._receipts = receipts
        self._recall, self._ahead = recall, ahead
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
        with self._ahead.request() as begin:
            begin(likely_query(outset, policy, request))
            return await self._fitted(outset, policy, request, sizes)

    async def _fitted(self, outset: Outset, policy: Policy, request: PromptRequest, sizes: Sizes) -> Prompt:
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


def lines_in(snapshot: Snapshot | None) -> list[str]:
    """What a snapshot says, line by line."""
    return [line.text for line in snapshot.summary.lines] if snapshot and snapshot.summary else []


def likely_query(outset: Outset, policy: Policy, request: PromptRequest) -> str:
    """What recall will most likely be asked for: the query of the request, or the newest user message if it is short. Nothing
    where nothing is recalled."""
    if not policy.recalls:
        return ""
    if request.query is not None:
        return request.query[:QUERY_CHARS]
    newest = next((one for one in outset.newest if one.role == "user" and knows(request, one.position)), None)
    if newest is None or not is_short(newest):
        return ""
    return plain_text(shown_of(newest, policy.max_tool_bytes).payload["content"])[:QUERY_CHARS]


def least_read(policy: Policy, request: PromptRequest) -> int:
    """Messages that are read at once: what the window holds, and what late turns may be among, whatever is hidden of it."""
    return max(CURRENT_LOOK_BACK, 2 * policy.window_size) + len(request.hidden)
