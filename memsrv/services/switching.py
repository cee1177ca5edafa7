"""Change a session's mode at run time, so that nothing is lost by it.

What would leave the prompt is summarised and stored first, while messages go on coming. Then writes wait for a moment: if
nothing more would leave by now, the mode changes and the change goes on the record; else what came is summarised too. After
`ROUNDS` of that the writes wait for the last, short summary, `FROZEN_S` at most. If a summary fails nothing has changed. The
transcript stays whole, so switching back shows the old messages again.
"""

import asyncio

import structlog

from memsrv.core.prompt.policy import Defaults, Policy, resolve
from memsrv.errors import SummarizerDown
from memsrv.model import Mode, PromptRequest, SessionKey, Snapshot, Switch
from memsrv.ports import Sessions, Switches
from memsrv.services.compaction import Compaction
from memsrv.services.gates import Gates

ROUNDS = 3
FROZEN_S = 20.0

log = structlog.get_logger()


class Switching:
    """Safe switches."""

    def __init__(self, sessions: Sessions, switches: Switches, compaction: Compaction, gates: Gates, defaults: Defaults):
        self._sessions, self._switches = sessions, switches
        self._compaction, self._gates, self._defaults = compaction, gates, defaults

    async def switch(self, key: SessionKey, mode: Mode, reason: str) -> Switch:
        """Switch to a mode. Raises SessionNotFound, and SummarizerDown when it is refused."""
        made: Snapshot | None = None
        for _ in range(ROUNDS):
            made = await self._compaction.leave(key, await self._after(key, mode)) or made
            async with self._gates.frozen(key):
                if not await self._compaction.would_leave(key, await self._after(key, mode)):
                    return await self._set(key, mode, reason, made)
        async with self._gates.frozen(key):
            made = await self._leave_frozen(key, await self._after(key, mode)) or made
            return await self._set(key, mode, reason, made)

    async def _set(self, key: SessionKey, mode: Mode, reason: str, made: Snapshot | None) -> Switch:
        """Change the mode, on the record."""
        session = await self._sessions.find(key)
        before = resolve(self._defaults, session.settings).mode
        switch = await self._switches.add(key, before, mode, reason, made.version if made else None)
        log.info("mode switched", session=session.number, before=before.value, after=mode.value, version=switch.version)
        self._compaction.notify(await self._sessions.find(key))
        return switch

    async def _after(self, key: SessionKey, mode: Mode) -> Policy:
        """What will hold for the session."""
        session = await self._sessions.find(key)
        return resolve(self._defaults, session.settings, PromptRequest(mode=mode))

    async def _leave_frozen(self, key: SessionKey, after: Policy) -> Snapshot | None:
        """Summarise the last that came, while writes wait. Raises SummarizerDown when that takes too long."""
        try:
            async with asyncio.timeout(FROZEN_S):
                return await self._compaction.leave(key, after)
        except TimeoutError:
            raise SummarizerDown("The summary took too long while writes waited for it; the mode is as it was.") from None
