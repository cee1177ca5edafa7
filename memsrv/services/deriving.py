"""Derive one summary: look at what no summary covers, write the next one, store it.

(1) A look reads the session first: its `rewrites` vouch for all that is read after it, and a snapshot is stored only on the
    ground that it was made on (`Snapshots.add`).
(2) A look takes up to `STEP` messages, and more only while no plan can be made with so few: a long way is gone in steps, and
    what breaks one off loses no other.
(3) What is said in a part for which no summary holds is passed over only when the last try failed too: the summary before
    goes on with its reach extended, and its findings say what was passed over. A summarizer that is down passes nothing over.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from memsrv.core.prompt.policy import Defaults, Policy, resolve
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.summary import compacting
from memsrv.core.summary.compacting import Ground, Plan
from memsrv.core.summary.passages import passages_of
from memsrv.core.summary.summary import Heading, Line, Source, Summary, rendered
from memsrv.errors import MemsrvError, SummarizerDown, SummaryConflict
from memsrv.model import Message, NewPassage, NewSnapshot, Session, SessionKey, Snapshot, Trigger
from memsrv.ports import Compactions, Sessions, Snapshots, TokenCounter, Transcript
from memsrv.services.writing import SummaryWriter, Written, passed_over
from memsrv.threads import aside

STEP = 500
WIDER = 4
"""A look that finds no place for a cut takes so many times as much."""

log = structlog.get_logger()

Choose = Callable[[Ground, Policy, Sizes], Plan | None]


@dataclass(frozen=True, slots=True)
class Look:
    """A session, what no summary covers of it, and what is to leave (None: nothing)."""

    session: Session
    policy: Policy
    base: Snapshot | None
    ground: Ground
    plan: Plan | None


class Deriver:
    """The work of a compaction. `terms`: the search terms of a text, for the passages of summaries, which `wake_indexer` then
    sees to. `counted` are the compactions since the start by (summarizer, trigger, outcome); outcomes are `made`, `failed` and
    `outdated`."""

    def __init__(
        self,
        transcript: Transcript,
        sessions: Sessions,
        snapshots: Snapshots,
        compactions: Compactions,
        writer: SummaryWriter,
        counter: TokenCounter,
        defaults: Defaults,
        *,
        terms: Callable[[str], Sequence[str]],
        wake_indexer: Callable[[], None],
    ):
        self.counted: Counter[tuple[str, str, str]] = Counter()
        self._transcript, self._sessions, self._snapshots, self._compactions = transcript, sessions, snapshots, compactions
        self._writer, self._counter, self._defaults = writer, counter, defaults
        self._terms, self._wake_indexer = terms, wake_indexer

    def policy(self, session: Session) -> Policy:
        """What holds for a session."""
        return resolve(self._defaults, session.settings)

    async def look(self, key: SessionKey, choose: Choose) -> Look:
        """What is to leave, and what it was chosen from. Raises SessionNotFound."""
        session = await self._sessions.find(key)
        policy = self.policy(session)
        sizes = Sizes(lambda text: self._counter.count(text, policy.model))
        base = await self._snapshots.latest(session.number)
        read, most = list[Message](), STEP
        while True:
            ground = await self._ground(session, policy, base.covers_upto if base else 0, read, most)
            plan = await aside(choose, ground, policy, sizes)
            if plan is not None or not ground.more:
                return Look(session, policy, base, ground, plan)
            most *= WIDER

    async def derive(self, look: Look, *, noted: bool = False, last_try: bool = False) -> Snapshot:
        """The snapshot in which what is to leave is covered; `noted`: the try is put on record before it begins. Raises
        SummarizerDown, SummaryConflict and SessionNotFound."""
        plan = look.plan
        assert plan is not None, "there is something to leave"
        said = await aside(compacting.sources, look.ground, plan.upto)
        if noted:
            await self._compactions.begin(look.session.number)
        try:
            written = await self._written(look, said, last_try=last_try)
        except MemsrvError:
            self._count("", plan.reason, "failed")
            raise
        try:
            return await self._stored(look, plan, written)
        except SummaryConflict:
            self._count(written.made_by, plan.reason, "outdated")
            if noted:
                await self._compactions.settled(look.session.number)
            raise

    async def restore(self, session: Session, version: int) -> Snapshot:
        """Make a version the newest again. Raises SummaryNotFound and SummaryStale."""
        restored = await self._snapshots.restore(session.number, version)
        self._count(restored.made_by, Trigger.RESTORE, "made")
        log.info("summary restored", session=session.number, version=restored.version, was=version)
        return restored

    async def _written(self, look: Look, said: Sequence[Source], *, last_try: bool) -> Written:
        """The summary of what leaves, or, at the last try, the one before; see (3)."""
        before = summary_in(look.base)
        pins = [pin.text for pin in await self._sessions.pins(look.session.number)]
        keep = await aside(compacting.spoken_of, pins, said)
        try:
            return await self._writer.write(before, said, keep=keep, policy=look.policy)
        except SummarizerDown as error:
            if not (last_try and error.nothing_holds):
                raise
        kept = before or Summary()
        log.warning("passed over", session=look.session.number, messages=len(said))
        findings = (passed_over(said, "no summary of it holds"),)
        return Written(kept, rendered(kept), look.base.made_by if look.base else "", findings)

    async def _stored(self, look: Look, plan: Plan, written: Written) -> Snapshot:
        new = NewSnapshot(
            base=look.base.version if look.base else 0,
            covers_from=look.ground.messages[0].position,
            covers_upto=plan.upto,
            summary=written.summary,
            text=written.text,
            made_by=written.made_by,
            reason=plan.reason,
            rewrites=look.session.rewrites,
            findings=written.findings,
            passages=await aside(self._passages, written.summary, summary_in(look.base)),
        )
        snapshot = await self._snapshots.add(look.session.number, new)
        self._count(snapshot.made_by, plan.reason, "made")
        self._wake_indexer()
        log.info(
            "compacted",
            session=look.session.number,
            version=snapshot.version,
            covers_upto=snapshot.covers_upto,
            made_by=snapshot.made_by,
            reason=plan.reason.value,
            findings=len(written.findings),
        )
        return snapshot

    def _passages(self, summary: Summary, before: Summary | None) -> tuple[NewPassage, ...]:
        """What is said anew, in pieces that can be recalled."""
        return tuple(NewPassage(text, tuple(self._terms(text))) for text in passages_of(summary, before))

    async def _ground(self, session: Session, policy: Policy, covered_upto: int, read: list[Message], most: int) -> Ground:
        """The oldest messages that no summary covers, about `most` of them, those that were `read` before included."""
        opens = covered_upto == 0 and not policy.holds_events
        while len(read) < most:
            after = read[-1].position if read else covered_upto
            page: Sequence[Message] = await self._transcript.messages(session.number, after=after, limit=STEP)
            read += page
            if len(page) < STEP:
                return Ground(tuple(read), policy.max_tool_bytes, opens)
        return Ground(tuple(read), policy.max_tool_bytes, opens, more=True)

    def _count(self, made_by: str, reason: Trigger, outcome: str) -> None:
        self.counted[made_by, reason.value, outcome] += 1


def summary_in(snapshot: Snapshot | None) -> Summary | None:
    """What a snapshot says, line by line; one from before lines were kept is taken as facts."""
    if snapshot is None or snapshot.summary is not None:
        return snapshot.summary if snapshot else None
    lines = (text.strip(" -•") for text in snapshot.text.splitlines())
    return Summary(tuple(Line(Heading.FACTS, text) for text in lines if text))
