"""How much may wait at once: beyond, who comes is told to come back, and nothing collapses."""

from collections.abc import Iterator
from contextlib import contextmanager

from memsrv.errors import Busy


class Pressure:
    """At most `most` turns are taken at once. `what` names them, in the plural."""

    def __init__(self, most: int, what: str):
        self._most = most
        self._what = what
        self._taken = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn, from the waiting to the end. Raises Busy."""
        if self._taken >= self._most:
            raise Busy(f"{self._taken} {self._what} wait already.")
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
