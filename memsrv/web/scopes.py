"""Which scopes a key needs for which route, in one place.

The first row that fits counts; what no row names is for `admin` alone, so that a route that is forgotten here is closed.
A route that changes something and answers with stored text needs both `read` and `write`: a key that may only write learns
nothing. `admin` may do everything.
"""

import re

from memsrv.errors import ForbiddenScope
from memsrv.model import AccessKey, KeyScope

NONE = frozenset[KeyScope]()
READ = frozenset({KeyScope.READ})
WRITE = frozenset({KeyScope.WRITE})
BOTH = READ | WRITE
ADMIN = frozenset({KeyScope.ADMIN})

OPEN_PATHS = frozenset({"/healthz"})
"""What everybody may ask, without a key."""

ROWS: tuple[tuple[str, str, frozenset[KeyScope]], ...] = (
    # method, path (* is one segment, ** all that follow), scopes
    ("GET", "/healthz", NONE),
    ("GET", "/readyz", NONE),
    ("GET", "/openapi.json", NONE),
    ("GET", "/docs/**", NONE),
    ("GET", "/static-offline-docs/**", NONE),
    ("GET", "/metrics", ADMIN),
    ("GET", "/reindex", ADMIN),
    ("POST", "/reindex", ADMIN),
    ("POST", "/verify", ADMIN),
    ("POST", "/purge", ADMIN),
    ("POST", "/mcp", NONE),  # its tools ask the routes below, with the same key
    ("GET", "/context/**", READ),
    ("POST", "/context/*/prompt", READ),
    ("POST", "/context/*/messages", WRITE),
    ("POST", "/context/*/import", WRITE),
    ("POST", "/import", WRITE),
    ("DELETE", "/context/*/messages", WRITE),
    ("DELETE", "/context/*/messages/*", WRITE),
    ("PUT", "/context/*", WRITE),
    ("PATCH", "/context/*", WRITE),
    ("PUT", "/context/*/meta", WRITE),
    ("POST", "/context/*/pins", WRITE),
    ("DELETE", "/context/*/pins/*", WRITE),
    ("POST", "/context/*/usage", WRITE),
    ("POST", "/context/*/mode", WRITE),
    ("PATCH", "/context/*/messages/*", BOTH),
    ("PATCH", "/context/*/meta", BOTH),
    ("POST", "/context/*/handoff", BOTH),
    ("POST", "/context/*/compact", BOTH),
    ("POST", "/context/*/summaries/*/restore", BOTH),
    ("DELETE", "/context", ADMIN),
    ("POST", "/v1/chat/completions", BOTH),
    ("GET", "/v1/models", READ),
    ("DELETE", "/context/*", ADMIN),
)


def pattern(path: str) -> re.Pattern[str]:
    """The paths that a row's path stands for."""
    return re.compile(re.escape(path).replace(r"/\*\*", "(?:/.*)?").replace(r"\*", "[^/]+"))


COMPILED = tuple((method, pattern(path), scopes) for method, path, scopes in ROWS)


def named(method: str, path: str) -> frozenset[KeyScope] | None:
    """The scopes that the table names for a request; None if no row fits."""
    asked = "GET" if method == "HEAD" else method
    return next((scopes for verb, like, scopes in COMPILED if verb == asked and like.fullmatch(path)), None)


def refuse_unless_scoped(key: AccessKey, method: str, path: str) -> None:
    """Raise ForbiddenScope for a request that the key's scopes do not reach."""
    scopes = named(method, path)
    missing = (ADMIN if scopes is None else scopes) - key.scopes
    if missing and KeyScope.ADMIN not in key.scopes:
        raise ForbiddenScope(f"This needs a key with the scope {' and '.join(sorted(missing))}.")
