"""Text as an embedder can take it."""

from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.text.cleaning import BLANK, clean

characters = st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("\0\x01\x1f\x7f\t\n\u200b\ufeff ")


@given(st.text(characters), st.integers(1, 50))
def test_what_comes_out_can_be_encoded_and_is_not_blank(text: str, limit: int) -> None:
    cleaned = clean(text, max_chars=limit)
    cleaned.encode("utf-8")
    assert cleaned.strip()
    assert len(cleaned) <= limit
    assert not any(ord(character) < 32 and character not in "\t\n\r" for character in cleaned)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])).filter(lambda text: any(c.isalnum() for c in text)))
def test_a_text_without_such_characters_stays_as_it_is(text: str) -> None:
    assert clean(text, max_chars=10_000) == text


def test_words_on_both_sides_of_a_control_character_stay_apart() -> None:
    assert clean("copper\0kettle", max_chars=100) == "copper kettle"


def test_half_a_character_becomes_a_mark() -> None:
    assert clean("a\ud83d", max_chars=100) == "a\ufffd"


def test_a_text_with_nothing_to_see_becomes_a_stop() -> None:
    assert clean("\u200b \0\ufeff", max_chars=100) == BLANK
