"""Where the window of a model comes from, through the whole server."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from memsrv import settings
from memsrv.errors import SettingsError
from memsrv.settings import Settings, describe
from memsrv.wiring import opened
from tests.adapters.model_server import ModelServer
from tests.conftest import client_of
from tests.patience import until


@pytest.fixture
async def listing(tmp_path) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose provider lists two models, one of which the settings know better."""
    models = ModelServer()
    told = [{"id": "acme/listed", "context_length": 20_000}, {"id": "set", "context_length": 20_000}]
    models.answers = lambda: (200, json.dumps({"data": told}).encode())
    named = {"main": {"base_url": models.url, "api_key": "k"}}
    try:
        given = Settings(data_dir=tmp_path, providers=json.dumps(named), model_windows={"set": 10_000})
        async with opened(given) as runtime, client_of(runtime) as http:
            await http.put("/context/s", json={})
            await http.post("/context/s/messages", json={"role": "user", "content": "Hello."})
            yield http
    finally:
        models.close()


async def budget(http: httpx.AsyncClient, model: str) -> int:
    return (await http.get("/context/s/prompt", params={"model": model})).json()["budget_tokens"]


async def test_a_providers_list_is_asked_at_the_start_and_the_settings_come_before_it(listing):

    async def listed() -> bool:
        return await budget(listing, "listed") == 19_000

    await until(listed)
    found = {model: await budget(listing, model) for model in ("acme/listed", "listed", "set", "unknown", "gpt-4")}
    assert found == {"acme/listed": 19_000, "listed": 19_000, "set": 9_500, "unknown": 8192, "gpt-4": 7_782}


def test_windows_that_cannot_be_used_are_refused_by_the_name_of_the_setting(monkeypatch):
    monkeypatch.setenv("MEMSRV_MODEL_WINDOWS", '{"mine": 10}')
    with pytest.raises(SettingsError, match=r"MEMSRV_MODEL_WINDOWS: the window of 'mine' is a number of tokens"):
        settings.load()


def test_windows_are_shown_as_they_are_set(monkeypatch):
    monkeypatch.setenv("MEMSRV_MODEL_WINDOWS", '{"Mine": 10000}')
    rows = {name: (value, source) for name, value, source in describe(settings.load(), {})}
    assert rows["MEMSRV_MODEL_WINDOWS"] == ("mine=10000", "environment")
