"""Summaries, compaction on request, restoring, safe switches."""

import pytest
from httpx import AsyncClient
from pydantic import BaseModel

from memsrv.web import answers
from tests.patience import until
from tests.web.test_answers import conforms

DECIDED = [
    {"role": "user", "content": "We decided to book the hotel Aurora in Turin for 420 euro.", "id": "d1"},
    {"role": "assistant", "content": "Noted: hotel Aurora in Turin, 420 euro."},
    {"role": "user", "content": "No flights, please: we take the train.", "id": "d2"},
    {"role": "assistant", "content": "The train it is, no flights."},
]


def chatter(count: int, first: int = 1) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"Remark {first + n} on the weather."} for n in range(count)]


async def say(http: AsyncClient, session: str, messages: list[dict[str, str]]) -> None:
    answer = await http.post(f"/context/{session}/messages", json={"messages": messages})
    assert answer.status_code == 201


async def summaries(http: AsyncClient, session: str, *, least: int = 1) -> list[dict]:
    """The summaries, when there are so many."""

    async def enough() -> list[dict]:
        found = (await http.get(f"/context/{session}/summaries")).json()["summaries"]
        return found if len(found) >= least else []

    return await until(enough)


@pytest.fixture
async def quiet(http):
    """Makes a session that is summarised only on request."""

    async def make(session: str, messages: list[dict[str, str]]) -> None:
        await http.put(f"/context/{session}", json={"summary": {"trigger": {"type": "messages", "value": 10_000}}})
        await say(http, session, messages)

    return make


async def test_what_leaves_the_window_is_in_the_summary_of_the_prompt(http):
    await say(http, "trip", DECIDED + chatter(12))
    made = (await summaries(http, "trip"))[-1]
    assert (made["covers_from"], made["covers_upto"], made["reason"], made["made_by"]) == (1, 8, "messages", "built-in")
    state = (await http.get("/context/trip")).json()
    assert state["summary"] == {"version": made["version"], "covers_upto": 8}
    prompt = (await http.get("/context/trip/prompt", params={"mode": "summary"})).json()
    assert prompt["receipt"]["summary"] == {"version": made["version"], "covers_upto": 8}
    assert "Aurora" in prompt["messages"][0]["content"]
    assert [m["content"] for m in prompt["messages"][1:]] == [f"Remark {n} on the weather." for n in range(5, 13)]


async def test_a_version_tells_its_lines_its_sources_and_its_difference(http, quiet):
    await quiet("version", DECIDED)
    first = (await http.post("/context/version/compact", json={"keep": 0})).json()
    await say(http, "version", [{"role": "user", "content": "We decided to leave on 3 May at 09:15."}])
    second = (await http.post("/context/version/compact", json={"keep": 0})).json()
    assert (first["made"], first["summary"]["version"], second["summary"]["base"]) == (True, 1, 1)
    told = (await http.get("/context/version/summaries/2")).json()
    assert [message["position"] for message in told["messages"]] == [5]
    assert told["difference"]["against"] == 1
    assert any("3 May" in line["text"] for line in told["difference"]["added"])
    assert all(line["position"] in range(1, 6) for line in told["lines"])
    older = (await http.get("/context/version/summaries/1", params={"limit": 2})).json()
    assert older["messages"][0]["id"] == "d1"
    assert older["next"] == 2
    rest = (await http.get("/context/version/summaries/1", params={"after": 2, "limit": 9})).json()
    assert [message["position"] for message in rest["messages"]] == [3, 4]


async def test_a_version_that_is_not_there_is_not_found(http, quiet):
    await quiet("none", DECIDED)
    for answer in (await http.get("/context/none/summaries/1"), await http.post("/context/none/summaries/1/restore")):
        assert (answer.status_code, answer.json()["code"]) == (404, "summary_not_found")
    assert (await http.get("/context/none/summaries/0")).status_code == 422


async def test_with_nothing_to_do_nothing_is_made(http, quiet):
    await quiet("idle", chatter(4))
    idle = (await http.post("/context/idle/compact")).json()
    assert (idle["made"], idle["summary"]) == (False, None)
    assert idle["reason"].endswith("and up to 8 stay.")
    assert (await http.post("/context/idle/compact", json={"keep": 0})).json()["made"] is True
    again = (await http.post("/context/idle/compact", json={"keep": 0})).json()
    assert (again["made"], again["summary"]["version"]) == (False, 1)
    assert (await http.post("/context/nobody/compact")).status_code == 404
    assert (await http.post("/context/idle/compact", json={"kep": 1})).json()["code"] == "unknown_field"


async def test_a_restored_version_is_the_newest_and_its_rest_is_in_the_window_again(http, quiet):
    await quiet("back", DECIDED + chatter(8))
    await http.post("/context/back/compact", json={"keep": 8})
    await http.post("/context/back/compact", json={"keep": 2})
    restored = (await http.post("/context/back/summaries/1/restore")).json()
    assert (restored["version"], restored["covers_upto"], restored["reason"]) == (3, 4, "restore")
    prompt = (await http.get("/context/back/prompt", params={"mode": "summary"})).json()
    assert len(prompt["messages"]) == 1 + 8


async def test_a_deleted_message_is_gone_from_every_summary_and_they_are_derived_again(http, quiet):
    await quiet("erase", DECIDED + chatter(4))
    await http.post("/context/erase/compact", json={"keep": 4})
    assert "Aurora" in (await http.get("/context/erase/summaries/1")).text
    await http.patch("/context/erase", json={"summary": {"trigger": None}})
    await http.delete("/context/erase/messages/d1")
    found = await summaries(http, "erase", least=2)
    assert [one["stale"] for one in found] == [True, False]
    assert (found[0]["text"], found[1]["reason"], found[1]["covers_upto"]) == ("", "stale", 4)
    assert "decided to book" not in (await http.get("/context/erase/summaries/1")).text
    refused = await http.post("/context/erase/summaries/1/restore")
    assert (refused.status_code, refused.json()["code"]) == (409, "summary_stale")


async def test_a_switch_is_safe_and_on_the_record(http, quiet):
    await quiet("switch", DECIDED + chatter(8))
    done = (await http.post("/context/switch/mode", json={"mode": "retrieval", "reason": "cheaper"})).json()
    assert (done["before"], done["after"], done["reason"], done["summary_version"]) == ("hybrid", "retrieval", "cheaper", 1)
    await http.post("/context/switch/mode", json={"mode": "full"})
    told = (await http.get("/context/switch/mode")).json()
    assert told["mode"] == "full"
    assert [switch["after"] for switch in told["switches"]] == ["full", "retrieval"]
    assert (await http.get("/context/switch")).json()["mode"] == "full"
    shown = (await http.get("/context/switch/prompt")).json()["messages"]
    assert [message["content"] for message in shown] == [message["content"] for message in DECIDED + chatter(8)]
    assert (await http.post("/context/switch/mode", json={"mode": "loud"})).status_code == 422


@pytest.mark.parametrize(
    ("path", "model"),
    [("/summaries", answers.SummariesOut), ("/summaries/1", answers.SummaryDetailOut), ("/mode", answers.ModeOut)],
)
async def test_an_answer_is_what_the_page_tells(http, quiet, path: str, model: type[BaseModel]):
    session = "/context/pages" + path.replace("/", "-")
    await quiet(session.removeprefix("/context/"), DECIDED)
    conforms((await http.post(f"{session}/compact", json={"keep": 0})).json(), answers.CompactedOut)
    conforms((await http.post(f"{session}/summaries/1/restore")).json(), answers.SummaryOut)
    conforms((await http.post(f"{session}/mode", json={"mode": "window"})).json(), answers.SwitchedOut)
    body = (await http.get(session + path)).json()
    conforms(body, model)
    for part, shape in (
        ("difference", answers.DifferenceOut),
        ("summaries", answers.SummaryOut),
        ("switches", answers.SwitchOut),
    ):
        if part in body:
            for one in body[part] if isinstance(body[part], list) else [body[part]]:
                conforms(one, shape)


async def test_compactions_are_counted(http, quiet):
    await quiet("counted", DECIDED)
    await http.post("/context/counted/compact", json={"keep": 0})
    text = (await http.get("/metrics")).text
    assert 'memsrv_compactions{outcome="made",summarizer="built-in",trigger="asked"}' in text


async def test_a_mode_that_changes_with_the_settings_is_on_the_record(http):
    await say(http, "set-mode", DECIDED)
    await http.patch("/context/set-mode", json={"mode": "window"})
    await http.patch("/context/set-mode", json={"owner": "somebody"})
    await http.put("/context/set-mode", json={"profile": "knowledge"})
    switches = (await http.get("/context/set-mode/mode")).json()["switches"]
    assert [(one["before"], one["after"], one["reason"]) for one in switches] == [
        ("window", "retrieval", "settings"),
        ("hybrid", "window", "settings"),
    ]


async def test_a_session_that_is_made_with_a_mode_was_switched_from_none(http):
    await http.put("/context/made-so", json={"mode": "window"})
    assert (await http.get("/context/made-so/mode")).json()["switches"] == []


@pytest.mark.parametrize("mute", ["😀" * 300, "哈" * 300])
async def test_a_session_in_which_nothing_is_said_can_be_summarised_and_goes_on(http, quiet, mute):
    session = f"mute-{ord(mute[0])}"
    await quiet(session, [{"role": ("user", "assistant")[n % 2], "content": mute} for n in range(6)])
    answer = (await http.post(f"/context/{session}/compact", json={"keep": 0})).json()
    assert (answer["made"], answer["summary"]["covers_upto"], answer["summary"]["text"]) == (True, 6, "")
    detail = (await http.get(f"/context/{session}/summaries/1")).json()
    assert [(one["kind"], one["positions"]) for one in detail["findings"]] == [("passed_over", [1, 2, 3, 4, 5, 6])]
    await say(http, session, DECIDED)
    assert "Aurora" in (await http.post(f"/context/{session}/compact", json={"keep": 0})).json()["summary"]["text"]
