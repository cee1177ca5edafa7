"""Memory that is free is given back."""

import ctypes
import os
import sys
from pathlib import Path

import pytest

from memsrv.memory import give_back


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc can be told to give memory back"
)
def test_what_lies_free_below_what_stays_is_given_back() -> None:
    pieces = [b"x" * 50_000 for _ in range(3000)]
    stays = pieces[::100]
    held = resident_mb()
    del pieces
    give_back()
    assert resident_mb() < held - 100
    assert len(stays) == 30


def test_it_can_be_asked_for_anywhere() -> None:
    give_back()
