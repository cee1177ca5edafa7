"""A session as memsrv's own JSON Lines (see `core.imports.own`), as it is when the export begins."""

from collections.abc import AsyncIterator, Sequence

from memsrv.core.imports.own import deleted_line, header_line, message_line, state_of
from memsrv.model import Pin, Session
from memsrv.ports import Sessions, Transcript

PAGE = 500


async def exported(sessions: Sessions, transcript: Transcript, session: Session, pins: Sequence[Pin]) -> AsyncIterator[bytes]:
    """The lines, in pieces of many: the state with the pins, and every message up to the last that is there now;
    how many were deleted meanwhile, if any were."""
    counts = await sessions.counts(session.number)
    newest = await transcript.messages(session.number, limit=1, newest_first=True)  # none that is counted comes after it
    yield header_line(session.key.name, state_of(session, pins, counts.messages))
    after, before, left = 0, newest[0].position + 1 if newest else 1, counts.messages
    while page := await transcript.messages(session.number, after=after, before=before, limit=PAGE):
        after, left = page[-1].position, left - len(page)
        yield b"".join(map(message_line, page))
    if left > 0:
        yield deleted_line(left)
