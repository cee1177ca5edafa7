"""What of a chunk is embedded."""

from memsrv.core.recall.view import BEFORE_CHARS, digest, passage
from memsrv.model import PendingChunk, Said


def pending(text: str, before: Said | None = None, *, number: int = 1, tenant: str = "default") -> PendingChunk:
    return PendingChunk(number, number, number, tenant, Said("ana", text), before)


def test_a_chunk_stands_with_its_speaker() -> None:
    assert passage(pending("I moved to Porto.")) == "ana: I moved to Porto."


def test_what_came_before_stands_in_front_with_its_speaker() -> None:
    assert passage(pending("I moved.", Said("assistant", "Tell me."))) == "assistant: Tell me.\nana: I moved."


def test_a_long_piece_before_keeps_its_beginning() -> None:
    before, own = passage(pending("Yes.", Said("assistant", "Is the kettle copper? " + "x" * 1000))).split("\n")
    assert before.startswith("assistant: Is the kettle copper? x")
    assert len(before) == BEFORE_CHARS
    assert own == "ana: Yes."


def test_the_chunk_itself_is_never_cut() -> None:
    assert passage(pending("y" * 5000, Said("user", "x" * 5000))).endswith("ana: " + "y" * 5000)


def test_a_digest_is_that_of_the_text_that_is_embedded() -> None:
    beginning = "x" * BEFORE_CHARS
    one, other = (pending("Yes.", Said("assistant", beginning + end), number=n) for n, end in enumerate("ab"))
    assert digest(one) == digest(other)
    assert len({digest(pending("Yes.")), digest(pending("No.")), digest(one)}) == 3


def test_tenants_have_digests_of_their_own() -> None:
    assert digest(pending("Yes.", tenant="a")) != digest(pending("Yes.", tenant="b"))


def test_what_no_encoding_takes_has_a_digest() -> None:
    assert digest(pending("\ud800", tenant="\ud800")) != digest(pending("?", tenant="?"))
