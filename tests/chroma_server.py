"""A real Chroma server for tests."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

START_S = 60


@contextlib.contextmanager
def chroma_server(folder: Path) -> Iterator[str]:
    """A `chroma run` on loopback; its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen([*command, "--path", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(url)
            yield url
        finally:
            process.terminate()


def wait_for(url: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{url}/api/v2/heartbeat").is_success:
                return
        assert time.monotonic() < deadline, "the Chroma server did not start"
        time.sleep(0.1)
