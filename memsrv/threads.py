"""Where work is done: what has time in threads of its own, so that it takes neither the threads nor the processor from what
answers requests; what is small at once, for the way to a thread and back costs more.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import get_native_id
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

NICENESS = 10  # beyond the server's own


def step_back() -> None:
    """Let this thread give way to the others. Only Linux has priorities of threads."""
    if sys.platform == "linux":
        usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
        os.setpriority(os.PRIO_PROCESS, get_native_id(), usual + NICENESS)


ASIDE = ThreadPoolExecutor(1, "aside", initializer=step_back)


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the work comes to, done in the one thread for work that takes long: choosing what a summary is to cover, and reading
    it. In the threads that all share, a few such works at once would leave none for prompts and messages."""
    return await asyncio.get_running_loop().run_in_executor(ASIDE, partial(work, *args, **kwargs))


async def off_loop(work: Callable[[], T], *, small: bool) -> T:
    """What the work comes to, done in a thread that all share, or at once if it is `small`: takes about half a millisecond at
    most. The way to a thread and back costs as much where the interpreter is busy."""
    return work() if small else await asyncio.to_thread(work)
