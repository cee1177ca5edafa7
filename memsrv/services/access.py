"""Who may come in: the keys of the settings, and those made by the command line.

(1) Once a server has had a key it wants one, also when the last was revoked: nobody gets in because a key went.
(2) A key is found by its id and compared in constant time; the keys of the settings, which have none, are all compared.
(3) A key of the settings may do everything.
"""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from memsrv.core.keys import digest, id_in, opens
from memsrv.errors import KeyNotFound, Unauthorized
from memsrv.model import AccessKey, KeyScope
from memsrv.ports import Keys

DEFAULT_TENANT = "default"
ALL = frozenset({KeyScope.ADMIN})
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
ANYBODY = AccessKey("", DEFAULT_TENANT, ALL, b"", "", BEGINNING)
"""Who asks a server without keys."""


def now() -> datetime:
    return datetime.now(UTC)


class Access:
    """`given` are the keys of the settings by tenant."""

    def __init__(self, given: Mapping[str, str], keys: Keys, clock: Callable[[], datetime] = now):
        self._given = tuple(
            AccessKey(f"env:{tenant}", tenant, ALL, digest(text), "", BEGINNING) for tenant, text in given.items()
        )
        self._keys = keys
        self._clock = clock
        self._had_keys = bool(given)

    @property
    def wanted(self) -> bool:
        """Whether a key is wanted."""
        self._had_keys = self._had_keys or bool(self._keys.all())
        return self._had_keys

    def key(self, authorization: str) -> AccessKey:
        """The key in an `Authorization` header. Raises Unauthorized."""
        if not self.wanted:
            return ANYBODY
        scheme, _, text = authorization.partition(" ")
        found = self._of(text.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise Unauthorized("This server wants a key, and the request has none that fits.")
        return found

    def add(self, key: AccessKey) -> None:
        """Let a new key in."""
        self._keys.add(key)

    def all(self) -> tuple[AccessKey, ...]:
        """The keys of the settings, then the others, revoked ones too."""
        return (*self._given, *self._keys.all())

    def revoke(self, id: str) -> AccessKey:
        """Let a key in no more. It stays in the list. A second time changes nothing. Raises KeyNotFound."""
        key = self._keys.find(id)
        if key is None:
            raise KeyNotFound(f"No key has the id {id[:64]!r}.")
        if key.revoked_at is None:
            key = replace(key, revoked_at=self._clock())
            self._keys.replace(key)
        return key

    def _of(self, text: str) -> AccessKey | None:
        asked = digest(text)
        given = [key for key in self._given if hmac.compare_digest(key.digest, asked)]
        made = self._keys.find(id_in(text))
        if made is not None and opens(made, text, self._clock()):
            given.append(made)
        return given[0] if given else None
