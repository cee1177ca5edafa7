"""What is known of a chunk without its text."""

import pytest

from memsrv.core.recall.traits import plain, traits_of_text


def test_a_text_that_ends_as_a_question_asks():
    assert traits_of_text("Where is it?")[0]
    assert traits_of_text("钥匙在哪里？")[0]
    assert not traits_of_text("Where? Here.")[0]


def test_chinese_characters_are_noticed():
    assert traits_of_text("see 花盆")[1]
    assert not traits_of_text("see ひらがな and é")[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [("The bell rings.", "the bell  rings"), ("好的。", "好的"), ("  a\nb", "A B!")],
    ids=["case", "sign", "blank"],
)
def test_texts_that_say_the_same_are_alike(one, other):
    assert traits_of_text(one)[2] == traits_of_text(other)[2]


def test_signs_alone_are_kept():
    assert plain("...") != plain("!")
