"""Answers put together from what providers send."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.relay.streaming import Gathered, lines_of


def event(**delta):
    index, reason = delta.pop("index", 0), delta.pop("finish_reason", None)
    return f"data: {json.dumps({'choices': [{'index': index, 'delta': delta, 'finish_reason': reason}]})}\n\n"


def gathered(*pieces):
    answer = Gathered()
    for piece in pieces:
        answer.feed(piece if isinstance(piece, bytes) else piece.encode())
    return answer


STREAM = (
    event(role="assistant", content="")
    + event(reasoning_content="hm")
    + event(content="你好, ")
    + event(content="Ada")
    + event(tool_calls=[{"index": 0, "id": "c0", "type": "function", "function": {"name": "look", "arguments": ""}}])
    + event(tool_calls=[{"index": 1, "id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q"'}}])
    + event(tool_calls=[{"index": 0, "function": {"arguments": '{"a":1}'}}, {"index": 1, "function": {"arguments": ":2}"}}])
    + event(finish_reason="tool_calls")
    + 'data: {"choices": [], "usage": {"prompt_tokens": 12}}\n\ndata: [DONE]\n\n'
)


@given(st.lists(st.integers(1, len(STREAM.encode())), max_size=8))
def test_a_stream_comes_to_the_same_however_it_is_cut_into_pieces(cuts):
    data, edges = STREAM.encode(), sorted({0, *cuts, len(STREAM.encode())})
    answer = gathered(*(data[start:end] for start, end in pairwise(edges)))
    assert answer.message == {
        "role": "assistant",
        "content": "你好, Ada",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c0", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}},
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q":2}'}},
        ],
    }
    assert answer.done
    assert answer.complete
    assert answer.finish_reason == "tool_calls"
    assert answer.prompt_tokens == 12


def test_of_several_choices_the_first_is_gathered():
    answer = gathered(event(content="one"), event(content="two", index=1), event(content="!"))
    assert answer.message["content"] == "one!"


def test_a_stream_that_breaks_off_is_not_complete():
    assert not gathered(event(content="so far")).complete


def test_a_stream_that_ends_without_its_last_mark_is_complete_when_it_gave_a_reason():
    assert gathered(event(content="x"), event(finish_reason="stop")).complete


def test_an_error_in_a_stream_is_no_end():
    answer = gathered(event(content="x"), 'data: {"error": {"message": "overloaded"}}\n\n', "data: [DONE]\n\n")
    assert not answer.complete


def test_calls_without_an_index_are_told_apart_by_their_ids():
    pieces = [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "function": {"name": "g", "arguments": "{}"}},
    ]
    answer = gathered(*(event(tool_calls=[piece]) for piece in pieces))
    assert [call["id"] for call in answer.message["tool_calls"]] == ["a", "b"]


def test_a_refusal_is_an_answer():
    assert gathered(event(refusal="I "), event(refusal="won't.")).message == {
        "role": "assistant",
        "content": None,
        "refusal": "I won't.",
    }


def test_what_cannot_be_read_is_passed_over():
    answer = gathered(": ping\n\n", "data: {nonsense\n\n", "data: 5\n\n", 'data: {"choices": 7}\n\n', event(content="x"))
    assert answer.message["content"] == "x"


def test_nothing_said_is_no_message():
    assert gathered(event(role="assistant", content="")).message is None
    assert Gathered().message is None


def test_an_answer_in_one_piece_is_kept_as_it_is():
    said = {"role": "assistant", "content": "x", "annotations": [{"type": "url_citation"}]}
    answer = Gathered()
    answer.whole(json.dumps({"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}).encode())
    assert answer.message == said
    assert answer.complete


def test_a_body_that_is_no_completion_is_no_message():
    for body in (b"", b"<html>", b"[]", b'{"choices": []}', b'{"choices": [{"message": null}]}'):
        answer = Gathered()
        answer.whole(body)
        assert answer.message is None


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"a", b"\n")), max_size=10))
def test_a_stream_is_sent_on_in_whole_lines_and_nothing_of_it_is_lost(pieces):
    sent, rest = b"", b""
    for piece in pieces:
        ready, rest = lines_of(rest, piece)
        assert not ready or ready.endswith(b"\n")
        assert b"\n" not in rest
        sent += ready
    assert sent + rest == b"".join(pieces)
