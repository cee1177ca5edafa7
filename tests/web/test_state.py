"""Sessions, settings, meta, pins, receipts, forgetting, tenants, operation."""

import asyncio
import re

import pytest

from memsrv.adapters.tokens_tiktoken import TiktokenCounter, shipped_vocabularies


async def say(http, session, *texts, wait=0):
    messages = [{"role": "user", "content": text} for text in texts]
    answer = await http.post(f"/context/{session}/messages", json={"messages": messages}, params={"wait_ms": wait})
    assert answer.status_code == 201


async def test_settings_are_kept_changed_and_taken_back(http):
    made = (await http.put("/context/set", json={"owner": "ada", "mode": "window", "window": {"size": 4}})).json()
    assert (made["owner"], made["mode"], made["settings"]["window"]) == ("ada", "window", {"size": 4})
    changed = (await http.patch("/context/set", json={"window": {"keep": 2}, "mode": None})).json()
    assert changed["settings"] == {"window": {"size": 4, "keep": 2}}
    assert (changed["owner"], changed["mode"]) == ("ada", "hybrid")
    refused = await http.patch("/context/set", json={"window": {"sise": 4}})
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_field")


async def test_a_window_of_four_shows_four_messages(http):
    talk = [{"role": role, "content": f"{role} {n}"} for n in range(5) for role in ("user", "assistant")]
    await http.post("/context/four/messages", json={"messages": talk})
    await http.patch("/context/four", json={"window": {"size": 4}})
    prompt = (await http.get("/context/four/prompt", params={"mode": "window", "budget": 2000})).json()
    assert [m["content"] for m in prompt["messages"]] == ["user 3", "assistant 3", "user 4", "assistant 4"]


async def test_meta_and_pins_stand_in_every_prompt(http):
    await say(http, "meta", "hello")
    await http.put("/context/meta/meta", json={"system_prompt": "Be brief.", "goal": "Buy a bike", "colour": "green"})
    pin = (await http.post("/context/meta/pins", json={"text": "The budget is 900 euro.", "kind": "decision"})).json()
    for mode in ("full", "window", "summary", "retrieval", "hybrid"):
        prompt = (await http.get("/context/meta/prompt", params={"mode": mode})).json()
        shown = "\n".join(m["content"] for m in prompt["messages"])
        assert all(piece in shown for piece in ("Be brief.", "Buy a bike", "green", "The budget is 900 euro."))
        assert prompt["messages"][-1]["content"] == "hello"
    assert (await http.delete(f"/context/meta/pins/{pin['id']}")).status_code == 200
    assert (await http.get("/context/meta/pins")).json()["pins"] == []
    assert (await http.delete(f"/context/meta/pins/{pin['id']}")).json()["code"] == "pin_not_found"
    meta = (await http.patch("/context/meta/meta", json={"goal": None})).json()
    assert meta == {"system_prompt": "Be brief.", "profile": None, "goal": None, "task_state": None, "colour": "green"}


async def test_a_prompt_tells_its_mode_tokens_and_receipt_in_headers_too(http):
    await say(http, "headers", "hello")
    answer = await http.get("/context/headers/prompt", params={"mode": "window"})
    body = answer.json()
    assert answer.headers["x-context-mode"] == body["mode"] == "window"
    assert answer.headers["x-context-tokens"] == str(body["total_tokens"])
    assert answer.headers["x-context-receipt"] == body["receipt"]["id"]
    assert sum(region["tokens"] for region in body["receipt"]["regions"]) <= body["total_tokens"]
    kept = (await http.get("/context/headers/receipts")).json()["receipts"]
    assert [receipt["id"] for receipt in kept] == [body["receipt"]["id"]]


async def test_the_same_question_gets_the_same_bytes(http):
    await http.put("/context/bytes", json={"window": {"size": 40, "keep": 8}})  # so that no summary comes in between
    await say(http, "bytes", *(f"fact {n}: bay {n} is free" for n in range(30)), wait=30000)
    first = await http.get("/context/bytes/prompt", params={"query": "which bay?", "budget": 400})
    second = await http.get("/context/bytes/prompt", params={"query": "which bay?", "budget": 400})
    assert first.content == second.content


async def test_get_and_post_give_the_same_prompt(http):
    await say(http, "both", "hello", "again")
    asked = {"query": "hello", "budget": 500, "mode": "hybrid", "format": "strict"}
    assert (await http.get("/context/both/prompt", params=asked)).content == (
        await http.post("/context/both/prompt", json=asked)
    ).content


async def test_a_forgotten_session_is_gone_and_its_name_is_free(http):
    await say(http, "gone", "The old rack is rack 3.", wait=30000)
    told = (await http.delete("/context/gone", params={"dry_run": True})).json()
    assert (told["dry_run"], told["messages"], told["chunks"]) == (True, 1, 1)
    assert (await http.get("/context/gone")).status_code == 200
    assert (await http.delete("/context/gone")).status_code == 200
    assert (await http.get("/context/gone")).status_code == 404
    await say(http, "gone", "The new rack is rack 9.", wait=30000)
    hits = (await http.get("/context/gone/recall", params={"query": "which rack?"})).json()["recall"]
    assert [hit["text"] for hit in hits] == ["The new rack is rack 9."]


async def test_recall_can_span_an_owners_sessions_and_no_others(http):
    for session, owner, fact in (
        ("o1", "eve", "Eve's dog is called Rex."),
        ("o2", "eve", "hi"),
        ("o3", "bob", "Bob's dog is called Max."),
    ):
        await http.put(f"/context/{session}", json={"owner": owner})
        await say(http, session, fact, wait=30000)
    wide = (await http.get("/context/o2/recall", params={"query": "the dog's name", "scope": "owner"})).json()["recall"]
    assert "Eve's dog is called Rex." in [hit["text"] for hit in wide]
    assert not any("Max" in hit["text"] for hit in wide)
    narrow = (await http.get("/context/o2/recall", params={"query": "the dog's name"})).json()["recall"]
    assert not any("dog" in hit["text"] for hit in narrow)
    listed = (await http.get("/context", params={"owner": "eve", "limit": 1})).json()
    assert [s["session"] for s in listed["sessions"]] == ["o1"]
    assert [
        s["session"] for s in (await http.get("/context", params={"owner": "eve", "after": listed["next"]})).json()["sessions"]
    ] == ["o2"]


async def test_tenants_do_not_see_each_other(tenants):
    red, blue = tenants["red"], tenants["blue"]
    for client in (red, blue):
        await client.put("/context/shared", json={"owner": "same"})
    await say(red, "shared", "The red vault is VLT-1.", wait=30000)
    await say(blue, "shared", "The blue vault is VLT-2.", wait=30000)
    await say(red, "only-red", "x")
    assert (await blue.get("/context/only-red")).json()["code"] == "session_not_found"
    assert [s["session"] for s in (await blue.get("/context?owner=same")).json()["sessions"]] == ["shared"]
    hits = (await blue.get("/context/shared/recall", params={"query": "vault", "scope": "owner"})).json()["recall"]
    assert [hit["text"] for hit in hits] == ["The blue vault is VLT-2."]
    await blue.delete("/context/shared")
    assert (await red.get("/context/shared")).json()["messages"] == 1


async def test_a_key_of_nobody_is_refused(tenants):
    wrong = await tenants["none"].get("/context", headers={"authorization": "Bearer key-of-nobody-at-all"})
    assert wrong.json()["code"] == "unauthorized"


async def test_operators_see_state_and_counters(http):
    await say(http, "ops", "hello", wait=30000)
    await http.get("/context/ops/prompt")
    ready = (await http.get("/readyz")).json()
    assert ready["status"] == "ok"
    assert ready["degraded"] == []
    text = (await http.get("/metrics")).text
    assert 'memsrv_request_seconds_bucket{le="0.1",method="GET",mode="hybrid",route="/context/{session}/prompt"}' in text
    assert re.search(r"^memsrv_pending_index \S+$", text, re.MULTILINE)
    assert float(re.search(r"^memsrv_indexed_chunks (\S+)$", text, re.MULTILINE)[1]) > 0
    assert 'memsrv_prompt_tokens_total{mode="hybrid",region="window"}' in text


async def test_answers_carry_security_headers_and_no_cors(http):
    answer = await http.get("/healthz", headers={"origin": "https://elsewhere.test"})
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


async def test_the_api_page_needs_no_network(http):
    page = (await http.get("/docs")).text
    assert "swagger-ui" in page
    assert "cdn" not in page


@pytest.mark.parametrize("format", ["openai", "strict", "text"])
async def test_every_format_keeps_the_budget(http, format):
    counter = TiktokenCounter("o200k_base", shipped_vocabularies())
    await say(http, "formats", *(f"Remark {n} about gears and chains." for n in range(60)))
    prompt = (await http.get("/context/formats/prompt", params={"budget": 300, "format": format, "query": "gears"})).json()
    assert prompt["messages"]
    said = [message["content"] for message in prompt["messages"]]
    assert sum(4 + counter.count(text, None) for text in said) <= prompt["total_tokens"] <= 300


async def test_an_owner_can_be_taken_back(http):
    await http.put("/context/owned", json={"owner": "ada", "mode": "window"})
    assert (await http.patch("/context/owned", json={"mode": "full"})).json()["owner"] == "ada"
    assert (await http.patch("/context/owned", json={"owner": None})).json()["owner"] is None
    await http.patch("/context/owned", json={"owner": "bob"})
    assert (await http.put("/context/owned", json={})).json()["owner"] is None


async def test_changes_at_the_same_time_are_all_kept(http):
    await http.put("/context/busy", json={})
    changes = [{"mode": "window"}, {"window": {"size": 5}}, {"recall": {"k": 3}}, {"budget": {"tokens": 999}}]
    await asyncio.gather(*(http.patch("/context/busy", json=change) for change in changes))
    assert (await http.get("/context/busy")).json()["settings"] == {
        key: value for change in changes for key, value in change.items()
    }
    await asyncio.gather(*(http.patch("/context/busy/meta", json={f"key{n}": n}) for n in range(8)))
    meta = (await http.get("/context/busy/meta")).json()
    assert {key: meta.get(key) for key in (f"key{n}" for n in range(8))} == {f"key{n}": n for n in range(8)}


async def test_a_change_does_not_bring_a_forgotten_session_back(http):
    assert (await http.patch("/context/never", json={"mode": "full"})).status_code == 404
    assert (await http.patch("/context/never/meta", json={"goal": "x"})).status_code == 404
    assert (await http.get("/context/never")).status_code == 404


async def test_a_question_that_nothing_answers_recalls_little_in_a_prompt(http):
    talk = [
        "The lease ends in May and the deposit is 900 euro.",
        "Our dentist is Dr. Weiss on Hill Street.",
        "I am allergic to peanuts.",
    ]
    await say(http, "little", *talk, *(f"Remark {n}: the river walk was long and fine." for n in range(30)), wait=30000)
    prompt = (await http.get("/context/little/prompt", params={"query": "how much is the deposit?", "mode": "retrieval"})).json()
    hits = [hit["text"] for hit in prompt["receipt"]["recall"]]
    assert talk[0] in hits
    assert len(hits) < 10
    searched = (await http.get("/context/little/recall", params={"query": "how much is the deposit?", "k": 20})).json()["recall"]
    assert searched[0]["text"] == talk[0]
    assert len(searched) == 20


async def test_an_owner_is_forgotten_in_its_own_tenant_only(tenants):
    for name in ("red", "blue"):
        for session in ("one", "two"):
            await tenants[name].put(f"/context/forget-{session}", json={"owner": "ann"})
            await tenants[name].post(f"/context/forget-{session}/messages", json={"role": "user", "content": "hello"})
    told = (await tenants["red"].delete("/context?owner=ann&dry_run=true")).json()
    assert (told["sessions"], told["messages"], told["dry_run"]) == (2, 2, True)
    taken = (await tenants["red"].delete("/context?owner=ann")).json()
    assert taken == told | {"dry_run": False}
    assert (await tenants["red"].get("/context?owner=ann")).json()["sessions"] == []
    assert len((await tenants["blue"].get("/context?owner=ann")).json()["sessions"]) == 2


async def test_forgetting_names_its_owner(http):
    assert (await http.delete("/context")).status_code == 422


async def test_how_long_messages_are_kept_is_a_setting_of_the_session(http):
    put = await http.put("/context/kept", json={"retention": {"days": 30}})
    assert put.json()["settings"] == {"retention": {"days": 30}}
    assert (await http.put("/context/kept", json={"retention": {"days": -1}})).status_code == 422
