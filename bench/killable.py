"""Servers that are started and killed many times: each is forked from a process that has loaded everything."""

import asyncio
import multiprocessing
import os
import signal
import time
from contextlib import redirect_stderr, suppress
from pathlib import Path
from typing import Any

import httpx

from bench.machine import free_port
from bench.standin import StandIn
from memsrv.settings import load
from memsrv.web.server import run

START_S = 60.0


class Killable:
    """A server in a process of its own, which is forked from one that has loaded everything: a start takes a fraction of a
    second. `settings` are more of those by name."""

    def __init__(self, folder: Path, fingerprint: str, faults: dict[str, str], **settings: Any):
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        forked = multiprocessing.get_context("forkserver")
        forked.set_forkserver_preload(["bench.killable"])
        self._process = forked.Process(target=serve, args=(folder, port, fingerprint, faults, settings))
        self._process.start()

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self._process.pid is not None, "it was started"
        return self._process.pid

    def answering(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + START_S
        while self._process.is_alive() and time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                httpx.get(f"{self.address}/healthz")
                return
            time.sleep(0.02)
        raise TimeoutError("the server does not answer")

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.join()

    def ended(self) -> None:
        """Wait until it has killed itself."""
        self._process.join(START_S)
        assert self._process.exitcode == -signal.SIGKILL, "the server came to the chosen point"


def serve(folder: Path, port: int, fingerprint: str, faults: dict[str, str], others: dict[str, Any]) -> None:
    """What runs in the forked process."""
    settings = load({"data_dir": folder, "port": port, "log_level": "error", "faults": faults, **others})
    with Path(os.devnull).open("w") as nothing, redirect_stderr(nothing):
        asyncio.run(run(settings, embedder=StandIn(fingerprint)))
