"""The search goes on with what there is."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.adapters.database import Database
from memsrv.adapters.lexical_sql import SqlLexicalIndex
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.model import Draft, Reach, SessionKey
from memsrv.services.ingest import prepare
from memsrv.services.recall import RecallService
from tests.fakes import HashingEmbedder


class Hanging(HashingEmbedder):
    """An embedder that never answers a query."""

    cosine_scale = None

    async def query(self, text: str) -> np.ndarray:
        await asyncio.Event().wait()
        raise AssertionError("it never answers")


async def test_an_embedder_that_takes_too_long_is_done_without(tmp_path: Path) -> None:
    database, analyzer = await Database.open(tmp_path), SnowballAnalyzer()
    transcript, nothing = SqlTranscript(database), Any
    message = prepare(Draft(payload={"role": "user", "content": "The spare key is under the flowerpot."}), analyzer)
    session = (await transcript.append(SessionKey("acme", "s"), [message])).session
    lexical = SqlLexicalIndex(database, cache_bytes=1_000_000)
    parts: Any = (transcript, SqlSessions(database), lexical, nothing, Hanging(), analyzer)
    recall = RecallService(*parts, query_wait_s=0.01)
    found = await recall.find(session, "Where is the key?", k=5, reach=Reach.SESSION, min_score=0)
    assert [hit.chunk.text for hit in found.hits] == ["The spare key is under the flowerpot."]
    assert found.degraded == ("recall",)
    await database.close()
