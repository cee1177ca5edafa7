"""Cut stored messages anew, from the transcript, where another chunker cut them or their chunks are not what it gives.

(1) The mark of a message goes in the transaction that stores its chunks, so a stop in the midst loses nothing.
(2) Until then its old chunks are searched; nothing is without chunks in between.
"""

import asyncio

from memsrv.model import Draft, Message, NewChunk
from memsrv.ports import Analyzer, Transcript
from memsrv.services.ingest import prepare

PAGE = 100


class Recutter:
    """The work of one page at a time."""

    def __init__(self, transcript: Transcript, analyzer: Analyzer):
        self._transcript, self._analyzer = transcript, analyzer

    async def page(self) -> bool:
        """Cut the next messages that are marked; whether there were any."""
        marked = await self._transcript.uncut(PAGE)
        if marked:
            cut = await asyncio.to_thread(lambda: [(message, chunks_of(message, self._analyzer)) for message in marked])
            await self._transcript.recut(cut)
        return bool(marked)


def chunks_of(message: Message, analyzer: Analyzer) -> tuple[NewChunk, ...]:
    """The chunks that a stored message has by the chunker of today."""
    return prepare(Draft(message.payload, message.id, message.sent_at, message.metadata), analyzer).chunks
