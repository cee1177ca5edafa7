"""Files of an export as pieces of bytes: plain, gzipped, or inside a zip. Nothing is held but one piece."""

import gzip
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memsrv.errors import BadExport

PIECE_BYTES = 1 << 20
HEAD_BYTES = 4
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
MAIN = re.compile(r"(?:.*/)?(?:conversations[^/]*|prod-grok-backend)\.jsonl?", re.IGNORECASE)
"""The files of a program's zip that hold its conversations."""
OTHER = re.compile(r"(?!__MACOSX/)(?:.*/)?[^/.][^/]*\.jsonl?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A file to read: its name for people, and its pieces. `told` hears how many bytes of the file on disk were read."""

    name: str
    pieces: Callable[[], Iterator[bytes]]


def parts_of(path: Path, told: Callable[[int], None]) -> list[Part]:
    """What there is to read in a file: itself, or the files in its zip that hold conversations. Raises BadExport."""
    with reading():
        if path.is_dir():
            raise BadExport("It is a folder.", "Name the files in it, or the .zip that it was unpacked from.")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if head != ZIP:
            return [Part(str(path), lambda: plain(path, told, packed=head.startswith(GZIP)))]
        with zipfile.ZipFile(path) as packed:
            names = [name for name in packed.namelist() if MAIN.fullmatch(name)]
            names = names or [name for name in packed.namelist() if OTHER.fullmatch(name)]
    if not names:
        raise BadExport("The zip holds no .json or .jsonl file.")
    return [Part(f"{path}:{name}", lambda name=name: zipped(path, name, told)) for name in sorted(names)]  # type: ignore[misc]


def plain(path: Path, told: Callable[[int], None], *, packed: bool) -> Iterator[bytes]:
    """The pieces of a file, unpacked if it is gzipped."""
    with reading(), path.open("rb") as file:
        stream: BinaryIO = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
        while piece := stream.read(PIECE_BYTES):
            told(file.tell())
            yield piece


def zipped(path: Path, name: str, told: Callable[[int], None]) -> Iterator[bytes]:
    """The pieces of a file inside a zip."""
    with reading(), path.open("rb") as file, zipfile.ZipFile(file) as packed, packed.open(name) as stream:
        while piece := stream.read(PIECE_BYTES):
            told(file.tell())
            yield piece


@contextmanager
def reading() -> Iterator[None]:
    """What goes wrong with a file is told as BadExport."""
    try:
        yield
    except (EOFError, zipfile.BadZipFile, gzip.BadGzipFile, NotImplementedError) as error:
        raise BadExport("It is packed, and broken or cut off.", "Download or pack it again.") from error
    except FileNotFoundError:
        raise BadExport("There is no such file.", "Check its name.") from None
    except (OSError, RuntimeError) as error:  # zipfile raises RuntimeError for a zip with a password
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "a password, or a broken zip"
        raise BadExport(f"It cannot be read: {reason}.", "Check that it is the file that was meant.") from None
