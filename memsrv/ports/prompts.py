"""What prompts begin with, and the accounts of those that were made."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

from memsrv.core.prompt.calibration import Calibration
from memsrv.model import Outset, Session, SessionKey, Wanted


class Outsets(Protocol):
    """What prompts begin with."""

    async def read(self, key: SessionKey, wanted: Callable[[Session], Wanted], *, opening: int) -> Outset:
        """One committed state of a session: itself, its pins, its newest sound snapshot, as many of its newest messages as are
        `wanted` of it, and if there are more, its first `opening` ones (before those); what is known of the counts of the
        wanted model. Else SessionNotFound."""
        ...


class Receipts(Protocol):
    """The accounts of the last prompts, a bounded number a session; each goes with the messages that it quotes."""

    async def add(
        self, session_number: int, id: str, body: Mapping[str, Any], *, quotes: Iterable[int], made_at: datetime
    ) -> None:
        """Keep a receipt; the same id again replaces it; the oldest beyond the bound go. May be written a moment later.
        `quotes` are the numbers of the chunks whose text is in it; one that was edited, deleted or forgotten meanwhile
        takes the receipt with it, also later."""
        ...

    async def find(self, session_number: int, id: str) -> Mapping[str, Any]:
        """One by its id, also while it is on its way to the store, else ReceiptNotFound."""
        ...

    async def report(self, session_number: int, id: str) -> bool:
        """Note that the provider's count of this prompt came in; False if it had come before, or the receipt is gone. The same
        prompt asked for again may be reported again."""
        ...

    async def listing(self, session_number: int, limit: int) -> list[Mapping[str, Any]]:
        """The newest first, those still on their way to the store included."""
        ...


class Calibrations(Protocol):
    """What providers counted, by tenant and model; an empty model stands for prompts that name none."""

    async def find(self, tenant: str, model: str) -> Calibration:
        """What is known; a neutral calibration while nothing is."""
        ...

    async def change(self, tenant: str, model: str, change: Callable[[Calibration], Calibration]) -> Calibration:
        """Put what `change` makes of it in its place, with no other write in between; `change` is pure and may run more than
        once. Those not heard of for longest may be forgotten."""
        ...
