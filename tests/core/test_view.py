"""What of a chunk is embedded."""

from memsrv.core.view import BEFORE_CHARS, passage
from memsrv.model import PendingChunk, Said


def pending(text: str, *before: Said) -> PendingChunk:
    return PendingChunk(1, 1, 1, "default", Said("ana", text), before)


def test_a_chunk_stands_with_its_speaker() -> None:
    assert passage(pending("I moved to Porto.")) == "ana: I moved to Porto."


def test_what_came_before_stands_in_front_with_its_speakers() -> None:
    before = (Said("user", "Any news?"), Said("assistant", "Tell me."))
    assert passage(pending("I moved.", *before)) == "user: Any news?\nassistant: Tell me.\nana: I moved."


def test_a_long_piece_before_keeps_its_end() -> None:
    text = passage(pending("Yes.", Said("assistant", "x" * 1000 + " Is the kettle copper?")))
    assert text.startswith("assistant: …x")
    assert text.endswith("Is the kettle copper?\nana: Yes.")


def test_of_two_pieces_before_the_nearer_one_has_the_room() -> None:
    text = passage(pending("Yes.", Said("user", "far " * 100), Said("assistant", "n" * BEFORE_CHARS)))
    assert "far" not in text
    assert "n" * BEFORE_CHARS in text


def test_the_chunk_itself_is_never_cut() -> None:
    assert passage(pending("y" * 5000, Said("user", "x" * 5000))).endswith("ana: " + "y" * 5000)
