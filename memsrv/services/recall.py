"""Find the pieces of old talk that matter for a query: dense and lexical search together, no language model.

(1) Every search names a scope. (2) A hit's shown score is its cosine similarity; its order comes from the fusion.
(3) With the embedder or the index down, lexical recall goes on and the answer says what is missing.
"""

import asyncio

import numpy as np

from memsrv.core import ranking
from memsrv.errors import EmbedderDown, IndexDown
from memsrv.model import Reach, Recalls, Scope, Session
from memsrv.ports import Analyzer, Embedder, LexicalIndex, Scored, Sessions, Transcript, VectorIndex, Worded

CANDIDATES = 300  # of each search; docs/recall.md tells what fewer would cost


class RecallService:
    """The search."""

    def __init__(
        self,
        transcript: Transcript,
        sessions: Sessions,
        lexical: LexicalIndex,
        vectors: VectorIndex,
        embedder: Embedder,
        analyzer: Analyzer,
    ):
        self._transcript = transcript
        self._sessions = sessions
        self._lexical = lexical
        self._vectors = vectors
        self._embedder = embedder
        self._analyzer = analyzer

    async def find(
        self,
        session: Session,
        query: str,
        *,
        k: int,
        reach: Reach,
        min_score: float,
        without: frozenset[int] = frozenset(),
        relevant_only: bool = True,
    ) -> Recalls:
        """At most `k` hits for the query, best first; chunks of the messages `without` (numbers) are left out, and what has too
        little to do with the query, unless all is wanted."""
        if not query.strip() or k == 0:
            return Recalls(())
        scope = await self._sessions.scope(session, owner_wide=reach is Reach.OWNER)
        terms = await asyncio.to_thread(self._analyzer.terms, query)
        lexical, vector = await asyncio.gather(self._lexical.search(scope, terms, limit=CANDIDATES), self._embedded(query))
        dense = await self._nearest(scope, vector, lexical)
        degraded = () if dense else ("recall",)
        candidates = await self._candidates(scope, dense, lexical, without)
        now = await self._now(session)
        scale = self._embedder.cosine_scale if relevant_only else None
        hits = await asyncio.to_thread(ranking.best, candidates, query, now=now, k=k, min_score=min_score, scale=scale)
        return Recalls(tuple(hits), degraded)

    async def _candidates(
        self, scope: Scope, dense: Scored | None, lexical: Worded, without: frozenset[int]
    ) -> ranking.Candidates:
        """What either search found, is still there and is not shown already."""
        words = dict(zip(lexical.numbers.tolist(), lexical.scores.tolist(), strict=True))
        coverage = dict(zip(lexical.numbers.tolist(), lexical.coverage.tolist(), strict=True))
        cosines = dict(zip(dense.numbers.tolist(), dense.scores.tolist(), strict=True)) if dense else {}
        there = await self._transcript.chunks(scope, sorted(words.keys() | cosines.keys()))
        chunks = [chunk for chunk in there.values() if chunk.message_number not in without]
        return ranking.Candidates(
            chunks,
            np.array([words.get(chunk.number, 0.0) for chunk in chunks]),
            np.array([cosines.get(chunk.number, np.nan) for chunk in chunks]),
            np.array([coverage.get(chunk.number, 0.0) for chunk in chunks]),
        )

    async def _now(self, session: Session) -> float:
        """The conversation's own clock: when its newest message was sent."""
        newest = await self._transcript.messages(session.number, limit=1, newest_first=True)
        return newest[0].sent_at.timestamp() if newest else 0.0

    async def _embedded(self, query: str) -> np.ndarray | None:
        try:
            vector = await self._embedder.query(query)
        except EmbedderDown:
            return None
        return vector if np.isfinite(vector).all() and vector.any() else None

    async def _nearest(self, scope: Scope, vector: np.ndarray | None, lexical: Worded) -> Scored | None:
        if vector is None:
            return None
        try:
            return await self._vectors.search(scope, vector, limit=CANDIDATES, also=lexical.numbers.tolist())
        except IndexDown:
            return None
