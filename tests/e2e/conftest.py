"""Servers for the tests of a whole."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import pytest
from openai import OpenAI

from tests.adapters.upstream_server import UpstreamServer
from tests.served import Served


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    """A provider that says what it is told to, for the tests of a module."""
    server = UpstreamServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def proxy(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server before that provider, which makes no summaries."""
    served = Served(
        tmp_path_factory.mktemp("proxy"),
        MEMSRV_UPSTREAM_URL=upstream.url,
        MEMSRV_UPSTREAM_KEY="${SECRET_OF_TEST}",
        SECRET_OF_TEST="key-for-upstream",
        MEMSRV_UPSTREAM_MODEL="small",
        MEMSRV_SUMMARY_ENABLED="false",
    )
    yield served
    served.stop()


@pytest.fixture
def client(proxy: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{proxy.address}/v1", api_key="unused", max_retries=0) as client:
        yield client


@pytest.fixture
def serve(models: Path, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start servers on one data folder; those still running at the end are killed. The embedder's weights are there already."""
    data, started = tmp_path / "data", list[Served]()

    def start(**settings: str) -> Served:
        if not (data / "models").exists():
            copytree(models, data / "models", copy_function=os.link)
        started.append(Served(data, **settings))
        return started[-1]

    yield start
    for served in started:
        if served.process.poll() is None:
            served.kill()
