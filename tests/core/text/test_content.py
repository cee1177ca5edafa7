"""What can be searched in a message, and what makes two messages the same."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.text.content import digest, mended, text_of

LUNCH = {"id": "c1", "type": "function", "function": {"name": "book_table", "arguments": '{"guests": 4}'}}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=[])), inner),
    max_leaves=8,
)


def test_a_string_content_is_its_own_text() -> None:
    assert text_of({"role": "user", "content": "  as it stands \n"}) == "  as it stands \n"


def test_text_parts_stand_on_lines_of_their_own() -> None:
    parts = [
        {"type": "text", "text": "The frame size is"},
        {"type": "input_text", "text": "56-14"},
        {"type": "output_text", "text": "noted"},
        {"type": "refusal", "refusal": "not that"},
    ]
    assert text_of({"role": "user", "content": parts}) == "The frame size is\n56-14\nnoted\nnot that"


def test_blank_and_broken_parts_leave_no_empty_lines() -> None:
    parts = [
        {"type": "text", "text": ""},
        {"type": "text", "text": None},
        {"type": "text"},
        None,
        7,
        "plain",
        {"type": "text", "text": "end"},
    ]
    assert text_of({"role": "user", "content": parts}) == "plain\nend"


def test_bytes_of_images_sounds_and_files_are_no_text() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg", "format": "wav"}},
        {"type": "file", "file": {"file_data": "JVBERi0"}, "text": "JVBERi0"},
        {"type": "text", "text": "What is that?"},
    ]
    assert text_of({"role": "user", "content": parts}) == "What is that?"


def test_reasoning_is_no_text() -> None:
    payload = {"role": "assistant", "content": "Yes.", "reasoning_content": "hm", "reasoning": "well"}
    assert text_of(payload) == "Yes."


def test_tool_calls_are_lines_after_the_content() -> None:
    payload = {"role": "assistant", "content": "One moment.", "tool_calls": [LUNCH, LUNCH]}
    assert text_of(payload) == 'One moment.\nbook_table({"guests": 4})\nbook_table({"guests": 4})'


def test_a_message_of_calls_alone_has_only_their_lines() -> None:
    assert text_of({"role": "assistant", "content": None, "tool_calls": [LUNCH]}) == 'book_table({"guests": 4})'


def test_custom_tools_and_the_old_function_call_are_lines_too() -> None:
    custom = {"type": "custom", "custom": {"name": "shell", "input": "ls"}}
    payload = {
        "role": "assistant",
        "content": None,
        "tool_calls": [custom],
        "function_call": {"name": "f", "arguments": {"a": "ü"}},
    }
    assert text_of(payload) == 'shell(ls)\nf({"a": "ü"})'


def test_broken_calls_have_no_line() -> None:
    assert (
        text_of({"role": "assistant", "content": None, "tool_calls": [None, {}, {"function": None}, {"function": {"name": ""}}]})
        == ""
    )


def test_a_refusal_beside_a_null_content_is_text() -> None:
    assert text_of({"role": "assistant", "content": None, "refusal": "I can't do that."}) == "I can't do that."


def test_a_message_without_content_has_no_text() -> None:
    assert text_of({"role": "user"}) == text_of({"role": "user", "content": []}) == ""


def test_the_order_of_keys_does_not_change_a_digest() -> None:
    assert digest({"role": "user", "content": "hi"}, None, {"a": 1, "b": 2}) == digest(
        {"content": "hi", "role": "user"}, None, {"b": 2, "a": 1}
    )


def test_other_content_has_another_digest() -> None:
    digests = {
        digest(payload, None, None)
        for payload in ({"content": "1"}, {"content": 1}, {"content": ["1"]}, {"content": "1", "name": "x"})
    }
    assert len(digests) == 4


def test_a_message_sent_again_with_a_new_time_has_the_same_digest() -> None:
    assert digest({"content": "hi"}, datetime(2026, 5, 1, tzinfo=UTC), None) == digest({"content": "hi"}, None, None)


def test_other_metadata_makes_another_digest_but_empty_metadata_is_none() -> None:
    bare = digest({"content": "hi"}, None, None)
    assert digest({"content": "hi"}, None, {}) == bare
    assert digest({"content": "hi"}, None, {"channel": "mail"}) != bare


def test_a_lone_half_of_a_pair_becomes_the_replacement_character() -> None:
    assert mended("cut \ud83d off \ude00 end\ud83d") == "cut � off � end�"


def test_two_halves_are_joined() -> None:
    assert mended("\ud83d\ude00 \ud83d\ud83d\ude00") == "😀 �😀"


def test_keys_and_nested_values_are_mended() -> None:
    assert mended({"a\udc00": [{"b": "\ud800"}, ("\ud83d\ude00",)], "n": 3}) == {"a�": [{"b": "�"}, ["😀"]], "n": 3}


@given(anything)
def test_what_is_mended_can_be_written_and_digested(value: object) -> None:
    whole = mended(value)
    assert mended(whole) == whole
    repr(whole).encode("utf-8")
    assert digest({"content": whole}, None, None) == digest({"content": whole}, None, None)


@given(st.text())
def test_valid_text_is_left_alone(text: str) -> None:
    assert mended(text) == text
