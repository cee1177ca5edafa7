"""Reading ahead after a start: as much as there is room for, the latest first, whatever is not there yet."""

from collections.abc import Sequence

import numpy as np

from memsrv.errors import IndexDown, StoreDown
from memsrv.model import Scope
from memsrv.ports import Scored
from memsrv.services.warming import Warming
from tests.fakes import HashingEmbedder


def scope(number: int) -> Scope:
    return Scope("acme", (number,))


class Parts:
    """The stores as far as warming asks them, and what it asked for. The index is down for the first `down` searches."""

    def __init__(self, *latest: tuple[Scope, int], down: int = 0, store_down: bool = False):
        self.latest, self.down, self.store_down = latest, down, store_down
        self.opened: list[Scope] = []
        self.searched: list[Scope] = []

    async def changed_last(self, *, limit: int) -> Sequence[tuple[Scope, int]]:
        if self.store_down:
            raise StoreDown("It is down.")
        return self.latest[:limit]

    async def open(self, scope: Scope) -> None:
        self.opened.append(scope)

    async def search(self, scope: Scope, vector: np.ndarray, *, limit: int) -> Scored:
        if self.down:
            self.down -= 1
            raise IndexDown("It is not open yet.")
        assert np.isclose(np.linalg.norm(vector), 1.0)
        self.searched.append(scope)
        return Scored(np.empty(0, np.int64), np.empty(0, np.float32))


async def warmed(parts: Parts, most_chunks: int = 100) -> Parts:
    one = Warming(parts, parts, parts, HashingEmbedder(), most_chunks=most_chunks, retry_s=0.001)  # type: ignore[arg-type]
    one.start()
    await one.done()
    await one.close()
    return parts


async def test_words_and_vectors_of_the_latest_sessions_are_read() -> None:
    parts = await warmed(Parts((scope(2), 60), (scope(1), 40)))
    assert parts.opened == parts.searched == [scope(2), scope(1)]


async def test_what_has_no_room_is_passed_over() -> None:
    parts = await warmed(Parts((scope(3), 60), (scope(2), 50), (scope(1), 40)))
    assert parts.searched == [scope(3), scope(1)]


async def test_an_index_that_is_not_open_yet_is_waited_for() -> None:
    assert (await warmed(Parts((scope(1), 1), down=3))).searched == [scope(1)]


async def test_a_store_that_is_down_is_borne() -> None:
    assert (await warmed(Parts((scope(1), 1), store_down=True))).searched == []
