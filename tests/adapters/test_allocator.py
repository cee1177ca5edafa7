"""What glibc has is found and does no harm; elsewhere there is nothing to call."""

import sys

import pytest

from memsrv.adapters import allocator

ON_GLIBC = sys.platform == "linux" and allocator.glibc("gnu_get_libc_version") is not None


@pytest.mark.skipif(not ON_GLIBC, reason="another C library")
def test_glibc_takes_both() -> None:
    mallopt, malloc_trim = allocator.glibc("mallopt"), allocator.glibc("malloc_trim")
    assert mallopt is not None
    assert mallopt(allocator.M_ARENA_MAX, allocator.ARENAS) == 1
    assert malloc_trim is not None
    assert malloc_trim(0) in (0, 1)


def test_what_is_not_there_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    assert allocator.glibc("no_such_function") is None
    monkeypatch.setattr(allocator, "glibc", lambda name: None)
    allocator.bound_arenas()
    allocator.trim()
