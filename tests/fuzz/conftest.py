"""The real server, for requests that nobody would write, and a model behind it."""

from collections.abc import Iterator

import pytest

from tests.adapters.upstream_server import UpstreamServer
from tests.e2e.conftest import serve

__all__ = ["serve"]


@pytest.fixture
def upstream() -> Iterator[UpstreamServer]:
    server = UpstreamServer()
    yield server
    server.close()
