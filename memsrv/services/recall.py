"""Find the pieces of old talk that matter for a query: dense and lexical search together, no language model.

(1) Every search names a scope. (2) A hit's shown score is its cosine similarity; its order comes from the fusion.
(3) With the embedder or the index down, or an embedder that takes longer than `query_wait_s`, lexical recall goes on and the
    answer says what is missing.
(4) The passages of summaries are searched apart, so that they change nothing about how messages are found, and take few
    places: the last one where they have much to do with the query, the first ones where it asks for what was settled earlier.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memsrv.core.recall import ranking
from memsrv.core.recall.ranking import RELEVANT, SURE, Ranked
from memsrv.core.summary.passages import asks_for_earlier, lines_of
from memsrv.errors import EmbedderDown, IndexDown
from memsrv.model import Chunk, Reach, Recall, Recalls, Scope, Session
from memsrv.ports import Analyzer, Embedder, LexicalIndex, Lexicon, Scored, Sessions, Transcript, VectorIndex, Worded

CANDIDATES = 300  # of each search; docs/recall.md tells what fewer would cost
PASSAGES = 2
"""So many of summaries at most."""
TELLING, ASKED_FOR = 2 * RELEVANT, -1.0
"""So much a passage must have to do with the query, and where what was settled earlier is asked for: then the rest of the query
tells little."""
QUERY_WAIT_S = 5.0
NO_VECTORS = Scored(np.empty(0, np.int64), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Asked:
    """A query for passages of summaries: its terms, its vector if there is one, and how much they must have to do with it."""

    query: str
    terms: Sequence[str]
    vector: np.ndarray | None
    least: float
    min_score: float


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
        *,
        query_wait_s: float = QUERY_WAIT_S,
    ):
        self._query_wait_s = query_wait_s
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
        told: Collection[str] = (),
    ) -> Recalls:
        """At most `k` hits for the query, best first; chunks of the messages `without` (numbers) are left out, and what has too
        little to do with the query, unless all is wanted. `told` are the lines of the summary that is shown anyway."""
        if not query.strip() or k == 0:
            return Recalls(())
        scope = await self._sessions.scope(session, owner_wide=reach is Reach.OWNER)
        lexicon, of_summaries, vector = await asyncio.gather(
            self._lexical.open(scope), self._lexical.open(scope.of_passages()), self._embedded(query)
        )
        terms, worded = await asyncio.to_thread(self._by_words, lexicon, query)
        scored = await self._nearest(scope, vector, worded)
        scale = self._embedder.cosine_scale if relevant_only else None

        def best() -> list[Ranked]:
            found = candidates(lexicon, worded, scored or NO_VECTORS, without)
            now = lexicon.newest_at(session.number)
            return ranking.best(found, query, now=now, k=k, min_score=min_score, scale=scale)

        ranked = await asyncio.to_thread(best)
        there = await self._transcript.chunks(scope, [one.number for one in ranked])
        hits = recalls(ranked, there)
        earlier = asks_for_earlier(query)
        asked = Asked(query, terms, vector, ASKED_FOR if earlier else TELLING, min_score)
        passages = await self._passages(scope.tenant, of_summaries, asked)
        shown = [*told, *(hit.chunk.text for hit in hits if not earlier)]
        fresh = list(news(passages, shown))[: PASSAGES if earlier else 1]
        return Recalls(tuple(joined(hits, fresh, k, first=earlier)), () if scored else ("recall",))

    def _by_words(self, lexicon: Lexicon, query: str) -> tuple[Sequence[str], Worded]:
        """The query's terms, and what they find."""
        terms = self._analyzer.terms(query)
        return terms, lexicon.search(terms, limit=CANDIDATES)

    async def _passages(self, tenant: str, lexicon: Lexicon, asked: Asked) -> list[Recall]:
        """The passages of summaries that have enough to do with what is asked, best first."""
        if not lexicon.session_numbers:
            return []
        scope = Scope(tenant, lexicon.session_numbers)
        worded = await asyncio.to_thread(lexicon.search, asked.terms, limit=CANDIDATES)
        scored = await self._nearest(scope, asked.vector, worded) or NO_VECTORS
        scale = self._embedder.cosine_scale

        def best() -> list[Ranked]:
            found = candidates(lexicon, worded, scored, frozenset())
            return ranking.of_summaries(found, asked.query, least=asked.least, min_score=asked.min_score, scale=scale)

        ranked = await asyncio.to_thread(best)
        there = await self._transcript.chunks(scope, [one.number for one in ranked])
        return recalls(ranked, there)

    async def _embedded(self, query: str) -> np.ndarray | None:
        try:
            async with asyncio.timeout(self._query_wait_s):
                vector = await self._embedder.query(query)
        except (EmbedderDown, TimeoutError):
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


def recalls(ranked: Sequence[Ranked], there: Mapping[int, Chunk]) -> list[Recall]:
    """What was found and is still there."""
    return [Recall(there[one.number], one.score, one.rank_score, one.signals) for one in ranked if one.number in there]


def news(passages: Sequence[Recall], shown: Sequence[str]) -> Iterator[Recall]:
    """The passages that say anything that neither what is shown says nor a better passage."""
    said = list(shown)
    for passage in passages:
        lines = lines_of(passage.chunk.text)
        if not all(any(line in text for text in said) for line in lines):
            yield passage
            said += lines


def joined(hits: Sequence[Recall], passages: Sequence[Recall], k: int, *, first: bool) -> list[Recall]:
    """Messages and passages in at most k places; where passages come last, the best few messages stay before them."""
    if first:
        return [*passages[: k // 2], *hits][:k]
    kept = passages[: max(k - len(hits), int(k > SURE))]
    return [*hits[: k - len(kept)], *kept]
