"""How long messages are kept, and which of a session are older.

(1) What counts is the time at which a message was stored, not the time that a client gave it: a wrong clock of a client loses
    nothing. (2) Messages go from the oldest on; one that is younger ends it, so that a clock of ours that was set back keeps too
    much, never too little. (3) The system messages that open a talk stand for its meta, and stay.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from memsrv.core.prompt.turns import leading_system
from memsrv.model import Message, Stretch


def days_kept(settings: Mapping[str, Any], default: int) -> int:
    """Days that a session's messages are kept; 0 is for good. `settings` are the session's own."""
    own = (settings.get("retention") or {}).get("days")
    return default if own is None else int(own)


def expired(oldest: Sequence[Message], stored_before: datetime, *, opens: bool) -> Stretch | None:
    """Which of a session's oldest messages, in order, are to go; None if none is. `opens`: they may begin with the system
    messages that open a talk."""
    opening = leading_system(oldest) if opens else ()
    old = list(takewhile(lambda message: message.stored_at < stored_before, oldest[len(opening) :]))
    if not old:
        return None
    return Stretch(after=opening[-1].position if opening else 0, before=old[-1].position + 1)
