"""Keys: how one is made, written on disk, and found again.

A key is `msk_<id>_<secret>`. The id is public and stands in lists and logs; the secret is 256 random bits and is shown once.

Only the SHA-256 of a key is kept. A slow hash (bcrypt, scrypt) is for passwords, which can be guessed: it makes each guess
dear. Nobody guesses 256 random bits, however fast the hash is, and this one is worked out with every request.
"""

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from memsrv.model import AccessKey, KeyScope

MARK = "msk"
ID_BYTES = 6
SECRET_BYTES = 32
LIFETIME = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def minted(
    tenant: str,
    scopes: Iterable[KeyScope],
    *,
    made_at: datetime,
    name: str = "",
    expires_at: datetime | None = None,
    rate_per_minute: int | None = None,
    max_body_bytes: int | None = None,
) -> tuple[AccessKey, str]:
    """A new key of a tenant, and its text, which is kept nowhere."""
    id = secrets.token_hex(ID_BYTES)
    text = f"{MARK}_{id}_{secrets.token_urlsafe(SECRET_BYTES)}"
    key = AccessKey(id, tenant, frozenset(scopes), digest(text), name, made_at, expires_at, None, rate_per_minute, max_body_bytes)
    return key, text


def digest(text: str) -> bytes:
    """What is kept of a key."""
    return sha256(text.encode("utf-8", "replace")).digest()


def id_in(text: str) -> str:
    """The id that a key's text names; "" if it is not one of ours."""
    mark, _, rest = text.partition("_")
    return rest.partition("_")[0] if mark == MARK else ""


def opens(key: AccessKey, text: str, now: datetime) -> bool:
    """Whether the text is this key, which is neither revoked nor expired. The time that the comparison takes tells nothing."""
    same = hmac.compare_digest(key.digest, digest(text))
    return same and key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def lifetime(written: str) -> timedelta:
    """`30m`, `12h`, `90d` or `52w` as a duration. Raises ValueError."""
    found = LIFETIME.fullmatch(written.strip())
    if found is None:
        raise ValueError("write it as a number with m, h, d or w, such as 90d")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


# --- on disk --------------------------------------------------------------------------------------------------------


def as_json(key: AccessKey) -> dict[str, Any]:
    """A key as it is written on disk."""
    return {
        "id": key.id,
        "tenant": key.tenant,
        "scopes": sorted(key.scopes),
        "sha256": key.digest.hex(),
        "name": key.name,
        "made_at": key.made_at.isoformat(),
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
        "rate_per_minute": key.rate_per_minute,
        "max_body_bytes": key.max_body_bytes,
    }


def from_json(written: Mapping[str, Any]) -> AccessKey:
    """A key as it was written. Raises KeyError, TypeError or ValueError for what is none."""
    return AccessKey(
        id=str(written["id"]),
        tenant=str(written["tenant"]),
        scopes=frozenset(map(KeyScope, written["scopes"])),
        digest=bytes.fromhex(written["sha256"]),
        name=str(written["name"]),
        made_at=moment(written["made_at"]),
        expires_at=moment(written["expires_at"]) if written["expires_at"] else None,
        revoked_at=moment(written["revoked_at"]) if written["revoked_at"] else None,
        rate_per_minute=whole(written["rate_per_minute"]),
        max_body_bytes=whole(written["max_body_bytes"]),
    )


def moment(written: str) -> datetime:
    return datetime.fromisoformat(written).astimezone(UTC)


def whole(written: object) -> int | None:
    return None if written is None else int(str(written))
