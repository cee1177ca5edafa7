"""Several processes on the same stores, and which of them does what."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Lead(Protocol):
    """Which of several processes on the same stores does what only one should: index, catch up, throw away."""

    @property
    def held(self) -> bool:
        """Whether it is this one, as far as is known. After a connection broke two may think so for a moment."""
        ...

    async def taken(self) -> None:
        """Return when it is this one."""
        ...

    async def lost(self) -> None:
        """Return when it is not."""
        ...


class Claims(Protocol):
    """Which process summarises a session at the moment."""

    def claim(self, session_number: int) -> AbstractAsyncContextManager[bool]:
        """Whether the session is this process's own while inside: no other that asks gets it. Within a process it is not to be
        asked for twice at once. Raises StoreDown."""
        ...
