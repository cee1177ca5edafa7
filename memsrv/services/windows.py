"""Know how much each model takes: from the settings, from the providers' own lists, from its name.

The lists are asked for in the background, at the start and then rarely. One that fails is told once, and what was known before
stands; no prompt ever waits for a list.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from memsrv.core.prompt.windows import Windows, together
from memsrv.errors import UpstreamDown
from memsrv.ports import ModelList

EVERY_S = 6 * 3600.0
RETRY_S = 60.0

log = structlog.get_logger()


class ModelWindows:
    """The windows of models, as they are known at the moment. `every_s`: how often a list is asked for; `retry_s`: how soon
    again after one that failed, twice as long each time."""

    def __init__(self, windows: Windows, lists: Sequence[ModelList] = (), *, every_s: float = EVERY_S, retry_s: float = RETRY_S):
        self._windows, self._lists = windows, lists
        self._every_s, self._retry_s = every_s, retry_s
        self._listed: dict[str, Mapping[str, int]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def of(self, model: str | None) -> int | None:
        """The context window of a model in tokens, or None if nothing is known of it."""
        return self._windows.of(model)

    def start(self) -> None:
        """Begin to ask in the background."""
        self._tasks = [asyncio.create_task(self._follow(one), name=f"models of {one.name}") for one in self._lists]

    async def close(self) -> None:
        """Ask no more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _follow(self, one: ModelList) -> None:
        failures = 0
        while True:
            failures = 0 if await self._asked(one, told=failures > 0) else failures + 1
            pause_s = self._retry_s * 2.0 ** min(failures - 1, 20) if failures else self._every_s
            await asyncio.sleep(min(pause_s, self._every_s))

    async def _asked(self, one: ModelList, *, told: bool) -> bool:
        """Take in what a list says; whether it answered. `told`: that it does not is in the log already."""
        try:
            self._listed[one.name] = await one.windows()
        except UpstreamDown as error:
            if not told:
                log.warning("models_not_listed", provider=one.name, reason=error.message)
            return False
        self._windows = replace(self._windows, listed=together(self._listed.values()))
        return True
