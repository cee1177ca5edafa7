"""The real server, for requests that nobody would write."""

from tests.e2e.conftest import serve

__all__ = ["serve"]
