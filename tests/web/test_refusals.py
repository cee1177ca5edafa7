"""Bad requests: each gets a code, a message and a hint, and nothing is stored."""

import contextlib

import httpx
import pytest

from memsrv.services.access import Access
from memsrv.web.edge import Edge
from memsrv.web.metrics import Metrics
from tests.fakes import HeldKeys
from tests.web.test_isolation import BODIES

JSON = {"content-type": "application/json"}


async def refused(answer, status, code):
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert set(body) == {"code", "message", "hint"}
    assert body["code"] == code
    return body


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad_json"),
        (b'{"role": "user", "content": NaN}', 400, "bad_json"),
        (b'{"role": "user", "content": "\xff"}', 400, "bad_json"),
        (b"[" * 100_000, 400, "bad_json"),
        (b'{"a": ' + b"9" * 10_000 + b"}", 400, "bad_json"),
        (b'{"role": "user", "content": "x", "metadata": {"n": 1e400}}', 400, "bad_json"),
        (b'{"role": "user", "content": [{"type": "z", "q": ' + b"[" * 300 + b"]" * 300 + b"}]}", 400, "bad_json"),
        (b"", 422, "invalid_request"),
        (b"[]", 422, "invalid_request"),
        (b'"text"', 422, "invalid_request"),
        (b"{}", 422, "invalid_request"),
        (b'{"messages": []}', 422, "invalid_request"),
        (b'{"role": "tool", "content": "no call"}', 422, "invalid_request"),
        (b'{"role": "user", "content": "x", "colour": "red"}', 422, "unknown_field"),
        (b'{"role": "user", "content": 5}', 422, "invalid_request"),
    ],
)
async def test_a_body_that_cannot_be_used(http, body, status, code):
    await refused(await http.post("/context/refusals/messages", content=body, headers=JSON), status, code)
    assert (await http.get("/context/refusals")).status_code == 404


async def test_an_unknown_field_is_named(http):
    answer = await http.post("/context/x/messages", json={"messages": [{"role": "user", "content": "x", "colour": "red"}]})
    assert "messages[0].colour" in (await refused(answer, 422, "unknown_field"))["message"]


async def test_an_unknown_query_parameter_of_a_prompt_is_named(http):
    await http.post("/context/params/messages", json={"role": "user", "content": "x"})
    answer = await http.get("/context/params/prompt", params={"buget": 500})
    assert "buget" in (await refused(answer, 422, "unknown_field"))["message"]


async def test_a_body_over_the_limit(http):
    answer = await http.post("/context/big/messages", json={"role": "user", "content": "x" * 2_100_000})
    await refused(answer, 413, "body_too_large")


async def test_a_chunked_body_over_the_limit(http):
    async def pieces():
        for _ in range(40):
            yield b" " * 100_000

    await refused(await http.post("/context/big/messages", content=pieces(), headers=JSON), 413, "body_too_large")


async def test_a_thousand_messages_are_taken_and_one_more_is_not(http):
    many = [{"role": "user", "content": ""}] * 1000
    assert (await http.post("/context/many/messages", json={"messages": many})).status_code == 201
    await refused(await http.post("/context/many/messages", json={"messages": [*many, many[0]]}), 422, "invalid_request")


@pytest.mark.parametrize(
    "path", ["/context/nobody", "/context/nobody/prompt", "/context/nobody/recall?query=x", "/context/nobody/pins"]
)
async def test_a_session_that_is_not_there(http, path):
    await refused(await http.get(path), 404, "session_not_found")


async def test_a_route_that_is_not_there(http):
    await refused(await http.get("/nowhere"), 404, "not_found")
    await refused(await http.put("/context/x/messages"), 405, "method_not_allowed")


async def test_a_budget_too_small_names_one_that_works(http):
    await http.put("/context/tiny/meta", json={"system_prompt": "Answer in French, always, and be brief. " * 20})
    await http.post("/context/tiny/messages", json={"role": "user", "content": "How much is a new cassette? " * 20})
    body = await refused(await http.get("/context/tiny/prompt", params={"budget": 5}), 422, "budget_too_small")
    smallest = int(body["hint"].split()[-2])
    answer = await http.get("/context/tiny/prompt", params={"budget": smallest})
    assert answer.status_code == 200
    assert answer.json()["total_tokens"] <= smallest


async def test_a_missing_query_parameter_is_named(http):
    await http.post("/context/noquery/messages", json={"role": "user", "content": "x"})
    body = await refused(await http.get("/context/noquery/recall"), 422, "invalid_request")
    assert body["message"].startswith("query: ")


async def test_a_body_of_another_content_type_is_told_the_header(http):
    answer = await http.post("/context/x/messages", content=b'{"role": "user"}', headers={"content-type": "text/plain"})
    assert "Content-Type" in (await refused(answer, 422, "invalid_request"))["hint"]


async def test_an_empty_idempotency_key_is_refused_and_loses_nothing(http):
    answer = await http.post("/context/nokey/messages", json={"role": "user", "content": "one"}, headers={"idempotency-key": ""})
    await refused(answer, 422, "invalid_request")


@pytest.mark.parametrize(
    "path", ["messages?after=9223372036854775808", "messages?before=9223372036854775808", "summaries?after=1e30"]
)
async def test_a_position_beyond_all_numbers(http, path):
    await http.post("/context/far/messages", json={"role": "user", "content": "x"})
    await refused(await http.get(f"/context/far/{path}"), 422, "invalid_request")


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 1e18, "nan", -1e300])
async def test_a_time_out_of_range(http, time):
    await refused(
        await http.post("/context/when/messages", json={"role": "user", "content": "x", "sent_at": time}), 422, "invalid_request"
    )


async def test_times_at_the_ends_of_the_calendar_can_be_shown(http):
    for time in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        for text in "ab":
            await http.post("/context/ends/messages", json={"role": "user", "content": text, "sent_at": time})
    assert (await http.get("/context/ends/prompt")).status_code == 200


async def test_large_epoch_seconds_are_seconds(http):
    await http.post("/context/epoch/messages", json={"role": "user", "content": "x", "sent_at": 20_000_000_001})
    assert (await http.get("/context/epoch/messages")).json()["messages"][0]["sent_at"] == "2603-10-11T11:33:21Z"


async def test_an_edit_must_leave_a_message_that_could_be_posted(http):
    await http.post("/context/edits/messages", json={"role": "user", "content": "x", "id": "m"})
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    await refused(await http.patch("/context/edits/messages/m", json={"tool_calls": calls}), 422, "invalid_request")
    assert (await http.get("/context/edits/messages/m")).json()["content"] == "x"


async def test_a_name_that_is_not_loopback_is_refused_without_keys(http, tenants):
    await refused(await http.get("/context", headers={"host": "evil.test"}), 403, "foreign_host")
    assert (await http.get("/context", headers={"host": "localhost:8000"})).status_code == 200
    assert (await http.get("/context", headers={"host": "[::1]:8000"})).status_code == 200
    assert (await tenants["red"].get("/context", headers={"host": "memory.example"})).status_code == 200


async def test_what_breaks_inside_is_answered_in_the_one_shape_and_logged_without_text(capsys):
    async def broken(scope, receive, send):
        raise RuntimeError("the secret is swordfish")

    edge = Edge(broken, access=Access({}, HeldKeys()), any_host=True, max_body_bytes=100, metrics=Metrics())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=edge), base_url="http://127.0.0.1") as client:
        answer = await client.get("/x")
    await refused(answer, 500, "internal_error")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-request-id"]
    written = capsys.readouterr()
    assert "RuntimeError" in written.out + written.err
    assert "swordfish" not in written.out + written.err + answer.text


async def test_methods_that_are_not_there_are_told_those_that_are(http):
    answer = await http.put("/context/x/messages")
    assert set(answer.headers["allow"].split(", ")) & {"GET", "POST"}
    assert (await http.head("/healthz")).status_code == 200


async def test_every_write_is_under_one_pressure(http, runtime):
    await http.put("/context/pressed", json={})
    paths = (await http.get("/openapi.json")).json()["paths"]
    writes = {(method, path) for path, methods in paths.items() for method in methods if method != "get"}
    writes.remove(("post", "/context/{session}/prompt"))
    writes -= {("post", path) for path in ("/reindex", "/verify", "/purge")}  # an operator's work is not a client's write
    writes.remove(("post", "/v1/chat/completions"))  # no upstream is set here; it stores as the messages' route does
    with contextlib.ExitStack() as stack:
        for pressure in (runtime.writes, runtime.summaries):
            for _ in range(runtime.settings.max_waiting_writes):
                stack.enter_context(pressure.turn())
        for method, path in writes:
            where = path.format(session="pressed", id="m", version="1")
            asked = {"after": 0, "owner": "nobody"} if method == "delete" else {}
            answer = await http.request(method, where, params=asked, json=BODIES.get((method, path), {}))
            await refused(answer, 429, "too_many_waiting")
            assert answer.headers["retry-after"]
    assert (await http.put("/context/pressed", json={})).status_code == 200
