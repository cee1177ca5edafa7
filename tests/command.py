"""The command line, run as a process of its own, without the settings of who runs the tests."""

import os
import subprocess
import sys

LIMIT_S = 300


def command(*words: object) -> list[str]:
    """What starts `memsrv` with these words."""
    return [sys.executable, "-m", "memsrv", *map(str, words)]


def environ(**settings: str) -> dict[str, str]:
    """The environment with these settings of memsrv and no other."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MEMSRV_")} | settings


def memsrv(*words: object, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command(*words), input="", capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environ(**settings)
    )
