"""What a prompt begins with, over SQL: one transaction reads all of it, so it is one state of the session.

An outset is what is committed when it is read: the session's row, read in the same transaction, says whether what is in memory
(see `ends_sql`) still holds.
"""

from collections.abc import Callable

from sqlalchemy import Connection

from memsrv.adapters.calibration_sql import calibration_of, row_of
from memsrv.adapters.database import Database
from memsrv.adapters.ends_sql import Ends, HeldEnds, read_ends
from memsrv.adapters.sessions_sql import PINS, pin_of, session_of, session_row
from memsrv.adapters.snapshots_sql import newest_sound
from memsrv.model import Outset, Session, SessionKey, Wanted


class SqlOutsets:
    """Session, pins, newest sound summary, newest messages and the model's factor at once."""

    def __init__(self, database: Database, held: HeldEnds | None = None):
        self._database = database
        self._held = held or HeldEnds()

    async def read(self, key: SessionKey, wanted: Callable[[Session], Wanted], *, opening: int) -> Outset:
        """See `ports.Outsets`."""

        def run(connection: Connection) -> tuple[Outset, Ends]:
            session = session_of(session_row(connection, key))
            pins = tuple(pin_of(row) for row in connection.execute(PINS, {"session_number": session.number}))
            of_it = wanted(session)
            ends = read_ends(connection, session, self._held.get(session.number), most=of_it.newest, opening=opening)
            snapshot = newest_sound(connection, session.number)
            percent = calibration_of(row_of(connection, key.tenant, of_it.model or "")).percent
            newest, first = ends.newest[: of_it.newest], ends.opening(of_it.newest)
            return Outset(session, pins, snapshot, newest, first, percent), ends

        outset, ends = await self._database.read(run)
        self._held.hold(outset.session.number, ends)
        return outset
