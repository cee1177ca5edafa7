"""Sections (a user message with all that follows up to the next) of agent chains and assistants: how many stay whole.

(1) Recent sections stay whole within `last_bytes`. (2) More than `max_qa` sections, or more than `max_qa_bytes`, are merged
but for the newest `keep_qa`. (3) The newest section always stays. (4) Unless `summarize_human`, what the user said stays
word for word in the window, also of a section that the summary covers: the newest `max_qa` of them, within `max_qa_bytes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from memsrv.core.prompt.turns import Turn
from memsrv.core.text.content import text_of


@dataclass(frozen=True, slots=True)
class Sections:
    """What holds for a session's sections. Sizes are bytes of text in UTF-8; `last_bytes` None is no limit."""

    last_bytes: int | None = 51_200
    max_qa: int = 10
    max_qa_bytes: int = 65_536
    keep_qa: int = 1
    use_qa: bool = True
    summarize_human: bool = False


BY_PROFILE: Mapping[str, Sections] = MappingProxyType({"agent": Sections(), "assistant": Sections(76_800, 7, 76_800, 3)})


def sections_for(profile: object, settings: Mapping[str, Any]) -> Sections | None:
    """The policy of a profile under a session's own `sections` settings; None where neither knows sections.

    Assistants always merge and never lose the user's own words; `limit_recent: false` lifts `last_bytes`.
    """
    given = {field.name: settings[field.name] for field in fields(Sections) if settings.get(field.name) is not None}
    known = BY_PROFILE.get(str(profile))
    if known is None and not given:
        return None
    made = replace(known or Sections(), **given)
    if profile == "assistant":
        made = replace(made, use_qa=True, summarize_human=False)
    return replace(made, last_bytes=None) if settings.get("limit_recent") is False else made


def staying(sizes: Sequence[int], sections: Sections) -> int:
    """How many of the newest sections stay; `sizes` are their bytes, oldest first."""
    stay = len(sizes)
    if sections.use_qa and (len(sizes) > sections.max_qa or sum(sizes) > sections.max_qa_bytes):
        stay = min(stay, sections.keep_qa)
    if sections.last_bytes is not None:
        stay = min(stay, newest_within(sizes, sections.last_bytes))
    return max(stay, min(1, len(sizes)))


def newest_within(sizes: Sequence[int], limit: int) -> int:
    """How many of the newest add up to a limit at most."""
    count, total = 0, 0
    for size in reversed(sizes):
        total += size
        if total > limit:
            break
        count += 1
    return count


def spoken(turns: Sequence[Turn], covered_upto: int, sections: Sections) -> tuple[Turn, ...]:
    """The user's own messages of the covered turns, as turns of their own; see (4)."""
    if sections.summarize_human:
        return ()
    alone = [Turn((turn.user,)) for turn in turns if turn.user is not None and turn.newest_position <= covered_upto]
    kept = newest_within([size_bytes(turn) for turn in alone[-sections.max_qa :]], sections.max_qa_bytes)
    return tuple(alone[len(alone) - kept :]) if sections.max_qa else ()


def size_bytes(turn: Turn) -> int:
    """Bytes of a section's text."""
    return sum(len(text_of(payload).encode()) for unit in turn.units for payload in unit.payloads)
