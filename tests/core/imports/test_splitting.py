"""Bytes to values."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsrv.core.imports.splitting import Unreadable, Value, values
from memsrv.errors import BadExport

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def pieces(body, size):
    return (body[start : start + size] for start in range(0, len(body), size))


def read(text, size=1 << 20):
    return list(values(pieces(text.encode(), size)))


@settings(max_examples=200)
@given(
    listed=st.lists(JSON, min_size=1, max_size=5), size=st.integers(1, 50), indent=st.sampled_from([None, 1]), key=st.booleans()
)
def test_the_items_of_a_list_come_whole_however_the_file_is_cut(listed, size, indent, key):
    written = json.dumps({"a": [1], "conversations": listed, "b": {"c": []}} if key else listed, indent=indent)
    assert [one.data for one in read(written, size)] == listed


@settings(max_examples=100)
@given(rows=st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=3), min_size=2, max_size=5), size=st.integers(1, 50))
def test_the_rows_of_json_lines_come_whole_however_the_file_is_cut(rows, size):
    assert [one.data for one in read("\n".join(map(json.dumps, rows)), size)] == rows


def test_an_object_that_wraps_no_list_is_one_value():
    assert read('{"history": {"messages": {}}, "messages": [1, 2]}') == [
        Value({"history": {"messages": {}}, "messages": [1, 2]}, "item 1")
    ]


def test_objects_one_behind_the_other_are_values_each():
    assert [one.data for one in read('{"a": 1}{"b": 2} [3, 4]')] == [{"a": 1}, {"b": 2}, 3, 4]


def test_what_is_no_json_costs_only_itself():
    assert read('[{"a": 1}, {"a": nope}, {"a": 2}]') == [
        Value({"a": 1}, "item 1"),
        Unreadable("not JSON", "item 2"),
        Value({"a": 2}, "item 3"),
    ]
    assert read('{"a": 1}\nnope\n\n{"a": 2}') == [
        Value({"a": 1}, "line 1"),
        Unreadable("not JSON", "line 2"),
        Value({"a": 2}, "line 4"),
    ]


def test_a_bad_first_line_does_not_hide_that_there_are_lines():
    assert read('{nope\n{"a": 1}\n{"a": 2}\n')[1:] == [Value({"a": 1}, "line 2"), Value({"a": 2}, "line 3")]


def test_a_value_that_is_nested_without_end_costs_only_itself():
    assert read("[" + "[" * 100_000 + "]" * 100_000 + ", 1]") == [Unreadable("nested too deeply", "item 1"), Value(1, "item 2")]


def test_numbers_that_are_none_are_null():
    assert read('[{"a": NaN, "b": 1e999}]') == [Value({"a": None, "b": None}, "item 1")]


def test_a_file_that_ends_in_the_middle_gives_what_stands_before():
    found = values([b'[{"a": 1}, {"a": "b'])
    assert next(found) == Value({"a": 1}, "item 1")
    with pytest.raises(BadExport, match="ends in the middle of item 2"):
        next(found)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \n", "empty"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "no text"),
        ("[]".encode("utf-16"), "no text"),
        (b"hello", "neither JSON nor JSON Lines"),
    ],
)
def test_what_is_no_export_is_refused_by_what_it_is(body, says):
    with pytest.raises(BadExport, match=says):
        list(values([body]))


def test_only_one_value_is_held_at_a_time():
    given = 0

    def endless():
        nonlocal given
        yield b"["
        for _ in range(10_000):
            given += 1
            yield b'{"a": "' + b"x" * 10_000 + b'"},'

    found = values(endless())
    next(found)
    assert given < 1000, "the file was read ahead of what was asked for"
