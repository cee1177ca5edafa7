"""What the services need from the world, in our nouns. Each sentence here is a test in `tests/contracts/`. A module for each
subject, every name here.

Every method that touches stored data names a tenant or a session number that was looked up inside one. Errors of a
vendor come out as `memsrv.errors`: a store as StoreDown or DiskFull, an index as IndexDown, an embedder as EmbedderDown.
"""

from memsrv.ports.checks import Checks
from memsrv.ports.keys import Keys
from memsrv.ports.processes import Claims, Lead
from memsrv.ports.prompts import Calibrations, Outsets, Receipts
from memsrv.ports.queue import IndexQueue
from memsrv.ports.search import LexicalIndex, Lexicon, Scored, VectorIndex, Vectors, Worded
from memsrv.ports.sessions import Sessions, Switches
from memsrv.ports.summaries import Compactions, Snapshots, Summarizer
from memsrv.ports.text import Analyzer, Embedder, TokenCounter
from memsrv.ports.transcript import Transcript
from memsrv.ports.upstream import ModelList, Reply, Upstream

__all__ = [
    "Analyzer",
    "Calibrations",
    "Checks",
    "Claims",
    "Compactions",
    "Embedder",
    "IndexQueue",
    "Keys",
    "Lead",
    "LexicalIndex",
    "Lexicon",
    "ModelList",
    "Outsets",
    "Receipts",
    "Reply",
    "Scored",
    "Sessions",
    "Snapshots",
    "Summarizer",
    "Switches",
    "TokenCounter",
    "Transcript",
    "Upstream",
    "VectorIndex",
    "Vectors",
    "Worded",
]
