"""Change a session's mode at run time, so that nothing is lost by it.

Writes wait; what would leave the prompt is summarised and stored; the mode changes and the change goes on the record; writes
go on. If the summary fails nothing has changed. The transcript stays whole, so switching back shows the old messages again.
"""

import structlog

from memsrv.core.policy import Defaults, resolve
from memsrv.model import Mode, PromptRequest, SessionKey, Switch
from memsrv.ports import Sessions, Switches
from memsrv.services.compaction import Compaction
from memsrv.services.gates import Gates

log = structlog.get_logger()


class Switching:
    """Safe switches."""

    def __init__(self, sessions: Sessions, switches: Switches, compaction: Compaction, gates: Gates, defaults: Defaults):
        self._sessions, self._switches = sessions, switches
        self._compaction, self._gates, self._defaults = compaction, gates, defaults

    async def switch(self, key: SessionKey, mode: Mode, reason: str) -> Switch:
        """Switch to a mode. Raises SessionNotFound, and SummarizerDown when it is refused."""
        async with self._gates.frozen(key):
            session = await self._sessions.find(key)
            before = resolve(self._defaults, session.settings).mode
            after = resolve(self._defaults, session.settings, PromptRequest(mode=mode))
            made = await self._compaction.leave(key, after)
            switch = await self._switches.add(key, before, mode, reason, made.version if made else None)
        log.info("mode switched", session=session.number, before=before.value, after=mode.value, version=switch.version)
        self._compaction.notify(await self._sessions.find(key))
        return switch
