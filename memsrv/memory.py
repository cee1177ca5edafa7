"""What the C library's allocator is told, so that the memory of a server that runs for months stays where it was.

Threads that allocate at once get arenas of their own, up to eight for each core, and an arena gives nothing back while anything
lives at its end: with as many threads as a server has, of the interpreter and of native libraries, most of what was in use at
some time would stay with the process. Only glibc can be told; elsewhere nothing is done.
"""

import ctypes
import sys
from collections.abc import Callable

M_ARENA_MAX = -8
ARENAS = 2


def bound_arenas() -> None:
    """Let threads share a few arenas: those that begin to allocate from now on."""
    if mallopt := glibc("mallopt"):
        mallopt(M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Let the C library return what it holds for later: after loading, as much as lies between what stays. Takes some
    milliseconds and is called in a thread."""
    if trim := glibc("malloc_trim"):
        trim(0)


def glibc(name: str) -> Callable[..., int] | None:
    """A function that only glibc has."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is None or not hasattr(libc, "gnu_get_libc_version"):
        return None
    function: Callable[..., int] = getattr(libc, name)
    return function
