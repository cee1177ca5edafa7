"""The real server, as a process of its own, over real HTTP."""

import re
import signal
import subprocess
import threading
from pathlib import Path

import httpx

from tests.command import command, environ
from tests.patience import PATIENCE_S, wait_until

START_S = 180
"""Much more than it takes, for machines that do much else."""
RED, BLUE = "key-of-the-red-tenant", "key-of-the-blue-tenant"
KEYS = {"red": RED, "blue": BLUE}


class Served:
    """A running `memsrv serve`."""

    def __init__(self, data_dir: Path, **settings: str):
        self.data_dir = data_dir
        self.lines: list[str] = []
        serving = command("serve", "--port", "0", "--data-dir", data_dir)
        self.process = subprocess.Popen(serving, stderr=subprocess.PIPE, text=True, env=environ(**settings))
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.address = ""
        if not self._listening.wait(START_S) or not self.address:
            self.kill()
            raise AssertionError("the server did not start: " + "".join(self.lines[-5:]))
        self.http = httpx.Client(base_url=self.address, timeout=60, trust_env=False)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"memsrv listens on (http://\S+)", line):
                self.address = found[1]
                self._listening.set()
        self._listening.set()

    def stop(self, what: signal.Signals = signal.SIGTERM) -> int:
        """End it by a signal; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(what)
        status = self.process.wait(PATIENCE_S)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        if hasattr(self, "http"):
            self.http.close()
        return status

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def wait_indexed(self, session: str) -> None:
        """Post nothing, wait until the session has no message without vectors."""
        wait_until(lambda: not self.http.get(f"/context/{session}").json()["pending_index"])
