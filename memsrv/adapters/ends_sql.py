"""The two ends of a session's talk, held in memory for those who read them again and again: prompts, and the proxy.

(1) Of a session whose newest messages are in memory only those that came since are read; an edit or a delete has all of them read
again. (2) Memory holds the messages of `HELD_SESSIONS` sessions, none with more than `HELD_CHARS` characters, those of pictures
counted too.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from memsrv.adapters.transcript_rows import LAST, NEWEST_FIRST, OLDEST_FIRST, message_of
from memsrv.model import Message, Session

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


class HeldEnds:
    """The ends of the sessions that were read last."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, Ends] = OrderedDict()  # the one used last stands last

    def get(self, session_number: int) -> Ends | None:
        """What is held of a session. May be called in a thread."""
        return self._held.get(session_number)

    def hold(self, session_number: int, ends: Ends) -> None:
        """Keep the ends of a session that was just used, unless they are too long."""
        if self._held.get(session_number) is not ends:
            self._held.pop(session_number, None)
            if sum(size_chars(message.payload) for message in (*ends.newest, *ends.first)) > HELD_CHARS:
                return
        self._held[session_number] = ends
        self._held.move_to_end(session_number)
        if len(self._held) > HELD_SESSIONS:
            self._held.popitem(last=False)

    def __len__(self) -> int:
        return len(self._held)


def size_chars(value: object) -> int:
    """Characters of all texts in a payload, the bytes of pictures included."""
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return sum(len(one) if isinstance(one, str) else size_chars(one) for one in inner)


def read_ends(connection: Connection, session: Session, held: Ends | None, *, most: int, opening: int) -> Ends:
    """A session's ends as of its row, by what is held of them."""
    known = held if held is not None and held.holds_for(session, most) else None
    if known is not None and known.last_position == session.last_position:
        return known
    since, most = (known.last_position, known.most) if known else (0, most)
    came = stretch(connection, session.number, after=since, most=most, newest_first=True)
    newest = (*came, *(known.newest if known else ()))[:most]
    if not opening:
        first = known.first if known else ()
    elif len(newest) < most:  # that is all there is
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
