"""Keys and what they may do."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class KeyScope(StrEnum):
    """What a key may do: read, write, or all (`admin`)."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key of one tenant. Its text is not known: only the SHA-256 of it. A limit that is None is the server's."""

    id: str
    tenant: str
    scopes: frozenset[KeyScope]
    digest: bytes
    name: str
    made_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    rate_per_minute: int | None = None
    max_body_bytes: int | None = None
