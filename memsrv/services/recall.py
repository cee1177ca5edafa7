"""Find the pieces of old talk that matter for a query: dense and lexical search together, no language model.

(1) Every search names a scope. (2) A hit's shown score is its cosine similarity; its order comes from the fusion.
(3) With the embedder or the index down, or an embedder that takes longer than `query_wait_s`, lexical recall goes on and the
    answer says what is missing.
(4) The passages of summaries are searched apart, so that they change nothing about how messages are found, and take few
    places: the last one where they have much to do with the query, the first ones where it asks for what was settled earlier.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memsrv.core.recall import ranking
from memsrv.core.recall.ranking import RELEVANT, SURE, Ranked
from memsrv.core.summary.passages import asks_for_earlier, lines_of
from memsrv.errors import EmbedderDown, IndexDown
from memsrv.model import Chunk, Reach, Recall, Recalls, Scope, Session
from memsrv.ports import Analyzer, Embedder, LexicalIndex, Lexicon, Scored, Sessions, Transcript, VectorIndex, Vectors, Worded

CANDIDATES = 300  # of each search; docs/recall.md tells what fewer would cost
PASSAGES = 2
"""So many of summaries at most."""
TELLING, ASKED_FOR = 2 * RELEVANT, -1.0
"""So much a passage must have to do with the query, and where what was settled earlier is asked for: then the rest of the query
tells little."""
QUERY_WAIT_S = 5.0
SEARCHERS = ThreadPoolExecutor(4, "recall")
"""The threads of the searches: an index that answers slowly takes none of those that all share."""
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
        """At most `k` hits for the query, best first; chunks of the messages `without` (numbers) are left out, and what has
        too little to do with the query, unless all is wanted. `told` are the lines of the summary that is shown anyway."""
        if not query.strip() or k == 0:
            return Recalls(())
        scope = await self._sessions.scope(session, owner_wide=reach is Reach.OWNER)
        (lexicon, of_summaries), vector = await asyncio.gather(
            self._lexical.open(scope, scope.of_passages()), self._embedded(query)
        )
        nearby = await self._opened(scope, vector)
        near_summaries = await self._opened(Scope(scope.tenant, of_summaries.session_numbers), vector)
        scale, earlier = self._embedder.cosine_scale, asks_for_earlier(query)

        def search() -> tuple[list[Ranked], list[Ranked], bool]:
            terms = self._analyzer.terms(query)
            said, near = found_in(lexicon, nearby, terms, vector)
            summed_up, near_passages = found_in(of_summaries, near_summaries, terms, vector)
            found = candidates(lexicon, said, near or NO_VECTORS, without)
            now = lexicon.newest_at(session.number)
            wanted = scale if relevant_only else None
            hits = ranking.best(found, query, now=now, k=k, min_score=min_score, scale=wanted)
            found = candidates(of_summaries, summed_up, near_passages or NO_VECTORS, frozenset())
            least = ASKED_FOR if earlier else TELLING
            passages = ranking.of_summaries(found, query, least=least, min_score=min_score, scale=scale)
            return hits, passages, near is None

        ranked, ranked_passages, degraded = await asyncio.get_running_loop().run_in_executor(SEARCHERS, search)
        numbers = [one.number for one in (*ranked, *ranked_passages)]
        there = await self._transcript.chunks(scope.with_passages(), numbers)
        hits = recalls(ranked, there)
        shown = [*told, *(hit.chunk.text for hit in hits if not earlier)]
        fresh = list(news(recalls(ranked_passages, there), shown))[: PASSAGES if earlier else 1]
        return Recalls(tuple(joined(hits, fresh, k, first=earlier)), ("recall",) if degraded else ())

    async def _embedded(self, query: str) -> np.ndarray | None:
        try:
            async with asyncio.timeout(self._query_wait_s):
                vector = await self._embedder.query(query)
        except (EmbedderDown, TimeoutError):
            return None
        return vector if np.isfinite(vector).all() and vector.any() else None

    async def _opened(self, scope: Scope, vector: np.ndarray | None) -> Vectors | None:
        """The vectors of a scope, if there are any to ask and something to ask them."""
        if vector is None:
            return None
        try:
            return await self._vectors.open(scope)
        except IndexDown:
            return None


def found_in(
    lexicon: Lexicon, vectors: Vectors | None, terms: Sequence[str], vector: np.ndarray | None
) -> tuple[Worded, Scored | None]:
    """What words find in a scope and what vectors find, None if these cannot be asked."""
    worded = lexicon.search(terms, limit=CANDIDATES)
    if vectors is None or vector is None:
        return worded, None
    try:
        return worded, vectors.search(vector, limit=CANDIDATES, also=worded.numbers)
    except IndexDown:
        return worded, None


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
