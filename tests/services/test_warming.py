"""Reading ahead after a start: as much as there is room for, the latest first, whatever is not there yet."""

from collections.abc import Sequence

from memsrv.errors import IndexDown, StoreDown
from memsrv.model import Scope
from memsrv.services.warming import Warming


def scope(number: int) -> Scope:
    return Scope("acme", (number,))


class Store:
    """The sessions, as far as warming asks them."""

    def __init__(self, *latest: tuple[Scope, int], down: bool = False):
        self.latest, self.down = latest, down

    async def changed_last(self, *, limit: int) -> Sequence[tuple[Scope, int]]:
        if self.down:
            raise StoreDown("It is down.")
        return self.latest[:limit]


class Index:
    """An index of either kind, and what was opened of it. It is down the first `down` times."""

    def __init__(self, down: int = 0):
        self.down = down
        self.opened: list[Scope] = []

    async def open(self, scope: Scope) -> None:
        if self.down:
            self.down -= 1
            raise IndexDown("It is not open yet.")
        self.opened.append(scope)


async def warmed(store: Store, vectors: Index | None = None) -> tuple[list[Scope], list[Scope]]:
    """Scopes whose words and whose vectors were brought, where there is room for 100 chunks."""
    lexical, vectors = Index(), vectors or Index()
    one = Warming(store, lexical, vectors, most_chunks=100, retry_s=0.001)  # type: ignore[arg-type]
    one.start()
    await one.done()
    await one.close()
    return lexical.opened, vectors.opened


async def test_words_and_vectors_of_the_latest_sessions_are_read() -> None:
    words, vectors = await warmed(Store((scope(2), 60), (scope(1), 40)))
    assert words == vectors == [scope(2), scope(1)]


async def test_what_has_no_room_is_passed_over() -> None:
    _, vectors = await warmed(Store((scope(3), 60), (scope(2), 50), (scope(1), 40)))
    assert vectors == [scope(3), scope(1)]


async def test_an_index_that_is_not_open_yet_is_waited_for() -> None:
    _, vectors = await warmed(Store((scope(1), 1)), Index(down=3))
    assert vectors == [scope(1)]


async def test_a_store_that_is_down_is_borne() -> None:
    assert await warmed(Store((scope(1), 1), down=True)) == ([], [])
