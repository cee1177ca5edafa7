"""Lexical index over SQL: the chunks' terms are in the database, their posting lists in memory.

(1) A search answers for what is committed when it begins: the session's row says whether the lists in memory still hold.
(2) New chunks are added to the lists; after an edit or a delete a session's lists are built anew.
(3) The lists take `cache_bytes` at most between searches; those not used for the longest time go first.
(4) Sessions that are gone, or belong to another tenant than the scope, are not searched.
"""

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from memsrv.adapters.database import Database
from memsrv.adapters.schema import chunks, messages, sessions, slices, without_nul
from memsrv.core import bm25
from memsrv.core.bm25 import Collection
from memsrv.model import Scope
from memsrv.ports import Worded

LOCKS = 64
ROWS = 5000  # fetched at a time


@dataclass(frozen=True, slots=True)
class State:
    """What tells whether a session's lists hold: its newest chunk, and how often older ones were edited or deleted."""

    last_chunk: int
    rewrites: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A session's lists, as of a state."""

    state: State
    collection: Collection


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

    async def search(self, scope: Scope, terms: Sequence[str], *, limit: int) -> Worded:
        """The best `limit` chunks, in order of the sessions."""
        keys = [bm25.key_of(without_nul(term)) for term in terms]
        if not keys or not scope.session_numbers or limit < 1:
            return Worded(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32))
        states = await self._database.read(lambda connection: states_of(connection, scope))
        for number in scope.session_numbers:
            if number not in states:
                self._drop(number)
        collections = [await self._fresh(number, states[number]) for number in sorted(states)]
        self._shrink()
        return Worded(*await asyncio.to_thread(lambda: bm25.search(collections, keys, limit=limit, k1=self._k1, b=self._b)))

    async def _fresh(self, number: int, state: State) -> Collection:
        """The session's lists as of this state or a later one."""
        async with self._locks[number % LOCKS]:
            entry = self._entries.get(number)
            if entry is None or not holds(entry.state, state):
                entry = await self._database.read(lambda connection: read_entry(connection, number, entry))
                self._drop(number)
                self._held_bytes += entry.collection.size_bytes
            self._entries[number] = entry
            self._entries.move_to_end(number)
            return entry.collection

    def _drop(self, number: int) -> None:
        entry = self._entries.pop(number, None)
        if entry is not None:
            self._held_bytes -= entry.collection.size_bytes

    def _shrink(self) -> None:
        while self._held_bytes > self._cache_bytes:
            self._drop(next(iter(self._entries)))


def holds(have: State, wanted: State) -> bool:
    """Whether lists of one state answer for another, or for what came after it."""
    return have.rewrites >= wanted.rewrites and have.last_chunk >= wanted.last_chunk


def states_of(connection: Connection, scope: Scope) -> dict[int, State]:
    """The state of each session of the scope that is there and has chunks."""
    columns = (sessions.c.number, sessions.c.last_chunk, sessions.c.rewrites)
    return {
        row.number: State(row.last_chunk, row.rewrites)
        for part in slices(scope.session_numbers)
        for row in connection.execute(
            select(*columns).where(sessions.c.number.in_(part), sessions.c.tenant == scope.tenant, sessions.c.last_chunk > 0)
        )
    }


def read_entry(connection: Connection, number: int, known: Entry | None) -> Entry:
    """A session's lists as they are committed, made from what is known of them if that still holds."""
    query = select(sessions.c.last_chunk, sessions.c.rewrites).where(sessions.c.number == number)
    row = connection.execute(query).one_or_none()
    if row is None:  # forgotten a moment ago
        return Entry(State(0, 0), Collection())
    state = State(row.last_chunk, row.rewrites)
    if known is not None and known.state.rewrites == state.rewrites:
        return Entry(state, read_chunks(connection, number, known.collection, after=known.state.last_chunk))
    return Entry(state, read_chunks(connection, number, Collection(), after=0))


def read_chunks(connection: Connection, session_number: int, collection: Collection, *, after: int) -> Collection:
    """The collection with the session's chunks of higher numbers added, in order of position and ordinal."""
    query = (
        select(chunks.c.number, chunks.c.terms)
        .join(messages, messages.c.number == chunks.c.message_number)
        .where(chunks.c.session_number == session_number, chunks.c.number > after)
        .order_by(messages.c.position, chunks.c.ordinal)
    )
    numbers, lengths, keys = array("q"), array("q"), array("q")
    for number, terms in connection.execute(query).yield_per(ROWS):
        words = terms.split(" ") if terms else []
        numbers.append(number)
        lengths.append(len(words))
        keys.extend(map(bm25.key_of, words))
    if not numbers:
        return collection
    return bm25.grown(collection, *(np.frombuffer(values, np.int64) for values in (numbers, lengths, keys)))
