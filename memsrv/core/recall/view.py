"""What of a chunk is embedded: the chunk with its speaker, after the beginning of the line before it.

The text that is shown is the chunk alone. Bump `VIEW` whenever the same chunk would come out as another text: the index is
then built anew. docs/recall.md compares this text with others.
"""

from hashlib import blake2b

from memsrv.model import PendingChunk, Said

VIEW = 2
CHUNKS = 1
"""Bump it when `core.text.chunking` cuts the same text otherwise."""
BEFORE_CHARS = 160


def passage(chunk: PendingChunk) -> str:
    """Lines of "speaker: text": the first `BEFORE_CHARS` characters of the line before, then the chunk whole."""
    before = line(chunk.before)[:BEFORE_CHARS] + "\n" if chunk.before else ""
    return before + line(chunk.said)


def digest(chunk: PendingChunk) -> bytes:
    """16 bytes that stand for what of a chunk is embedded. Tenants have digests of their own, so that none can learn from how
    soon its message is indexed whether another's holds the same."""
    tenant = blake2b(chunk.tenant.encode("utf-8", "surrogatepass")).digest()
    return blake2b(passage(chunk).encode("utf-8", "surrogatepass"), digest_size=16, key=tenant).digest()


def line(said: Said) -> str:
    """One line of talk."""
    return f"{said.speaker}: {said.text}"
