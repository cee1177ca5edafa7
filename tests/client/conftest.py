"""One real server for the tests of what talks to it over HTTP; every test uses sessions of its own."""

from collections.abc import Iterator

import pytest

from memsrv.client import Memory
from tests.served import Served

KEY = "key-of-the-red-tenant"


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("client"), MEMSRV_KEYS=f"red={KEY},blue=key-of-the-blue-tenant")
    yield served
    served.stop()


@pytest.fixture
def memory(server) -> Iterator[Memory]:
    with Memory(server.address, key=KEY) as memory:
        yield memory
