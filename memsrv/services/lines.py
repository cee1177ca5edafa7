"""Keep the transcript of a session in step with the history that its client sends.

(1) What is new in a request is stored, all of it or nothing, before anything is asked of a model; docs/proxy.md says what is new.
(2) A session that the client names is the one that is written to. A client that names none gets one by how its history begins;
    where a history no longer goes with what is stored there, it gets a session of its own, always the same one.
(3) What a client's history left behind leaves the session's line, not the server: it is stored in the session's aside first,
    then taken out. It goes only when the answer is stored; until then it is kept from the prompts of that history. A cut answer
    never takes the place of another; nor does one to a message that has left the line meanwhile.
(4) One request at a time reads a session's line and writes to it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from memsrv.core.merge import merged
from memsrv.core.relay.resent import (
    LONGEST_NAME,
    NOTE,
    Known,
    after,
    aside_name,
    branch_name,
    following,
    id_of,
    known,
    note_of,
    root_name,
)
from memsrv.errors import MessageConflict, MessageNotFound, SessionMoved, SessionNotFound
from memsrv.model import Appended, Draft, Message, Payload, Session, SessionKey
from memsrv.ports import Sessions, Transcript
from memsrv.services.ingest import Ingest
from memsrv.threads import off_loop

LOOK_BACK = 64
SMALL_MESSAGES, SMALL_CHARS = 400, 100_000
FARTHEST = 5_000
"""Messages that are read at most in search of where a history stands."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What a client tells with a request. `name` is the session's, None if it names none; `owner_fixed`: the owner takes the
    place of another one; `instructions` are its system prompt, None if it has none; `again`: it says it repeats a request."""

    tenant: str
    line: tuple[Payload, ...]
    name: str | None = None
    owner: str | None = None
    owner_fixed: bool = False
    instructions: str | None = None
    again: bool = False

    @property
    def in_tool_loop(self) -> bool:
        """Whether it ends in the result of a tool, which the model is to go on from."""
        return bool(self.line) and self.line[-1]["role"] in ("tool", "function")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands: the session, and the message that its answer follows (None: the request said nothing), with its
    position. `fresh` messages were stored for it. `left` goes aside when the answer comes, with what follows it by then; with
    `branches`, the answer begins a session of its own instead."""

    telling: Telling
    session: Session
    last_id: str | None
    position: int
    fresh: int = 0
    left: tuple[Message, ...] = ()
    branches: bool = False

    @property
    def key(self) -> SessionKey:
        return self.session.key

    @property
    def hidden(self) -> frozenset[int]:
        """The positions that its history does not know of."""
        return frozenset(message.position for message in self.left)


class Lines:
    """The sessions that the proxy writes to."""

    def __init__(self, transcript: Transcript, sessions: Sessions, ingest: Ingest):
        self._transcript, self._sessions, self._ingest = transcript, sessions, ingest
        self._locks: WeakValueDictionary[SessionKey, asyncio.Lock] = WeakValueDictionary()

    async def place(self, telling: Telling, met: Callable[[Session], None] = lambda session: None) -> Place:
        """Find the session of a request, tell of it if it is there (`met`), and store what is new in it. Raises what
        Ingest.append does."""
        async with self._lock(telling):
            key, session, seen = await (self._named(telling) if telling.name else self._derived(telling))
            if session is not None:
                met(session)
            session = await self._settled(key, session, telling)
            return await self._stored(session, seen, telling)

    async def answer(self, place: Place, payload: Payload, *, cut: str = "") -> None:
        """Store the answer to a request, unless its session was forgotten meanwhile; `cut` says by whom it was, if it was."""
        draft = draft_of(payload, place.last_id, seed=[place.position, cut], cut=cut)
        async with self._lock(place.telling):
            if await self._went_on(place, draft):
                return
            since = await self._since(place)
            there = bool(since) and since[0].id == place.last_id
            if not there and await self._is_forgotten(place):
                return
            if place.branches:
                await self._branched(place, payload, cut)
                return
            others = [message for message in since if message.role == "assistant" and after(message) == place.last_id]
            left_alone = place.last_id is not None and not there
            if left_alone or (cut and any(not note_of(other).get("cut") for other in others)):
                await self._to_aside(place.session, [draft])
                return
            left = await self._left_by_now(place)
            appended = await self._appended(place.key, [draft])
            stored = {one.id for one in appended.messages}
            gone = {message.id: message for message in (*left, *others) if message.id not in stored}
            await self._set_aside(place.session, sorted(gone.values(), key=lambda message: message.position))

    # --- where -------------------------------------------------------------------------------------------------------

    async def _named(self, telling: Telling) -> tuple[SessionKey, Session | None, Known]:
        """The session that the client names, if it is there, and how the history stands in its newest messages."""
        assert telling.name is not None
        key = SessionKey(telling.tenant, telling.name)
        limit = looked_at(telling)
        while True:
            session, stored = await self._newest(key, limit)
            if session is None or not telling.line:
                return key, session, Known(None, 0, ())
            seen = await known_in(stored, telling, whole=False)
            if seen.last or len(stored) < limit or len(telling.line) == 1 or limit >= FARTHEST:
                return key, session, seen
            limit = min(4 * limit, FARTHEST)

    async def _derived(self, telling: Telling) -> tuple[SessionKey, Session | None, Known]:
        """The session that goes with the history: the root's, or branch by branch the one where it goes on."""
        root = name = root_name(telling.owner, telling.line)
        limit = looked_at(telling)
        key, session, seen = SessionKey(telling.tenant, name), None, Known(None, 0, ())
        for _ in range(len(telling.line) + 1):  # each branch holds more of the history than the one before
            key = SessionKey(telling.tenant, name)
            session, stored = await self._newest(key, limit)
            if session is None:
                return key, None, Known(None, 0, ())
            if len(stored) == limit:  # there may be more: a whole history is looked for from the first message on
                stored = await self._transcript.messages(session.number, limit=limit)
            seen = await known_in(stored, telling, whole=True)
            if not seen.left or seen.count == len(telling.line):
                break
            name = branch_name(root, telling.line[: seen.count + 1])
        return key, session, seen

    async def _newest(self, key: SessionKey, limit: int) -> tuple[Session | None, list[Message]]:
        """A session, if it is there, with its newest messages. A history grows with every request; what is asked for does so in
        steps, for what is held of a session is read anew when more of it is asked for."""
        try:
            session, stored = await self._transcript.newest(key, most=-(-limit // LOOK_BACK) * LOOK_BACK)
        except SessionNotFound:
            return None, []
        return session, stored[-limit:]

    async def _found(self, key: SessionKey) -> Session | None:
        try:
            return await self._sessions.find(key)
        except SessionNotFound:
            return None

    def _lock(self, telling: Telling) -> asyncio.Lock:
        """The lock of a session; one for all that branched off a root."""
        key = SessionKey(telling.tenant, telling.name or root_name(telling.owner, telling.line))
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    # --- what --------------------------------------------------------------------------------------------------------

    async def _settled(self, key: SessionKey, session: Session | None, telling: Telling) -> Session:
        """The session with its owner and system prompt as the client tells them; a new one if there is none."""

        def change(old: Session) -> Session:
            owner = telling.owner if telling.owner and (telling.owner_fixed or old.owner is None) else old.owner
            prompt = telling.instructions if telling.instructions is not None else old.meta.system_prompt
            return replace(old, owner=owner, meta=replace(old.meta, system_prompt=prompt))

        if session is None or change(session) != session:
            session = await self._sessions.save(key, change, create=True)
        return session

    async def _stored(self, session: Session, seen: Known, telling: Telling) -> Place:
        """Store the new end of the history."""
        new, left = telling.line[seen.count :], (*seen.beside, *seen.left)
        if not new:
            last_id, position = (seen.last.id, seen.last.position) if seen.last else (None, session.last_position)
            branches = telling.name is None and not seen.only_answers_left
            return Place(telling, session, last_id, position, left=seen.beside if branches else left, branches=branches)
        drafts = linked(new, seen.last.id if seen.last else None, session.last_position)
        appended = await self._appended(session.key, drafts)
        end = appended.messages[-1]
        fresh = sum(one.created for one in appended.messages)
        return Place(telling, appended.session, end.id, end.position, fresh=fresh, left=left)

    async def _appended(self, key: SessionKey, drafts: Sequence[Draft]) -> Appended:
        """Store drafts; under other ids if one of theirs is that of a message which was edited here since."""
        try:
            return await self._ingest.append(key, drafts)
        except MessageConflict:
            return await self._ingest.append(key, [replace(draft, id=None) for draft in drafts])

    async def _branched(self, place: Place, payload: Payload, cut: str) -> None:
        """Begin a session with a history that ends in another answer than the one stored."""
        telling = place.telling
        line = (*telling.line, payload)
        key = SessionKey(telling.tenant, branch_name(root_name(telling.owner, telling.line), line))
        await self._settled(key, await self._found(key), telling)
        drafts = linked(line, None, 0)
        if cut:
            drafts[-1] = replace(drafts[-1], metadata=with_note(drafts[-1].metadata, cut=cut))
        await self._ingest.append(key, drafts)

    async def _went_on(self, place: Place, draft: Draft) -> bool:
        """Store the answer to the newest message of a session in which nothing happened since: it has no other answer, and left
        nothing behind. Whether it was so."""
        if place.last_id is None or place.branches or place.left or place.position != place.session.last_position:
            return False
        try:
            await self._ingest.append(place.key, [draft], onto=place.session)
        except (SessionMoved, MessageConflict):
            return False
        return True

    async def _since(self, place: Place) -> list[Message]:
        """The message to be answered, if it is still there, and some that came later: none where the request said nothing."""
        if place.last_id is None:
            return []
        return await self._transcript.messages(place.session.number, after=place.position - 1, limit=1 + LOOK_BACK)

    async def _left_by_now(self, place: Place) -> tuple[Message, ...]:
        """What its history left behind, as far as it is still there, and what was said to that meanwhile."""
        if not place.left:
            return ()
        first = min(message.position for message in place.left)
        later = await self._transcript.messages(place.session.number, after=first - 1, limit=FARTHEST)
        ids = {message.id for message in place.left}
        return (*(message for message in later if message.id in ids), *following(later, ids, but=ids))

    async def _is_forgotten(self, place: Place) -> bool:
        """Whether the session was forgotten meanwhile, even if there is another of its name."""
        now = await self._found(place.key)
        return now is None or now.number != place.session.number

    # --- aside -------------------------------------------------------------------------------------------------------

    async def _set_aside(self, session: Session, left: Sequence[Message]) -> None:
        """Store messages in the session's aside, then take them out of the session."""
        if not left:
            return
        drafts = [
            Draft(message.payload, f"{message.id}@{message.position}"[-LONGEST_NAME:], message.sent_at, message.metadata)
            for message in left
        ]
        await self._to_aside(session, drafts)
        for message in reversed(left):
            try:
                await self._ingest.delete(session, message.id)
            except MessageNotFound:
                continue  # someone took it out meanwhile

    async def _to_aside(self, session: Session, drafts: Sequence[Draft]) -> None:
        """Store drafts in the aside of a session, which is not summarised, and is kept as long as the session."""
        aside = SessionKey(session.key.tenant, aside_name(session.key.name))
        own = {"summary": {"enabled": False}, "retention": session.settings.get("retention")}

        def change(old: Session) -> Session:
            return replace(old, owner=session.owner, settings=merged(old.settings, own))

        if await self._found(aside) is None:
            await self._sessions.save(aside, change, create=True)
        await self._appended(aside, drafts)


# --- where a history stands -------------------------------------------------------------------------------------------


def looked_at(telling: Telling) -> int:
    """How many messages of a session are looked at first in search of where a history stands."""
    return 2 * len(telling.line) + LOOK_BACK


async def known_in(stored: Sequence[Message], telling: Telling, *, whole: bool) -> Known:
    """See `known`."""
    small = is_small([*(message.payload for message in stored), *telling.line])
    return await off_loop(lambda: known(stored, telling.line, whole=whole, again=telling.again), small=small)


def is_small(payloads: Sequence[Payload]) -> bool:
    """Whether these are few, short and of text alone, so that they are soon compared: most of them were seen before."""
    if len(payloads) > SMALL_MESSAGES:
        return False
    texts = [payload.get("content") for payload in payloads if not payload.get("tool_calls")]
    lengths = [len(text) for text in texts if isinstance(text, str)]
    return len(lengths) == len(payloads) and sum(lengths) <= SMALL_CHARS


# --- drafts ---------------------------------------------------------------------------------------------------------


def linked(payloads: Sequence[Payload], last_id: str | None, last_position: int) -> list[Draft]:
    """New messages, each linked to the one before it; the first, if no message before it is known, to none."""
    drafts: list[Draft] = []
    for payload in payloads:
        drafts.append(draft_of(payload, last_id, seed=last_id or last_position))
        last_id = drafts[-1].id
    return drafts


def draft_of(payload: Payload, last_id: str | None, *, seed: Any, cut: str = "") -> Draft:
    """A message that follows another one; its id tells its place, so that storing it twice is storing it once."""
    metadata = with_note(None, after=last_id) if last_id else None
    if cut:
        metadata = with_note(metadata, cut=cut)
    return Draft(payload, id_of(seed, payload), None, metadata)


def with_note(metadata: Any, **note: Any) -> dict[str, Any]:
    """Metadata with more in the relay's note."""
    held = dict(metadata or {})
    return {**held, NOTE: {**held.get(NOTE, {}), **note}}
