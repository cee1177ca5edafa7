"""The vector index: what a search may see, which build answers, what waits for its vector."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search may see. There is no scope without sessions: an empty one finds nothing.

    The index holds the passages of a session's snapshots under its number negated, and each under its own number negated,
    so that they are searched apart from the messages.
    """

    tenant: str
    session_numbers: tuple[int, ...]

    def __post_init__(self) -> None:
        assert self.tenant, "a scope names its tenant"

    def of_passages(self) -> "Scope":
        """The passages of the same sessions."""
        return Scope(self.tenant, tuple(-number for number in self.session_numbers))

    def with_passages(self) -> "Scope":
        """The messages and the passages of the sessions."""
        return Scope(self.tenant, (*self.session_numbers, *self.of_passages().session_numbers))


@dataclass(frozen=True, slots=True)
class Generation:
    """One build of the vector index, tied to the embedder and chunker that made it. A fingerprint is
    `embedder|dimension|view|chunker`."""

    number: int
    fingerprint: str

    @property
    def space(self) -> str:
        """What makes vectors of two generations comparable: the embedder and the dimension."""
        return self.fingerprint.rsplit("|", 2)[0]

    @property
    def chunker(self) -> str:
        """What cut the chunks."""
        return self.fingerprint.rsplit("|", 1)[-1]


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of talk and who said it."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk that waits for its vector, with the piece before it in the session, if there is one. `attempts`: how often
    its message failed. `fresh`: the generation that answers has no vector of it either. A passage's numbers are negated (see
    Scope), and it stands for its message too."""

    number: int
    session_number: int
    message_number: int
    tenant: str
    said: Said
    before: Said | None
    attempts: int = 0
    fresh: bool = False
