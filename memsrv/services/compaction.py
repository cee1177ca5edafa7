"""Keep every window within its policy: what leaves it goes into a summary, in the background.

(1) What is due follows from the transcript and the newest sound snapshot alone, so a restart finds it again; nothing is kept
    in memory that could be lost. One compaction works on a session at a time, and few at once in all.
(2) A snapshot is stored only on the ground that it was made on (`Snapshots.add`); else the ground is looked at anew. So an
    append leads to one compaction at most, and an edit or delete in the midst of one spoils it and leads to the next.
(3) A compaction that fails leaves all as it was. It is tried again, each time after twice the wait, up to `tries` times; then
    the next message after the wait tries once more. A try is noted before it begins, for what kills the server too.
(4) No request waits for the background; only a prompt that would not fit its model waits, for a moment.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import structlog

from memsrv.core import compacting
from memsrv.core.compacting import Ground, Plan
from memsrv.core.passages import passages_of
from memsrv.core.policy import Defaults, Policy, resolve
from memsrv.core.sizes import Sizes
from memsrv.core.summary import Heading, Line, Summary
from memsrv.errors import MemsrvError, SessionNotFound, SummaryConflict
from memsrv.model import Message, NewMessage, NewPassage, NewSnapshot, Session, SessionKey, Snapshot, Trigger
from memsrv.ports import Compactions, Sessions, Snapshots, TokenCounter, Transcript
from memsrv.services.writing import SummaryWriter, Written

PAGE = 500
MOST_MESSAGES = 2_000
"""What one compaction looks at; a longer backlog is taken in several."""
CALM_SESSIONS = 10_000
CONFLICTS = 5
"""So often the ground may change under a compaction that was asked for."""
BUSY_RETRY_S = 0.2
ROOM_WAIT_S = 2.0
"""How long a prompt waits for the compaction that would make it fit."""

log = structlog.get_logger()

Choose = Callable[[Ground, Policy, Sizes], Plan | None]


@dataclass(frozen=True, slots=True)
class Calm:
    """What may still be added to a session before anything can be due, so that most appends need no look at the transcript."""

    settings: Mapping[str, Any]
    rewrites: int
    last_position: int
    messages_left: int
    tokens_left: int

    def after(self, session: Session, added: Sequence[NewMessage]) -> "Calm | None":
        """What is left after an append, or None if a look is due: also if anything else happened meanwhile."""
        created = session.last_position - self.last_position
        if (session.rewrites, session.settings) != (self.rewrites, self.settings) or not 0 <= created <= len(added):
            return None
        tokens = sum(compacting.payload_bound(message.payload) for message in added)
        left = replace(
            self,
            last_position=session.last_position,
            messages_left=self.messages_left - created,
            tokens_left=self.tokens_left - tokens,
        )
        return left if left.messages_left >= 0 and left.tokens_left >= 0 else None


def calm_at(session: Session, policy: Policy, ground: Ground) -> Calm:
    """How calm a session is that holds this beside its summary."""
    most = compacting.certainly_within(policy)
    used = sum(compacting.payload_bound(message.payload) for message in ground.messages)
    last = max(ground.last_position, session.last_position)
    return Calm(session.settings, session.rewrites, last, most.messages - len(ground.messages), most.tokens - used)


class Compaction:
    """Background tasks, and the same work on request. `workers`: compactions at once; `tries`: see (3); `terms`: the search
    terms of a text, for the passages of summaries, which `wake_indexer` then sees to;
    `store_retry_s`: how long a store that is out of reach is left alone. `counted` are the
    compactions since the start by (summarizer, trigger, outcome); outcomes are `made`, `failed` and `outdated`."""

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
        workers: int = 2,
        tries: int = 5,
        store_retry_s: float = 5.0,
    ):
        self.counted: Counter[tuple[str, str, str]] = Counter()
        self._transcript, self._sessions, self._snapshots, self._compactions = transcript, sessions, snapshots, compactions
        self._writer, self._counter, self._defaults = writer, counter, defaults
        self._terms, self._wake_indexer = terms, wake_indexer
        self._workers, self._tries, self._store_retry_s = workers, tries, store_retry_s
        self._queue: asyncio.Queue[SessionKey | None] = asyncio.Queue()
        self._queued: set[SessionKey] = set()
        self._later: dict[SessionKey, asyncio.TimerHandle] = {}
        self._calm: dict[int, Calm] = {}
        self._locks: WeakValueDictionary[SessionKey, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._rooms: dict[SessionKey, asyncio.Task[Snapshot | None]] = {}
        self._working = 0
        self._closing = False

    def start(self) -> None:
        """Begin to work in the background, with what the sessions that are there have waiting."""
        self._tasks = {asyncio.create_task(self._work(), name="compaction") for _ in range(self._workers)}
        self._tasks.add(asyncio.create_task(self._catch_up(), name="compaction-behind"))

    def notify(self, session: Session, added: Sequence[NewMessage] | None = None) -> None:
        """Something was written to the session: messages added at its end, or (None) anything."""
        policy = self.policy(session)
        calm = self._calm.pop(session.number, None)
        if not policy.compacts:
            return
        if calm is not None and added is not None and (left := calm.after(session, added)) is not None:
            self._keep_calm(session.number, left)
        else:
            self._put(session.key)

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is being done; what waits for its next try does not count."""
        return not self._queued and not self._working

    async def close(self, grace_s: float = 3.0) -> None:
        """Let what is in hand end, or break it off after `grace_s`; it is found again at the next start."""
        for timer in self._later.values():
            timer.cancel()
        self._closing = True
        for _ in range(self._workers):
            self._queue.put_nowait(None)
        tasks = [*self._tasks, *self._rooms.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def policy(self, session: Session) -> Policy:
        """What holds for a session."""
        return resolve(self._defaults, session.settings)

    # --- on request -------------------------------------------------------------------------------------------------

    async def compact(self, key: SessionKey, *, keep: int | None = None) -> Snapshot | None:
        """Summarise all but the newest `keep` messages (the session's own number if None); the newest snapshot that this
        made, None if there was nothing to do. Raises SessionNotFound, SummarizerDown and SummaryConflict."""

        def choose(ground: Ground, policy: Policy, sizes: Sizes) -> Plan | None:
            return compacting.asked(ground, policy.window_keep if keep is None else keep)

        async with self._lock(key):
            return await self._cover_all(key, choose)

    async def leave(self, key: SessionKey, after: Policy) -> Snapshot | None:
        """Summarise what would leave the prompt under another policy; as `compact`."""

        def choose(ground: Ground, policy: Policy, sizes: Sizes) -> Plan | None:
            return compacting.switching(ground, after, sizes)

        async with self._lock(key):
            return await self._cover_all(key, choose)

    async def restore(self, key: SessionKey, version: int) -> Snapshot:
        """Make a version the newest again. Raises SessionNotFound, SummaryNotFound and SummaryStale."""
        async with self._lock(key):
            session = await self._sessions.find(key)
            restored = await self._snapshots.restore(session.number, version)
        self._calm.pop(session.number, None)  # its window holds more now
        self._count(restored.made_by, Trigger.RESTORE, "made")
        log.info("summary restored", session=session.number, version=restored.version, was=version)
        return restored

    async def make_room(self, session: Session, policy: Policy) -> bool:
        """Compact a window that is far over its share of this prompt's budget; whether that came to an end within a moment.
        What takes longer goes on, and no other prompt waits for it."""
        standing = await self._compactions.standing(session.number)
        if standing is None or standing.wait_s > 0 or session.key in self._rooms:
            return False

        def choose(ground: Ground, _: Policy, sizes: Sizes) -> Plan | None:
            return compacting.crowded(ground, policy, sizes, Trigger.PROMPT)

        task = asyncio.create_task(self._make_room(session.key, choose))
        self._rooms[session.key] = task
        task.add_done_callback(lambda _: self._rooms.pop(session.key, None))
        await asyncio.wait({task}, timeout=ROOM_WAIT_S)
        return task.done()

    async def _make_room(self, key: SessionKey, choose: Choose) -> Snapshot | None:
        async with self._lock(key):
            return await self._tried(key, choose)

    async def _cover_all(self, key: SessionKey, choose: Choose) -> Snapshot | None:
        """Cover what is chosen, in as many snapshots as it takes."""
        made: Snapshot | None = None
        conflicts = 0
        while True:
            try:
                done = await self._cover(key, choose)
            except SummaryConflict:
                conflicts += 1
                if conflicts == CONFLICTS:
                    raise
                continue
            if done is None:
                return made
            made = done

    # --- in the background ------------------------------------------------------------------------------------------

    def _put(self, key: SessionKey) -> None:
        if key not in self._queued:
            self._queued.add(key)
            self._queue.put_nowait(key)

    def _put_later(self, key: SessionKey, wait_s: float) -> None:
        if (timer := self._later.pop(key, None)) is not None:
            timer.cancel()

        def put() -> None:
            self._later.pop(key, None)
            self._put(key)

        self._later[key] = asyncio.get_running_loop().call_later(wait_s, put)

    async def _work(self) -> None:
        while (key := await self._queue.get()) is not None and not self._closing:
            self._queued.discard(key)
            await self._consider(key)

    async def _catch_up(self) -> None:
        """Look at every session that goes on beyond its summary, one after the other."""
        after = 0
        while not self._closing:
            try:
                page = await self._compactions.behind(after=after, limit=PAGE)
            except MemsrvError:
                await asyncio.sleep(self._store_retry_s)
                continue
            for standing in page:
                if not self._closing:
                    await self._consider(standing.key)
                after = standing.session_number
            if len(page) < PAGE:
                return

    async def _consider(self, key: SessionKey) -> None:
        """Do what is due for a session, and look at it again later if it can't be done now."""
        lock = self._lock(key)
        if lock.locked():
            self._put_later(key, BUSY_RETRY_S)
            return
        self._working += 1
        try:
            async with lock:
                made = await self._do_due(key)
        except SessionNotFound:
            return
        except MemsrvError:  # the store is out of reach
            self._put_later(key, self._store_retry_s)
            return
        finally:
            self._working -= 1
        if made is not None:
            self._put(key)

    def _keep_calm(self, session_number: int, calm: Calm) -> None:
        self._calm[session_number] = calm
        while len(self._calm) > CALM_SESSIONS:
            self._calm.pop(next(iter(self._calm)))

    async def _do_due(self, key: SessionKey) -> Snapshot | None:
        """One compaction, if one is due and need not wait."""
        session = await self._sessions.find(key)
        standing = await self._compactions.standing(session.number)
        if standing is None or not self.policy(session).compacts:
            return None
        if standing.wait_s > 0:
            if standing.failures < self._tries:
                self._put_later(key, standing.wait_s)
            return None

        def choose(ground: Ground, policy: Policy, sizes: Sizes) -> Plan | None:
            plan = compacting.due(ground, policy, sizes, stale_upto=standing.stale_upto)
            if plan is None and not ground.more:
                self._keep_calm(session.number, calm_at(session, policy, ground))
            return plan

        made = await self._tried(key, choose)
        if made is None and standing.failures:
            now = await self._compactions.standing(session.number)
            if now is not None and now.failures == standing.failures:  # nothing was due after all
                await self._compactions.settled(session.number)
        return made

    async def _tried(self, key: SessionKey, choose: Choose) -> Snapshot | None:
        """Cover what is chosen, with a note of the try; None also if it failed, which is then seen to."""
        try:
            return await self._cover(key, choose, noted=True)
        except SummaryConflict:
            self._put(key)
        except SessionNotFound:
            pass
        except Exception as error:  # noqa: BLE001 - the loop outlives any failure
            await self._note_failure(key, error)
        return None

    async def _note_failure(self, key: SessionKey, error: Exception) -> None:
        why = error.message if isinstance(error, MemsrvError) else type(error).__name__
        try:
            session = await self._sessions.find(key)
            await self._compactions.failed(session.number, why)
            standing = await self._compactions.standing(session.number)
        except MemsrvError:
            standing = None
        log.warning("compaction failed", error=type(error).__name__, reason=why, failures=standing.failures if standing else None)
        if standing is None or not standing.failures:
            self._put_later(key, self._store_retry_s)
        elif standing.failures < self._tries:
            self._put_later(key, standing.wait_s)

    # --- the work itself --------------------------------------------------------------------------------------------

    async def _cover(self, key: SessionKey, choose: Choose, *, noted: bool = False) -> Snapshot | None:
        """One new snapshot of what is chosen to leave; None if nothing is."""
        session = await self._sessions.find(key)  # first: its `rewrites` vouch for all that is read after it
        policy = self.policy(session)
        sizes = Sizes(lambda text: self._counter.count(text, policy.model))
        base = await self._snapshots.latest(session.number)
        ground = await self._ground(session, policy, base.covers_upto if base else 0)
        plan = await asyncio.to_thread(choose, ground, policy, sizes)
        said = await asyncio.to_thread(compacting.sources, ground, plan.upto) if plan else []
        if plan is None or not said:
            return None
        if noted:
            await self._compactions.begin(session.number)
        pins = [pin.text for pin in await self._sessions.pins(session.number)]
        keep = await asyncio.to_thread(compacting.spoken_of, pins, said)
        try:
            written = await self._writer.write(summary_in(base), said, keep=keep, policy=policy)
        except MemsrvError:
            self._count("", plan.reason, "failed")
            raise
        try:
            return await self._store(session, base, ground, plan, written)
        except SummaryConflict:
            self._count(written.made_by, plan.reason, "outdated")
            if noted:
                await self._compactions.settled(session.number)
            raise

    async def _store(self, session: Session, base: Snapshot | None, ground: Ground, plan: Plan, written: Written) -> Snapshot:
        new = NewSnapshot(
            base=base.version if base else 0,
            covers_from=ground.messages[0].position,
            covers_upto=plan.upto,
            summary=written.summary,
            text=written.text,
            made_by=written.made_by,
            reason=plan.reason,
            rewrites=session.rewrites,
            findings=written.findings,
            passages=await asyncio.to_thread(self._passages, written.summary, summary_in(base)),
        )
        snapshot = await self._snapshots.add(session.number, new)
        self._count(snapshot.made_by, plan.reason, "made")
        self._wake_indexer()
        log.info(
            "compacted",
            session=session.number,
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

    async def _ground(self, session: Session, policy: Policy, covered_upto: int) -> Ground:
        """The oldest messages that no summary covers."""
        opens = covered_upto == 0 and not policy.holds_events
        read: list[Message] = []
        while len(read) < MOST_MESSAGES:
            after = read[-1].position if read else covered_upto
            page: Sequence[Message] = await self._transcript.messages(session.number, after=after, limit=PAGE)
            read += page
            if len(page) < PAGE:
                return Ground(read, policy.max_tool_bytes, opens)
        return Ground(read, policy.max_tool_bytes, opens, more=True)

    def _lock(self, key: SessionKey) -> asyncio.Lock:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    def _count(self, made_by: str, reason: Trigger, outcome: str) -> None:
        self.counted[made_by, reason.value, outcome] += 1


def summary_in(snapshot: Snapshot | None) -> Summary | None:
    """What a snapshot says, line by line; one from before lines were kept is taken as facts."""
    if snapshot is None or snapshot.summary is not None:
        return snapshot.summary if snapshot else None
    lines = (text.strip(" -•") for text in snapshot.text.splitlines())
    return Summary(tuple(Line(Heading.FACTS, text) for text in lines if text))
