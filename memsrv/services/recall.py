"""Find the pieces of old talk that matter for a query: dense and lexical search together, no language model.

(1) Every search names a scope. (2) A hit's shown score is its cosine similarity; its order comes from the fusion.
(3) With the embedder or the index down, lexical recall goes on and the answer says what is missing.
"""

import asyncio

import numpy as np

from memsrv.core import ranking
from memsrv.errors import EmbedderDown, IndexDown
from memsrv.model import Chunk, Reach, Recall, Recalls, Scope, Session
from memsrv.ports import Analyzer, Embedder, LexicalIndex, Scored, Sessions, Transcript, VectorIndex

CANDIDATES = 200  # of each search; see docs/recall.md for what fewer would cost


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
    ) -> Recalls:
        """At most `k` hits for the query, best first; chunks of the messages `without` (numbers) are left out."""
        if not query.strip() or k == 0:
            return Recalls(())
        scope = await self._sessions.scope(session, owner_wide=reach is Reach.OWNER)
        terms = await asyncio.to_thread(self._analyzer.terms, query)
        lexical, vector = await asyncio.gather(self._lexical.search(scope, terms, limit=CANDIDATES), self._embedded(query))
        dense = await self._nearest(scope, vector, lexical)
        degraded = () if dense else ("recall",)
        found = ranking.joined((dense.numbers, dense.scores) if dense else None, (lexical.numbers, lexical.scores))
        chunks = await self._transcript.chunks(scope, found.numbers.tolist())
        rows = [row for row, number in enumerate(found.numbers.tolist()) if usable(chunks.get(number), without)]
        hits = ranking.ranked(found.at(rows), [chunks[int(found.numbers[row])] for row in rows])
        return Recalls(tuple(ranking.chosen(hits, k=k, min_score=min_score)), degraded)

    async def _embedded(self, query: str) -> np.ndarray | None:
        try:
            vector = await self._embedder.query(query)
        except EmbedderDown:
            return None
        return vector if np.isfinite(vector).all() and vector.any() else None

    async def _nearest(self, scope: Scope, vector: np.ndarray | None, lexical: Scored) -> Scored | None:
        if vector is None:
            return None
        try:
            return await self._vectors.search(scope, vector, limit=CANDIDATES, also=lexical.numbers.tolist())
        except IndexDown:
            return None


def usable(chunk: Chunk | None, without: frozenset[int]) -> bool:
    """Whether the chunk is still there and not shown already."""
    return chunk is not None and chunk.message_number not in without
