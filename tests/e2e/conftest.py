"""Servers for the tests of a whole."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.served import Served


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start servers on one data folder; those still running at the end are stopped."""
    started: list[Served] = []

    def start(**environ: str) -> Served:
        started.append(Served(tmp_path / "data", **environ))
        return started[-1]

    yield start
    for served in started:
        if served.process.poll() is None:
            served.stop()
