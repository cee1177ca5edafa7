"""Settings to a running set of parts; the only importer of adapters. Opens in order, closes in the reverse."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.adapters.calibration_sql import SqlCalibrations
from memsrv.adapters.checks_sql import SqlChecks
from memsrv.adapters.ends_sql import HeldEnds
from memsrv.adapters.faulty import Faults, FaultyEmbedder, FaultyTranscript, FaultyVectors
from memsrv.adapters.lexical_sql import SqlLexicalIndex
from memsrv.adapters.outsets_sql import SqlOutsets
from memsrv.adapters.queue_sql import SqlIndexQueue
from memsrv.adapters.records_sql import SqlReceipts, SqlSwitches
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.snapshots_sql import SqlCompactions, SqlSnapshots
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.core.relay.providers import Provider
from memsrv.errors import StoreDown
from memsrv.ports import (
    Compactions,
    Embedder,
    IndexQueue,
    Lead,
    Receipts,
    Sessions,
    Snapshots,
    Switches,
    Transcript,
)
from memsrv.services.access import Access
from memsrv.services.ahead import Ahead
from memsrv.services.alone import ALONE
from memsrv.services.assembler import Assembler
from memsrv.services.calibration import Calibrator
from memsrv.services.compaction import Compaction
from memsrv.services.deriving import Deriver
from memsrv.services.gates import Gates
from memsrv.services.handoff import Handoffs
from memsrv.services.importing import Importing
from memsrv.services.indexer import Indexer
from memsrv.services.ingest import Ingest
from memsrv.services.lines import Lines
from memsrv.services.lull import Lull
from memsrv.services.pressure import Pressure
from memsrv.services.recall import RecallService
from memsrv.services.recutting import Recutter
from memsrv.services.relay import Relay
from memsrv.services.retention import Retention
from memsrv.services.switching import Switching
from memsrv.services.tidying import Tidying
from memsrv.services.verifying import Verifier
from memsrv.services.warming import Warming
from memsrv.services.writing import SummaryWriter
from memsrv.settings import Settings, endpoints
from memsrv.wiring.folder import locked, made
from memsrv.wiring.usual import defaults
from memsrv.wiring.vendors import (
    MB,
    access_for,
    database_for,
    embedder_for,
    locks_for,
    model_windows,
    relay_for,
    token_counter,
    vectors_for,
    writer_for,
)

Part = TypeVar("Part", Compaction, Retention, Tidying, Warming)

VECTOR_BYTES = 2048
"""About what a chunk's vector takes in the cache."""
POLL_S = 60.0  # how soon the index is looked after that nobody spoke of
SHARED_POLL_S = 0.5  # how soon what another process has stored is indexed


@dataclass(frozen=True, slots=True)
class State:
    """How the parts are, at one moment."""

    transcript_ok: bool
    degraded: frozenset[str]
    pending: int
    set_aside: int


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts that a server is made of."""

    settings: Settings
    access: Access
    writes: Pressure
    summaries: Pressure
    transcript: Transcript
    sessions: Sessions
    snapshots: Snapshots
    compactions: Compactions
    receipts: Receipts
    switches: Switches
    queue: IndexQueue
    embedder: Embedder
    lead: Lead
    indexer: Indexer
    ingest: Ingest
    importing: Importing
    writer: SummaryWriter
    compaction: Compaction
    switching: Switching
    handoffs: Handoffs
    assembler: Assembler
    calibrator: Calibrator
    verifier: Verifier
    relay: Relay
    providers: Mapping[str, Provider]
    faults: Faults | None

    async def state(self) -> State:
        """Ask the store for its backlog, and the indexer for what it misses."""
        try:
            pending, set_aside = await self.queue.backlog()
        except StoreDown:
            return State(False, self.indexer.degraded | {"transcript"}, 0, 0)
        return State(True, self.indexer.degraded, pending, set_aside)


@asynccontextmanager
async def opened(settings: Settings, *, embedder: Embedder | None = None) -> AsyncIterator[Runtime]:
    """Lock the data folder and open every part; on the way out, let the work in hand end and close all. An embedder that is
    given takes the place of the one that the settings name. With PostgreSQL and a Chroma server the folder holds nothing that
    one process must have for itself, and is not locked.

    Raises DataDirLocked, CannotStart or SettingsError.
    """
    async with AsyncExitStack() as stack:
        if settings.database_url.get_secret_value() and settings.chroma_url:
            made(settings.data_dir)
        else:
            stack.callback(locked(settings.data_dir).release)
        yield await assembled(settings, stack, embedder)


async def assembled(settings: Settings, stack: AsyncExitStack, given: Embedder | None) -> Runtime:
    """Open each part, register its closing, and put them together. What takes time to load is loaded side by side."""
    counter = token_counter(settings)
    analyzer = SnowballAnalyzer()
    warming = [asyncio.create_task(asyncio.to_thread(part.warm)) for part in (counter, analyzer)]
    embedder, database = await asyncio.gather(embedder_for(settings, given), database_for(settings))
    stack.push_async_callback(database.close)
    stack.push_async_callback(embedder.close)
    await asyncio.gather(*warming)
    locks = await locks_for(settings, stack)

    held = HeldEnds()
    transcript: Transcript = SqlTranscript(database, held)
    sessions, snapshots, queue = SqlSessions(database), SqlSnapshots(database), SqlIndexQueue(database)
    receipts = SqlReceipts(database, kept=settings.receipts_kept)
    stack.push_async_callback(receipts.close)
    vectors = vectors_for(settings)
    stack.push_async_callback(vectors.close)
    faults = Faults(settings.faults) if settings.faults is not None else None
    if faults:
        transcript, vectors, embedder = (
            FaultyTranscript(transcript, faults),
            FaultyVectors(vectors, faults),
            FaultyEmbedder(embedder, faults),
        )
    recut, poll_s = Recutter(transcript, analyzer).page, POLL_S if locks is ALONE else SHARED_POLL_S
    lull, batch = Lull(), settings.embedder_batch
    indexer = Indexer(queue, vectors, embedder, batch=batch, recut=recut, lead=locks, poll_s=poll_s, lull=lull)
    indexer.start()
    stack.push_async_callback(indexer.close)

    known = endpoints(settings)
    windows = model_windows(settings, known, stack)
    usual = replace(defaults(settings), windows=windows)
    gates = Gates(most_waiting=settings.max_waiting_writes)
    switches, compactions = SqlSwitches(database), SqlCompactions(database)
    writer = writer_for(known, counter, analyzer, faults, stack)
    stores = (transcript, sessions, snapshots, compactions)
    deriver = Deriver(*stores, writer, counter, usual, terms=analyzer.terms, wake_indexer=indexer.notify)
    compaction = begun(Compaction(deriver, sessions, compactions, lead=locks, claims=locks, lull=lull), stack)
    handoffs = Handoffs(transcript, sessions, snapshots, compaction, writer, counter)
    stack.push_async_callback(handoffs.close)

    writes = Pressure(settings.max_waiting_writes, "writes")
    ingest = Ingest(transcript, sessions, analyzer, indexer, compaction, gates, pressure=writes)
    begun(Retention(transcript, sessions, ingest, days=settings.retention_days, lead=locks), stack)

    calibrator = Calibrator(SqlCalibrations(database), receipts, counter)
    lexical = SqlLexicalIndex(database, cache_bytes=settings.lexical_cache_mb * MB)
    begun(Tidying(), stack)
    begun(Warming(sessions, lexical, vectors, most_chunks=settings.vector_cache_mb * MB // VECTOR_BYTES), stack)
    ahead = Ahead(embedder)
    recall = RecallService(transcript, sessions, lexical, vectors, ahead, analyzer)
    assembler = Assembler(SqlOutsets(database, held), transcript, receipts, recall, counter, ahead, usual, compaction, lull)
    return Runtime(
        settings=settings,
        access=access_for(settings),
        writes=writes,
        summaries=Pressure(settings.max_waiting_writes, "requests for summaries"),
        transcript=transcript,
        sessions=sessions,
        snapshots=snapshots,
        compactions=compactions,
        receipts=receipts,
        switches=switches,
        queue=queue,
        embedder=embedder,
        lead=locks,
        indexer=indexer,
        ingest=ingest,
        importing=Importing(ingest, transcript, sessions, compaction),
        writer=writer,
        compaction=compaction,
        handoffs=handoffs,
        switching=Switching(sessions, switches, compaction, gates, usual),
        assembler=assembler,
        calibrator=calibrator,
        verifier=Verifier(SqlChecks(database), queue, vectors, indexer, analyzer, lead=locks),
        relay=relay_for(settings, known, stack, Lines(transcript, sessions, ingest), assembler, calibrator, counter, ahead, lull),
        providers=known,
        faults=faults,
    )


def begun(part: Part, stack: AsyncExitStack) -> Part:
    """Let it work in the background until the parts are closed."""
    part.start()
    stack.push_async_callback(part.close)
    return part
