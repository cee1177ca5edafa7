"""Imports and exports over HTTP."""

import asyncio
import json
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.imports.samples import CHATGPT, FILES, OPENAI, TAVERN, chatgpt, node


async def put_in(http, data, path="/import", status=200, **params):
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    answer = await http.post(path, content=body, params=params)
    assert answer.status_code == status, answer.text
    return answer.json()


async def transcript(http, session):
    return (await http.get(f"/context/{session}/messages", params={"limit": 1000})).json()["messages"]


def counts(report):
    return tuple(report[name] for name in ("conversations", "stored", "already_there", "conflicts"))


async def test_each_conversation_gets_a_session_named_after_its_source_and_id(http):
    report = await put_in(http, [CHATGPT], prefix="names/", owner="anna")
    assert [one["session"] for one in report["sessions"]] == ["names/chatgpt:c-1"]
    assert (report["sessions"][0]["title"], report["sessions"][0]["source"]) == ("Bread", "chatgpt")
    assert report["skipped"] == [{"why": "on another branch", "count": 1, "places": ["names/chatgpt:c-1: a2b"]}]
    read = await transcript(http, "names%2Fchatgpt:c-1")
    assert [(one["id"], one["sent_at"]) for one in read][:2] == [("u1", "2023-11-14T22:13:21Z"), ("a1", "2023-11-14T22:13:22Z")]
    assert (await http.get("/context/names%2Fchatgpt:c-1")).json()["owner"] == "anna"


@pytest.mark.parametrize("source", FILES)
async def test_importing_twice_stores_nothing_twice(http, source):
    first = await put_in(http, FILES[source], prefix="twice ")
    again = await put_in(http, FILES[source], prefix="twice ")
    assert first["stored"] > 0
    assert counts(again) == (first["conversations"], 0, first["stored"], 0)


async def test_a_newer_export_adds_what_is_new_and_reports_what_was_changed(http):
    old = chatgpt(node("u", "root", "user", "one", at=1.7e9), node("a", "u", "assistant", "two", at=1.7e9 + 1))
    newer = chatgpt(
        node("u", "root", "user", "one", at=1.7e9),
        node("a", "u", "assistant", "TWO", at=1.7e9 + 1),
        node("v", "a", "user", "three", at=1.7e9 + 2),
        title="Renamed",
    )
    await put_in(http, [old], prefix="newer ")
    report = await put_in(http, [newer], prefix="newer ")
    assert counts(report) == (1, 1, 1, 1)
    assert report["skipped"] == [
        {"why": "changed since it was stored; what is stored stays", "count": 1, "places": ["newer chatgpt:c-1: a"]}
    ]
    assert [one["content"] for one in await transcript(http, "newer%20chatgpt:c-1")] == ["one", "two", "three"]


async def test_two_imports_of_the_same_at_once_store_it_once(http):
    reports = await asyncio.gather(*(put_in(http, CHATGPT, prefix="at once ") for _ in range(4)))
    assert sum(report["stored"] for report in reports) == 4
    assert sum(report["already_there"] for report in reports) == 12
    assert len(await transcript(http, "at%20once%20chatgpt:c-1")) == 4


async def test_branches_are_sessions_of_their_own_when_asked_for(http):
    report = await put_in(http, CHATGPT, prefix="b ", branches="true")
    assert [one["session"] for one in report["sessions"]] == ["b chatgpt:c-1", "b chatgpt:c-1#branch-a2b"]


async def test_a_session_takes_one_conversation_of_any_format(http):
    body = "\n".join(map(json.dumps, TAVERN)).encode()
    report = await put_in(http, body, "/context/tavern/import")
    assert counts(report) == (1, 3, 0, 0)
    assert [one["name"] for one in await transcript(http, "tavern")] == ["Aqua", "Ada", "Aqua"]


async def test_a_session_does_not_take_several(http):
    refused = await put_in(http, [CHATGPT, OPENAI], "/context/several/import", 422)
    assert "POST /import" in refused["hint"]
    assert (await http.get("/context/several")).status_code == 404


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"[1, 2]", b"\x00\x01", json.dumps([CHATGPT]).encode()[:-9]])
async def test_of_a_body_that_cannot_be_read_nothing_is_stored(http, body):
    refused = await put_in(http, body, "/context/unread/import", 422)
    assert refused["code"] == "bad_export"
    assert (await http.get("/context/unread")).status_code == 404


async def test_a_state_that_cannot_be_set_is_refused_and_named(http):
    refused = await put_in(http, {"memsrv": 1, "session": "s", "settings": {"mode": "odd"}}, "/context/odd/import", 422)
    assert refused["message"].startswith("settings.mode:")


async def test_settings_that_name_an_unknown_provider_are_refused_and_nothing_is_stored(http):
    header = {"memsrv": 1, "session": "s", "settings": {"summary": {"provider": "elsewhere"}}}
    body = f'{json.dumps(header)}\n{{"role": "user", "content": "hi"}}\n'.encode()
    for path in ("/import", "/context/foreign/import"):
        refused = await put_in(http, body, path, 422)
        assert (refused["message"], "MEMSRV_PROVIDERS" in refused["hint"]) == ("There is no provider of this name.", True)
    assert (await http.get("/context/foreign")).status_code == 404


async def test_an_export_of_nothing_is_not_found(http):
    assert (await http.get("/context/nothing/export")).status_code == 404


async def test_an_export_goes_back_where_it_came_from_without_a_change(http):
    await http.put("/context/whole", json={"owner": "o", "mode": "window", "recall": {"k": 3}})
    await http.put("/context/whole/meta", json={"goal": "rest", "own": [1]})
    await http.post("/context/whole/messages", json={"messages": [*OPENAI["messages"][:2], {"role": "assistant", "content": ""}]})
    await http.post(
        "/context/whole/messages", json={"role": "assistant", "content": "Task state: packing", "sent_at": 1700000000}
    )
    await http.patch("/context/whole/meta", json={"task_state": "unpacking"})
    for text, kind in (("No nuts.", "constraint"), ("Rome it is.", "decision")):
        await http.post("/context/whole/pins", json={"text": text, "kind": kind})
    exported = (await http.get("/context/whole/export")).content
    assert (await put_in(http, exported, prefix="back/"))["stored"] == 4
    again = (await http.get("/context/back%2Fwhole/export")).content
    assert again.replace(b'"session":"back/whole"', b'"session":"whole"') == exported
    await put_in(http, exported, prefix="back/")
    assert (await http.get("/context/back%2Fwhole/export")).content == again


async def test_a_mode_that_comes_with_an_import_is_on_the_record_of_switches(http):
    await http.post("/context/switched/messages", json={"role": "user", "content": "here before"})
    await put_in(http, b'{"memsrv": 1, "session": "x", "settings": {"mode": "window"}}\n', "/context/switched/import")
    assert [one["after"] for one in (await http.get("/context/switched/mode")).json()["switches"]] == ["window"]


async def test_what_a_session_has_set_itself_counts_before_what_an_export_says(http):
    await http.put("/context/kept", json={"owner": "me", "mode": "full"})
    await http.put("/context/kept/meta", json={"goal": "mine"})
    header = {"memsrv": 1, "session": "x", "owner": "you", "settings": {"mode": "window"}, "meta": {"goal": "yours"}}
    await put_in(http, json.dumps(header).encode() + b"\n" + b'{"role":"user","content":"hi","id":"1"}', "/context/kept/import")
    state = (await http.get("/context/kept")).json()
    assert (state["owner"], state["mode"]) == ("me", "full")
    assert (await http.get("/context/kept/meta")).json()["goal"] == "mine"


NUMBERS = count()
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system"]), "content": st.none() | st.text()},
        optional={
            "name": st.text(max_size=10),
            "sent_at": st.integers(1, 4_000_000_000),
            "metadata": st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=2),
            "reasoning_content": st.text(max_size=5),
        },
    ),
    max_size=8,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=MESSAGES)
async def test_every_session_goes_out_and_back_to_the_byte(http, messages):
    number = f"there and back {next(NUMBERS)}"
    await http.put(f"/context/{number}", json={})
    if messages:
        assert (await http.post(f"/context/{number}/messages", json={"messages": messages})).status_code == 201
    exported = (await http.get(f"/context/{number}/export")).content
    await put_in(http, exported, f"/context/{number}-copy/import")
    again = (await http.get(f"/context/{number}-copy/export")).content
    assert again.replace(f"{number}-copy".encode(), number.encode()) == exported


async def test_tenants_do_not_see_what_another_imports(tenants):
    await put_in(tenants["red"], [CHATGPT])
    assert (await tenants["blue"].get("/context/chatgpt:c-1/export")).status_code == 404
