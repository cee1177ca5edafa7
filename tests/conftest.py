"""The real app over real parts, in this process; every test uses sessions of its own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, settings

from memsrv.adapters.embedder_bundled import BundledEmbedder
from memsrv.client import Memory
from memsrv.settings import Settings
from memsrv.web.app import create_app
from memsrv.wiring import Runtime, opened
from tests.postgresql import Postgresql, binaries, postgresql_server
from tests.served import KEYS, RED, Served

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")  # how long an example takes is no property


def client_of(runtime: Runtime, **options) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=create_app(runtime), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", **options)


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> Path:
    """Holds the converted weights of the bundled embedder, so that they are converted once a run."""
    folder: Path = tmp_path_factory.mktemp("models")
    BundledEmbedder.open(folder)
    return folder


@pytest.fixture(scope="session")
async def runtime(tmp_path_factory) -> AsyncIterator[Runtime]:
    windows = {"acme/workshop": 5_000}
    settings = Settings(data_dir=tmp_path_factory.mktemp("web"), max_body_bytes=2_000_000, model_windows=windows)
    async with opened(settings) as runtime:
        yield runtime


@pytest.fixture(scope="session")
async def http(runtime) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(runtime) as http:
        yield http


@pytest.fixture(scope="session")
async def tenants(tmp_path_factory) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """Clients of one server with keys: one for each tenant, and `none` without a key."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("tenants"), keys=KEYS)
    async with opened(settings) as runtime:
        clients = {name: client_of(runtime, headers={"authorization": f"Bearer {key}"}) for name, key in KEYS.items()}
        clients["none"] = client_of(runtime)
        yield clients
        for client in clients.values():
            await client.aclose()


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Served]:
    """A server with keys, in a process of its own."""
    keys = ",".join(f"{tenant}={key}" for tenant, key in KEYS.items())
    served = Served(tmp_path_factory.mktemp("server"), MEMSRV_KEYS=keys)
    yield served
    served.stop()


@pytest.fixture(scope="session")
def open_server(tmp_path_factory) -> Iterator[Served]:
    """One without keys."""
    served = Served(tmp_path_factory.mktemp("open"))
    yield served
    served.stop()


@pytest.fixture
def memory(server) -> Iterator[Memory]:
    """A client of the server with keys; every test uses sessions of its own."""
    with Memory(server.address, key=RED) as memory:
        yield memory


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgresql]:
    """A real PostgreSQL server, started once a run."""
    found = binaries()
    if found is None:
        pytest.skip("no PostgreSQL server is installed (`pg_config --bindir` names no initdb)")
    with postgresql_server(found) as server:
        yield server
