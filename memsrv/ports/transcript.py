"""What was said."""

from collections.abc import Callable, Sequence
from typing import Protocol

from memsrv.model import Appended, Chunk, Forgotten, Message, NewChunk, NewMessage, Scope, Session, SessionKey, Stretch


class Transcript(Protocol):
    """The truth: every message, verbatim, in order. Durable when a call returns."""

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[NewMessage],
        *,
        idempotency_key: str | None = None,
        request_digest: str = "",
        onto: Session | None = None,
    ) -> Appended:
        """Store all messages or none; the session comes into being if it is new. With `onto` only if it is still that session,
        and nothing was added, edited or deleted in it since it was read; else SessionMoved.

        Positions are gap-free in order of arrival, also under concurrent writers. A message without an id is given
        one. A known id with the same digest answers `created=False`; with another digest MessageConflict. A known
        idempotency key with the same digest answers as it did the first time, but that nothing is created now; with
        another IdempotencyConflict. An empty key is none.
        Chunks and their terms are stored, and the message marked unindexed, in the same transaction; so is the task state
        that the newest of the new messages tells, as the session's.
        """
        ...

    async def newest(self, key: SessionKey, *, most: int) -> tuple[Session, list[Message]]:
        """A session and its `most` newest messages, in order of position, as one committed state has them; whether a message is
        indexed may have changed since. Else SessionNotFound."""
        ...

    async def messages(
        self, session_number: int, *, after: int = 0, before: int | None = None, limit: int, newest_first: bool = False
    ) -> list[Message]:
        """Messages with after < position < before, in order of position (or from the newest back)."""
        ...

    async def message(self, session_number: int, id: str) -> Message:
        """One message by its id, else MessageNotFound."""
        ...

    async def found(self, session_number: int, ids: Sequence[str]) -> dict[str, Message]:
        """Those of these messages that are there, by id."""
        ...

    async def replace(self, session_number: int, id: str, revise: Callable[[Message], NewMessage]) -> Message:
        """Put other content in a message's place: same id and position, chunks made anew, unindexed again, the
        snapshots that covered it stale and without their text, the receipts that quoted it gone. Read, revised and stored
        with no other write in between; `revise` is pure, may run more than once, and changes nothing if it raises. A task
        state that is no longer told goes; none is set. Those whose vectors hold some of the old content are unindexed."""
        ...

    async def delete(self, session_number: int, id: str, *, dry_run: bool = False) -> Forgotten:
        """Take a message out, with its chunks; its vectors follow, the snapshots that covered it turn stale and lose their text,
        the receipts that quote it go, and so does the task state if it is the one that the message told. The positions of
        the others stay; those whose vectors hold some of it are unindexed. A request that stored it is refused when it comes
        again (IdempotencyConflict). With `dry_run` it is only counted, as in what follows."""
        ...

    async def erase(self, session_number: int, stretch: Stretch, *, dry_run: bool = False) -> Forgotten:
        """Take out every message of a stretch, all at once, each as `delete` does; what went."""
        ...

    async def uncut(self, limit: int) -> list[Message]:
        """Messages of any session whose chunks another chunker made, oldest first."""
        ...

    async def recut(self, cut: Sequence[tuple[Message, Sequence[NewChunk]]]) -> None:
        """Give messages that were `uncut` other chunks; they are unindexed then. One that was edited or deleted since is left
        alone. Summaries and receipts stay: nothing was said otherwise."""
        ...

    async def chunks(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Chunks by number, passages of snapshots too; those that are gone or out of the scope are left out."""
        ...

    async def chunks_of(self, message: Message) -> list[Chunk]:
        """A message's chunks, in order."""
        ...
