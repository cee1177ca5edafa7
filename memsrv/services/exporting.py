"""A session as memsrv's own JSON Lines (see `core.imports.own`), as it is when the export begins."""

from collections.abc import AsyncIterator, Sequence

from memsrv.core.imports.own import header_line, message_line, state_of
from memsrv.model import Pin, Session
from memsrv.ports import Sessions, Transcript

PAGE = 500


async def exported(sessions: Sessions, transcript: Transcript, session: Session, pins: Sequence[Pin]) -> AsyncIterator[bytes]:
    """The lines, in pieces of many: the state with the pins, and every message up to the last that is there now."""
    counts = await sessions.counts(session.number)
    newest = await transcript.messages(session.number, limit=1, newest_first=True)  # none that is counted comes after it
    yield header_line(session.key.name, state_of(session, pins, counts.messages))
    after, before = 0, newest[0].position + 1 if newest else 1
    while page := await transcript.messages(session.number, after=after, before=before, limit=PAGE):
        after = page[-1].position
        yield b"".join(map(message_line, page))
