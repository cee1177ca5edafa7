"""Another chunker loses nothing: stored messages are cut anew from the transcript, and are searched meanwhile."""

import pytest

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.adapters.database import Database
from memsrv.adapters.queue_sql import SqlIndexQueue
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.model import NewChunk, NewMessage, SessionKey, Span
from memsrv.services.indexer import Indexer
from memsrv.services.recutting import PAGE, Recutter
from tests.fakes import HashingEmbedder, MemoryVectors
from tests.patience import until

KEY = SessionKey("acme", "talk")
TEXT = "The ferry leaves at nine. " * 30


@pytest.fixture
async def database(tmp_path):
    opened = await Database.open(tmp_path)
    yield opened
    await opened.close()


def cut_long_ago(text: str = TEXT) -> NewMessage:
    """A message as a chunker would have cut it that makes one piece of everything."""
    return NewMessage(None, {"role": "user", "content": text}, None, None, "d", (NewChunk(Span(0, len(text)), text, ()),))


async def of_another_chunker(database: Database, count: int) -> tuple[SqlTranscript, SqlIndexQueue, int]:
    """A store whose messages were indexed under another chunker."""
    transcript, queue = SqlTranscript(database), SqlIndexQueue(database)
    session = (await transcript.append(KEY, [cut_long_ago() for _ in range(count)])).session
    old, _ = await queue.generation("hashing|64|view2|chunks0")
    await queue.mark_indexed(old, await queue.pending(old, limit=10_000))
    return transcript, queue, session.number


async def test_messages_are_cut_as_they_would_be_today_a_page_at_a_time(database):
    transcript, queue, number = await of_another_chunker(database, PAGE + 1)
    await queue.generation("hashing|64|view2|chunks1")
    recutter = Recutter(transcript, SnowballAnalyzer())
    assert [await recutter.page() for _ in range(3)] == [True, True, False]
    for message in await transcript.messages(number, limit=1000):
        pieces = await transcript.chunks_of(message)
        assert len(pieces) > 1
        assert all(piece.text == TEXT[piece.span.start : piece.span.end] and len(piece.text) <= 400 for piece in pieces)


async def test_the_index_is_rebuilt_from_pieces_of_the_new_chunker_beside_the_old_one(database):
    transcript, queue, number = await of_another_chunker(database, 3)
    index = MemoryVectors()
    recut = Recutter(transcript, SnowballAnalyzer()).page
    indexer = Indexer(queue, index, HashingEmbedder(), batch=8, recut=recut, poll_s=1)
    indexer.start()

    async def rebuilt() -> bool:
        now = await indexer.rebuilding()
        return now.answers is not None and not now.running and not await transcript.uncut(1)

    async def done() -> bool:
        return not (await queue.backlog())[0] and not await queue.removals(1)

    await until(rebuilt)
    await until(done)
    await indexer.close()
    pieces = [piece for one in await transcript.messages(number, limit=9) for piece in await transcript.chunks_of(one)]
    assert len(pieces) > 3
    assert sorted(index.searched) == sorted(piece.number for piece in pieces)
