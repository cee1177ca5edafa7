"""Spoilt, cut and garbled exports."""

import json
from contextlib import suppress
from copy import deepcopy
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsrv.core.imports.drafts import Conversation
from memsrv.core.imports.formats import conversations
from memsrv.core.imports.naming import session_of
from memsrv.core.imports.splitting import values
from memsrv.errors import BadExport
from memsrv.web.edge import name_of
from tests.core.imports.samples import FILES, LINES, accepted, read, read_lines

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["user", "\ud800", "\x00", "r1", "u1", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoilt(draw, sample):
    """A sample in which some values were replaced, doubled or taken out."""
    data = deepcopy(sample)
    for _ in range(draw(st.integers(1, 4))):
        at = data
        while isinstance(at, dict | list) and at:
            key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
            if not isinstance(at[key], dict | list) or not at[key] or draw(st.booleans()):
                break
            at = at[key]
        if not isinstance(at, dict | list) or not at:
            break
        what = draw(st.sampled_from(["replace", "drop", "double"]))
        if what == "replace":
            at[key] = draw(JUNK)
        elif what == "drop":
            del at[key]
        elif isinstance(at, list):
            at.append(deepcopy(at[key]))
    return data


def check(found):
    for one in found:
        if isinstance(one, Conversation):
            assert name_of(quote(session_of(one, prefix="p\x00")))
            assert all(
                shown.encode("utf-8", "ignore").decode() == shown for shown in (one.title, *(s.place for s in one.skipped))
            )
            for draft in one.drafts:
                assert draft.id
                assert accepted(draft).draft().payload == draft.payload


@settings(max_examples=150)
@given(st.data())
@pytest.mark.parametrize("source", FILES)
def test_spoilt_exports_never_raise_nor_give_a_message_that_cannot_be_stored(source, data):
    for branches in (False, True):
        check(read([data.draw(spoilt(FILES[source]))], branches=branches))


@settings(max_examples=150)
@given(st.data())
@pytest.mark.parametrize("source", LINES)
def test_spoilt_lines_never_raise_nor_give_a_message_that_cannot_be_stored(source, data):
    check(read_lines([{"role": "user", "content": "x"}, *data.draw(spoilt(LINES[source]))]))


@settings(max_examples=100)
@given(data=st.data(), size=st.integers(1, 400))
def test_cut_and_garbled_bytes_are_refused_or_read_but_never_raise(data, size):
    body = json.dumps(FILES[data.draw(st.sampled_from(sorted(FILES)))]).encode()
    body = body[: data.draw(st.integers(0, len(body)))] + data.draw(st.binary(max_size=5))
    with suppress(BadExport):
        check(conversations(values(body[start : start + size] for start in range(0, len(body), size))))
