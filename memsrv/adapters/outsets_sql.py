"""What a prompt begins with, over SQL: one transaction reads all of it, so it is one state of the session.

(1) An outset is what is committed when it is read: the session's row, read in the same transaction, says whether the messages
in memory still hold. (2) Of a session whose newest messages are in memory only those that came since are read; an edit or a
delete has all of them read again. (3) Memory holds the messages of `HELD_SESSIONS` sessions, none with more than
`HELD_CHARS` of text.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from memsrv.adapters.calibration_sql import calibration_of, row_of
from memsrv.adapters.database import Database
from memsrv.adapters.sessions_sql import PINS, pin_of, session_of, session_row
from memsrv.adapters.snapshots_sql import newest_sound
from memsrv.adapters.transcript_rows import LAST, NEWEST_FIRST, OLDEST_FIRST, message_of
from memsrv.core.text.content import text_of
from memsrv.model import Message, Outset, Session, SessionKey, Wanted

HELD_SESSIONS = 256
HELD_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Ends:
    """A session's `most` newest messages, from the newest back, and its first ones in order, as of its last position and its
    number of rewrites. Whether a message is `indexed` may have changed since."""

    last_position: int
    rewrites: int
    most: int
    newest: tuple[Message, ...]
    first: tuple[Message, ...]

    def holds_for(self, session: Session, most: int) -> bool:
        """Whether only what came since is missing. A read that another overtook may be handed what came after it."""
        return self.rewrites == session.rewrites and self.last_position <= session.last_position and self.most >= most

    def opening(self, shown: int) -> tuple[Message, ...]:
        """The first messages, as far as they lie before the `shown` newest; none if these are all there are."""
        if shown > len(self.newest):
            return ()
        oldest = self.newest[shown - 1].position
        return tuple(message for message in self.first if message.position < oldest)


class SqlOutsets:
    """Session, pins, newest sound summary, newest messages and the model's factor at once."""

    def __init__(self, database: Database):
        self._database = database
        self._held: OrderedDict[int, Ends] = OrderedDict()  # the one used last stands last

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
        self._hold(outset.session.number, ends)
        return outset

    def _hold(self, number: int, ends: Ends) -> None:
        if self._held.get(number) is not ends:
            self._held.pop(number, None)
            if sum(len(text_of(message.payload)) for message in (*ends.newest, *ends.first)) > HELD_CHARS:
                return
        self._held[number] = ends
        self._held.move_to_end(number)
        if len(self._held) > HELD_SESSIONS:
            self._held.popitem(last=False)


def read_ends(connection: Connection, session: Session, held: Ends | None, *, most: int, opening: int) -> Ends:
    """A session's ends as of its row, by what is held of them."""
    known = held if held is not None and held.holds_for(session, most) else None
    if known is not None and known.last_position == session.last_position:
        return known
    since, most = (known.last_position, known.most) if known else (0, most)
    came = stretch(connection, session.number, after=since, most=most, newest_first=True)
    newest = (*came, *(known.newest if known else ()))[:most]
    if len(newest) < most:  # that is all there is
        first = newest[::-1][:opening]
    else:
        first = known.first if known and len(known.first) == opening else stretch(connection, session.number, most=opening)
    return Ends(session.last_position, session.rewrites, most, newest, first)


def stretch(
    connection: Connection, session_number: int, *, after: int = 0, most: int, newest_first: bool = False
) -> tuple[Message, ...]:
    """At most so many messages after a position, the oldest or the newest of them."""
    query = NEWEST_FIRST if newest_first else OLDEST_FIRST
    which = {"session_number": session_number, "after": after, "before": LAST, "most": most}
    return tuple(message_of(row) for row in connection.execute(query, which))
