"""Fields of a source's values, whatever they really are."""

from collections.abc import Iterator, Mapping
from typing import Any

import regex

from memsrv.core.text.content import part_texts

MARKED = regex.compile("\ue200(?P<inside>[^\ue200\ue201]*)\ue201")
MARKS = regex.compile("[\ue200-\ue2ff]")
NO_PARENT = regex.compile("[0-]*(?:4000-8)?[0-]*")
SHOWN = frozenset({"url", "entity"})
"""Kinds of marked spans that the app shows as words: of the others only a link is shown."""


def text(value: Any) -> str:
    """A string, or nothing."""
    return value if isinstance(value, str) else ""


def first(value: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is a string and not empty."""
    return next((value[name] for name in names if isinstance(value.get(name), str) and value[name]), "")


def parent(value: Any) -> str | None:
    """The id of the message before; None for none, also where an id of zeros stands for it."""
    return None if NO_PARENT.fullmatch(text(value)) else value


def mapping(value: Any) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def written(content: Any) -> str:
    """Text, or the texts of parts."""
    return content if isinstance(content, str) else "\n".join(part_texts(content))


def unmarked(said: str) -> str:
    """A text without the private characters by which an app marks its citations; words that they hold stay."""
    return MARKS.sub("", MARKED.sub(shown, said)) if MARKS.search(said) else said


def shown(found: regex.Match[str]) -> str:
    """What a marked span shows: `kind`, `words`, ... for a link, `kind`, `["sort", "words", ...]` for an entity."""
    kind, _, rest = found["inside"].partition("\ue202")
    if kind not in SHOWN:
        return ""
    words = regex.findall(r'"((?:[^"\\]|\\.)*)"', rest) if kind == "entity" else rest.split("\ue202")[:1]
    return str(words[1] if kind == "entity" and len(words) > 1 else words[0] if words else "")


def cut(said: str, opening: regex.Pattern[str], closing: str) -> tuple[str, list[tuple[str, str]]]:
    """A text without its blocks from `opening` to `closing`, and the blocks: what the first group of the opening says, and what
    stands inside. One that is not closed stays. Linear time, which a pattern of the whole block does not have."""
    kept, blocks, at = list[str](), list[tuple[str, str]](), 0
    while (found := opening.search(said, at)) and (ends := said.find(closing, found.end())) >= 0:
        kept.append(said[at : found.start()])
        blocks.append((found[1], said[found.end() : ends]))
        at = ends + len(closing)
    return "".join([*kept, said[at:]]), blocks
