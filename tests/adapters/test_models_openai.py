"""The list of models of an endpoint on loopback, as servers write it and as they fail."""

import json
from collections.abc import Iterator

import pytest

from memsrv.adapters.models_openai import OpenAIModels
from memsrv.core.relay.providers import Provider
from memsrv.errors import UpstreamDown
from tests.adapters.model_server import ModelServer

KEY = "sk-secret-of-this-test"
HEADER = "secret-of-a-header"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


async def windows(server: ModelServer) -> dict[str, int]:
    models = OpenAIModels(Provider("main", server.url, KEY, {"x-team": HEADER}), wait_s=0.001)
    try:
        return await models.windows()
    finally:
        await models.close()


async def test_the_list_is_asked_for_as_the_provider_is_set_up(server):
    models = [{"id": "acme/big", "context_length": 32_000, "top_provider": {"context_length": 16_000}}, {"id": "untold"}]
    server.answers = lambda: (200, json.dumps({"object": "list", "data": models}).encode())
    assert await windows(server) == {"acme/big": 16_000, "big": 16_000}
    assert server.asked == [("/v1/models", f"Bearer {KEY}", HEADER)]


@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b'{"data": null}', b'{"data": [1, {"id": "m"}]}'])
async def test_a_list_that_tells_no_window_is_none(server, body):
    server.answers = lambda: (200, body)
    assert await windows(server) == {}


@pytest.mark.parametrize(("answer", "tries"), [((500, b""), 3), ((401, b""), 1), ((404, b""), 1), ((200, b"<html>"), 1)])
async def test_a_server_without_a_list_is_told_without_its_secrets(server, answer, tries):
    server.answers = lambda: answer
    with pytest.raises(UpstreamDown) as caught:
        await windows(server)
    assert len(server.asked) == tries
    assert all(secret not in caught.value.message for secret in (KEY, HEADER, server.url))


async def test_a_server_that_is_not_there_is_told(server):
    server.close()
    with pytest.raises(UpstreamDown, match="main cannot be reached"):
        await windows(server)
