"""A purge that readers stand in the way of; what verification finds is tested over HTTP."""

import sqlite3

import pytest

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.adapters.checks_sql import SqlChecks
from memsrv.adapters.database import Database
from memsrv.adapters.queue_sql import SqlIndexQueue
from memsrv.adapters.sqlite import FILE
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.errors import StoreDown
from memsrv.services.indexer import Indexer
from memsrv.services.verifying import Verifier
from tests.fakes import HashingEmbedder, MemoryVectors
from tests.house import KEY, new


async def test_a_purge_gives_up_when_a_reader_stays_and_works_when_it_has_gone(tmp_path):
    database = await Database.open(tmp_path)
    session = (await SqlTranscript(database).append(KEY, [new("Passport ZX-0099182", id="x")])).session
    reader = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM messages").fetchone()
    await SqlTranscript(database).delete(session.number, "x")
    queue, index = SqlIndexQueue(database), MemoryVectors()
    indexer = Indexer(queue, index, HashingEmbedder(), batch=1)
    verifier = Verifier(SqlChecks(database), queue, index, indexer, SnowballAnalyzer(), purge_wait_s=0.2)
    with pytest.raises(StoreDown, match="anew"):
        await verifier.purge()
    reader.close()
    patient = Verifier(SqlChecks(database), queue, index, indexer, SnowballAnalyzer())
    await patient.purge()
    assert not any(b"ZX-0099182" in path.read_bytes() for path in tmp_path.iterdir())
    await database.close()
