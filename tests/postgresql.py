"""A real PostgreSQL server for tests, in a folder that is gone at the end."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

NOBODY = "nobody"
START_S = 60
TRADED = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 -c shared_buffers=32MB"
"""Tests of what is on the disk after a crash of the machine are none of ours; these make all others quick."""


def binaries() -> Path | None:
    """The folder of initdb and postgres, if a server is installed."""
    asked = shutil.which("pg_config")
    if asked is None:
        return None
    folder = Path(subprocess.run([asked, "--bindir"], capture_output=True, text=True, check=True).stdout.strip())
    return folder if (folder / "initdb").exists() else None


class Postgresql:
    """A server that is reached by a socket in its folder, by the role `memsrv`, who may do what the owner of a database may."""

    def __init__(self, bin: Path, folder: Path):
        self._bin, self._folder = bin, folder
        self._as_user: dict[str, Any] = {"user": NOBODY, "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
        self._made = 0

    def make(self) -> None:
        if self._as_user:
            shutil.chown(self._folder, NOBODY, "nogroup")
        self._run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--username=admin")
        self.start()
        self.admin("CREATE ROLE memsrv LOGIN PASSWORD 'swordfish'")

    def start(self) -> None:
        options = f"{TRADED} -c listen_addresses='' -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "start", "--wait", "--log", str(self._folder / "log"), "--options", options)

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is what a crash of the server leaves."""
        self._run("pg_ctl", "stop", "--wait", "--mode", mode)

    def admin(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run a statement as the superuser."""
        engine = create_engine(self.url(database, role="admin"), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                answer = connection.execute(text(statement))
                return list(answer) if answer.returns_rows else []
        finally:
            engine.dispose()

    def database(self, options: str = "") -> str:
        """A new database of the role's own; its URL."""
        self._made += 1
        self.admin(f"CREATE DATABASE made{self._made} OWNER memsrv TEMPLATE template0 {options}")
        return self.url(f"made{self._made}", driver="")

    def url(self, database: str, *, role: str = "memsrv:swordfish", driver: str = "+psycopg") -> str:
        return f"postgresql{driver}://{role}@/{database}?host={self._folder}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), "--pgdata", str(self._folder / "data"), *arguments]
        with (self._folder / "said").open("w+") as said:  # a pipe would stay open as long as the server that pg_ctl starts
            done = subprocess.run(command, stdout=said, stderr=said, timeout=START_S, cwd="/", check=False, **self._as_user)
        assert done.returncode == 0, f"{program}: {(self._folder / 'said').read_text()}"


@contextmanager
def postgresql_server(bin: Path) -> Iterator[Postgresql]:
    """A running server. Its folder has a short name: the path of a socket has 107 bytes at most."""
    folder = Path(tempfile.mkdtemp(prefix="memsrv-pg-"))
    server = Postgresql(bin, folder)
    try:
        server.make()
        yield server
        server.stop()
    finally:
        for _ in range(20):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)
