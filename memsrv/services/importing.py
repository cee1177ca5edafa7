"""Put conversations of other programs, and exported sessions, into the transcript.

(1) A message whose id is there already is not stored again; if it says something else now, that is a conflict, and what is
stored stays. (2) New ones follow in their order. (3) What a session has set itself counts before what an export says of it.
"""

from collections.abc import Sequence
from dataclasses import replace

from memsrv.core.imports.drafts import Imported, State
from memsrv.core.imports.own import meta_of
from memsrv.errors import SessionNotFound
from memsrv.model import Draft, Meta, Session, SessionKey
from memsrv.ports import Sessions, Transcript
from memsrv.services.compaction import Compaction
from memsrv.services.ingest import Ingest

MOST_IN_ONE_WRITE = 500


class Importing:
    """Writes what was read from an export."""

    def __init__(self, ingest: Ingest, transcript: Transcript, sessions: Sessions, compaction: Compaction):
        self._ingest = ingest
        self._transcript = transcript
        self._sessions = sessions
        self._compaction = compaction

    async def store(
        self, key: SessionKey, drafts: Sequence[Draft], *, owner: str | None = None, state: State | None = None
    ) -> Imported:
        """Store what is new of a conversation; the session comes into being if it is new. Raises Busy, and MessageConflict if
        another client wrote the same id meanwhile: asked again, it goes on where it stopped."""
        if not drafts and state is None:
            return Imported()
        state = state or State()
        meta = await self._set_state(key, owner, state) if owner or state != State() else None
        imported = Imported()
        for start in range(0, len(drafts), MOST_IN_ONE_WRITE):
            imported += await self._store_some(key, drafts[start : start + MOST_IN_ONE_WRITE])
        if meta is not None:  # a message may have told an older task state
            await self._sessions.save(key, lambda old: replace(old, meta=meta), create=True)
        return imported

    async def _set_state(self, key: SessionKey, owner: str | None, state: State) -> Meta | None:
        """Set owner, settings, meta and pins, as far as the session has none. The meta that it is to have when all is stored;
        None if it keeps its own."""
        meta = None if state.meta is None else meta_of(state.meta)

        def change(old: Session) -> Session:
            return replace(
                old,
                owner=old.owner or owner or state.owner,
                settings=old.settings or state.settings,
                meta=meta if meta is not None and old.meta == Meta() else old.meta,
            )

        session = await self._sessions.save(key, change, create=True, mode_of=lambda one: self._compaction.policy(one).mode)
        self._compaction.notify(session)
        for pin in state.pins:
            await self._sessions.add_pin(session.number, pin["text"], pin["kind"])
        return meta if session.meta == meta else None

    async def _store_some(self, key: SessionKey, drafts: Sequence[Draft]) -> Imported:
        known = await self._known(key, [draft.id for draft in drafts if draft.id])
        fresh, conflicts, already_there = list[Draft](), list[str](), 0
        for draft in drafts:
            if draft.id is None or draft.id not in known:
                fresh.append(draft)
                if draft.id:
                    known[draft.id] = draft.payload
            elif known[draft.id] == draft.payload:
                already_there += 1
            else:
                conflicts.append(draft.id)
        written = (await self._ingest.append(key, fresh)).messages if fresh else ()
        stored = sum(one.created for one in written)  # another import of the same may have come first
        return Imported(stored, already_there + len(written) - stored, len(conflicts), tuple(conflicts))

    async def _known(self, key: SessionKey, ids: Sequence[str]) -> dict[str, object]:
        """What the messages of these ids say that are there."""
        try:
            session = await self._sessions.find(key)
        except SessionNotFound:
            return {}
        return {id: message.payload for id, message in (await self._transcript.found(session.number, ids)).items()}
