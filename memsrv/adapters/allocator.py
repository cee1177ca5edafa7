"""What glibc's allocator is told, so that the memory of a server that runs for months stays where it was.

Threads that allocate at once get arenas of their own, up to eight for each core, and an arena gives nothing back while anything
lives at its end. With as many threads as a server has, of the interpreter and of native libraries, most of what was in use at
some time stays with the process. Elsewhere than on glibc nothing is done.
"""

import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress

M_ARENA_MAX = -8
ARENAS = 2


def bound_arenas() -> None:
    """Let threads share a few arenas. It holds for threads that begin to allocate later."""
    mallopt = glibc("mallopt")
    if mallopt:
        mallopt(M_ARENA_MAX, ARENAS)


def trim() -> None:
    """Give back to the system what is free."""
    malloc_trim = glibc("malloc_trim")
    if malloc_trim:
        malloc_trim(0)


def glibc(name: str) -> Callable[..., int] | None:
    """A function of the C library, if it is glibc."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
            return found
    return None
