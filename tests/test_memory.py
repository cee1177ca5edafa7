"""Memory that is free is given back, and threads share arenas; elsewhere than on glibc nothing is done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memsrv import memory
from memsrv.memory import bound_arenas, give_back, glibc

ARENAS_OF_THREADS = """
import ctypes, re, sys, threading
libc = ctypes.CDLL(None)
together = threading.Barrier(8)
held = []
def allocate():
    together.wait()
    held.append([bytes(40_000) for _ in range(200)])
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.fopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, out)
libc.fclose(out)
print(len(re.findall("<heap nr", open(sys.argv[1]).read())))
"""
"""Prints how many arenas eight threads that allocate at once made."""


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(glibc("malloc_trim") is None, reason="only glibc can be told to give memory back")
def test_what_lies_free_below_what_stays_is_given_back() -> None:
    pieces = [b"x" * 50_000 for _ in range(3000)]
    stays = pieces[::100]
    held = resident_mb()
    del pieces
    give_back()
    assert resident_mb() < held - 100
    assert len(stays) == 30


@pytest.mark.skipif(glibc("mallopt") is None, reason="only glibc can be told how many arenas there are")
def test_threads_share_a_few_arenas(tmp_path: Path) -> None:
    def arenas(script: str) -> int:
        command = [sys.executable, "-c", script + ARENAS_OF_THREADS, str(tmp_path / "told.xml")]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert arenas("from memsrv.memory import bound_arenas; bound_arenas()") <= memory.ARENAS < arenas("")


def test_both_can_be_asked_for_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "glibc", lambda name: None)
    bound_arenas()
    give_back()
