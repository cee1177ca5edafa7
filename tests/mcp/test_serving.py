"""Tools and resources as MCP clients meet them, over stdio and over HTTP."""

import json

import pytest
from mcp import MCPError

from tests.served import BLUE

TOOLS = {"remember", "recall", "get_prompt", "pin", "list_pins", "unpin", "forget_message", "forget_session"}


def told(result):
    """The answer of a tool that worked; its text says the same as its structure."""
    assert not result.is_error, result.content[0].text
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def refused(result):
    assert result.is_error
    return result.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_was_remembered_is_recalled_and_in_the_prompt(connect, request, mode):
    session = request.node.name
    async with connect(session, mode=mode) as client:
        said = "My spare key is under the blue flowerpot."
        stored = told(await client.call_tool("remember", {"text": said}))
        assert [message["position"] for message in stored["messages"]] == [1]
        found = told(await client.call_tool("recall", {"query": "where is the key?"}))
        assert (found["recall"][0]["text"], found["recall"][0]["role"]) == (said, "user")
        prompt = told(await client.call_tool("get_prompt", {"query": "where is the key?", "budget": 500}))
        assert said in prompt["text"]
        assert prompt["total_tokens"] <= 500


async def test_the_tools_are_described_and_marked(connect_http):
    async with connect_http("described") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == TOOLS
    assert all(len(tool.description) > 40 for tool in tools.values())
    assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == {"forget_message", "forget_session"}
    assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} == {"recall", "get_prompt", "list_pins"}
    for tool in tools.values():
        assert "session" not in tool.input_schema["properties"]
        assert all(field.get("description") for field in tool.input_schema["properties"].values())


async def test_without_a_session_of_its_own_each_call_names_one(connect, request):
    name = f"телеграм/{request.node.name}"
    async with connect() as client:
        for tool in (await client.list_tools()).tools:
            assert "session" in tool.input_schema["required"]
        told(await client.call_tool("remember", {"text": "hello", "session": name}))
        assert told(await client.call_tool("recall", {"query": "hello", "session": name}))["session"] == name
        assert "session" in refused(await client.call_tool("recall", {"query": "hello"}))
        assert (await client.list_resources()).resources == []


async def test_a_session_of_its_own_is_a_fence(connect, request):
    async with connect(request.node.name) as client:
        assert "session" in refused(await client.call_tool("remember", {"text": "hello", "session": "another"}))
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource("memsrv://another/summary")


async def test_pins_come_and_go(connect_http, request):
    async with connect_http(request.node.name) as client:
        assert "begins with its first remember" in refused(await client.call_tool("pin", {"text": "No flights."}))
        told(await client.call_tool("remember", {"text": "hello"}))
        pin = told(await client.call_tool("pin", {"text": "No flights.", "kind": "constraint"}))
        assert told(await client.call_tool("list_pins", {}))["pins"] == [pin]
        assert "No flights." in told(await client.call_tool("get_prompt", {}))["text"]
        told(await client.call_tool("unpin", {"id": pin["id"]}))
        assert told(await client.call_tool("list_pins", {}))["pins"] == []
        assert refused(await client.call_tool("unpin", {"id": pin["id"]})).endswith("Look the id up with list_pins.")


async def test_nothing_is_forgotten_without_confirmation(connect_http, request):
    async with connect_http(request.node.name) as client:
        stored = told(await client.call_tool("remember", {"text": "hello"}))
        told(await client.call_tool("remember", {"text": "goodbye"}))
        id = stored["messages"][0]["id"]
        assert "confirm" in refused(await client.call_tool("forget_message", {"id": id}))
        assert "all 2 messages" in refused(await client.call_tool("forget_session", {"confirm": False}))
        assert told(await client.call_tool("forget_message", {"id": id, "confirm": True}))["deleted"] == id
        assert told(await client.call_tool("forget_session", {"confirm": True}))["messages"] == 1
        assert "no session" in refused(await client.call_tool("list_pins", {})).lower()


async def test_a_refusal_is_an_answer_with_a_hint(connect, request):
    async with connect(request.node.name) as client:
        told(await client.call_tool("remember", {"text": "hello " * 200}))
        assert "budget of at least" in refused(await client.call_tool("get_prompt", {"budget": 3}))
        assert "query: " in refused(await client.call_tool("recall", {}))
        assert "colour: " in refused(await client.call_tool("recall", {"query": "x", "colour": "red"}))
        with pytest.raises(MCPError, match="no such tool"):
            await client.call_tool("shout", {})


async def test_the_same_id_is_stored_once(connect_http, request):
    async with connect_http(request.node.name) as client:
        first, again = [told(await client.call_tool("remember", {"text": "yes", "id": "m1"})) for _ in range(2)]
        assert (first["messages"][0]["created"], again["messages"][0]["created"]) == (True, False)
        assert "other content" in refused(await client.call_tool("remember", {"text": "no", "id": "m1"}))


async def test_a_hint_speaks_of_tools_and_of_no_route(connect_http, request):
    async with connect_http(request.node.name) as client:
        told(await client.call_tool("remember", {"text": "hello", "id": "m1"}))
        refusals = [
            refused(await client.call_tool("remember", {"text": "no", "id": "m1"})),
            refused(await client.call_tool("forget_message", {"id": "m2", "confirm": True})),
            refused(await client.call_tool("unpin", {"id": "p1"})),
        ]
    assert not any(word in text for text in refusals for word in ("/context", "/docs", "GET", "PATCH", "header"))


async def test_summaries_are_resources(connect, memory, request):
    session = memory.session(request.node.name)
    session.add(["We decided to take the night train to Vienna.", "No flights, please.", *(f"Remark {n}." for n in range(8))])
    async with connect(request.node.name) as client:
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        with pytest.raises(MCPError, match="no summary yet"):
            await client.read_resource(uris[0])
        session.compact(keep=2)
        assert "night train" in (await client.read_resource(uris[0])).contents[0].text
        versions = json.loads((await client.read_resource(uris[1])).contents[0].text)["summaries"]
        templates = {one.name: one.uri_template for one in (await client.list_resource_templates()).resource_templates}
        uri = templates["summary-version"].replace("{version}", str(versions[0]["version"]))
        detail = json.loads((await client.read_resource(uri.replace("{session}", uris[0].split("/")[2]))).contents[0].text)
        assert any("night train" in line["text"] for line in detail["lines"])
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource(uris[0] + "x")


async def test_tenants_do_not_meet(connect_http, request):
    async with connect_http(request.node.name) as red, connect_http(request.node.name, BLUE) as blue:
        told(await red.call_tool("remember", {"text": "the password is swordfish"}))
        assert "no session" in refused(await blue.call_tool("recall", {"query": "password"})).lower()
