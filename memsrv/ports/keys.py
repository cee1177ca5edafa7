"""The keys that open the server."""

from typing import Protocol

from memsrv.model import AccessKey


class Keys(Protocol):
    """The keys that were made for a server. A change is on disk when it is told, and the next look finds it, in other processes
    too."""

    def all(self) -> tuple[AccessKey, ...]:
        """Every key, revoked ones too, in the order in which they were made."""
        ...

    def find(self, id: str) -> AccessKey | None:
        """The key of this id."""
        ...

    def add(self, key: AccessKey) -> None:
        """Keep a new key."""
        ...

    def replace(self, key: AccessKey) -> None:
        """Put a changed key in the place of the old one; nothing if it is not there."""
        ...
