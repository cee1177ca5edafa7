"""Hand a conversation over to another agent: what matters, not the whole talk.

(1) What no summary covers yet is summarised for the handoff by a built-in summarizer and not stored: a handoff changes nothing
    in the session that it is made of, but for a summary that was due.
(2) A summary that is missing is made first, if that comes to an end within `wait_s`; a language model that is down holds up
    nothing. What takes longer goes on, and the next handoff has it.
(3) Handing over twice leaves the other session as handing over once. What an earlier handoff from the same session pinned and
    this one does not say is unpinned.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from memsrv.core.prompt.policy import Policy
from memsrv.core.summary import compacting
from memsrv.core.summary.asking import language_of
from memsrv.core.summary.compacting import Ground
from memsrv.core.summary.handoff import KIND, Handoff, handoff_of, handoff_text, unpinned
from memsrv.core.summary.summary import Line, Source, Summary
from memsrv.errors import BadRequest, MemsrvError, PinNotFound, SummaryConflict
from memsrv.model import Meta, Session, SessionKey, Snapshot
from memsrv.ports import Sessions, Snapshots, TokenCounter, Transcript
from memsrv.services.compaction import Compaction
from memsrv.services.deriving import summary_in
from memsrv.services.writing import SummaryWriter

MOST_MESSAGES = 100
"""The newest uncovered messages that a handoff looks at."""
MOST_DERIVING = 32
"""Missing summaries that are made at once for handoffs; the next handoff comes without."""
TRIES = 3
WAIT_S = 10.0
EXTRA_KEY = "handoff"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A handoff as text of so many tokens, and the stored summary that went in."""

    handoff: Handoff
    text: str
    tokens: int
    snapshot: Snapshot | None


class Handoffs:
    """What sessions hand over, and what of them is worth a pin."""

    def __init__(
        self,
        transcript: Transcript,
        sessions: Sessions,
        snapshots: Snapshots,
        compaction: Compaction,
        writer: SummaryWriter,
        counter: TokenCounter,
        *,
        wait_s: float = WAIT_S,
    ):
        self._transcript, self._sessions, self._snapshots = transcript, sessions, snapshots
        self._compaction, self._writer, self._counter = compaction, writer, counter
        self._wait_s = wait_s
        self._deriving: dict[SessionKey, asyncio.Task[None]] = {}

    async def close(self) -> None:
        """Break off what is still being summarised; every message is still there."""
        tasks = list(self._deriving.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def suggested(self, session: Session) -> tuple[Line, ...]:
        """The decisions and constraints of the newest summary that no pin says yet."""
        pins = await self._sessions.pins(session.number)
        summary = summary_in(await self._snapshots.latest(session.number))
        return await asyncio.to_thread(unpinned, summary, pins) if summary else ()

    async def make(self, key: SessionKey, *, max_tokens: int) -> HandedOver:
        """What the session hands over. Raises SessionNotFound."""
        session = await self._sessions.find(key)
        policy = self._compaction.policy(session)
        snapshot = await self._snapshots.latest(session.number)
        if snapshot is None and policy.compacts:  # a session without summaries of its own is not given one by this
            snapshot = await self._derived(session)
        pins = await self._sessions.pins(session.number)
        said = await self._uncovered(session, policy, snapshot.covers_upto if snapshot else 0)
        texts = [pin.text for pin in pins]
        summary = await self._up_to_now(summary_in(snapshot), said, texts, builtin(policy, max_tokens))
        known = [session.meta.goal or "", session.meta.task_state or "", *texts]
        language = summary.language if summary.lines else language_of(known)
        handoff = handoff_of(key.name, session.meta, pins, summary, language)

        def count(text: str) -> int:
            return self._counter.count(text, policy.model)

        text = await asyncio.to_thread(handoff_text, handoff, max_tokens=max_tokens, count=count)
        return HandedOver(handoff, text, count(text), snapshot)

    async def hand_over(self, key: SessionKey, to: SessionKey, *, max_tokens: int) -> HandedOver:
        """Make a handoff and put it into another session of the tenant, which comes into being if it is new: its goal and task
        state, a pin for each decision and constraint, the open questions among its own keys. Raises SessionNotFound, and
        SummaryConflict while messages are edited or deleted time and again."""
        assert key.tenant == to.tenant, "nothing crosses from one tenant to another"
        if key == to:
            raise BadRequest("A session cannot be handed over to itself.", "Name another session in 'to', or leave it out.")
        made = await self._undisturbed(key, max_tokens=max_tokens)
        before: list[Meta] = []

        def change(old: Session) -> Session:
            before[:] = [old.meta]
            return replace(old, meta=taken_over(old.meta, made.handoff))

        other = await self._sessions.save(to, change, create=True)
        await self._pin(other, made.handoff, again=came_from(before[0], key.name))
        log.info("handed over", to=other.number, pins=len(made.handoff.settled) + len(made.handoff.pins))
        return made

    async def _undisturbed(self, key: SessionKey, *, max_tokens: int) -> HandedOver:
        """A handoff that tells nothing that was edited or deleted while it was made."""
        for _ in range(TRIES):
            rewrites = (await self._sessions.find(key)).rewrites
            made = await self.make(key, max_tokens=max_tokens)
            if (await self._sessions.find(key)).rewrites == rewrites:
                return made
        raise SummaryConflict("The session changed while it was handed over.")

    async def _pin(self, other: Session, handoff: Handoff, *, again: bool) -> None:
        """Pin what is handed over; with `again` the handoff's earlier pins go that are not among them."""
        wanted = [(pin.text, pin.kind) for pin in handoff.pins] + [(text, KIND) for text in handoff.settled]
        now = {(await self._sessions.add_pin(other.number, text, kind)).id for text, kind in wanted}
        if not again:
            return
        for pin in await self._sessions.pins(other.number):
            if pin.kind == KIND and pin.id not in now:
                await self._unpin(other.number, pin.id)

    async def _unpin(self, session_number: int, id: str) -> None:
        try:
            await self._sessions.remove_pin(session_number, id)
        except PinNotFound:
            log.debug("unpinned meanwhile", session=session_number)

    # --- what is known ------------------------------------------------------------------------------------------------

    async def _derived(self, session: Session) -> Snapshot | None:
        """A summary made now of what would be in one by now; None if there is nothing to summarise, it takes too
        long, or too many are being made."""
        task = self._deriving.get(session.key)
        if task is None and len(self._deriving) >= MOST_DERIVING:
            return None
        if task is None:
            task = self._deriving[session.key] = asyncio.create_task(self._derive(session.key))
            task.add_done_callback(lambda _: self._deriving.pop(session.key, None))
        await asyncio.wait({task}, timeout=self._wait_s)
        return await self._snapshots.latest(session.number)

    async def _derive(self, key: SessionKey) -> None:
        try:
            await self._compaction.compact(key)
        except MemsrvError as error:
            log.info("handed over without a summary", reason=error.message)

    async def _uncovered(self, session: Session, policy: Policy, covered_upto: int) -> list[Source]:
        """The newest messages that no summary covers, as a summarizer sees them."""
        newest = await self._transcript.messages(session.number, after=covered_upto, limit=MOST_MESSAGES, newest_first=True)
        opens = covered_upto == 0 and len(newest) < MOST_MESSAGES and not policy.holds_events
        ground = Ground(newest[::-1], policy.max_tool_bytes, opens)
        return await asyncio.to_thread(compacting.sources, ground, ground.last_position)

    async def _up_to_now(self, before: Summary | None, said: list[Source], pins: list[str], policy: Policy) -> Summary:
        """The summary with what was said since; without it, if that fails or takes too long."""
        keep = compacting.spoken_of(pins, said)
        if said:
            try:
                async with asyncio.timeout(self._wait_s):
                    return (await self._writer.write(before, said, keep=keep, policy=policy)).summary
            except (MemsrvError, TimeoutError) as error:
                log.info("handed over without the newest messages", reason=type(error).__name__)
        return before or Summary()


def builtin(policy: Policy, max_tokens: int) -> Policy:
    """The policy with no language model for its summaries, and room for a handoff of so many tokens."""
    options = {name: value for name, value in policy.summary.options.items() if name != "provider"}
    room = max(policy.summary.max_tokens, max_tokens)
    return replace(policy, summary=replace(policy.summary, options=options, max_tokens=room))


def taken_over(meta: Meta, handoff: Handoff) -> Meta:
    """What a session knows after a handoff. What the handoff does not know stays."""
    note: dict[str, Any] = {"from": handoff.name}
    if questions := handoff.texts("questions"):
        note["open"] = list(questions)
    return replace(
        meta,
        goal=handoff.goal or meta.goal,
        task_state=handoff.task_state or meta.task_state,
        extra=dict(meta.extra) | {EXTRA_KEY: note},
    )


def came_from(meta: Meta, name: str) -> bool:
    """Whether the last handoff into a session came from this one."""
    note = meta.extra.get(EXTRA_KEY)
    return isinstance(note, Mapping) and note.get("from") == name
