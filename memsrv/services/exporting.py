"""A session as memsrv's own JSON Lines (see `core.imports.own`), as it is when the export begins."""

from collections.abc import AsyncIterator, Sequence

from memsrv.core.imports.own import header_line, message_line, state_of
from memsrv.model import Pin, Session
from memsrv.ports import Sessions, Transcript

PAGE = 500


async def exported(sessions: Sessions, transcript: Transcript, session: Session, pins: Sequence[Pin]) -> AsyncIterator[bytes]:
    """The lines, in pieces of many: the state with the pins, and every message up to the last that is there now."""
    counts = await sessions.counts(session.number)
    yield header_line(session.key.name, state_of(session, pins, counts.messages))
    after = 0
    while page := await transcript.messages(session.number, after=after, before=session.last_position + 1, limit=PAGE):
        after = page[-1].position
        yield b"".join(map(message_line, page))
