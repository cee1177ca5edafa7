"""By which names and from which web pages the server may be asked.

Without keys a browser is the danger: any web page that its user opens can have it ask a loopback address. So only loopback
names are served (a page can point a name of its own at the loopback), and a request that a page of another origin makes is
refused. With keys neither is needed: a page does not know the key.
"""

from collections.abc import Collection

from starlette.datastructures import Headers

from memsrv.errors import ForeignHost, ForeignOrigin

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

API_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The API page sets itself up in a script of its own; nothing that was stored ever stands in it."""
PAGES = ("/docs", "/static-offline-docs")

SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def headers_for(path: str) -> dict[str, str]:
    """The headers of every answer. A route that sets one itself keeps its own."""
    policy = PAGE_POLICY if path.startswith(PAGES) else API_POLICY
    return {**SECURITY_HEADERS, "content-security-policy": policy}


def refuse_foreign(headers: Headers, origins: Collection[str]) -> None:
    """Raise ForeignHost or ForeignOrigin for what no user of a server without keys has asked for. `origins` may ask."""
    host = headers.get("host", "").lower()
    if bare(host) not in LOOPBACK_NAMES:
        raise ForeignHost("This server has no keys and is asked by a name that is not loopback.")
    origin = headers.get("origin", "").lower()
    if origin and origin not in origins and bare(origin.partition("://")[2]) not in LOOPBACK_NAMES:
        raise ForeignOrigin("This server has no keys and is asked by a web page of another origin.")


def bare(host: str) -> str:
    """A host without its port."""
    return host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
