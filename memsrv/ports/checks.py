"""Whether the store is sound."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from memsrv.model import Generation, StoredMessage


class Checks(Protocol):
    """What the store can say of its own soundness, and the repairs that are made there. It tells numbers, never text."""

    async def integrity(self) -> list[str]:
        """What the database finds wrong with its own files; none is good."""
        ...

    async def counts(self) -> Mapping[str, int]:
        """How many of each thing are wrong that the tables alone tell: 0 is good."""
        ...

    async def messages(self, *, after: int, limit: int) -> list[StoredMessage]:
        """Messages of every session numbered above `after`, in order, each with its chunks of the same moment."""
        ...

    async def marked(self, generation: Generation, *, after: int, limit: int) -> list[int]:
        """Numbers above `after` of the chunks and (negated) passages whose vectors should be in this generation, in order."""
        ...

    async def living(self, numbers: Sequence[int]) -> list[int]:
        """Those of these numbers that are a chunk's or a passage's."""
        ...

    async def strays(self, numbers: Sequence[int]) -> list[int]:
        """Those of these numbers that are no chunk's or passage's and are not listed for removal."""
        ...

    async def recut(self, message_numbers: Sequence[int]) -> None:
        """These messages are `Transcript.uncut`."""
        ...

    async def unmark(self, chunk_numbers: Sequence[int]) -> None:
        """These chunks and passages wait for their vectors."""
        ...

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        """The vectors of these numbers must go."""
        ...

    async def repair(self) -> None:
        """Mend what `counts` finds, but for messages that are lost."""
        ...

    async def purge(self) -> None:
        """Take every trace of deleted text out of the files, however large; writes wait meanwhile. Raises NotHere where the
        database does that by itself."""
        ...
