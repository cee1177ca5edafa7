"""Passages of older summaries among what is recalled, through the app over real parts."""

from httpx import AsyncClient

from tests.patience import until

OLD = (
    "We decided to go to Kyoto in May. The budget is 3000 euros and we will stay in a ryokan near Gion.",
    "Noted: Kyoto in May, 3000 euros, a ryokan near Gion.",
)
NEW = (
    "Change of plan: we no longer go to Kyoto, we will go to Lisbon in June instead. The budget is now 2200 euros.",
    "OK, Lisbon in June with 2200 euros.",
)
EARLIER = "What was the plan we had last time?"


async def summarise(http: AsyncClient, session: str, said: tuple[str, str]) -> int:
    """Say it, summarise all there is; the version of the summary."""
    messages = [{"role": role, "content": text} for role, text in zip(("user", "assistant"), said, strict=True)]
    answer = await http.post(f"/context/{session}/messages", params={"wait_ms": 30_000}, json={"messages": messages})
    assert answer.status_code == 201
    version: int = (await http.post(f"/context/{session}/compact", json={"keep": 0})).json()["summary"]["version"]

    async def indexed() -> bool:
        return not (await http.get("/readyz")).json()["pending_index"]

    await until(indexed)
    return version


async def recalled(http: AsyncClient, session: str, query: str, **asked) -> list[dict]:
    """The passages of summaries in a prompt."""
    prompt = (await http.get(f"/context/{session}/prompt", params={"query": query, **asked})).json()
    return [hit for hit in prompt["receipt"]["recall"] if hit["summary_version"] is not None]


async def test_the_plan_of_an_older_summary_is_recalled_as_a_summary_with_its_time(http):
    await summarise(http, "older-plans", OLD)
    await summarise(http, "older-plans", NEW)
    [hit] = await recalled(http, "older-plans", EARLIER)
    first = (await http.get("/context/older-plans/summaries/1")).json()
    assert (hit["summary_version"], hit["sent_at"], hit["role"]) == (1, first["made_at"], "summary")
    assert (hit["message_id"], hit["position"]) == (None, None)
    assert "Kyoto in May" in hit["text"]
    prompt = (await http.get("/context/older-plans/prompt", params={"query": EARLIER})).json()
    block = next(m["content"] for m in prompt["messages"] if "<memory:recall>" in str(m["content"]))
    assert "summary v1" in block


async def test_the_summary_that_stands_in_the_prompt_is_not_recalled(http):
    await summarise(http, "older-standing", OLD)
    assert await recalled(http, "older-standing", EARLIER) == []
    [hit] = await recalled(http, "older-standing", EARLIER, mode="retrieval")
    assert hit["summary_version"] == 1


async def test_a_restored_summary_is_not_recalled_and_the_one_it_replaced_is(http):
    await summarise(http, "older-back", OLD)
    await summarise(http, "older-back", NEW)
    assert (await http.post("/context/older-back/summaries/1/restore")).status_code == 200
    assert {hit["summary_version"] for hit in await recalled(http, "older-back", EARLIER)} == {2}


async def test_the_search_alone_tells_passages_too(http):
    await summarise(http, "older-search", OLD)
    found = (await http.get("/context/older-search/recall", params={"query": EARLIER, "k": 5})).json()["recall"]
    assert [hit["summary_version"] for hit in found] == [1, None, None]


async def test_messages_keep_the_first_places_when_nothing_earlier_is_asked_for(http):
    await summarise(http, "older-places", OLD)
    await summarise(http, "older-places", NEW)
    query = "Where will we stay in Kyoto?"
    prompt = (await http.get("/context/older-places/prompt", params={"query": query})).json()
    assert prompt["receipt"]["recall"][0]["message_id"] is not None


async def test_what_is_deleted_is_recalled_of_no_summary(http):
    await summarise(http, "older-gone", OLD)
    await summarise(http, "older-gone", NEW)
    messages = (await http.get("/context/older-gone/messages")).json()["messages"]
    for message in messages[:2]:
        assert (await http.delete(f"/context/older-gone/messages/{message['id']}")).status_code == 200
    await http.post("/context/older-gone/compact", json={"keep": 0})

    async def summary() -> dict[str, int] | None:
        return (await http.get("/context/older-gone")).json()["summary"]

    await until(summary)
    found = (await http.get("/context/older-gone/recall", params={"query": EARLIER})).json()["recall"]
    assert not [hit for hit in found if "ryokan" in hit["text"]]


async def test_another_session_of_the_owner_recalls_a_summary_and_a_strangers_does_not(http):
    for session, owner in (("hers-1", "a planner"), ("hers-2", "a planner"), ("his-1", "a stranger")):
        await http.put(f"/context/{session}", json={"owner": owner})
    await summarise(http, "hers-1", OLD)
    [hit] = await recalled(http, "hers-2", EARLIER, scope="owner")
    assert (hit["session"], hit["summary_version"]) == ("hers-1", 1)
    assert await recalled(http, "his-1", EARLIER, scope="owner") == []
    assert await recalled(http, "hers-2", EARLIER, scope="session") == []
