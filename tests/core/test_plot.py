"""The picture is well-formed, true to scale, and holds what it was given."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.plot import BAR_HEIGHT, BAR_WIDTH, Bar, svg

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(*bars: Bar) -> ElementTree.Element:
    return ElementTree.fromstring(svg(bars, title="t", unit="u", share="s"))


def widths(picture: ElementTree.Element, name: str) -> list[float]:
    """The widths of a part's rectangles, over all the bars."""
    rectangles = (found for found in picture.iter(f"{SPACE}rect") if float(found.get("height", 0)) == BAR_HEIGHT)
    told = ((found, found.find(f"{SPACE}title")) for found in rectangles)
    return [float(found.get("width", 0)) for found, title in told if title is not None and title.text.startswith(f"{name}: ")]


def texts(picture: ElementTree.Element) -> list[str]:
    return [found.text or "" for found in picture.iter(f"{SPACE}text")]


def test_the_longest_bar_has_the_whole_width_and_the_others_their_part_of_it():
    picture = drawn(Bar("one", {"a": 30, "b": 10}), Bar("two", {"a": 10, "b": 0}))
    assert widths(picture, "a") == [pytest.approx(BAR_WIDTH * 0.75), pytest.approx(BAR_WIDTH / 4)]
    assert widths(picture, "b") == [pytest.approx(BAR_WIDTH / 4)]


def test_a_bar_tells_its_sum_and_its_share():
    assert {"one", "1,234", "50%"} <= set(texts(drawn(Bar("one", {"a": 1_234}, 0.5))))


def test_a_bar_without_a_share_has_a_dash():
    assert "-" in texts(drawn(Bar("one", {"a": 1})))


def test_the_legend_names_only_what_is_there():
    assert "b" not in texts(drawn(Bar("one", {"a": 1, "b": 0})))


def test_markup_in_a_name_stays_text():
    assert "<b> & 'c'" in texts(drawn(Bar("<b> & 'c'", {"a": 1})))


def test_nothing_at_all_is_a_picture_too():
    assert drawn(Bar("one", {"a": 0})) is not None
    assert drawn() is not None


@given(st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1e9), max_size=8), min_size=1, max_size=6))
def test_no_bar_is_wider_than_its_room(parts):
    picture = drawn(*(Bar(str(place), each) for place, each in enumerate(parts)))
    drawn_widths = [width for name in "abcdefgh" for width in widths(picture, name)]
    assert all(0 <= width <= BAR_WIDTH + 0.1 for width in drawn_widths)
