"""TokenCounter over tiktoken, with the vocabularies that ship with memsrv.

(1) A count errs high, never low: a long text is counted in slices, cut where the encodings cut too wherever there is
    such a place, and each cut is charged with more tokens than a cut inside a run without a break can hide.
(2) The environment is changed only while a vocabulary loads, and put back.
(3) Special-token text is ordinary text.
(4) Counting for a model never waits for the network: a vocabulary that is not at hand gives way to the default one.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b, sha1
from importlib.resources import files
from pathlib import Path
from threading import Lock

import regex
import tiktoken

from memsrv.core.remembering import Latest, remembered
from memsrv.core.text.graphemes import edge_after, edge_before
from memsrv.errors import SettingsError

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
VOCABULARY_OF = {
    "o200k_base": "o200k_base",
    "o200k_harmony": "o200k_base",
    "cl100k_base": "cl100k_base",
    "p50k_base": "p50k_base",
    "p50k_edit": "p50k_base",
    "r50k_base": "r50k_base",
}

WHOLE_CHARS = 20_000
SLICE_CHARS = 4_000
CUT_TOKENS = 2
# between a letter and a mark that the encodings join to the letters after it; an apostrophe may belong to the letters before
NATURAL_CUT = r"(?<=\p{L})(?=[^\p{L}\p{N}\p{M}\r\n'’]\p{L})"
LAST_CUT = regex.compile(r"(?r)" + NATURAL_CUT)
FIRST_CUT = regex.compile(NATURAL_CUT)
ENTRY_START = regex.compile(r"(?<=\S\n)(?=- )")
CUT_BEFORE_SPACES = frozenset({"o200k_base", "o200k_harmony", "cl100k_base"})
"""Encodings that cut after a line end, and before a single blank between other characters, whatever stands around them."""
SURROGATE = regex.compile(r"[\uD800-\uDFFF]")
CACHED_COUNTS = 30_000  # of some 400 bytes each
KEY_CHARS = 500

Key = tuple[str, str | bytes]


def shipped_vocabularies() -> Path:
    """The folder of the shipped vocabularies: inside an installed package, or beside it in a checkout."""
    package = Path(str(files("memsrv")))
    installed = package / "data" / "vocabularies"
    return installed if installed.is_dir() else package.parent / "data" / "vocabularies"


@remembered(1000)
def named_encoding(model: str) -> str | None:
    """The encoding of a model's name, None if tiktoken knows none: it then compares the name with dozens."""
    try:
        return tiktoken.encoding_name_for_model(model)
    except KeyError:
        return None


class TiktokenCounter:
    """Counts with a model's own encoding where tiktoken knows it and its vocabulary is at hand, else with the default."""

    def __init__(self, default_encoding: str, vocabularies: Path):
        """Raises SettingsError if there is no such encoding, or its vocabulary is neither at hand nor to be had."""
        known = sorted(tiktoken.list_encoding_names())
        if default_encoding not in known:
            raise SettingsError(f"'{default_encoding}' is not an encoding of tiktoken; it has {', '.join(known)}.")
        self._default = default_encoding
        self._vocabularies = vocabularies
        self._lock = Lock()
        self._encodings: dict[str, tiktoken.Encoding] = {}
        self._counts = Counts(CACHED_COUNTS)
        if self._folder(default_encoding) is None:
            self.warm()

    def __reduce__(self) -> tuple[Callable[[str, Path], "TiktokenCounter"], tuple[str, Path]]:
        """Another process makes one of its own, once."""
        return counter_for, (self._default, self._vocabularies)

    def warm(self) -> None:
        """Load the default encoding, so that the first count need not wait; SettingsError if it cannot be had."""
        self._encoding(self._default)

    def encoding_name(self, model: str | None) -> str:
        """The encoding that counts for this model; `openai/gpt-4o` counts as `gpt-4o`."""
        name = named_encoding(model.rpartition("/")[2]) if model else self._default
        return name if name and (name in self._encodings or self._folder(name)) else self._default

    def count(self, text: str, model: str | None) -> int:
        """Tokens of a text, see (1)."""
        name = self.encoding_name(model)
        if name in CUT_BEFORE_SPACES and len(parts := entries(text)) > 1:
            return sum(self._count(part, name) for part in parts)
        return self._count(text, name)

    def _count(self, text: str, name: str) -> int:
        key = (name, text if len(text) <= KEY_CHARS else digest(text))
        count = self._counts.get(key)
        if count is None:
            count = counted(self._encoding(name), text)
            self._counts.put(key, count)
        return count

    def head(self, text: str, tokens: int, model: str | None) -> str:
        """The longest beginning that costs at most so many tokens, cut between graphemes."""
        encoding, goal = self._encoding(self.encoding_name(model)), tokens
        while goal > 0:
            at = edge_before(text, head_chars(encoding, text, goal))
            excess = counted(encoding, text[:at]) - tokens
            if excess <= 0:
                return text[:at]
            goal -= excess
        return ""

    def tail(self, text: str, tokens: int, model: str | None) -> str:
        """The longest end that costs at most so many tokens, cut between graphemes."""
        encoding, goal = self._encoding(self.encoding_name(model)), tokens
        while goal > 0:
            at = edge_after(text, len(text) - tail_chars(encoding, text, goal))
            excess = counted(encoding, text[at:]) - tokens
            if excess <= 0:
                return text[at:]
            goal -= excess
        return ""

    def _encoding(self, name: str) -> tiktoken.Encoding:
        if name not in self._encodings:
            with self._lock, cache_folder(self._folder(name)):
                try:
                    encoding = tiktoken.get_encoding(name)
                except (OSError, ValueError) as error:
                    raise SettingsError(f"The vocabulary of '{name}' cannot be had ({type(error).__name__}).") from error
                encoding._mergeable_ranks = {}  # some 30 MB, which its Rust half has too and only pickling reads
                self._encodings[name] = encoding
        return self._encodings[name]

    def _folder(self, name: str) -> Path | None:
        """The folder that holds an encoding's vocabulary: the user's own one first, then ours; None if neither does."""
        if name not in VOCABULARY_OF:
            return None
        file = sha1(ADDRESS.format(VOCABULARY_OF[name]).encode(), usedforsecurity=False).hexdigest()
        own = os.environ.get(CACHE_VARIABLE)
        folders = [Path(own)] if own else []
        return next((folder for folder in [*folders, self._vocabularies] if (folder / file).is_file()), None)


@cache
def counter_for(default_encoding: str, vocabularies: Path) -> TiktokenCounter:
    """The counter of this process for a default encoding."""
    return TiktokenCounter(default_encoding, vocabularies)


class Counts:
    """The last so many counts, by encoding and text, or a hash of a long one."""

    def __init__(self, limit: int):
        self._lock = Lock()
        self._counts: Latest[Key, int] = Latest(limit)

    def get(self, key: Key) -> int | None:
        return self._counts.get(key)

    def put(self, key: Key, count: int) -> None:
        with self._lock:
            self._counts[key] = count


def digest(text: str) -> bytes:
    """What stands for a long text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@contextmanager
def cache_folder(folder: Path | None) -> Iterator[None]:
    """Let tiktoken look into a folder while it loads; None leaves it to tiktoken."""
    before = os.environ.get(CACHE_VARIABLE)
    if folder is not None:
        os.environ[CACHE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if folder is not None and before is None:
            del os.environ[CACHE_VARIABLE]
        elif folder is not None and before is not None:
            os.environ[CACHE_VARIABLE] = before


def entries(text: str) -> list[str]:
    """A list's entries (`- label: text`), label and text apart, so that an entry that stood in another prompt need not be counted
    again. No token reaches over these cuts, see CUT_BEFORE_SPACES."""
    if "\n- " not in text:
        return [text]
    parts: list[str] = []
    for line in ENTRY_START.split(text):
        label, _, said = line.partition(": ")
        apart = said and not said[0].isspace() and label and not label[-1].isspace()
        parts += [f"{label}:", f" {said}"] if apart else [line]
    return parts


def counted(encoding: tiktoken.Encoding, text: str) -> int:
    """Tokens of a text, that of a long one slice by slice."""
    if len(text) <= WHOLE_CHARS:
        return len(encoded(encoding, text))
    return sum(len(encoded(encoding, part)) + CUT_TOKENS for part in slices(text))


def encoded(encoding: tiktoken.Encoding, text: str) -> list[int]:
    """Tokens as numbers; a lone surrogate counts as U+FFFD."""
    if not text.isascii():
        text = SURROGATE.sub("\ufffd", text)
    return encoding.encode_ordinary(text)


def slices(text: str) -> Iterator[str]:
    """The text in parts of about SLICE_CHARS, from the front."""
    start = 0
    while len(text) - start > SLICE_CHARS:
        cut = LAST_CUT.search(text, start + SLICE_CHARS // 2, start + SLICE_CHARS)
        end = cut.start() if cut else start + SLICE_CHARS
        yield text[start:end]
        start = end
    yield text[start:]


def slices_back(text: str) -> Iterator[str]:
    """The text in parts of about SLICE_CHARS, from the end."""
    end = len(text)
    while end > SLICE_CHARS:
        cut = FIRST_CUT.search(text, end - SLICE_CHARS, end - SLICE_CHARS // 2)
        start = cut.start() if cut else end - SLICE_CHARS
        yield text[start:end]
        end = start
    yield text[:end]


def head_chars(encoding: tiktoken.Encoding, text: str, tokens: int) -> int:
    """About how many characters the first `tokens` tokens cover. Reads no further than that."""
    chars = 0
    for part in slices(text):
        numbers = encoded(encoding, part)
        if len(numbers) > tokens:
            return chars + whole_chars(encoding, numbers[:tokens])
        chars, tokens = chars + len(part), tokens - len(numbers)
    return chars


def tail_chars(encoding: tiktoken.Encoding, text: str, tokens: int) -> int:
    """About how many characters the last `tokens` tokens cover. Reads no further than that."""
    chars = 0
    for part in slices_back(text):
        numbers = encoded(encoding, part)
        if len(numbers) > tokens:
            return chars + whole_chars(encoding, numbers[len(numbers) - tokens :])
        chars, tokens = chars + len(part), tokens - len(numbers)
    return chars


def whole_chars(encoding: tiktoken.Encoding, numbers: list[int]) -> int:
    """Characters that these tokens hold whole."""
    return len(encoding.decode_bytes(numbers).decode("utf-8", "ignore"))
