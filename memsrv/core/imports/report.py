"""What an import came to: what was stored, what was there already, and what was skipped and why."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from memsrv.core.imports.drafts import Conversation, Imported, Skipped

PLACES = 5
"""Named for each reason; all are counted."""
CHANGED_KEPT = 100
CHANGED = "changed since it was stored; what is stored stays"


@dataclass(slots=True)
class Account:
    """What became of one session. `conflicts` are messages whose id is taken by other content, `changed` the ids of the first."""

    session: str
    source: str
    title: str
    stored: int = 0
    already_there: int = 0
    conflicts: int = 0
    changed: tuple[str, ...] = ()
    skipped: int = 0


class Report:
    """Adds up an import."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self._why: Counter[str] = Counter()
        self._places: dict[str, list[str]] = {}

    def total(self, name: str) -> int:
        """`stored`, `already_there`, or `conflicts`, over all sessions."""
        return sum(getattr(account, name) for account in self.accounts.values())

    def add(self, session: str, found: Conversation, done: Imported) -> None:
        """A conversation, or a part of one, and what became of its messages."""
        account = self.accounts.setdefault(session, Account(session, found.source, found.title))
        account.stored += done.stored
        account.already_there += done.already_there
        account.conflicts += done.conflicts
        account.changed = (*account.changed, *done.changed)[:CHANGED_KEPT]
        account.skipped += len(found.skipped) + len(done.too_large) + done.conflicts
        for one in (*found.skipped, *done.too_large):
            self.skip(one, session)
        self._why[CHANGED] += done.conflicts
        self._place(CHANGED, *(f"{session}: {id}" for id in done.changed))

    def skip(self, one: Skipped, where: str = "") -> None:
        """Something that was not stored, and the session or file that it belongs to."""
        self._why[one.why] += 1
        self._place(one.why, f"{where}: {one.place}" if where else one.place)

    def _place(self, why: str, *places: str) -> None:
        known = self._places.setdefault(why, [])
        known += places[: PLACES - len(known)]

    def skipped(self) -> list[dict[str, Any]]:
        """The reasons, the most frequent first, each with its number and the first places."""
        return [{"why": why, "count": count, "places": self._places[why]} for why, count in self._why.most_common() if count]

    def body(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "conversations": len(self.accounts),
            "stored": self.total("stored"),
            "already_there": self.total("already_there"),
            "conflicts": self.total("conflicts"),
            "skipped": self.skipped(),
            "sessions": [asdict(account) for account in self.accounts.values()],
        }
