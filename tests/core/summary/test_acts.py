"""What a sentence does, told by its words."""

import pytest

from memsrv.core.summary import acts
from memsrv.core.summary.acts import folded


@pytest.mark.parametrize("laugh", ["ha", "haha ", "哈", "嗯", "aha", "thanks so much ", "好的"])
def test_long_laughter_and_thanks_are_read_without_trying_every_way_to_part_them(laugh: str) -> None:
    text = folded(laugh * 200 + "xyz")
    assert not acts.SMALL_TALK.match(text)
    assert not acts.DOUBLE.search(text)
    acts.ACCEPTS.match(text)
    acts.ACKNOWLEDGES.match(text)


@pytest.mark.parametrize("text", ["hahaha", "haha, thanks so much!", "good morning, how are you?", "嗯嗯好的谢谢", "哈哈哈 收到"])
def test_small_talk_is_known_from_end_to_end(text: str) -> None:
    assert acts.SMALL_TALK.match(folded(text))
    assert not acts.SMALL_TALK.match(folded(f"{text} and book the Altona room"))


def test_a_word_begins_and_ends_beside_han_characters_but_not_inside_a_word() -> None:
    assert acts.UNCERTAIN.search(folded("这个maybe再看"))
    assert not acts.UNCERTAIN.search(folded("mightier"))
    assert not acts.UNCERTAIN.search(folded("émight"))
