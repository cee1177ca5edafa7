"""Who is asked about."""

import pytest

from memsrv.core.recall.cues import asked_role, is_question, named


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("What is my dog's name?", "user"),
        ("Do you remember what I bought?", "user"),
        ("Which recipe did you recommend to me?", "assistant"),
        ("Can you tell me what you suggested?", "assistant"),
        ("Where does Ada live?", None),
        ("我的狗叫什么名字?", "user"),
        ("你还记得我喜欢什么吗?", "user"),
        ("你推荐了哪本书?", "assistant"),
        ("小王住在哪里?", None),
        ("", None),
    ],
)
def test_a_question_tells_whose_words_are_meant(question, role):
    assert asked_role(question) == role


def test_speakers_are_known_by_full_and_first_name():
    speakers = {"Ada Lovelace", "Bob", "小明"}
    assert named("What did ADA say?", speakers) == {"Ada Lovelace"}
    assert named("小明喜欢什么?", speakers) == {"小明"}
    assert named("What about Bobby?", speakers) == set()


def test_naming_everybody_names_nobody():
    assert named("What did Ada and Bob agree on?", {"Ada", "Bob"}) == set()


def test_a_name_with_signs_of_a_pattern_is_taken_as_it_is():
    assert named("what did a.b say", {"a.b", "x"}) == {"a.b"}
    assert named("what did axb say", {"a.b", "x"}) == set()


def test_questions_are_known_by_their_end():
    assert is_question("Where? ")
    assert is_question("在哪里？")
    assert not is_question("Here? No.")
