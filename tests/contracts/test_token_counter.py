"""What every TokenCounter keeps."""

import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import regex
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from memsrv.adapters.tokens_tiktoken import CACHE_VARIABLE, WHOLE_CHARS, TiktokenCounter, cache_folder, shipped_vocabularies
from memsrv.errors import SettingsError
from memsrv.ports import TokenCounter

counter: TokenCounter = TiktokenCounter("o200k_base", shipped_vocabularies())
with cache_folder(shipped_vocabularies()):
    ENCODINGS = {name: tiktoken.get_encoding(name) for name in ("o200k_base", "cl100k_base")}

MODELS = ("gpt-4o", "gpt-4")
FLOODS = (
    "a",
    "_",
    "字",
    "\n",
    " ",
    "-",
    "👨‍👩‍👧",
    "\t ",
    "e\u0301",
    "0",
    "Zm9vYmFy",
    "The old road. ",
    "风很大，我们回家。",
    "don't ",
)
texts = st.lists(
    st.sampled_from(["plain words ", "字", "🇩🇪", "👩‍🚀", "e\u0301", "\n\n", "  ", "don't", "3.14", "<|endoftext|>"])
    | st.text(max_size=12),
    max_size=30,
)
texts_joined = texts.map("".join)


def provider_count(text: str, model: str) -> int:
    return len(ENCODINGS[tiktoken.encoding_name_for_model(model)].encode_ordinary(text))


def graphemes(text: str) -> set[int]:
    return {0, *(match.end() for match in regex.finditer(r"\X", text))}


@pytest.mark.parametrize("model", MODELS)
@given(texts_joined)
@settings(max_examples=40)
def test_a_text_of_usual_length_is_counted_as_the_provider_counts(model: str, text: str) -> None:
    assert counter.count(text, model) == provider_count(text, model)


@pytest.mark.parametrize("model", MODELS)
@given(st.lists(st.tuples(texts_joined, texts_joined), max_size=8), st.sampled_from(["\n", "\n\n", " \n", "\r\n"]))
@settings(max_examples=150)
def test_a_list_of_entries_is_counted_as_the_provider_counts(model: str, said: list[tuple[str, str]], end: str) -> None:
    text = "<memory:recall>\nQuotes:\n" + end.join(f"- 2026-03-01 09:30 {who} .83: {what}" for who, what in said)
    assert counter.count(text, model) == provider_count(text, model)


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_is_never_counted_low_and_hardly_high(flood: str) -> None:
    text = flood * (60_000 // len(flood))
    exact = provider_count(text, "gpt-4o")
    assert exact <= counter.count(text, "gpt-4o") <= exact * 1.1 + 50


def test_a_long_text_is_not_counted_below_any_other_way_to_slice_it() -> None:
    text = "".join(f"Ride {number} went over the hill, past mill {number * 7} and home. 风很大。" for number in range(900))
    naive = sum(provider_count(text[at : at + 4000], "gpt-4o") for at in range(0, len(text), 4000))
    assert len(text) > WHOLE_CHARS
    assert counter.count(text, "gpt-4o") >= naive


def test_a_row_of_blanks_that_overflows_the_tokenizer_is_counted() -> None:
    assert counter.count(" " * 1_000_000, None) > 7_000


def test_special_token_text_is_ordinary_text() -> None:
    assert counter.count("<|endoftext|>", "gpt-4o") > 1


def test_an_empty_text_costs_nothing() -> None:
    assert counter.count("", None) == 0


def test_a_lone_surrogate_is_counted() -> None:
    assert counter.count("half \ud83d here", None) >= 3


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        (None, "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo-0125", "cl100k_base"),
        ("some-model-of-ours", "o200k_base"),
        ("", "o200k_base"),
    ],
)
def test_the_model_tells_the_encoding_and_an_unknown_one_takes_the_default(model: str | None, encoding: str) -> None:
    assert counter.encoding_name(model) == encoding


def test_two_encodings_of_one_text_are_not_mixed_up() -> None:
    text = "我们周末去骑车吧" * 5
    assert [counter.count(text, model) for model in (*MODELS, *MODELS)] == [
        provider_count(text, model) for model in (*MODELS, *MODELS)
    ]


@pytest.mark.parametrize("cut", ["head", "tail"])
@given(texts_joined, st.integers(0, 60))
@settings(max_examples=60)
def test_what_is_kept_fits_and_is_cut_between_graphemes(cut: str, text: str, tokens: int) -> None:
    keep: Callable[[str, int, str | None], str] = getattr(counter, cut)
    kept = keep(text, tokens, None)
    assert counter.count(kept, None) <= tokens
    assert text.startswith(kept) if cut == "head" else text.endswith(kept)
    assert (len(kept) if cut == "head" else len(text) - len(kept)) in graphemes(text)


@pytest.mark.parametrize("cut", ["head", "tail"])
def test_a_text_that_fits_is_kept_whole(cut: str) -> None:
    text = "Ride over the hill and home. 风很大。" * 900
    assert getattr(counter, cut)(text, counter.count(text, None), None) == text


@pytest.mark.parametrize("cut", ["head", "tail"])
@pytest.mark.parametrize("flood", FLOODS)
def test_little_less_is_kept_than_could_be(cut: str, flood: str) -> None:
    text = flood * (40_000 // len(flood))
    tokens = counter.count(text, None) // 3
    kept = getattr(counter, cut)(text, tokens, None)
    assert tokens * 0.85 - 20 <= counter.count(kept, None) <= tokens


def test_no_tokens_keep_nothing() -> None:
    assert counter.head("words", 0, None) == counter.tail("words", -3, None) == ""


def test_threads_count_as_one() -> None:
    fresh = TiktokenCounter("cl100k_base", shipped_vocabularies())
    samples = [f"ride {number} over the hill" for number in range(200)] * 2
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: fresh.count(text, None), samples)) == [
            provider_count(text, "gpt-4") for text in samples
        ]


# --- the adapter's own promises ---------------------------------------------------------------------------------------


def test_an_unknown_default_encoding_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="o300k"):
        TiktokenCounter("o300k", shipped_vocabularies())


def test_a_model_whose_vocabulary_is_not_at_hand_is_counted_with_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert counter.encoding_name("davinci") == counter.encoding_name("gpt2") == "o200k_base"


def test_a_users_own_folder_is_asked_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for file in shipped_vocabularies().iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert TiktokenCounter("cl100k_base", tmp_path / "nothing here").count("ride", None) == 1


@pytest.mark.parametrize("own", [None, "/some/folder"])
def test_the_environment_is_as_before_after_loading(monkeypatch: pytest.MonkeyPatch, own: str | None) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    if own:
        monkeypatch.setenv(CACHE_VARIABLE, own)
    TiktokenCounter("o200k_base", shipped_vocabularies()).warm()
    assert os.environ.get(CACHE_VARIABLE) == own


def test_another_process_counts_the_same() -> None:
    other: TokenCounter = pickle.loads(pickle.dumps(counter))
    assert other.count("Ünïcode 字 and words", "gpt-4") == counter.count("Ünïcode 字 and words", "gpt-4")


def test_no_vocabulary_is_held_twice() -> None:
    counter.count("one", None)
    held = [part for part in vars(ENCODINGS["o200k_base"]).values() if isinstance(part, dict) and len(part) > 1000]
    assert held == []  # tiktoken has one of each encoding in a process, and its Rust half has the ranks
