"""Sessions, and their changes of mode."""

from collections.abc import Callable
from typing import Protocol

from memsrv.model import Forgotten, Mode, Pin, Scope, Session, SessionCounts, SessionKey, Switch


class Sessions(Protocol):
    """Sessions with their settings, meta and pins."""

    async def find(self, key: SessionKey) -> Session:
        """The session, else SessionNotFound."""
        ...

    async def save(
        self,
        key: SessionKey,
        change: Callable[[Session], Session],
        *,
        create: bool,
        mode_of: Callable[[Session], Mode] | None = None,
    ) -> Session:
        """Store the owner, settings and meta that `change` gives the session; a new one is made if `create`, else
        SessionNotFound. Read, changed and stored with no other write in between; `change` is pure, may run more than
        once, and changes nothing if it raises. Where `mode_of` tells another mode after it, that goes on the record of
        switches. The session's aside follows its owner and its retention."""
        ...

    async def listing(self, tenant: str, *, owner: str | None, after: str | None, limit: int) -> list[Session]:
        """Sessions of a tenant (and owner) in order of name, after the given name."""
        ...

    async def changed_last(self, *, limit: int) -> list[tuple[Scope, int]]:
        """The own scopes of those sessions of all tenants that hold chunks and were changed last, the latest first, each with
        the number of its chunks."""
        ...

    async def every(self, *, after: int, limit: int) -> list[Session]:
        """Sessions of every tenant numbered above `after`, in order of number: for the server's own rounds."""
        ...

    async def counts(self, session_number: int) -> SessionCounts:
        """What the session holds."""
        ...

    async def pending_index(self, session_number: int) -> int:
        """How many of the session's chunks wait for their vectors, as `counts` tells it, without counting the others."""
        ...

    async def forget(self, key: SessionKey, *, dry_run: bool = False) -> Forgotten:
        """Delete the session and all that hangs on it; its vectors follow; what went. A missing one is SessionNotFound. With
        `dry_run` it is only counted."""
        ...

    async def forget_owner(self, tenant: str, owner: str, *, dry_run: bool = False) -> Forgotten:
        """Delete every session of an owner in the tenant, all at once; what went, nothing if there is none."""
        ...

    async def scope(self, session: Session, *, owner_wide: bool) -> Scope:
        """The session's own scope, or that of all sessions of its owner (alone if it has none)."""
        ...

    async def pins(self, session_number: int) -> list[Pin]:
        """Pins, oldest first."""
        ...

    async def add_pin(self, session_number: int, text: str, kind: str) -> Pin:
        """Pin a text; pinning the same text again answers the pin that is there."""
        ...

    async def remove_pin(self, session_number: int, id: str) -> None:
        """Take a pin out, else PinNotFound."""
        ...


class Switches(Protocol):
    """Changes of a session's mode, on the record."""

    async def add(self, key: SessionKey, before: Mode, after: Mode, reason: str, version: int | None) -> Switch:
        """Set the session's mode and note why, both or neither. SessionNotFound if it is gone."""
        ...

    async def listing(self, session_number: int, *, limit: int) -> list[Switch]:
        """The newest first."""
        ...
