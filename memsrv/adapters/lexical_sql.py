"""Lexical index over SQL: the chunks' terms are in the database, their posting lists and traits in memory.

(1) A lexicon is what is committed when it is opened: the session's row says whether the lists in memory still hold.
(2) New chunks are added to the lists; after an edit or a delete a session's lists are built anew.
(3) The lists take `cache_bytes` at most between searches; those not used for the longest time go first.
(4) Sessions that are gone, or belong to another tenant than the scope, are not searched.
(5) The passages of a session's snapshots have lists of their own, under its number negated; each stands alone there.
"""

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern

import numpy as np
from sqlalchemy import Connection, bindparam, func, literal, null, select

from memsrv.adapters.database import Database
from memsrv.adapters.passages_sql import newest_passages
from memsrv.adapters.schema import chunks, messages, passages, sessions, slices
from memsrv.core.recall import bm25
from memsrv.core.recall.bm25 import Collection
from memsrv.core.recall.traits import TRAITS, no_traits, traits_of_text
from memsrv.core.text.content import without_nul
from memsrv.model import SUMMARY, Scope
from memsrv.ports import Worded

LOCKS = 64
ROWS = 5000  # fetched at a time
MICROS = 1_000_000
ENTRY_BYTES = 2000
"""About what an entry takes beside its lists."""


@dataclass(frozen=True, slots=True)
class State:
    """What tells whether a session's lists hold: its newest chunk, and how often older ones were edited or deleted."""

    last_chunk: int
    rewrites: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A session's lists and traits, both in order of position, as of a state. `by_number` sorts the traits by number."""

    state: State
    collection: Collection = field(default_factory=Collection)
    traits: np.ndarray = field(default_factory=no_traits)
    by_number: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def size_bytes(self) -> int:
        return self.collection.size_bytes + self.traits.nbytes + self.by_number.nbytes + ENTRY_BYTES

    def traits_of(self, numbers: np.ndarray) -> np.ndarray:
        """The traits of those of the (rising) numbers that are here."""
        own = self.collection.numbers
        if not len(own):
            return no_traits()
        places = np.minimum(np.searchsorted(own, numbers, sorter=self.by_number), len(own) - 1)
        rows = self.by_number[places]
        here: np.ndarray = self.traits[rows[own[rows] == numbers]]
        return here


class SqlLexicon:
    """ports.Lexicon over the entries of a scope's sessions."""

    def __init__(self, entries: Mapping[int, Entry], *, k1: float, b: float):
        self.session_numbers = tuple(entries)
        self._entries = tuple(entries.values())
        self._k1, self._b = k1, b

    def search(self, terms: Sequence[str], *, limit: int) -> Worded:
        """The best `limit` chunks, in order of the sessions."""
        keys = [bm25.key_of(without_nul(term)) for term in terms]
        collections = [entry.collection for entry in self._entries]
        offsets = bm25.ALONE if self.session_numbers and self.session_numbers[0] < 0 else bm25.OFFSETS
        found = bm25.search(collections, keys if limit > 0 else [], limit=limit, k1=self._k1, b=self._b, offsets=offsets)
        return Worded(*found)

    def traits(self, numbers: np.ndarray) -> np.ndarray:
        """Traits of chunks, in order of number."""
        found = np.concatenate([no_traits(), *(entry.traits_of(numbers) for entry in self._entries)])
        return found if len(self._entries) < 2 else found[np.argsort(found["number"])]

    def newest_at(self, session_number: int) -> float:
        """When the newest chunk of a session was said."""
        held = [entry.traits for entry in self._entries if len(entry.traits) and entry.traits["session"][0] == session_number]
        return float(held[0]["sent_at"][-1]) if held else 0.0


class SqlLexicalIndex:
    """BM25 over each chunk's terms and those of its neighbours."""

    def __init__(self, database: Database, *, cache_bytes: int, k1: float = 0.9, b: float = 0.4):
        self._database = database
        self._cache_bytes = cache_bytes
        self._k1 = k1
        self._b = b
        self._entries: OrderedDict[int, Entry] = OrderedDict()  # the one used last stands last
        self._held_bytes = 0
        self._locks = [asyncio.Lock() for _ in range(LOCKS)]  # so that two searches do not build the same lists

    async def open(self, *scopes: Scope) -> list[SqlLexicon]:
        """See `ports.LexicalIndex`."""
        states = await self._database.read(lambda connection: [states_of(connection, scope) for scope in scopes])
        opened = [await self._opened(scope, found) for scope, found in zip(scopes, states, strict=True)]
        self._shrink()
        return opened

    async def _opened(self, scope: Scope, states: Mapping[int, State]) -> SqlLexicon:
        for number in scope.session_numbers:
            if number not in states:
                self._drop(number)
        entries = {number: await self._fresh(number, states[number]) for number in sorted(states)}
        return SqlLexicon(entries, k1=self._k1, b=self._b)

    async def _fresh(self, number: int, state: State) -> Entry:
        """The session's entry as of this state or a later one."""
        async with self._locks[number % LOCKS]:
            entry = self._entries.get(number)
            if entry is None or not holds(entry.state, state):
                entry = await self._database.read(lambda connection: read_entry(connection, number, entry))
                self._drop(number)
                self._held_bytes += entry.size_bytes
            self._entries[number] = entry
            self._entries.move_to_end(number)
            return entry

    def _drop(self, number: int) -> None:
        entry = self._entries.pop(number, None)
        if entry is not None:
            self._held_bytes -= entry.size_bytes

    def _shrink(self) -> None:
        while self._held_bytes > self._cache_bytes:
            self._drop(next(iter(self._entries)))


def holds(have: State, wanted: State) -> bool:
    """Whether lists of one state answer for another, or for what came after it."""
    return have.rewrites >= wanted.rewrites and have.last_chunk >= wanted.last_chunk


def states_of(connection: Connection, scope: Scope) -> dict[int, State]:
    """The state of each session of the scope that is there and has chunks."""
    found = [
        row
        for part in slices([number for number in scope.session_numbers if number > 0])
        for row in connection.execute(STATES, {"numbers": part, "tenant": scope.tenant})
    ]
    of_passages = [-number for number in scope.session_numbers if number < 0]
    return {n: State(last, rewrites) for n, last, rewrites in (*found, *newest_passages(connection, scope.tenant, of_passages))}


def read_entry(connection: Connection, number: int, known: Entry | None) -> Entry:
    """A session's lists as they are committed, made from what is known of them if that still holds."""
    row = connection.execute(STATE if number > 0 else PASSAGES_STATE, {"number": abs(number)}).one_or_none()
    if row is None:  # forgotten a moment ago
        return Entry(State(0, 0))
    state = State(*row)
    if known is not None and known.state.rewrites == state.rewrites:
        return read_chunks(connection, number, state, known)
    return read_chunks(connection, number, state, Entry(State(0, 0)))


def read_chunks(connection: Connection, session_number: int, state: State, known: Entry) -> Entry:
    """The entry with the session's newer chunks added, in order of position and ordinal."""
    where = {"session_number": abs(session_number), "after": known.state.last_chunk}
    newer = NEWER if session_number > 0 else NEWER_PASSAGES
    lengths, keys, traits = array("q"), array("q"), []
    for number, message, position, sent_at, role, name, text, terms in connection.execute(newer, where).yield_per(ROWS):
        words = terms.split(" ") if terms else []
        lengths.append(len(words))
        keys.extend(map(bm25.key_of, words))
        own = number, session_number, message, position, sent_at / MICROS, intern(role), name and intern(name)
        traits.append((*own, *traits_of_text(text)))
    if not traits:
        return Entry(state, known.collection, known.traits, known.by_number)
    added = np.array(traits, TRAITS)
    counted = (np.frombuffer(values, np.int64) for values in (lengths, keys))
    collection = bm25.grown(known.collection, added["number"], *counted)
    by_number = np.argsort(collection.numbers, kind="stable")
    return Entry(state, collection, np.concatenate([known.traits, added]), by_number)


# Asked for every recall, so they are put together only once.
STATES = select(sessions.c.number, sessions.c.last_chunk, sessions.c.rewrites).where(
    sessions.c.number.in_(bindparam("numbers", expanding=True)),
    sessions.c.tenant == bindparam("tenant"),
    sessions.c.last_chunk > 0,
)
STATE = select(sessions.c.last_chunk, sessions.c.rewrites).where(sessions.c.number == bindparam("number"))
PASSAGES_STATE = (
    select(func.max(passages.c.number), sessions.c.rewrites)
    .join(sessions, sessions.c.number == passages.c.session_number)
    .where(passages.c.session_number == bindparam("number"))
    .group_by(sessions.c.rewrites)
)
NEWER_PASSAGES = (
    select(
        -passages.c.number,
        -passages.c.number,
        passages.c.version,
        passages.c.made_at,
        literal(SUMMARY),
        null(),
        passages.c.text,
        passages.c.terms,
    )
    .where(passages.c.session_number == bindparam("session_number"), passages.c.number > bindparam("after"))
    .order_by(passages.c.number)
)
NEWER = (
    select(
        chunks.c.number,
        chunks.c.message_number,
        messages.c.position,
        messages.c.sent_at,
        messages.c.role,
        messages.c.name,
        chunks.c.text,
        chunks.c.terms,
    )
    .join(messages, messages.c.number == chunks.c.message_number)
    .where(chunks.c.session_number == bindparam("session_number"), chunks.c.number > bindparam("after"))
    .order_by(messages.c.position, chunks.c.ordinal)
)
