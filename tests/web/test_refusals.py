"""Bad requests: each gets a code, a message and a hint, and nothing is stored."""

import pytest

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
