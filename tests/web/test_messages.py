"""Messages over HTTP: what is stored, refused, read, edited, deleted."""

import asyncio

import pytest


def user(text, **more):
    return {"role": "user", "content": text, **more}


async def post(http, session, *messages, status=201, **options):
    answer = await http.post(f"/context/{session}/messages", json={"messages": list(messages)}, **options)
    assert answer.status_code == status, answer.text
    return answer.json()


async def transcript(http, session):
    return (await http.get(f"/context/{session}/messages", params={"limit": 1000})).json()["messages"]


async def test_one_message_may_stand_alone_in_the_body(http):
    answer = await http.post("/context/alone/messages", json=user("hello"))
    assert answer.status_code == 201
    assert answer.json()["session"] == "alone"
    assert [(m["position"], m["created"], m["chunks"]) for m in answer.json()["messages"]] == [(1, True, 1)]


async def test_a_transcript_reads_back_verbatim_and_in_pages(http):
    sent = [
        user("你好 👩‍👩‍👧 \u202ereversed\u202c NUL:\u0000"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "done"},
        user([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://img.test/1.png"}}]),
        {"role": "assistant", "content": "x", "reasoning_content": "hm", "name": "bot"},
    ]
    await post(http, "verbatim", *sent)
    read = await transcript(http, "verbatim")
    assert [{key: m[key] for key in s} for s, m in zip(sent, read, strict=True)] == sent
    page = (await http.get("/context/verbatim/messages", params={"limit": 2, "after": 1})).json()
    assert [m["position"] for m in page["messages"]] == [2, 3]
    assert page["next"] == 3


async def test_a_batch_with_one_bad_message_stores_nothing(http):
    await post(http, "all-or-none", user("good"), {"role": "systen", "content": "typo"}, status=422)
    assert (await http.get("/context/all-or-none")).status_code == 404


async def test_the_same_id_and_content_is_stored_once(http):
    first = await post(http, "again", user("my saddle is 74 cm high", id="m-1"))
    second = await post(http, "again", user("my saddle is 74 cm high", id="m-1"), user("new", id="m-2"))
    assert first["messages"][0]["created"]
    assert [m["created"] for m in second["messages"]] == [False, True]
    assert len(await transcript(http, "again")) == 2


async def test_the_same_id_with_other_content_is_a_conflict_and_stores_nothing(http):
    await post(http, "conflict", user("one", id="m-1"))
    refused = await post(http, "conflict", user("fresh"), user("two", id="m-1"), status=409)
    assert refused["code"] == "message_conflict"
    assert [m["content"] for m in await transcript(http, "conflict")] == ["one"]


async def test_an_idempotency_key_answers_the_same_request_once(http):
    headers = {"idempotency-key": "k-1"}
    first = await post(http, "idem", user("a"), user("b"), headers=headers)
    second = await post(http, "idem", user("a"), user("b"), headers=headers)
    assert [m["id"] for m in first["messages"]] == [m["id"] for m in second["messages"]]
    assert len(await transcript(http, "idem")) == 2
    refused = await post(http, "idem", user("other"), headers=headers, status=409)
    assert refused["code"] == "idempotency_conflict"


async def test_positions_have_no_gap_under_concurrent_writers(http):
    await asyncio.gather(*(post(http, "race", user(f"{n}a"), user(f"{n}b")) for n in range(40)))
    read = await transcript(http, "race")
    assert [m["position"] for m in read] == list(range(1, 81))
    for first, second in zip(read[::2], read[1::2], strict=True):
        assert first["content"][:-1] == second["content"][:-1]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"),
        ("2026-03-01T09:30:00+08:00", "2026-03-01T01:30:00Z"),
        ("2026-03-01T09:30:00", "2026-03-01T09:30:00Z"),
        (1772357400, "2026-03-01T09:30:00Z"),
        ("2026-03-01T09:30:00.250Z", "2026-03-01T09:30:00.250000Z"),
    ],
)
async def test_times_are_kept_in_utc(http, given, read):
    session = f"time-{hash((given, read))}"
    await post(http, session, user("now", sent_at=given))
    assert (await transcript(http, session))[0]["sent_at"] == read


@pytest.mark.parametrize("bad", ["yesterday", True, "2026-13-01T00:00:00Z", {}, 1e300])
async def test_a_time_that_is_none_is_refused_by_name(http, bad):
    refused = await post(http, "badtime", user("x", sent_at=bad), status=422)
    assert refused["code"] == "invalid_request"
    assert "messages[0].sent_at" in refused["message"]


async def test_session_names_are_kept_to_the_character(http):
    names = [
        "telegram:a_b",
        "telegram:a:b",
        "telegram%2Fa:b",
        "..%2F..%2Fevil",
        "%E4%BD%A0%E5%A5%BD",
        "a%20b",
        "A%20b",
        "%25",
        "%2A",
    ]
    for name in names:
        await post(http, name, user(f"I am {name}"))
    for name in names:
        assert [m["content"] for m in await transcript(http, name)] == [f"I am {name}"]


@pytest.mark.parametrize(
    ("name", "status"), [("a%00b", 422), ("a%0Ab", 422), ("%FF", 422), ("z" * 513, 422), ("", 404), ("z" * 512, 201)]
)
async def test_names_that_cannot_be_are_refused(http, name, status):
    answer = await http.post(f"/context/{name}/messages", json=user("x"))
    assert answer.status_code == status


async def test_a_lone_surrogate_is_mended_and_the_session_stays_readable(http):
    body = b'{"role": "user", "content": "broken \\ud83d half"}'
    answer = await http.post("/context/half/messages", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 201
    assert (await transcript(http, "half"))[0]["content"] == "broken \ufffd half"


async def test_waiting_until_it_can_be_recalled(http):
    answer = await post(http, "wait", user("The copper kettle hangs on hook 42."), params={"wait_ms": 30000})
    assert answer["pending_index"] == 0
    hits = (await http.get("/context/wait/recall", params={"query": "Where is the kettle?"})).json()["recall"]
    assert [hit["text"] for hit in hits] == ["The copper kettle hangs on hook 42."]
    assert 0 < hits[0]["score"] <= 1


async def test_an_edit_is_followed_by_chunks_and_recall(http):
    await post(http, "edit", user("The bike is in bay 3.", id="m"), params={"wait_ms": 30000})
    edited = await http.patch("/context/edit/messages/m", json={"content": "The bike is in the red shed."})
    assert edited.status_code == 200
    assert [c["text"] for c in edited.json()["chunks"]] == ["The bike is in the red shed."]
    assert edited.json()["position"] == 1
    await post(http, "edit", user("thanks"), params={"wait_ms": 30000})
    hits = (await http.get("/context/edit/recall", params={"query": "Where is the bike?"})).json()["recall"]
    assert "The bike is in the red shed." in [hit["text"] for hit in hits]
    assert "The bike is in bay 3." not in [hit["text"] for hit in hits]


async def test_a_deleted_message_is_gone_from_transcript_and_recall(http):
    await post(
        http,
        "delete",
        user("The vault number is VLT-808.", id="m"),
        user("And the sky is blue.", id="n"),
        params={"wait_ms": 30000},
    )
    assert (await http.delete("/context/delete/messages/m")).status_code == 200
    assert [m["id"] for m in await transcript(http, "delete")] == ["n"]
    assert (await http.get("/context/delete/messages/m")).json()["code"] == "message_not_found"
    hits = (await http.get("/context/delete/recall", params={"query": "vault number VLT-808"})).json()["recall"]
    assert "The vault number is VLT-808." not in [hit["text"] for hit in hits]


async def test_every_chunk_maps_back_to_its_message(http):
    text = "第一句话。" * 150 + " And then English sentences follow. " * 40
    await post(http, "spans", user(text, id="m"))
    chunks = (await http.get("/context/spans/messages/m")).json()["chunks"]
    assert len(chunks) > 3
    assert all(chunk["text"] == text[chunk["start"] : chunk["end"]] and len(chunk["text"]) <= 400 for chunk in chunks)
    covered = {n for chunk in chunks for n in range(chunk["start"], chunk["end"])}
    assert all(text[n].isspace() for n in set(range(len(text))) - covered)


async def test_edits_at_the_same_time_are_all_kept(http):
    for n in range(5):
        await post(http, "edits-race", user("old", id=f"m{n}"))
        path = f"/context/edits-race/messages/m{n}"
        await asyncio.gather(http.patch(path, json={"content": "new"}), http.patch(path, json={"metadata": {"n": n}}))
        read = (await http.get(path)).json()
        assert (read["content"], read["metadata"]) == ("new", {"n": n})


async def test_a_stretch_is_told_by_a_dry_run_and_then_taken_out(http):
    await post(http, "stretch", *(user(f"Line {n}.", id=f"m{n}", sent_at=f"2026-01-0{n}T00:00:00Z") for n in range(1, 6)))
    asked = {"after": 1, "until": "2026-01-04T00:00:00Z"}
    told = (await http.delete("/context/stretch/messages", params=asked | {"dry_run": True})).json()
    assert told == {"session": "stretch", "dry_run": True, "messages": 2, "chunks": 2, "summaries": 0, "receipts": 0}
    assert len(await transcript(http, "stretch")) == 5
    taken = (await http.delete("/context/stretch/messages", params=asked)).json()
    assert taken == told | {"dry_run": False}
    assert [m["id"] for m in await transcript(http, "stretch")] == ["m1", "m4", "m5"]


async def test_a_deletion_without_a_bound_is_refused_and_takes_nothing(http):
    await post(http, "unbounded", user("Line."))
    refused = await http.delete("/context/unbounded/messages")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "after=0" in refused.json()["hint"]
    assert len(await transcript(http, "unbounded")) == 1


async def test_a_dry_run_of_one_message_takes_nothing(http):
    await post(http, "dry", user("Line.", id="m"))
    told = (await http.delete("/context/dry/messages/m", params={"dry_run": True})).json()
    assert (told["deleted"], told["dry_run"], told["messages"]) == ("m", True, 1)
    assert [m["id"] for m in await transcript(http, "dry")] == ["m"]


async def test_a_retry_of_a_request_whose_message_was_deleted_is_refused(http):
    again = {"headers": {"idempotency-key": "k"}, "json": {"messages": [user("Line.", id="m")]}}
    assert (await http.post("/context/retry/messages", **again)).status_code == 201
    await http.delete("/context/retry/messages/m")
    refused = await http.post("/context/retry/messages", **again)
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    assert await transcript(http, "retry") == []
