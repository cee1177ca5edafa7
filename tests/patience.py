"""Waiting for what comes in its own time, on a machine that may do much else."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

PATIENCE_S = 120.0
"""Much more than anything takes that tests wait for; only what never comes is waited for so long."""
SHORTEST_S, LONGEST_S = 0.001, 0.1


async def until(look: Callable[[], Any]) -> Any:
    """Look until what is seen holds; that. `look` may be a coroutine function."""
    for pause_s in pauses():
        seen = look()
        if inspect.isawaitable(seen):
            seen = await seen
        if seen:
            return seen
        await asyncio.sleep(pause_s)
    raise AssertionError("it did not come to hold")


def wait_until(look: Callable[[], Any]) -> Any:
    """The same without an event loop."""
    for pause_s in pauses():
        if seen := look():
            return seen
        threading.Event().wait(pause_s)
    raise AssertionError("it did not come to hold")


def pauses() -> Iterator[float]:
    """Short ones first. They are added up, and no clock is read: while the machine stood still nobody looked."""
    pause_s, waited_s = SHORTEST_S, 0.0
    while waited_s < PATIENCE_S:
        yield pause_s
        waited_s += pause_s
        pause_s = min(2 * pause_s, LONGEST_S)
