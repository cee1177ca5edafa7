"""Answers are kept for so many texts, and for none that would take much memory."""

from memsrv.core.remembering import LONGEST, Latest, Same, remembered


class Length:
    """A function that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def of(self, text: str) -> int:
        self.asked += 1
        return len(text)


def test_a_text_is_read_once() -> None:
    length = Length()
    kept = remembered(2)(length.of)
    assert [kept("one"), kept("one"), length.asked] == [3, 3, 1]


def test_no_more_texts_are_kept_than_were_asked_for() -> None:
    length = Length()
    kept = remembered(2)(length.of)
    assert [kept(text) for text in ("a", "b", "c", "a")] == [1] * 4
    assert length.asked == 4


def test_a_long_text_is_not_kept() -> None:
    length = Length()
    kept = remembered(2)(length.of)
    long = "x" * (LONGEST + 1)
    assert [kept(long), kept(long), length.asked] == [LONGEST + 1, LONGEST + 1, 2]


def test_the_keys_set_last_are_held() -> None:
    latest: Latest[str, int] = Latest(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        latest[key] = value
    assert latest == {"a": 3, "c": 4}


def test_a_value_is_the_same_only_if_it_is_the_very_one() -> None:
    one, other = ["a"], ["a"]
    assert Same(one) == Same(one)
    assert Same(one) != Same(other)
    assert {Same(one): 1}.get(Same(other)) is None
