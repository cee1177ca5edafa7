"""Settings to a running set of parts; the only importer of adapters. Opens in order, closes in the reverse."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from memsrv.adapters import archive
from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.adapters.archive import Archive
from memsrv.adapters.calibration_sql import SqlCalibrations
from memsrv.adapters.chat_openai import OpenAIChat
from memsrv.adapters.checks_sql import SqlChecks
from memsrv.adapters.database import Database, revisions
from memsrv.adapters.faulty import Faults, FaultyEmbedder, FaultySummarizer, FaultyTranscript, FaultyVectors
from memsrv.adapters.keys_file import FileKeys
from memsrv.adapters.lexical_sql import SqlLexicalIndex
from memsrv.adapters.locks_postgresql import PostgresqlLocks
from memsrv.adapters.models_openai import OpenAIModels
from memsrv.adapters.outsets_sql import SqlOutsets
from memsrv.adapters.queue_sql import SqlIndexQueue
from memsrv.adapters.records_sql import SqlReceipts, SqlSwitches
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.snapshots_sql import SqlCompactions, SqlSnapshots
from memsrv.adapters.summarizer_chat import ChatSummarizer
from memsrv.adapters.summarizer_events import EventSummarizer
from memsrv.adapters.summarizer_extractive import ExtractiveSummarizer
from memsrv.adapters.tokens_tiktoken import TiktokenCounter, shipped_vocabularies
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.adapters.upstream_openai import OpenAIUpstream
from memsrv.adapters.vectors_chroma import ChromaVectors
from memsrv.core.policy import MODEL_WINDOWS, Condition, Defaults
from memsrv.core.providers import Provider
from memsrv.core.windows import Windows
from memsrv.errors import CannotStart, DataDirLocked, SettingsError, StoreDown
from memsrv.model import Format, Trigger
from memsrv.ports import (
    Analyzer,
    Compactions,
    Embedder,
    IndexQueue,
    Lead,
    Receipts,
    Sessions,
    Snapshots,
    Summarizer,
    Switches,
    TokenCounter,
    Transcript,
    VectorIndex,
)
from memsrv.services.access import Access
from memsrv.services.alone import ALONE, Alone
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
from memsrv.services.pressure import Pressure
from memsrv.services.recall import RecallService
from memsrv.services.recutting import Recutter
from memsrv.services.relay import Relay
from memsrv.services.retention import Retention
from memsrv.services.switching import Switching
from memsrv.services.verifying import Verifier
from memsrv.services.warming import Warming
from memsrv.services.windows import ModelWindows
from memsrv.services.writing import SummaryWriter, guard_by
from memsrv.settings import Settings, default_upstream, endpoints

MB = 2**20
KEYS_WAIT_S = 10
Part = TypeVar("Part", Compaction, Retention, Warming)

VECTOR_BYTES = 2048
"""About what a chunk's vector takes in the cache."""
LEAD_WAIT_S = 3.0  # for the lead of a process that has just ended
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


def locked(data_dir: Path) -> FileLock:
    """The data folder's lock, taken: embedded Chroma and SQLite have one writer. It does not outlive the process."""
    made(data_dir)
    try:
        lock = FileLock(data_dir / "lock", timeout=0)
        lock.acquire()
    except Timeout:
        raise DataDirLocked("Another memsrv serves this data folder.") from None
    except OSError as error:
        raise no_folder(error) from None
    return lock


def backed_up(settings: Settings, file: Path) -> Archive:
    """A backup of the data folder, written also while a server runs. Raises SettingsError and CannotStart."""
    return archive.back_up(settings.data_dir, file)


def restored(settings: Settings, file: Path, *, force: bool) -> Archive:
    """A backup put into the data folder, which no server uses meanwhile. Raises DataDirLocked, SettingsError, CannotStart."""
    with locked(settings.data_dir):
        return archive.restore(file, settings.data_dir, known=revisions(), force=force)


def made(data_dir: Path) -> None:
    """Make the data folder if it is missing."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise no_folder(error) from None


def no_folder(error: OSError) -> CannotStart:
    return CannotStart(f"The data folder cannot be used: {error.strerror}.", "Choose another one with --data-dir.")


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

    transcript: Transcript = SqlTranscript(database)
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
    indexer = Indexer(queue, vectors, embedder, batch=settings.embedder_batch, recut=recut, lead=locks, poll_s=poll_s)
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
    compaction = begun(Compaction(deriver, sessions, compactions, lead=locks, claims=locks), stack)
    handoffs = Handoffs(transcript, sessions, snapshots, compaction, writer, counter)
    stack.push_async_callback(handoffs.close)

    writes = Pressure(settings.max_waiting_writes, "writes")
    ingest = Ingest(transcript, sessions, analyzer, indexer, compaction, gates, pressure=writes)
    begun(Retention(transcript, sessions, ingest, days=settings.retention_days, lead=locks), stack)

    calibrator = Calibrator(SqlCalibrations(database), receipts, counter)
    lexical = SqlLexicalIndex(database, cache_bytes=settings.lexical_cache_mb * MB)
    begun(Warming(sessions, lexical, vectors, embedder, most_chunks=settings.vector_cache_mb * MB // VECTOR_BYTES), stack)
    recall = RecallService(transcript, sessions, lexical, vectors, embedder, analyzer)
    assembler = Assembler(SqlOutsets(database), transcript, receipts, recall, counter, usual, compaction, calibrator)
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
        importing=Importing(ingest, transcript, sessions),
        writer=writer,
        compaction=compaction,
        handoffs=handoffs,
        switching=Switching(sessions, switches, compaction, gates, usual),
        assembler=assembler,
        calibrator=calibrator,
        verifier=Verifier(SqlChecks(database), queue, vectors, indexer, analyzer, lead=locks),
        relay=relay_for(settings, known, stack, Lines(transcript, sessions, ingest), assembler, calibrator, counter),
        providers=known,
        faults=faults,
    )


def writer_for(
    known: Mapping[str, Provider], counter: TokenCounter, analyzer: Analyzer, faults: Faults | None, stack: AsyncExitStack
) -> SummaryWriter:
    """What writes summaries: memsrv's own ways, and the chat models of the providers."""
    builtin: Summarizer = ExtractiveSummarizer(count=lambda text: counter.count(text, None))
    if faults:
        builtin = FaultySummarizer(builtin, faults, lambda text: counter.count(text, None))
    models = {name: OpenAIChat(provider) for name, provider in known.items()}
    for model in models.values():
        stack.push_async_callback(model.close)
    chat: Summarizer = ChatSummarizer(models, count=lambda text: counter.count(text, None))
    if faults:
        chat = FaultySummarizer(chat, faults, lambda text: counter.count(text, None))
    events = EventSummarizer(count=lambda text: counter.count(text, None))
    return SummaryWriter(builtin, guard_by(analyzer.terms), counter, providers=chat, events=events)


def begun(part: Part, stack: AsyncExitStack) -> Part:
    """Let it work in the background until the parts are closed."""
    part.start()
    stack.push_async_callback(part.close)
    return part


def access_for(settings: Settings) -> Access:
    """The keys of the settings and of the data folder, whether or not a server runs on it. Raises CannotStart."""
    folder = settings.data_dir
    keys = FileKeys(folder, FileLock(folder / "keys.lock", timeout=KEYS_WAIT_S))
    keys.open()
    return Access({tenant: key.get_secret_value() for tenant, key in settings.keys.items()}, keys)


def relay_for(
    settings: Settings,
    known: Mapping[str, Provider],
    stack: AsyncExitStack,
    lines: Lines,
    assembler: Assembler,
    calibrator: Calibrator,
    counter: TokenCounter,
) -> Relay:
    """The proxy in front of every provider."""
    upstreams = [OpenAIUpstream(provider) for provider in known.values()]
    for upstream in upstreams:
        stack.push_async_callback(upstream.close)
    shape = Format(settings.upstream_format)
    return Relay(lines, assembler, calibrator, counter, upstreams, default=default_upstream(known), shape=shape)


async def database_for(settings: Settings) -> Database:
    """PostgreSQL where a URL is set, else SQLite in the data folder. Raises CannotStart and SettingsError."""
    if url := settings.database_url.get_secret_value():
        return await Database.connect(url)
    return await Database.open(settings.data_dir)


async def locks_for(settings: Settings, stack: AsyncExitStack) -> Alone | PostgresqlLocks:
    """What decides among several processes. Where Chroma is embedded there must be no other."""
    url = settings.database_url.get_secret_value()
    if not url:
        return ALONE
    locks = await PostgresqlLocks.open(url)
    stack.push_async_callback(locks.close)
    if not settings.chroma_url:
        try:
            async with asyncio.timeout(LEAD_WAIT_S):
                await locks.taken()
        except TimeoutError:
            raise CannotStart(
                "Another memsrv works on this database, and this one has its vectors in a folder of its own.",
                "Set MEMSRV_CHROMA_URL to one Chroma server for all of them.",
            ) from None
    return locks


def model_windows(settings: Settings, known: Mapping[str, Provider], stack: AsyncExitStack) -> ModelWindows:
    """The windows of models, the providers' lists followed in the background."""
    lists = [OpenAIModels(provider) for provider in known.values()]
    for one in lists:
        stack.push_async_callback(one.close)
    windows = ModelWindows(Windows(settings.model_windows, known=MODEL_WINDOWS), lists)
    windows.start()
    stack.push_async_callback(windows.close)
    return windows


def vectors_for(settings: Settings) -> VectorIndex:
    """Chroma as a server where a URL is set, else in the data folder."""
    cache_bytes, exact = settings.vector_cache_mb * MB, settings.exact_search_chunks
    if settings.chroma_url:
        return ChromaVectors.server(settings.chroma_url, cache_bytes=cache_bytes, exact_chunks=exact)
    return ChromaVectors.embedded(settings.data_dir / "chroma", cache_bytes=cache_bytes, exact_chunks=exact)


async def embedder_for(settings: Settings, given: Embedder | None = None) -> Embedder:
    """The embedder that is given, else the one that the settings name."""
    if given:
        return given
    if settings.embedder == "bundled":
        from memsrv.adapters.embedder_bundled import BundledEmbedder

        return await asyncio.to_thread(BundledEmbedder.open, settings.data_dir / "models")
    if not settings.embedder_model:
        raise SettingsError(f"MEMSRV_EMBEDDER={settings.embedder} needs MEMSRV_EMBEDDER_MODEL.")
    if settings.embedder == "sentence-transformers":
        from memsrv.adapters.embedder_sentence_transformers import SentenceTransformersEmbedder

        return await asyncio.to_thread(
            SentenceTransformersEmbedder.open,
            settings.embedder_model,
            query_prefix=settings.embedder_query_prefix,
            passage_prefix=settings.embedder_passage_prefix,
        )
    if not settings.embedder_url:
        raise SettingsError("MEMSRV_EMBEDDER=openai needs MEMSRV_EMBEDDER_URL.")
    from memsrv.adapters.embedder_openai import OpenAIEmbedder

    return OpenAIEmbedder(
        settings.embedder_url,
        settings.embedder_model,
        key=settings.embedder_key.get_secret_value(),
        dimensions=settings.embedder_dimensions,
        query_prefix=settings.embedder_query_prefix,
        passage_prefix=settings.embedder_passage_prefix,
        timeout_s=settings.embedder_timeout_s,
    )


def token_counter(settings: Settings) -> TiktokenCounter:
    """The counter for the settings' default encoding."""
    return TiktokenCounter(settings.tokenizer, shipped_vocabularies())


def defaults(settings: Settings) -> Defaults:
    """What a session that sets nothing gets."""
    return Defaults(
        mode=settings.mode,
        window_size=settings.window_size,
        window_keep=settings.window_keep,
        summary_enabled=settings.summary_enabled,
        summary_trigger=trigger(settings.summary_trigger),
        summary_tokens=settings.summary_max_tokens,
        summary_input_tokens=settings.summary_max_input_tokens,
        summary_options=summary_options(settings),
        k=settings.recall_k,
        min_score=settings.recall_min_score,
        budget_tokens=settings.budget_tokens,
        max_tool_bytes=settings.max_tool_bytes,
    )


def summary_options(settings: Settings) -> dict[str, Any]:
    """What a session that sets nothing has its summaries written by, in the shape of its `summary` settings."""
    said = {
        "provider": settings.summary_provider,
        "model": settings.summary_model,
        "parameters": settings.summary_parameters,
        "prompt": settings.summary_prompt,
        "update_prompt": settings.summary_update_prompt,
    }
    return {name: value for name, value in said.items() if value}


def trigger(written: str) -> Condition | None:
    """`messages:N` or `tokens:N` as a condition."""
    kind, _, number = written.partition(":")
    return Condition(Trigger(kind), int(number)) if written else None
