"""What every measurement needs: a server of its own, percentiles, a table, a picture, and the name of the machine."""

import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
STANDIN, SERVER = ("-m", "bench.standin"), ("-m", "memsrv", "serve")
READY_S = 120


def machine() -> str:
    """Processor, cores and versions."""
    model = platform.processor() or platform.machine()
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
        model = found[1] if found else model
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


class Server:
    """A running server, and what its process takes."""

    def __init__(self, pid: int, http: httpx.Client, started_s: float):
        self.http, self.started_s = http, started_s
        self._pid = pid

    def rss_mb(self) -> float:
        """Resident memory, in MB (10^6 bytes)."""
        pages = int(Path(f"/proc/{self._pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def processor_s(self) -> tuple[float, float]:
        """Seconds of processor time that the server took so far, and those of the process beside it."""
        beside_s = 0.0
        for task in self._tasks():
            with suppress(OSError):  # it has just ended
                beside_s += sum(processor_s(int(pid)) for pid in (task / "children").read_text().split())
        return processor_s(self._pid), beside_s

    def threads(self) -> int:
        """How many threads its process has."""
        return len(self._tasks())

    def open_files(self) -> int:
        """How many files and sockets its process has open."""
        return len(list(Path(f"/proc/{self._pid}/fd").iterdir()))

    def _tasks(self) -> list[Path]:
        return list(Path(f"/proc/{self._pid}/task").iterdir())

    def indexed(self, session: str) -> None:
        """Wait until every chunk of a session has its vector."""
        while self.http.get(f"/context/{session}").json()["pending_index"]:
            time.sleep(0.2)


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process took so far."""
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(kind: Sequence[str], *, data_dir: Path | None = None, **environment: str) -> Iterator[Server]:
    """Start a server on a free port, in a folder of its own unless one is given; stop it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [sys.executable, *kind, "--data-dir", str(data_dir or folder), "--port", str(port)]
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stderr=subprocess.DEVNULL)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as http:
                wait_ready(http)
                yield Server(process.pid, http, time.perf_counter() - began)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_ready(http: httpx.Client) -> None:
    """Wait until the server answers and its index is open."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        try:
            if http.get("/readyz").json()["status"] == "ok":
                return
        except (httpx.TransportError, KeyError, ValueError):
            pass
        time.sleep(0.02)
    raise TimeoutError("the server did not become ready")


def milliseconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def percentiles(spent_ms: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99."""
    return {f"p{at}": float(np.percentile(spent_ms, at)) for at in (50, 95, 99)}


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table under the machine's name."""
    table = Table(title=title, caption=machine())
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{value:,.1f}" if isinstance(value, float) else str(value) for value in row))
    Console(width=140).print(table)


def bars(path: Path, title: str, values: dict[str, float], unit: str) -> None:
    """A bar for each value, as SVG."""
    widest, line = max(values.values()) or 1.0, 24
    rows = [
        f'<text x="190" y="{y + 14}" text-anchor="end">{name}</text>'
        f'<rect x="200" y="{y}" width="{400 * value / widest:.0f}" height="18" fill="#4477aa"/>'
        f'<text x="{206 + 400 * value / widest:.0f}" y="{y + 14}">{value:,.1f} {unit}</text>'
        for y, (name, value) in zip(range(40, 40 + line * len(values), line), values.items(), strict=True)
    ]
    height = 70 + line * len(values)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" font-family="sans-serif" font-size="13">'
        f'<text x="10" y="20" font-size="15">{title}</text>{"".join(rows)}'
        f'<text x="10" y="{height - 10}" fill="#666">{machine()}</text></svg>\n'
    )
