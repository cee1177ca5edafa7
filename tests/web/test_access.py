"""Keys, scopes, rates and sizes over HTTP; what browsers may do."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest

from memsrv.core.keys import minted
from memsrv.model import KeyScope
from memsrv.settings import Settings
from memsrv.web.app import create_app
from memsrv.web.scopes import ROWS, named
from memsrv.wiring import Runtime, opened
from memsrv.wiring.vendors import access_for
from tests.conftest import client_of

PAGE = "https://app.example"


@pytest.fixture(scope="module")
async def keyed(tmp_path_factory) -> AsyncIterator[Runtime]:
    """A server whose only key so far, of tenant `keyed`, was made by the command line."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("keyed"), max_body_bytes=100_000, cors_origins=[PAGE])
    make(settings)
    async with opened(settings) as runtime:
        yield runtime


def make(settings, scopes="admin", **options):
    """The id and the text of a new key, made by another process."""
    key, text = minted("keyed", map(KeyScope, scopes.split(",")), made_at=datetime.now(UTC), **options)
    access_for(settings).add(key)
    return key.id, text


@pytest.fixture
async def client(keyed) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(keyed) as client:
        yield client


def bearing(text):
    return {"authorization": f"Bearer {text}"}


async def test_a_key_made_while_the_server_runs_opens_at_once_and_one_revoked_does_not(keyed, client):
    id, text = make(keyed.settings)
    assert (await client.get("/context", headers=bearing(text))).status_code == 200
    access_for(keyed.settings).revoke(id)
    refused = await client.get("/context", headers=bearing(text))
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        ("read", {"list", "prompt", "post prompt"}),
        ("write", {"say", "settings", "pin"}),
        ("read,write", {"list", "prompt", "post prompt", "say", "settings", "pin", "edit", "handoff"}),
        ("admin", {"list", "prompt", "post prompt", "say", "settings", "pin", "edit", "handoff", "metrics", "forget"}),
    ],
)
async def test_a_key_does_what_its_scopes_allow_and_no_more(keyed, client, scopes, allowed):
    say = {"role": "user", "content": "x", "id": "m"}
    requests = {
        "say": ("POST", "/context/s/messages", say),
        "list": ("GET", "/context/s/messages", None),
        "prompt": ("GET", "/context/s/prompt", None),
        "post prompt": ("POST", "/context/s/prompt", {}),
        "settings": ("PUT", "/context/s", {}),
        "pin": ("POST", "/context/s/pins", {"text": "x"}),
        "edit": ("PATCH", "/context/s/messages/m", {"content": "x"}),
        "handoff": ("POST", "/context/s/handoff", None),
        "metrics": ("GET", "/metrics", None),
        "forget": ("DELETE", "/context/s", None),
    }
    await client.post("/context/s/messages", json=say, headers=bearing(make(keyed.settings)[1]))
    headers = bearing(make(keyed.settings, scopes)[1])
    answers = {
        what: await client.request(verb, path, json=body, headers=headers) for what, (verb, path, body) in requests.items()
    }
    assert {what for what, answer in answers.items() if answer.is_success} == allowed
    for what in answers.keys() - allowed:
        assert (answers[what].status_code, answers[what].json()["code"]) == (403, "forbidden_scope"), what


async def test_every_route_has_its_scopes_in_the_table(http):
    paths = (await http.get("/openapi.json")).json()["paths"]
    missing = [(verb, path) for path, verbs in paths.items() for verb in verbs if named(verb.upper(), path) is None]
    assert missing == [], "add a row to memsrv/web/scopes.py: without one the route is for admin alone"


def test_a_path_that_no_row_names_is_for_admin_alone():
    assert named("POST", "/context") is None
    assert named("DELETE", "/context/a/messages/b/c") is None
    assert named("GET", "/contexts") is None
    assert len({(verb, path) for verb, path, _ in ROWS}) == len(ROWS)


async def test_a_key_has_its_own_rate(keyed, client):
    headers = bearing(make(keyed.settings, rate_per_minute=2)[1])
    answers = [await client.get("/context", headers=headers) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json()["code"] == "rate_limited"
    assert 1 <= int(answers[2].headers["retry-after"]) <= 30
    assert (await client.get("/context", headers=bearing(make(keyed.settings)[1]))).status_code == 200


async def test_a_key_has_its_own_size(keyed, client):
    headers = bearing(make(keyed.settings, max_body_bytes=300)[1])
    message = {"role": "user", "content": "x" * 400}
    assert (await client.post("/context/sized/messages", json=message, headers=headers)).status_code == 413
    other = bearing(make(keyed.settings)[1])
    assert (await client.post("/context/sized/messages", json=message, headers=other)).status_code == 201


async def test_a_log_line_has_the_keys_id_and_not_the_key(keyed, client, capsys):
    id, text = make(keyed.settings)
    await client.get("/context", headers=bearing(text))
    await client.get("/context", headers=bearing(text + "x"))
    written = capsys.readouterr()
    assert id in written.out + written.err
    assert text.rpartition("_")[2] not in written.out + written.err


async def test_a_websocket_does_not_get_past_the_keys(keyed):
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "websocket.connect"}

    await create_app(keyed)({"type": "websocket", "path": "/docs", "raw_path": b"/docs", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


# --- browsers -------------------------------------------------------------------------------------------------------


async def test_a_page_that_is_named_may_ask_and_another_may_not(keyed, client):
    asking = {"origin": PAGE, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    before = await client.options("/context/s/messages", headers=asking)
    assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, PAGE)
    headers = bearing(make(keyed.settings)[1])
    answer = await client.get("/context", headers={**headers, "origin": PAGE})
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert "access-control-allow-credentials" not in answer.headers
    other = await client.options("/context/s/messages", headers={**asking, "origin": "https://evil.test"})
    assert other.status_code == 400
    assert "access-control-allow-origin" not in other.headers
    refused = await client.get("/context", headers={"origin": PAGE})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


@pytest.mark.parametrize("origin", ["https://evil.test", "null", "http://127.0.0.1.evil.test"])
async def test_without_keys_a_page_of_another_origin_is_refused(http, origin):
    answer = await http.post("/context/x/compact", headers={"origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


async def test_without_keys_the_servers_own_page_is_served(http):
    assert (await http.get("/context", headers={"origin": "http://127.0.0.1"})).status_code == 200


async def test_an_answer_may_not_be_run_or_framed(http):
    for path in ("/context", "/nowhere", "/docs", "/healthz"):
        headers = (await http.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "script-src" not in (await http.get("/context")).headers["content-security-policy"]


async def test_the_api_page_asks_for_nothing_that_its_policy_forbids(http):
    answer = await http.get("/docs")
    assert "script-src 'self' 'unsafe-inline'" in answer.headers["content-security-policy"]
    assert "http://" not in answer.text
    assert "https://" not in answer.text


async def test_the_document_tells_of_every_route_what_a_key_may_be_refused(http):
    paths = (await http.get("/openapi.json")).json()["paths"]
    told = {f"{verb} {path}": set(one["responses"]) for path, verbs in paths.items() for verb, one in verbs.items()}
    assert {route for route, statuses in told.items() if not {"401", "403", "429"} <= statuses} == {"get /healthz"}
