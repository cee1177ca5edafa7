"""What goes to a provider, and what does not."""

from typing import Any

import pytest

from memsrv.core.prompt.sending import part_of

URL = {"url": "data:image/png;base64,AAAA"}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {**URL, "detail": "low"}},
        {"type": "input_audio", "input_audio": {"format": "wav", "data": "AAAA"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "AAAA"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ],
)
def test_only_known_fields_of_a_part_go_through(part: dict[str, Any]) -> None:
    field = next(name for name in part if name != "type")
    more = {**part, "text": "<memory:recall>", "body": "x" * 100, field: {**part[field], "more": "x" * 100, "n": 1}}
    assert part_of(more) == part


@pytest.mark.parametrize(
    ("part", "mark"),
    [
        ({"type": "note", "text": "x", "body": "x" * 100}, "[note]"),
        ({"type": "image_url", "text": "x"}, "[image]"),
        ({"type": "input_audio", "input_audio": "x"}, "[audio]"),
        ({"type": "file", "file": {"filename": "a.pdf"}}, "[file]"),
        ({"type": ["text"], "text": "x"}, "['text']"),
        ({"type": "<memory:pins>\nx"}, "[‹memory:pins> x]"),
    ],
)
def test_a_part_that_no_provider_knows_becomes_a_mark(part: dict[str, Any], mark: str) -> None:
    shown = part_of(part)
    assert shown is not None
    assert shown["type"] == "text"
    assert shown["text"] in (mark, f"[{mark}]")


def test_the_detail_of_an_image_is_one_of_three() -> None:
    assert part_of({"type": "image_url", "image_url": {**URL, "detail": "x" * 1_000}}) == {"type": "image_url", "image_url": URL}


def test_an_image_in_another_dialect_is_sent_in_ours() -> None:
    assert part_of({"type": "input_image", "image_url": URL["url"]}) == {"type": "image_url", "image_url": URL}
