"""Memory that is free inside the process, given back to the system."""

import ctypes
import sys


def give_back() -> None:
    """Let the C library return what it holds for later: after loading, as much as lies between what stays. Takes some
    milliseconds and is called in a thread. Only glibc can be told to."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
