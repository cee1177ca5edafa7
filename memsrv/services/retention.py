"""Forget messages that are older than their session keeps them, once a day, in the background.

(1) What is due follows from the transcript and the settings alone: a stop in the midst loses nothing, the next sweep goes on.
(2) At most `PAGE` messages go in one transaction, so that no write waits long. (3) Each goes as if it were deleted by hand; pins
and meta stay. Once a day, since each time a summary of what went is derived anew. (4) Of several processes the one that leads
sweeps.
"""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog

from memsrv.core.retention import days_kept, expired
from memsrv.errors import MemsrvError
from memsrv.model import Session
from memsrv.ports import Lead, Sessions, Transcript
from memsrv.services.alone import ALONE
from memsrv.services.ingest import Ingest

PAGE = 200
SWEEP_S = 86_400.0
RETRY_S = 60.0
"""After a sweep that failed: the store was out of reach, or too many writes waited."""

log = structlog.get_logger()


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


class Retention:
    """One background task. `days`: what holds for sessions that set nothing, 0 is for good."""

    def __init__(
        self,
        transcript: Transcript,
        sessions: Sessions,
        ingest: Ingest,
        *,
        days: int,
        sweep_s: float = SWEEP_S,
        retry_s: float = RETRY_S,
        clock: Callable[[], datetime] = now,
        lead: Lead = ALONE,
    ):
        self._transcript, self._sessions, self._ingest = transcript, sessions, ingest
        self._days, self._sweep_s, self._retry_s = days, sweep_s, retry_s
        self._clock, self._lead = clock, lead
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to sweep, now and every day."""
        self._task = asyncio.create_task(self._run(), name="retention")

    async def close(self) -> None:
        """Stop; what is left goes at the next start."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def sweep(self) -> int:
        """Forget what is due in every session; how many messages that were."""
        taken, after = 0, 0
        while self._lead.held and (page := await self._sessions.every(after=after, limit=PAGE)):
            after = page[-1].number
            for session in page:
                if days := days_kept(session.settings, self._days):
                    taken += await self._expire(session, self._clock() - timedelta(days=days))
        return taken

    async def _run(self) -> None:
        while True:
            await self._lead.taken()
            wait_s = self._sweep_s
            try:
                if taken := await self.sweep():
                    log.info("messages expired", messages=taken)
            except MemsrvError as error:
                log.warning("retention failed", reason=error.message)
                wait_s = self._retry_s
            await asyncio.sleep(wait_s)

    async def _expire(self, session: Session, stored_before: datetime) -> int:
        opens = session.settings.get("profile") != "events"
        taken = 0
        while True:
            oldest = await self._transcript.messages(session.number, limit=PAGE)
            stretch = expired(oldest, stored_before, opens=opens)
            if stretch is None:
                return taken
            taken += (await self._ingest.erase(session, stretch)).messages
