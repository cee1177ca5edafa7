"""Which adapters the settings name, each opened and its closing registered."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial

from filelock import FileLock

from memsrv.adapters.beside import beside
from memsrv.adapters.chat_openai import OpenAIChat
from memsrv.adapters.database import Database
from memsrv.adapters.faulty import Faults, FaultySummarizer
from memsrv.adapters.keys_file import FileKeys
from memsrv.adapters.locks_postgresql import PostgresqlLocks
from memsrv.adapters.models_openai import OpenAIModels
from memsrv.adapters.summarizer_chat import ChatSummarizer
from memsrv.adapters.summarizer_events import EventSummarizer
from memsrv.adapters.summarizer_extractive import ExtractiveSummarizer
from memsrv.adapters.tokens_tiktoken import TiktokenCounter, shipped_vocabularies
from memsrv.adapters.upstream_openai import OpenAIUpstream
from memsrv.adapters.vectors_chroma import ChromaVectors
from memsrv.core.prompt.policy import MODEL_WINDOWS
from memsrv.core.prompt.windows import Windows
from memsrv.core.relay.providers import Provider
from memsrv.core.summary.summary import Count, Summary, Task
from memsrv.errors import CannotStart, SettingsError
from memsrv.model import Format
from memsrv.ports import (
    Analyzer,
    Embedder,
    Summarizer,
    TokenCounter,
    VectorIndex,
)
from memsrv.services.access import Access
from memsrv.services.ahead import Ahead
from memsrv.services.alone import ALONE, Alone
from memsrv.services.assembler import Assembler
from memsrv.services.calibration import Calibrator
from memsrv.services.lines import Lines
from memsrv.services.lull import Lull
from memsrv.services.relay import Relay
from memsrv.services.windows import ModelWindows
from memsrv.services.writing import Checked, SummaryWriter, checked
from memsrv.settings import Settings, default_upstream

MB = 2**20
KEYS_WAIT_S = 10
LEAD_WAIT_S = 3.0  # for the lead of a process that has just ended


def access_for(settings: Settings) -> Access:
    """The keys of the settings and of the data folder, whether or not a server runs on it. Raises CannotStart."""
    folder = settings.data_dir
    keys = FileKeys(folder, FileLock(folder / "keys.lock", timeout=KEYS_WAIT_S))
    keys.open()
    return Access({tenant: key.get_secret_value() for tenant, key in settings.keys.items()}, keys)


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


def writer_for(
    known: Mapping[str, Provider], counter: TokenCounter, analyzer: Analyzer, faults: Faults | None, stack: AsyncExitStack
) -> SummaryWriter:
    """What writes summaries: memsrv's own ways, and the chat models of the providers."""
    count = partial(counter.count, model=None)
    stack.callback(beside.break_off)
    builtin: Summarizer = ExtractiveSummarizer(count=count)
    if faults:
        builtin = FaultySummarizer(builtin, faults, count)
    models = {name: OpenAIChat(provider) for name, provider in known.items()}
    for model in models.values():
        stack.push_async_callback(model.close)
    chat: Summarizer = ChatSummarizer(models, count=count)
    if faults:
        chat = FaultySummarizer(chat, faults, count)
    events = EventSummarizer(count=count)

    async def guard(summary: Summary, task: Task, count: Count) -> Checked:
        return await beside(checked, analyzer.terms, summary, task, count)

    return SummaryWriter(builtin, guard, counter, providers=chat, events=events)


def model_windows(settings: Settings, known: Mapping[str, Provider], stack: AsyncExitStack) -> ModelWindows:
    """The windows of models, the providers' lists followed in the background."""
    lists = [OpenAIModels(provider) for provider in known.values()]
    for one in lists:
        stack.push_async_callback(one.close)
    windows = ModelWindows(Windows(settings.model_windows, known=MODEL_WINDOWS), lists)
    windows.start()
    stack.push_async_callback(windows.close)
    return windows


def relay_for(
    settings: Settings,
    known: Mapping[str, Provider],
    stack: AsyncExitStack,
    lines: Lines,
    assembler: Assembler,
    calibrator: Calibrator,
    counter: TokenCounter,
    ahead: Ahead,
    lull: Lull,
) -> Relay:
    """The proxy in front of every provider."""
    upstreams = [OpenAIUpstream(provider) for provider in known.values()]
    for upstream in upstreams:
        stack.push_async_callback(upstream.close)
    shape = Format(settings.upstream_format)
    default = default_upstream(known)
    relay = Relay(lines, assembler, calibrator, counter, ahead, upstreams, default=default, shape=shape, lull=lull)
    stack.push_async_callback(relay.close)
    return relay
