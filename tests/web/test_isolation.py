"""Tenants are worlds apart, on every route of the OpenAPI document.

The owner has a session with everything in it. A stranger, with a key of another tenant that may do everything, asks every
route about the owner's things by their right names; so does nobody. A route with a parameter that `held` does not know, or
a body that `BODIES` does not, fails: nothing is left out because it is new.
"""

import re
from typing import Any

import httpx
import pytest

SECRET = "swordfish"
SESSION, OWNER = "the-owners-session", "the-owners-name"
SERVER_WIDE = {"/healthz", "/readyz", "/metrics", "/reindex", "/verify", "/purge"}
"""What is not about a tenant."""
UPSTREAM = {"/v1/chat/completions", "/v1/models"}
"""What asks an upstream: with none set it is refused before anything is looked up. `tests/e2e/test_proxy.py` has one."""
LISTS = {"/context", "/import"}
"""What answers a stranger with the stranger's own things."""
MAKES = {
    ("post", "/context/{session}/messages"),
    ("post", "/context/{session}/import"),
    ("put", "/context/{session}"),
    ("put", "/context/{session}/meta"),
}
"""What makes a session that is not there: the stranger gets one of the same name, in a world of its own."""
BODIES: dict[tuple[str, str], Any] = {
    ("post", "/context/{session}/messages"): {"role": "user", "content": "mine"},
    ("post", "/context/{session}/import"): [{"role": "user", "content": "mine"}],
    ("post", "/v1/chat/completions"): {"model": "m", "messages": [{"role": "user", "content": SECRET}]},
    ("post", "/import"): [{"role": "user", "content": "mine"}],
    ("patch", "/context/{session}/messages/{id}"): {"content": "changed"},
    ("post", "/context/{session}/prompt"): {"query": SECRET, "scope": "owner", "explain": True},
    ("post", "/context/{session}/usage"): {"model": "gpt-4o", "prompt_tokens": 10},
    ("post", "/context/{session}/mode"): {"mode": "full"},
    ("post", "/context/{session}/compact"): {"keep": 0},
    ("post", "/context/{session}/handoff"): {"to": "the-strangers-session"},
    ("put", "/context/{session}"): {"owner": OWNER},
    ("patch", "/context/{session}"): {"owner": OWNER},
    ("put", "/context/{session}/meta"): {"goal": "mine"},
    ("patch", "/context/{session}/meta"): {"goal": "mine"},
    ("post", "/context/{session}/pins"): {"text": "mine"},
}
QUERIES = {"query": SECRET, "scope": "owner", "owner": OWNER}
"""Query parameters that could reach further; others are left out where they may be."""


@pytest.fixture(scope="module")
async def held(tenants) -> dict[str, str]:
    """What the owner has: the secret in messages, names, meta, pins, summaries, receipts. The names of it all."""
    red, path = tenants["red"], f"/context/{SESSION}"
    await red.put(path, json={"owner": OWNER, "window": {"size": 2, "keep": 1}})
    await red.put(f"{path}/meta", json={"system_prompt": f"{SECRET} 1", "goal": f"{SECRET} 2", SECRET: f"{SECRET} 3"})
    said = [
        {
            "role": "user",
            "content": f"We decided to use {SECRET} in berth {n}.",
            "id": f"m{n}",
            "name": SECRET,
            "metadata": {"n": SECRET},
        }
        for n in range(6)
    ]
    await red.post(f"{path}/messages", json={"messages": said}, params={"wait_ms": 30_000})
    pin = (await red.post(f"{path}/pins", json={"text": f"{SECRET} 4"})).json()
    made = (await red.post(f"{path}/compact", json={"keep": 1})).json()
    prompt = await red.get(f"{path}/prompt", params={"query": SECRET, "model": "gpt-4o"})
    await red.post(f"{path}/mode", json={"mode": "summary", "reason": SECRET})
    assert SECRET in made["summary"]["text"]
    return {
        "session": SESSION,
        "message": "m3",
        "pin": pin["id"],
        "version": str(made["summary"]["version"]),
        "receipt": prompt.json()["receipt"]["id"],
    }


def filled(path: str, held: dict[str, str]) -> str:
    """The path with the owner's names in it. KeyError for a parameter that is not known here."""
    path = path.replace("/messages/{id}", f"/messages/{held['message']}").replace("/pins/{id}", f"/pins/{held['pin']}")
    return re.sub(r"\{(\w+)\}", lambda found: held[found[1]], path)


async def operations(http: httpx.AsyncClient) -> list[tuple[str, str, dict[str, Any]]]:
    paths = (await http.get("/openapi.json")).json()["paths"]
    return [(method, path, operation) for path, methods in paths.items() for method, operation in methods.items()]


async def asked(
    client: httpx.AsyncClient, method: str, path: str, operation: dict[str, Any], held: dict[str, str]
) -> httpx.Response:
    """Ask a route about the owner's things, with every query parameter that could reach further."""
    takes = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "query"}
    params = {name: value for name, value in QUERIES.items() if name in takes}
    if "requestBody" in operation:
        return await client.request(method, filled(path, held), params=params, json=BODIES[method, path])
    return await client.request(method, filled(path, held), params=params)


async def everything(client: httpx.AsyncClient) -> str:
    """All that a tenant can read of the owner's session."""
    reads = ["", "/messages", "/meta", "/pins", "/summaries", "/mode", "/summaries/1"]
    return "\n".join([(await client.get(f"/context/{SESSION}{read}")).text for read in reads])


async def test_a_stranger_gets_and_changes_nothing_of_the_owners_on_any_route(tenants, held):
    red, blue = tenants["red"], tenants["blue"]
    before = await everything(red)
    for method, path, operation in await operations(red):
        answer = await asked(blue, method, path, operation, held)
        where = (method, path, answer.status_code, answer.text)
        assert SECRET not in answer.text, where
        assert SECRET not in str(answer.headers), where
        if path in SERVER_WIDE | LISTS or (method, path) in MAKES:
            assert answer.is_success, where
        elif path in UPSTREAM:
            assert answer.json()["error"]["code"] == "no_upstream", where
        else:
            assert answer.status_code == 404, where
            assert answer.json()["code"] == "session_not_found", where
        if (method, path) in MAKES:
            assert (await blue.delete(f"/context/{SESSION}")).is_success
    assert await everything(red) == before


async def test_a_stranger_with_a_session_of_the_same_name_reaches_only_that(tenants, held):
    red, blue = tenants["red"], tenants["blue"]
    before = await everything(red)
    for method, path, operation in await operations(red):
        await blue.put(f"/context/{SESSION}", json={"owner": OWNER})
        await blue.post(f"/context/{SESSION}/messages", json={"role": "user", "content": "of the stranger's own", "id": "own"})
        answer = await asked(blue, method, path, operation, held)
        assert "berth" not in answer.text, (method, path, answer.text)
        assert answer.status_code < 500, (method, path, answer.text)
    await blue.delete(f"/context/{SESSION}")
    assert await everything(red) == before


async def test_nobody_gets_an_answer_on_any_route(tenants, held):
    for method, path, operation in await operations(tenants["red"]):
        answer = await asked(tenants["none"], method, path, operation, held)
        assert answer.status_code == (200 if path == "/healthz" else 401), (method, path)
        assert SECRET not in answer.text


async def test_the_owner_reads_the_secret_on_the_routes_that_tell_it(tenants, held):
    """Or the tests above would pass on a server that tells nobody anything."""
    telling = {
        path
        for method, path, operation in await operations(tenants["red"])
        if method == "get" and SECRET in (await asked(tenants["red"], method, path, operation, held)).text
    }
    assert telling >= {
        f"/context/{{session}}{what}" for what in ("/messages", "/prompt", "/recall", "/meta", "/pins", "/summaries")
    }


async def test_lists_recall_and_counters_cross_no_tenant(tenants, held):
    blue = tenants["blue"]
    await blue.delete("/context", params={"owner": OWNER})
    await blue.put("/context/mine", json={"owner": OWNER})
    await blue.post("/context/mine/messages", json={"role": "user", "content": "mine alone"}, params={"wait_ms": 30_000})
    names = [session["session"] for session in (await blue.get("/context", params={"owner": OWNER})).json()["sessions"]]
    assert names == ["mine"]
    found = (await blue.get("/context/mine/recall", params={"query": SECRET, "scope": "owner"})).json()["recall"]
    assert [hit["text"] for hit in found] == ["mine alone"]
    for path in ("/metrics", "/readyz"):
        text = (await blue.get(path)).text
        assert all(word not in text for word in (SECRET, SESSION, OWNER)), path


async def test_a_receipt_or_an_idempotency_key_of_another_tenant_is_not_known(tenants, held):
    red, blue, path = tenants["red"], tenants["blue"], f"/context/{SESSION}"
    await blue.put(path, json={})
    answer = await blue.post(f"{path}/usage", json={"receipt": held["receipt"], "prompt_tokens": 100})
    assert answer.json()["code"] == "receipt_not_found"
    headers, message = {"idempotency-key": "the same"}, {"role": "user", "content": "x", "id": "same"}
    for client in (red, blue):
        (stored,) = (await client.post("/context/twice/messages", json=message, headers=headers)).json()["messages"]
        assert (stored["created"], stored["position"]) == (True, 1)
    await blue.delete(path)
