"""The values of an export, one at a time, from its bytes.

A JSON file is a list of values, an object that wraps such a list, or one object; JSON Lines are a value a line. (1) No
more than one value and one piece of the file is held at a time. (2) A line or list item that is no JSON costs only
itself. (3) Bytes that are no UTF-8 and halves of a surrogate pair cost only themselves.

Cut by own code and parsed item by item: a streaming parser gives a file up at the first stray byte or lone surrogate.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from memsrv.errors import BadExport

WRAPPERS = frozenset({b'"conversations"', b'"history"', b'"chats"', b'"data"'})
"""Keys whose value, if it is a list, holds the conversations of a file."""
TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
SCALAR = re.compile(rb'[^\s,"{}\[\]]+|[}\]]')
NOT_SPACE = re.compile(rb"[^ \t\r\n]")
OPENING = (b'"', b"{", b"[")
DEPTH = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
SPACE = b" \t\r\n"
CUT_OFF_HINT = "What stands before was read. Export or download it again, and import it once more: nothing is stored twice."
BOM = b"\xef\xbb\xbf"
HEAD_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Value:
    """A parsed value; `place` is `item 3` or `line 3`, counted from 1."""

    data: Any
    place: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line or item that cannot be parsed, and why."""

    why: str
    place: str


def values(pieces: Iterable[bytes]) -> Iterator[Value | Unreadable]:
    """The values of a file that comes in pieces. Raises BadExport where the file as a whole cannot be read (on)."""
    stream = iter(pieces)
    head = b""
    for piece in stream:
        head += piece
        if len(head) >= HEAD_BYTES:
            break
    head = head.removeprefix(BOM)
    refuse_foreign(head)
    rest = chain(head, stream)
    return lines(rest) if is_lines(head) else items(rest)


def chain(head: bytes, stream: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from stream


def refuse_foreign(head: bytes) -> None:
    """Raise BadExport for a file that does not begin like JSON."""
    start = head.lstrip(SPACE)[:1]
    if not start:
        raise BadExport("It is empty.")
    if start in (b"{", b"["):
        return
    if start == b"<":
        raise BadExport("It is a web page, not JSON.", "Take the .json file of the export, not its chat.html.")
    if b"\x00" in head or head[:2] in (b"\xff\xfe", b"\xfe\xff", b"PK", b"\x1f\x8b"):
        raise BadExport("It is no text in UTF-8.", "Save it as UTF-8; only the command line unpacks .zip and .gz.")
    raise BadExport("It is text, but neither JSON nor JSON Lines.")


def is_lines(head: bytes) -> bool:
    """Whether a file is JSON Lines: its first line is a value and not the only one, or it is spoilt and two values follow."""
    rows = [row for row in head.splitlines() if row.strip()][:3]
    if len(rows) < 2 or rows[0].strip() in (b"{", b"["):
        return False
    whole = [isinstance(one, Value) and isinstance(one.data, dict | list) for one in (read(row, "") for row in rows)]
    return whole[0] or (rows[0].lstrip().startswith(b"{") and whole[1:] == [True, True])


def read(text: bytes, place: str) -> Value | Unreadable:
    """One value from its JSON text."""
    try:
        decoded = text.decode("utf-8", "replace")
        return Value(json.loads(decoded, strict=False, parse_constant=lambda _: None, parse_float=finite), place)
    except RecursionError:
        return Unreadable("nested too deeply", place)
    except ValueError:
        return Unreadable("not JSON", place)


def finite(written: str) -> float | None:
    value = float(written)
    return value if math.isfinite(value) else None


# --- JSON Lines -------------------------------------------------------------------------------------------------------


def lines(pieces: Iterable[bytes]) -> Iterator[Value | Unreadable]:
    """A value for each line that is not blank."""
    for number, line in enumerate(rows(pieces), start=1):
        if line.strip():
            yield read(line, f"line {number}")


def rows(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file that comes in pieces."""
    parts: list[bytes] = []
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts.clear()
        parts.append(last)
    yield b"".join(parts)


# --- JSON -------------------------------------------------------------------------------------------------------------


def items(pieces: Iterator[bytes]) -> Iterator[Value | Unreadable]:
    """The items of each list, those of the lists that an object wraps, and each object that wraps none."""
    text, numbers = Text(pieces), count(1)
    while mark := text.peek():
        if mark == b"[":
            yield from listed(text, numbers)
        elif mark == b"{":
            yield from wrapped(text, numbers)
        else:
            raise BadExport(f"What follows item {next(numbers) - 1} is not JSON.", CUT_OFF_HINT)


def listed(text: "Text", numbers: Iterator[int]) -> Iterator[Value | Unreadable]:
    """The items of the list that begins here."""
    text.skip()
    while (mark := text.peek()) != b"]":
        if mark == b",":
            text.skip()
            continue
        text.forget()
        number = next(numbers)
        yield read(text.value(number), f"item {number}")
    text.skip()


def wrapped(text: "Text", numbers: Iterator[int]) -> Iterator[Value | Unreadable]:
    """The items of the lists that the object that begins here wraps; the object itself if it wraps none."""
    text.forget()
    wraps = False
    text.skip()
    while (mark := text.peek()) != b"}":
        if mark in (b",", b":"):
            text.skip()
            continue
        key = text.value(0)
        if text.peek() == b":":
            text.skip()
        if key in WRAPPERS and text.peek() == b"[":
            wraps = True
            yield from listed(text, numbers)
        elif wraps:
            text.forget()
    text.skip()
    if not wraps:
        yield read(text.since(), f"item {next(numbers)}")


class Text:
    """The text of a file, looked through from its beginning. What stands before the last `forget` need not be held."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces = pieces
        self._held = b""
        self._kept = 0
        self._at = 0

    def peek(self) -> bytes:
        """The next byte that is no space; nothing at the end."""
        while True:
            if found := NOT_SPACE.search(self._held, self._at):
                self._at = found.start()
                return found[0]
            self._at = len(self._held)
            if not self._more():
                return b""

    def skip(self) -> None:
        """Go on behind the byte that was peeked at."""
        self._at += 1

    def forget(self) -> None:
        """Let go what stands before."""
        self._kept = self._at

    def since(self) -> bytes:
        """What stands between the last `forget` and here."""
        return self._held[self._kept : self._at]

    def value(self, number: int) -> bytes:
        """The text of the value of item `number` that begins here; go on behind it. Raises BadExport if it does not end."""
        depth = size = 0
        token = TOKEN if self._held[self._at : self._at + 1] in OPENING else SCALAR
        while True:
            found = token.search(self._held, self._at + size)
            if found is None or found[0] == b'"' or (token is SCALAR and found.end() == len(self._held)):
                size = (found.start() if found else len(self._held)) - self._at
                if self._more():
                    continue
                if not (token is SCALAR and found):
                    raise BadExport(f"It ends in the middle of item {number}.", CUT_OFF_HINT)
            assert found is not None
            size = found.end() - self._at
            depth += DEPTH.get(found[0], 0)
            if depth <= 0:
                break
        self._at += size
        return self._held[self._at - size : self._at]

    def _more(self) -> bool:
        """Read on: as much again as is held, so that a long value is not copied for each piece."""
        parts, size = [self._held[self._kept :]], 0
        for piece in self._pieces:
            parts.append(piece)
            size += len(piece)
            if size >= len(parts[0]):
                break
        self._held = b"".join(parts)
        self._at -= self._kept
        self._kept = 0
        return size > 0
