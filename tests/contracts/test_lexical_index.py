"""What every lexical index keeps."""

import asyncio
import math
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from memsrv.core.recall.traits import TRAITS
from memsrv.model import Scope, SessionKey
from memsrv.ports import Worded

K1, B = 0.9, 0.4
WORDS = [f"w{i}" for i in range(30)]


BACK, AHEAD = (0.7, 0.5, 0.4, 0.3, 0.2), (0.4, 0.3, 0.2)


def judged(sessions: Sequence[Sequence[list[str]]], query: Sequence[str]) -> np.ndarray:
    """Scores of all documents, by brute force: the formula, word by word."""
    documents = [document for session in sessions for document in session]
    mean = sum(map(len, documents)) / len(documents)

    def part(term: str, document: list[str]) -> float:
        df, tf = sum(term in other for other in documents), Counter(document)[term]
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        return idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(document) / mean))

    def windowed(term: str, session: Sequence[list[str]], at: int) -> float:
        offsets = {0: 1.0} | dict(enumerate(BACK, 1)) | {-d: w for d, w in enumerate(AHEAD, 1)}
        return max(decay * part(term, session[at - o]) for o, decay in offsets.items() if 0 <= at - o < len(session))

    return np.array([sum(windowed(term, session, i) for term in set(query)) for session in sessions for i in range(len(session))])


async def fill(stores, message, name: str, talk: Sequence[Sequence[list[str]]], tenant: str = "acme") -> int:
    """Append messages, each a list of chunks, each a list of terms, in several batches; the session's number."""
    key = SessionKey(tenant, name)
    new = [message("x", id=f"{i}", pieces=[" ".join(terms) for terms in chunks]) for i, chunks in enumerate(talk)]
    for start in range(0, len(new), 7):
        session = (await stores.transcript.append(key, new[start : start + 7])).session
    return session.number


def some_talk(seed: int, messages: int) -> list[list[list[str]]]:
    chance = random.Random(seed)
    return [[chance.choices(WORDS, k=chance.randint(1, 9)) for _ in range(chance.randint(0, 3))] for _ in range(messages)]


def documents(talk: Sequence[Sequence[list[str]]]) -> list[list[str]]:
    return [terms for chunks in talk for terms in chunks]


async def numbers_in(stores, scope: Scope) -> list[int]:
    return [
        chunk.number
        for number in scope.session_numbers
        for message in await stores.transcript.messages(number, limit=200)
        for chunk in await stores.transcript.chunks_of(message)
    ]


async def search(lexical, scope: Scope, terms: Sequence[str], *, limit: int) -> Worded:
    return (await lexical.open(scope))[0].search(terms, limit=limit)


async def check(stores, lexical, scope: Scope, sessions: Sequence[Sequence[list[str]]], query: Sequence[str]) -> None:
    """The index answers as brute force does: same chunks, same scores."""
    found = await search(lexical, scope, query, limit=10_000)
    expected = judged(sessions, query)
    hit = expected > 0
    assert found.numbers.tolist() == np.array(await numbers_in(stores, scope))[hit].tolist()
    np.testing.assert_allclose(found.scores, expected[hit], rtol=1e-4)


@pytest.fixture(params=["roomy", "cramped"])
def lexical(request, stores):
    return stores.lexical if request.param == "roomy" else stores.cramped_lexical


@pytest.mark.parametrize("query", [["w1"], ["w1", "w2", "w3"], ["w4", "w4", "w5"], ["w6", "unheard"], WORDS])
async def test_scores_are_those_of_the_formula(stores, message, lexical, query):
    talk = some_talk(1, 40)
    number = await fill(stores, message, "a", talk)
    await check(stores, lexical, Scope("acme", (number,)), [documents(talk)], query)


async def test_an_owners_sessions_are_judged_as_one_and_neighbours_end_with_the_session(stores, message, lexical):
    talks = [some_talk(seed, 15) for seed in (1, 2, 3)]
    numbers = [await fill(stores, message, str(i), talk) for i, talk in enumerate(talks)]
    await check(stores, lexical, Scope("acme", tuple(numbers)), [documents(talk) for talk in talks], ["w1", "w2", "w3"])


async def test_appended_messages_are_found_at_once(stores, message, lexical, key):
    talk: list[list[list[str]]] = []
    for step, new in enumerate(some_talk(5, 25)):
        talk.append(new)
        pieces = [" ".join(terms) for terms in new]
        session = (await stores.transcript.append(key, [message("x", id=str(step), pieces=pieces)])).session
        await check(stores, lexical, Scope("acme", (session.number,)), [documents(talk)], ["w1", "w2"])


async def test_edits_and_deletes_are_followed_at_once(stores, message, lexical):
    talk = some_talk(7, 20)
    number = await fill(stores, message, "a", talk)
    scope = Scope("acme", (number,))
    await check(stores, lexical, scope, [documents(talk)], ["w1", "w2"])
    talk[4] = [["w1", "w1", "w2"], ["w9"]]
    await stores.transcript.replace(number, "4", lambda _: message("x", pieces=["w1 w1 w2", "w9"]))
    await check(stores, lexical, scope, [documents(talk)], ["w1", "w2"])
    talk[9] = []
    await stores.transcript.delete(number, "9")
    await check(stores, lexical, scope, [documents(talk)], ["w1", "w2"])
    talk.append([["w2"]])
    await stores.transcript.append(SessionKey("acme", "a"), [message("x", pieces=["w2"])])
    await check(stores, lexical, scope, [documents(talk)], ["w1", "w2"])


async def test_a_forgotten_session_is_not_found(stores, message, lexical):
    number, other = [await fill(stores, message, name, [[["w1"]]]) for name in "ab"]
    scope = Scope("acme", (number, other))
    await search(lexical, scope, ["w1"], limit=9)
    await stores.sessions.forget(SessionKey("acme", "a"))
    await check(stores, lexical, Scope("acme", (other,)), [[["w1"]]], ["w1"])
    assert len((await search(lexical, scope, ["w1"], limit=9)).numbers) == 1


async def test_a_scope_never_reaches_other_sessions_or_tenants(stores, message, lexical):
    mine = await fill(stores, message, "a", [[["w1", "mine"]]])
    await fill(stores, message, "b", [[["w1", "other"]]])
    foreign = await fill(stores, message, "a", [[["w1", "foreign"]]], tenant="evil")
    await check(stores, lexical, Scope("acme", (mine,)), [[["w1", "mine"]]], ["w1"])
    assert len((await search(lexical, Scope("evil", (foreign,)), ["w1"], limit=9)).numbers) == 1
    assert (await search(lexical, Scope("acme", (mine,)), ["other", "foreign"], limit=9)).numbers.tolist() == []
    assert (await search(lexical, Scope("acme", (foreign,)), ["w1"], limit=9)).numbers.tolist() == []


@pytest.mark.parametrize("terms", [[], ["unheard"]])
async def test_nothing_is_found_for_nothing(stores, message, lexical, terms):
    number = await fill(stores, message, "a", [[["w1"]], []])
    found = await search(lexical, Scope("acme", (number,)), terms, limit=9)
    assert (found.numbers.shape, found.scores.shape) == ((0,), (0,))


async def test_an_empty_scope_finds_nothing(stores, lexical):
    assert (await search(lexical, Scope("acme", ()), ["w1"], limit=9)).scores.shape == (0,)


async def test_a_session_without_chunks_finds_nothing(stores, message, lexical, key):
    number = (await stores.transcript.append(key, [message("")])).session.number
    assert (await search(lexical, Scope("acme", (number,)), ["w1"], limit=9)).scores.shape == (0,)


async def test_a_limit_keeps_the_best(stores, message, lexical):
    talk = some_talk(11, 60)
    number = await fill(stores, message, "a", talk)
    scope, query = Scope("acme", (number,)), ["w1", "w2", "w3"]
    found = await search(lexical, scope, query, limit=5)
    every = await search(lexical, scope, query, limit=10_000)
    assert sorted(found.scores) == sorted(every.scores)[-5:]


async def test_a_term_with_nul_is_found(stores, message, lexical):
    number = await fill(stores, message, "a", [[["a\0b"]]])
    assert len((await search(lexical, Scope("acme", (number,)), ["a\0b"], limit=9)).numbers) == 1


async def test_searches_beside_writes_see_whole_batches(stores, message, lexical, key):
    number = (await stores.transcript.append(key, [message("w1", pieces=["w1", "w1"])])).session.number
    scope = Scope("acme", (number,))

    async def write() -> None:
        for _ in range(20):
            await stores.transcript.append(key, [message("w1", pieces=["w1", "w1"])])

    async def read() -> list[int]:
        return [len((await search(lexical, scope, ["w1"], limit=999)).numbers) for _ in range(20)]

    _, *counts = await asyncio.gather(write(), read(), read())
    assert all(seen == sorted(seen) and not any(count % 2 for count in seen) for seen in counts)
    assert len((await search(lexical, scope, ["w1"], limit=999)).numbers) == 42


# --- traits ---------------------------------------------------------------------------------------------------------


async def traits_in(lexical, scope: Scope, numbers: Sequence[int]) -> np.ndarray:
    return (await lexical.open(scope))[0].traits(np.array(sorted(set(numbers)), np.int64))


async def test_traits_tell_where_a_chunk_comes_from_and_what_it_is_like(stores, message, lexical, key):
    sent_at = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    new = message("Where is it?", id="1", name="Ada", sent_at=sent_at)
    session = (await stores.transcript.append(key, [message("在花盆下面", id="0", role="assistant"), new])).session
    stored = await stores.transcript.message(session.number, "1")
    numbers = await numbers_in(stores, Scope("acme", (session.number,)))
    first, second = await traits_in(lexical, Scope(key.tenant, (session.number,)), numbers)
    assert (first["role"], first["name"], bool(first["asks"]), bool(first["han"])) == ("assistant", None, False, True)
    assert (second["session"], second["message"], second["position"]) == (session.number, stored.number, 2)
    assert (second["role"], second["name"], bool(second["asks"]), bool(second["han"])) == ("user", "Ada", True, False)
    assert second["sent_at"] == sent_at.timestamp()


async def test_traits_are_those_of_the_scope_in_order_of_number(stores, message, lexical):
    one, other, foreign = [await fill(stores, message, name, some_talk(3, 8)) for name in "abc"]
    await stores.transcript.append(SessionKey("acme", "a"), [message("late", pieces=["late"])])
    scope = Scope("acme", (one, other))
    own = sorted(await numbers_in(stores, scope))
    asked = [*own, *await numbers_in(stores, Scope("acme", (foreign,))), 10**9]
    found = await traits_in(lexical, scope, asked)
    assert found.dtype == TRAITS
    assert found["number"].tolist() == own


async def test_traits_follow_an_edit(stores, message, lexical, key):
    number = (await stores.transcript.append(key, [message("red", id="1"), message("blue", id="2")])).session.number
    scope = Scope(key.tenant, (number,))
    before = await numbers_in(stores, scope)
    await traits_in(lexical, scope, before)
    await stores.transcript.replace(number, "1", lambda _: message("green?"))
    found = await traits_in(lexical, scope, [*before, *await numbers_in(stores, scope)])
    assert found["number"].tolist() == sorted(await numbers_in(stores, scope))
    assert found["asks"].tolist() == [False, True]


async def test_the_newest_chunk_tells_the_time(stores, message, lexical, key):
    times = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 9, 5)]
    new = [message("x", id=str(n), sent_at=at) for n, at in enumerate(times)]
    number = (await stores.transcript.append(key, new)).session.number
    [lexicon] = await lexical.open(Scope(key.tenant, (number,)))
    assert lexicon.newest_at(number) == times[-1].timestamp()
    assert lexicon.newest_at(number + 1) == 0.0
