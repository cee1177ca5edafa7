"""What of a chunk is embedded: the chunk and who said it, after a little of what came before.

The text that is shown is the chunk alone. Bump `VIEW` whenever the same chunk would come out as another text: the index is
then built anew.
"""

from memsrv.model import PendingChunk, Said

VIEW = 1
CHUNKS = 1
"""Bump it when `core.chunking` cuts the same text otherwise."""
BEFORE_CHARS = 200
CUT = "…"


def passage(chunk: PendingChunk) -> str:
    """Lines of "speaker: text": the last `BEFORE_CHARS` characters of the pieces before, then the chunk whole."""
    return "\n".join(line(said) for said in (*tail(chunk.before), chunk.said))


def tail(pieces: tuple[Said, ...]) -> list[Said]:
    """The end of a talk, `BEFORE_CHARS` characters at most; a piece that is cut keeps its end and shows the cut."""
    kept: list[Said] = []
    room = BEFORE_CHARS
    for said in reversed(pieces):
        if room <= 0:
            break
        text = said.text if len(said.text) <= room else CUT + said.text[len(said.text) - room :].lstrip()
        kept.append(Said(said.speaker, text))
        room -= len(text)
    return kept[::-1]


def line(said: Said) -> str:
    """One line of talk."""
    return f"{said.speaker}: {said.text}"
