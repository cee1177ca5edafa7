"""Find the pieces of old talk that matter for a query: dense and lexical search together, no language model.

(1) Every search names a scope. (2) A hit's shown score is its cosine similarity; its order comes from the fusion.
(3) With the embedder or the index down, lexical recall goes on and the answer says what is missing.
"""

import asyncio

import numpy as np

from memsrv.core import ranking
from memsrv.core.ranking import Ranked
from memsrv.errors import EmbedderDown, IndexDown
from memsrv.model import Reach, Recall, Recalls, Scope, Session
from memsrv.ports import Analyzer, Embedder, LexicalIndex, Lexicon, Scored, Sessions, Transcript, VectorIndex, Worded

CANDIDATES = 300  # of each search; docs/recall.md tells what fewer would cost
NO_VECTORS = Scored(np.empty(0, np.int64), np.empty(0, np.float32))


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
        lexicon, vector = await asyncio.gather(self._lexical.open(scope), self._embedded(query))
        worded = await asyncio.to_thread(lambda: lexicon.search(self._analyzer.terms(query), limit=CANDIDATES))
        scored = await self._nearest(scope, vector, worded)
        scale = self._embedder.cosine_scale if relevant_only else None

        def best() -> list[Ranked]:
            found = candidates(lexicon, worded, scored or NO_VECTORS, without)
            now = lexicon.newest_at(session.number)
            return ranking.best(found, query, now=now, k=k, min_score=min_score, scale=scale)

        ranked = await asyncio.to_thread(best)
        there = await self._transcript.chunks(scope, [one.number for one in ranked])
        hits = (Recall(there[one.number], one.score, one.rank_score, one.signals) for one in ranked if one.number in there)
        return Recalls(tuple(hits), () if scored else ("recall",))

    async def _embedded(self, query: str) -> np.ndarray | None:
        try:
            vector = await self._embedder.query(query)
        except EmbedderDown:
            return None
        return vector if np.isfinite(vector).all() and vector.any() else None

    async def _nearest(self, scope: Scope, vector: np.ndarray | None, worded: Worded) -> Scored | None:
        if vector is None:
            return None
        try:
            return await self._vectors.search(scope, vector, limit=CANDIDATES, also=worded.numbers)
        except IndexDown:
            return None


def candidates(lexicon: Lexicon, worded: Worded, scored: Scored, without: frozenset[int]) -> ranking.Candidates:
    """What either search found, but for chunks of the messages `without`."""
    traits = lexicon.traits(np.union1d(worded.numbers, scored.numbers))
    traits = traits[~np.isin(traits["message"], np.fromiter(without, np.int64))]
    words, coverage = (
        ranking.aligned(traits["number"], worded.numbers, values, missing=0.0) for values in (worded.scores, worded.coverage)
    )
    dense = ranking.aligned(traits["number"], scored.numbers, scored.scores, missing=np.nan)
    return ranking.Candidates(traits, words, dense, coverage)
