"""Run a stored session once more, turn by turn, and look at the prompt of every mode on the way.

(1) What is replayed is a copy under another name; of the session it was read from nothing is touched. Into the copy go its
    messages as they stand now, with their ids and times, and from the start its settings, meta and pins. It has no owner: what
    other sessions of its owner would have given is left out.
(2) Messages come as an application posts them: a user message, then what answers it. Prompts are asked for between the two,
    when all that was posted has its vectors and what was due is summarised: so a replay gives the same prompts again.
(3) A mode decides what a prompt is made of and whether a session is summarised, and no more. So modes that are summarised
    share a copy, and the others share another; no copy knows of the other.
(4) Asked for are the prompts of each `every`-th user message, and of some that go back to a message that has left the window
    (`core.replaying`): without these there would be little to say of recall.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from memsrv.core.merge import merged
from memsrv.core.replaying import History, Reference, Remark, Sample, Terms, answered, words
from memsrv.core.text.content import text_of
from memsrv.model import Draft, Message, Meta, Mode, Pin, Prompt, PromptRequest, Session, SessionKey
from memsrv.ports import Sessions, Snapshots, Transcript
from memsrv.services.assembler import Assembler
from memsrv.services.compaction import Compaction
from memsrv.services.ingest import Ingest

PAGE = 1_000
TENANT = "replay"
COPIES = ((Mode.FULL, Mode.WINDOW, Mode.RETRIEVAL), (Mode.HYBRID, Mode.SUMMARY))
"""See (3); a copy is in the first of its modes that is asked for."""
RECALLING = (Mode.RETRIEVAL, Mode.HYBRID)
PROMPTS = 30
"""So many prompts at most, evenly spread, where `every` does not say; and so many for what is gone back to."""
INDEX_WAIT_MS = 60_000
LOOK_S = 0.005


@dataclass(frozen=True, slots=True)
class Recording:
    """A stored session: all that a replay takes over, messages in order."""

    key: SessionKey
    settings: Mapping[str, Any]
    meta: Meta
    pins: Sequence[Pin]
    messages: Sequence[Message]

    @property
    def turns(self) -> int:
        """User messages."""
        return sum(message.role == "user" for message in self.messages)


async def recorded(sessions: Sessions, transcript: Transcript, key: SessionKey) -> Recording:
    """Read a session whole. Raises SessionNotFound."""
    session = await sessions.find(key)
    messages: list[Message] = []
    while page := await transcript.messages(session.number, after=messages[-1].position if messages else 0, limit=PAGE):
        messages += page
    return Recording(key, session.settings, session.meta, await sessions.pins(session.number), messages)


async def newest(sessions: Sessions, tenant: str, count: int) -> list[SessionKey]:
    """The sessions of a tenant that were written to last, at most `count`, the newest first."""
    found: list[Session] = []
    while page := await sessions.listing(tenant, owner=None, after=found[-1].key.name if found else None, limit=PAGE):
        found += page
    return [session.key for session in sorted(found, key=lambda session: session.changed_at, reverse=True)[:count]]


class Replay:
    """Replays into the stores of these parts, where it leaves its copies. `terms` are an analyzer's; `paid`: whether a session
    that names a provider has its summaries written by it."""

    def __init__(
        self,
        sessions: Sessions,
        snapshots: Snapshots,
        ingest: Ingest,
        compaction: Compaction,
        assembler: Assembler,
        terms: Terms,
        *,
        paid: bool = False,
        index_wait_ms: int = INDEX_WAIT_MS,
    ):
        self._sessions, self._snapshots, self._ingest = sessions, snapshots, ingest
        self._compaction, self._assembler, self._terms = compaction, assembler, terms
        self._paid, self._index_wait_ms = paid, index_wait_ms

    async def run(
        self, recording: Recording, modes: Iterable[Mode], *, every: int | None = None, budget_tokens: int | None = None
    ) -> AsyncIterator[tuple[Sample, ...]]:
        """An item for each user message: a sample of each mode, or none where no prompt is asked for. Raises BudgetTooSmall."""
        wanted = set(modes)
        groups = [group for copy in COPIES if (group := tuple(mode for mode in copy if mode in wanted))]
        copies = {group: await self._begun(recording, group[0], budget_tokens) for group in groups}
        history = await asyncio.to_thread(history_of, recording.messages, self._terms)
        references = await asyncio.to_thread(gone_back_to, history, self._window_size(*copies.values()))
        asked = moments(references, every)
        posted = 0
        for post in posts(recording.messages):
            for session in copies.values():
                await self._ingest.append(session.key, [draft(message) for message in post])
            await self._summarised()
            posted += len(post)
            if post[0].role == "user":
                yield await self._samples(recording, copies, posted, references[posted]) if posted in asked else ()

    def _window_size(self, session: Session, *_: Session) -> int:
        """Messages in a copy's window, in a mode that does not shorten it."""
        return self._assembler.policy(session, PromptRequest(mode=Mode.WINDOW)).window_size

    async def _begun(self, recording: Recording, mode: Mode, budget_tokens: int | None) -> Session:
        """A copy without messages."""
        key = SessionKey(TENANT, secrets.token_hex(8))
        change: dict[str, Any] = {"mode": mode.value}
        if not self._paid and "provider" in recording.settings.get("summary", {}):
            change["summary"] = {"provider": None}
        if budget_tokens is not None:
            change["budget"] = {"tokens": budget_tokens}
        settings = merged(recording.settings, change)

        def copied(session: Session) -> Session:
            return replace(session, settings=settings, meta=recording.meta)

        session = await self._sessions.save(key, copied, create=True)
        for pin in recording.pins:
            await self._sessions.add_pin(session.number, pin.text, pin.kind)
        return session

    async def _summarised(self) -> None:
        """Return when no compaction waits or works; it tells nobody when that is."""
        while not self._compaction.idle:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    async def _samples(
        self, recording: Recording, copies: Mapping[tuple[Mode, ...], Session], position: int, references: Sequence[Reference]
    ) -> tuple[Sample, ...]:
        """The prompt of each mode, at one moment."""
        samples: list[Sample] = []
        for group, session in copies.items():
            behind = await self._behind(session)
            latest = await self._snapshots.latest(session.number)
            for mode in group:
                prompt, took_ms = await self._prompt(session, mode)
                sample = Sample(
                    session=recording.key.name,
                    mode=mode,
                    position=position,
                    total_tokens=prompt.total_tokens,
                    region_tokens={region.name: region.tokens for region in prompt.receipt.regions},
                    summaries=latest.version if latest else 0,
                    took_ms=took_ms,
                    answered=await asyncio.to_thread(answered, prompt, references, self._terms),
                    degraded=bool(prompt.receipt.degraded) or (behind and mode in RECALLING),
                )
                samples.append(sample)
        return tuple(samples)

    async def _prompt(self, session: Session, mode: Mode) -> tuple[Prompt, float]:
        """A prompt, and the milliseconds that it took."""
        began = time.perf_counter()
        prompt = await self._assembler.prompt(session.key, PromptRequest(mode=mode))
        return prompt, (time.perf_counter() - began) * 1000

    async def _behind(self, session: Session) -> bool:
        """Whether vectors are missing still; they are not waited for once more after they did not come in time."""
        behind = await self._ingest.wait_indexed(session, self._index_wait_ms) > 0
        if behind:
            self._index_wait_ms = 0
        return behind


# --- what is posted, and where prompts are asked for ------------------------------------------------------------------


def posts(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """The messages in order, as an application posts them; see (2)."""
    for asks, run in groupby(messages, key=lambda message: message.role == "user"):
        if asks:
            yield from ([message] for message in run)
        else:
            yield list(run)


def draft(message: Message) -> Draft:
    """A stored message as one that comes in."""
    return Draft(message.payload, message.id, message.sent_at, message.metadata)


def history_of(messages: Sequence[Message], terms: Terms) -> History:
    """The messages as words."""
    texts = [text_of(message.payload) for message in messages]
    said = enumerate(zip(messages, texts, strict=True), 1)
    return History([Remark(position, message.role, text, words(text, terms)) for position, (message, text) in said])


def gone_back_to(history: History, window_size: int) -> dict[int, tuple[Reference, ...]]:
    """What each user message goes back to, by its position."""
    users = (remark.position for remark in history.remarks if remark.role == "user")
    return {position: history.references(position, window_size=window_size) for position in users}


def moments(references: Mapping[int, Sequence[Reference]], every: int | None) -> frozenset[int]:
    """The positions of the user messages at which prompts are asked for, see (4); of fewer than `every` it is the last."""
    users, returning = list(references), [position for position, found in references.items() if found]
    step = every or step_for(users)
    return frozenset([*(users[step - 1 :: step] or users[-1:]), *returning[:: step_for(returning)]])


def step_for(positions: Sequence[int]) -> int:
    """The smallest step that leaves at most `PROMPTS`."""
    return max(1, -(-len(positions) // PROMPTS))
