"""A server that is killed at any point has lost nothing, and mends itself; `bench/kills.py` is the long form."""

from bench.kills import POINTS, Book, rounds


def test_nothing_is_lost_doubled_or_beyond_recall_wherever_the_server_is_killed(tmp_path):
    wrong, done, books = rounds(tmp_path, kills=len(POINTS), sessions=3, seed=7)
    assert not wrong
    assert done.keys() == set(POINTS)
    assert any(book.texts for book in books)


def test_what_is_missing_doubled_changed_or_out_of_order_is_seen():
    def wrong(*read: tuple[int, str, str], on_its_way: dict[str, str] | None = None) -> list[str]:
        book = Book("s", {"a": "one", "b": "two"})
        if on_its_way is not None:
            book.expect(on_its_way)
        return book.faults(list(read))

    whole = (1, "a", "one"), (2, "b", "two")
    assert wrong(*whole) == []
    assert wrong(whole[0]) == ["lost or changed"]
    assert wrong(whole[0], on_its_way={"a": "one"}) == []
    assert wrong(whole[0], (2, "b", "too")) == ["lost or changed"]
    assert wrong((2, "a", "one"), (1, "b", "two")) == ["order"]
    assert wrong(*whole, (3, "b", "two")) == ["doubled"]
