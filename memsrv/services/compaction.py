"""Keep every window within its policy: what leaves it goes into a summary, in the background.

(1) What is due follows from the transcript and the newest sound snapshot alone, so a restart finds it again; nothing is kept
    in memory that could be lost. One compaction works on a session at a time, and few at once in all.
(2) An append leads to one compaction at most. An edit or delete in the midst of one spoils it and leads to the next, after a
    wait that doubles each time.
(3) A compaction that fails leaves all as it was. It is tried again, each time after twice the wait, up to `tries` times; then
    the next message after the wait tries once more. A try is noted before it begins, for what kills the server too.
(4) No request waits for the background; only a prompt that would not fit its model waits, for a moment.
(5) What nobody asked for comes after a backlog of messages to index, but is put off for BACKLOG_WAIT_S at most.
(6) Of several processes each sees to the sessions that are written to through it, and one that leads also to those that are
    behind when it takes the lead. A session is claimed for as long as it is summarised, so that no two do the same work.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

import structlog

from memsrv.core.prompt.policy import Policy
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.summary import compacting
from memsrv.core.summary.calm import Calm, calm_at
from memsrv.core.summary.compacting import Ground, Plan
from memsrv.errors import MemsrvError, SessionNotFound, SummaryConflict
from memsrv.model import NewMessage, Session, SessionKey, Snapshot, Trigger
from memsrv.ports import Claims, Compactions, Lead, Sessions
from memsrv.services.alone import ALONE
from memsrv.services.deriving import Choose, Deriver
from memsrv.services.lull import Lull

PAGE = 500
CALM_SESSIONS = 10_000
CONFLICTS = 5
"""So often the ground may change under a compaction that was asked for."""
CONFLICT_WAIT_S = 0.05
LONGEST_CONFLICT_WAIT_S = 30.0
BUSY_RETRY_S = 0.2
ROOM_WAIT_S = 2.0
"""How long a prompt waits for the compaction that would make it fit."""
LULL_WAIT_S = 2.0
"""How long prompts put the background off; less the more sessions wait."""
BACKLOG_WAIT_S = 30.0
"""How long what is to be indexed puts the background off, from when a session came to wait."""
MOST_ROOMS = 32
"""Such compactions at once; the next prompt comes as it is."""
MOST_WAITING = 10_000
"""Sessions that wait for the background, and as many for their next try; others are looked up in the store afterwards."""

log = structlog.get_logger()


class Elsewhere(Exception):
    """Another process is summarising the session."""


class Compaction:
    """Background tasks, and the same work on request. `workers`: compactions at once; `tries`: see (3);
    `store_retry_s`: how long a store that is out of reach is left alone; `most_waiting`: see MOST_WAITING."""

    def __init__(
        self,
        deriver: Deriver,
        sessions: Sessions,
        compactions: Compactions,
        *,
        workers: int = 2,
        tries: int = 5,
        store_retry_s: float = 5.0,
        lead: Lead = ALONE,
        claims: Claims = ALONE,
        lull: Lull | None = None,
        most_waiting: int = MOST_WAITING,
    ):
        self._deriver, self._sessions, self._compactions = deriver, sessions, compactions
        self._workers, self._tries, self._store_retry_s = workers, tries, store_retry_s
        self._lead, self._claims, self._lull = lead, claims, lull or Lull()
        self._most_waiting, self._missed = most_waiting, False
        self._queue: asyncio.Queue[SessionKey | None] = asyncio.Queue()
        self._queued: dict[SessionKey, float] = {}
        self._later: dict[SessionKey, asyncio.TimerHandle] = {}
        self._put_off: set[SessionKey] = set()
        self._conflicts: Counter[SessionKey] = Counter()
        self._calm: dict[int, Calm] = {}
        self._locks: WeakValueDictionary[SessionKey, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._leading: asyncio.Task[None] | None = None
        self._rooms: dict[SessionKey, asyncio.Task[Snapshot | None]] = {}
        self._working = 0
        self._closing = False

    @property
    def counted(self) -> Counter[tuple[str, str, str]]:
        """See `Deriver.counted`."""
        return self._deriver.counted

    def start(self) -> None:
        """Begin to work in the background, with what the sessions that are there have waiting."""
        self._tasks = {asyncio.create_task(self._work(), name="compaction") for _ in range(self._workers)}
        self._leading = asyncio.create_task(self._lead_on(), name="compaction-lead")
        self._tasks.add(self._leading)

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
        """Whether nothing waits and nothing is being done; what waits for its next try after a failure does not count."""
        soon = self._put_off | self._conflicts.keys()
        return not (self._queued or self._working or self._missed or soon & self._later.keys())

    async def close(self, grace_s: float = 3.0) -> None:
        """Let what is in hand end, or break it off after `grace_s`; it is found again at the next start."""
        for timer in self._later.values():
            timer.cancel()
        self._closing = True
        self._lull.tell(backlog=False)  # what waits for it shall see that this is the end
        if self._leading:
            self._leading.cancel()  # what it waits for is no work
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
        return self._deriver.policy(session)

    # --- on request -------------------------------------------------------------------------------------------------

    async def compact(self, key: SessionKey, *, keep: int | None = None) -> tuple[Snapshot | None, str]:
        """Summarise all but the newest `keep` messages (the session's own number if None); the newest snapshot that this
        made, or None and why there was nothing to do. Raises SessionNotFound, SummarizerDown and SummaryConflict."""
        why = ""

        def choose(ground: Ground, policy: Policy, sizes: Sizes) -> Plan | None:
            nonlocal why
            stay = policy.window_keep if keep is None else keep
            plan = compacting.asked(ground, stay)
            why = "" if plan else compacting.why_nothing(ground, stay)
            return plan

        async with self._lock(key):
            made = await self._cover_all(key, choose)
        return made, "" if made else why

    async def leave(self, key: SessionKey, after: Policy) -> Snapshot | None:
        """Summarise what would leave the prompt under another policy; as `compact`."""
        async with self._lock(key):
            return await self._cover_all(key, leaving(after))

    async def would_leave(self, key: SessionKey, after: Policy) -> bool:
        """Whether anything would leave the prompt under another policy. Raises SessionNotFound."""
        return (await self._deriver.look(key, leaving(after))).plan is not None

    async def restore(self, key: SessionKey, version: int) -> Snapshot:
        """Make a version the newest again. Raises SessionNotFound, SummaryNotFound and SummaryStale."""
        async with self._lock(key):
            session = await self._sessions.find(key)
            restored = await self._deriver.restore(session, version)
        self._calm.pop(session.number, None)  # its window holds more now
        return restored

    async def make_room(self, session: Session, policy: Policy) -> bool:
        """Compact a window that is far over its share of this prompt's budget; whether that came to an end within a moment.
        What takes longer goes on, and no other prompt waits for it."""
        standing = await self._compactions.standing(session.number)
        if standing is None or standing.wait_s > 0 or session.key in self._rooms or len(self._rooms) >= MOST_ROOMS:
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
            return await self._tried(key, self._room_made(key, choose))

    async def _room_made(self, key: SessionKey, choose: Choose) -> Snapshot | None:
        async with self._own(key):
            look = await self._deriver.look(key, choose)
            return await self._deriver.derive(look, noted=True) if look.plan else None

    async def _cover_all(self, key: SessionKey, choose: Choose) -> Snapshot | None:
        """Cover what is chosen, in as many snapshots as it takes."""
        made: Snapshot | None = None
        conflicts = 0
        while True:
            try:
                async with self._own(key):
                    look = await self._deriver.look(key, choose)
                    if look.plan is None:
                        return made
                    made = await self._deriver.derive(look)
            except Elsewhere:
                await asyncio.sleep(BUSY_RETRY_S)
                continue
            except SummaryConflict:
                conflicts += 1
                if conflicts == CONFLICTS:
                    raise
                await asyncio.sleep(CONFLICT_WAIT_S * 2**conflicts)
                continue
            if not look.ground.more:  # what came since is not waited for: it may come all the time
                return made

    # --- in the background ------------------------------------------------------------------------------------------

    def _put(self, key: SessionKey) -> None:
        if key in self._queued:
            return
        if len(self._queued) >= self._most_waiting:
            self._missed = True
            return
        self._queued[key] = monotonic()
        self._queue.put_nowait(key)

    def _put_later(self, key: SessionKey, wait_s: float) -> None:
        self._put_off.discard(key)
        if timer := self._later.pop(key, None):
            timer.cancel()
        if len(self._later) >= self._most_waiting:
            self._missed = True
            return

        def put() -> None:
            self._later.pop(key, None)
            self._put_off.discard(key)
            self._put(key)

        self._later[key] = asyncio.get_running_loop().call_later(wait_s, put)

    def _put_after(self, key: SessionKey) -> None:
        self._put_later(key, BUSY_RETRY_S)  # somebody else is at work on it
        self._put_off.add(key)

    async def _work(self) -> None:
        while (key := await self._queue.get()) is not None and not self._closing:
            await self._lull.indexed(self._queued[key] + BACKLOG_WAIT_S - monotonic())
            await self._lull.comes(LULL_WAIT_S / (1 + self._queue.qsize()))
            if self._closing:
                return
            self._queued.pop(key, None)
            await self._consider(key)
            if self._missed and not self._queued and not self._later:
                self._missed = False
                await self._catch_up()

    async def _lead_on(self) -> None:
        """Catch up as often as this process takes the lead."""
        while True:
            await self._lead.taken()
            catching_up = asyncio.create_task(self._catch_up(), name="compaction-behind")
            self._tasks.add(catching_up)
            await asyncio.wait({catching_up})
            self._tasks.discard(catching_up)
            await self._lead.lost()

    async def _catch_up(self) -> None:
        """Look at every session that goes on beyond its summary, one after the other."""
        after, until = 0, monotonic() + BACKLOG_WAIT_S
        while not self._closing:
            try:
                page = await self._compactions.behind(after=after, limit=PAGE)
            except MemsrvError:
                await asyncio.sleep(self._store_retry_s)
                continue
            for standing in page:
                if not self._closing:
                    await self._lull.indexed(until - monotonic())
                    await self._lull.comes(LULL_WAIT_S)
                if not self._closing:
                    await self._consider(standing.key)
                after = standing.session_number
            if len(page) < PAGE:
                return

    async def _consider(self, key: SessionKey) -> None:
        """Do what is due for a session, and look at it again later if it can't be done now."""
        lock = self._lock(key)
        if lock.locked():
            self._put_after(key)
            return
        self._working += 1
        try:
            async with lock, self._own(key) as session:
                made = await self._do_due(session)
        except Elsewhere:
            self._put_after(key)
            return
        except SessionNotFound:
            self._conflicts.pop(key, None)
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

    async def _do_due(self, session: Session) -> Snapshot | None:
        """One compaction, if one is due and need not wait."""
        key = session.key
        standing = await self._compactions.standing(session.number)
        if standing is None or not self.policy(session).compacts:
            return None
        if standing.wait_s > 0:
            if standing.failures < self._tries:
                self._put_later(key, standing.wait_s)
            return None
        stale_upto = standing.stale_upto
        look = await self._deriver.look(key, lambda *of: compacting.due(*of, stale_upto=stale_upto))
        if look.plan is None:
            self._conflicts.pop(key, None)
            self._keep_calm(session.number, calm_at(look.session, look.policy, look.ground))
            if standing.failures:  # nothing was due after all
                await self._compactions.settled(session.number)
            return None
        last_try = standing.failures + 1 >= self._tries
        return await self._tried(key, self._deriver.derive(look, noted=True, last_try=last_try))

    async def _tried(self, key: SessionKey, work: Coroutine[Any, Any, Snapshot | None]) -> Snapshot | None:
        """What comes of the work; None also if it failed, which is then seen to."""
        try:
            made = await work
        except Elsewhere:
            self._put_after(key)
            return None
        except SummaryConflict:
            self._conflicts[key] += 1
            self._put_later(key, min(CONFLICT_WAIT_S * 2.0 ** min(self._conflicts[key], 20), LONGEST_CONFLICT_WAIT_S))
            return None
        except SessionNotFound:
            self._conflicts.pop(key, None)
            return None
        except Exception as error:  # noqa: BLE001 - the loop outlives any failure
            self._conflicts.pop(key, None)
            await self._note_failure(key, error)
            return None
        self._conflicts.pop(key, None)
        return made

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

    @asynccontextmanager
    async def _own(self, key: SessionKey) -> AsyncIterator[Session]:
        """The session, which no other process summarises inside. Raises SessionNotFound, StoreDown and Elsewhere."""
        session = await self._sessions.find(key)
        async with self._claims.claim(session.number) as own:
            if not own:
                raise Elsewhere
            yield session

    def _lock(self, key: SessionKey) -> asyncio.Lock:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock


def leaving(after: Policy) -> Choose:
    """Chooses what leaves the prompt when another policy comes into force."""

    def choose(ground: Ground, policy: Policy, sizes: Sizes) -> Plan | None:
        return compacting.switching(ground, after, sizes)

    return choose
