"""Servers for the tests of a whole."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import pytest

from tests.adapters.upstream_server import UpstreamServer
from tests.served import Served


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    """A provider that says what it is told to, for the tests of a module."""
    server = UpstreamServer()
    yield server
    server.close()


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
