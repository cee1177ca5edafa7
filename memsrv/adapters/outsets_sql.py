"""What a prompt begins with, over SQL: one transaction reads all of it, so it is one state of the session."""

from collections.abc import Callable

from sqlalchemy import Connection

from memsrv.adapters.database import Database
from memsrv.adapters.sessions_sql import PINS, pin_of, session_of, session_row
from memsrv.adapters.snapshots_sql import newest_sound
from memsrv.adapters.transcript_rows import LAST, NEWEST_FIRST, OLDEST_FIRST, message_of
from memsrv.model import Message, Outset, Session, SessionKey


class SqlOutsets:
    """Session, pins, newest sound summary and newest messages at once."""

    def __init__(self, database: Database):
        self._database = database

    async def read(self, key: SessionKey, *, newest: Callable[[Session], int], opening: int) -> Outset:
        """See `ports.Outsets`."""

        def run(connection: Connection) -> Outset:
            session = session_of(session_row(connection, key))
            pins = [pin_of(row) for row in connection.execute(PINS, {"session_number": session.number})]
            most = newest(session)
            messages = stretch(connection, session.number, most=most, newest_first=True)
            whole = len(messages) < most
            first = () if whole else stretch(connection, session.number, before=messages[-1].position, most=opening)
            return Outset(session, tuple(pins), newest_sound(connection, session.number), tuple(messages), tuple(first))

        return await self._database.read(run)


def stretch(
    connection: Connection, session_number: int, *, before: int = LAST, most: int, newest_first: bool = False
) -> list[Message]:
    """At most so many messages before a position, the oldest or the newest of them."""
    query = NEWEST_FIRST if newest_first else OLDEST_FIRST
    which = {"session_number": session_number, "after": 0, "before": before, "most": most}
    return [message_of(row) for row in connection.execute(query, which)]
