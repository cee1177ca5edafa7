"""Find what is new in a history that a client sends again with every request.

(1) Two messages are the same if they say the same: role, text, parts, tool calls. Thoughts, names, our own blocks and blanks at
    the ends do not count. System messages are no part of a history.
(2) Only what follows the last message that the transcript knows is new. What is missing before it was trimmed by the client;
    what is missing here, or reads otherwise, was deleted or edited here. Neither is stored again.
(3) A likeness by chance is no match: a lone message counts only where it joins on to what was matched before it.
(4) A stored message may say which one it follows (`after`). What follows a message of the history along these links, and is not
    in the history itself, is what the client left behind; messages without a link are never among it.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from memsrv.core.prompt.sending import SYSTEM_ROLES, plain_text
from memsrv.core.text.content import TEXT_PARTS, part_texts
from memsrv.core.text.marks import without_blocks
from memsrv.core.text.reasoning import without_reasoning
from memsrv.model import Message, Payload

NOTE = "relay"
"""The key in a message's metadata under which the relay keeps what it knows of it: `after`, `cut`."""
KEPT = (
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "reasoning_content",
    "reasoning",
    "refusal",
    "audio",
    "annotations",
)
"""Fields of a message that are stored; others are for the provider of one request."""
ROOT = "chat-"
ASIDE = "~aside"
NAME_CHARS = 16
SPEAKERS = frozenset({"user", "assistant"})
REMEMBERED, REMEMBERED_CHARS = 8192, 4000
"""So many plain messages are known again, none of them longer."""
LONGEST_NAME = 512


@dataclass(frozen=True, slots=True)
class Known:
    """How a history stands in a transcript: the stored message that its last known one is, how many of its messages are known
    (the others are new), and the stored messages that it left behind, oldest first: those after the last known one, and those
    `beside` it, which follow an earlier one."""

    last: Message | None
    count: int
    left: tuple[Message, ...]
    beside: tuple[Message, ...] = ()

    @property
    def only_answers_left(self) -> bool:
        """Whether nothing was left behind but answers to the last known message."""
        return all(message.role == "assistant" and after(message) == (self.last and self.last.id) for message in self.left)


@dataclass(frozen=True, slots=True)
class Run:
    """`size` messages in a row that are the same: from `stored` on in the transcript, from `line` on in the history."""

    stored: int
    line: int
    size: int


# --- a request's messages -------------------------------------------------------------------------------------------


def line_of(messages: Iterable[Payload]) -> tuple[Payload, ...]:
    """The history: what was said, without system messages, our own blocks, and what holds nothing else."""
    kept = (stored_form(message) for message in messages if message["role"] not in SYSTEM_ROLES)
    return tuple(message for message in kept if message is not None)


def stored_form(message: Payload) -> Payload | None:
    """A message as it is stored, or None if all that it held was ours."""
    kept = {"content": None} | {name: message[name] for name in KEPT if name in message}
    content = kept["content"]
    if isinstance(content, str):
        kept["content"] = without_blocks(content)
        return None if content and not kept["content"] and not kept.get("tool_calls") else kept
    if isinstance(content, list):
        kept["content"] = [own for part in content if (own := own_part(part)) is not None]
        return None if content and not kept["content"] and not kept.get("tool_calls") else kept
    return kept


def own_part(part: Any) -> Any:
    """A part without our own blocks, or None if it held nothing else."""
    if not isinstance(part, Mapping) or part.get("type") not in TEXT_PARTS or not isinstance(part.get("text"), str):
        return part
    text = without_blocks(part["text"])
    return None if part["text"] and not text else {**part, "text": text}


def instructions_of(messages: Iterable[Payload]) -> str | None:
    """All that the system messages of a request say, wherever they stand, without our own blocks; None if they say nothing."""
    said = (plain_text(message.get("content")) for message in messages if message["role"] in SYSTEM_ROLES)
    return "\n\n".join(text for one in said if (text := without_blocks(one).strip())) or None


# --- what is the same -----------------------------------------------------------------------------------------------


def identity(payload: Payload) -> str:
    """What a message says, as a digest; see (1)."""
    content, role = payload.get("content"), payload["role"]
    if isinstance(content, str) and 0 < len(content) <= REMEMBERED_CHARS and role in SPEAKERS and not payload.get("tool_calls"):
        return plain_identity(role, content)
    return worked_out(payload)


@lru_cache(REMEMBERED)
def plain_identity(role: str, text: str) -> str:
    """The same message comes again with every request."""
    return worked_out({"role": role, "content": text})


def worked_out(payload: Payload) -> str:
    """See `identity`; what is not remembered goes here at once."""
    calls = [called(call) for call in payload.get("tool_calls") or () if isinstance(call, Mapping)]
    answers = payload.get("tool_call_id") if payload["role"] == "tool" else None
    return digest_of([payload["role"], said(payload), calls, answers])


def said(payload: Payload) -> Any:
    """The content in one form: a text however it was split into parts, else its parts."""
    content = payload.get("content")
    parts = content if isinstance(content, list | tuple) else ()
    if all(isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") in TEXT_PARTS) for part in parts):
        return text_said(payload)
    return [list(part_texts([part])) or part for part in parts]


def text_said(payload: Payload) -> str:
    """The text of a message, a refusal where there is none; of an assistant without its thoughts."""
    content = payload.get("content")
    text = content if isinstance(content, str) else "\n".join(part_texts(content))
    text = text or str(payload.get("refusal") or "")
    own = without_blocks(text.replace("\r\n", "\n"))
    return (without_reasoning(own) if payload["role"] == "assistant" else own).strip()


def called(call: Mapping[str, Any]) -> list[Any]:
    """A tool call, its arguments in one form."""
    function = call.get("function") or call.get("custom") or {}
    arguments = function.get("arguments", function.get("input"))
    try:
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        arguments = str(arguments).strip()
    return [call.get("id"), function.get("name"), arguments]


def digest_of(value: Any) -> str:
    """SHA-256 (hex) of a value as JSON."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode("ascii")).hexdigest()


# --- links ----------------------------------------------------------------------------------------------------------


def note_of(message: Message) -> Mapping[str, Any]:
    """What the relay knows of a stored message."""
    note = (message.metadata or {}).get(NOTE)
    return note if isinstance(note, Mapping) else {}


def after(message: Message) -> str | None:
    """The id of the message that a stored one follows, if it says so."""
    link = note_of(message).get("after")
    return link if isinstance(link, str) else None


def following(stored: Iterable[Message], ids: Iterable[str], *, but: Collection[str] = ()) -> tuple[Message, ...]:
    """What follows any of some messages along the links, oldest first, without some others and what follows only those."""
    found, left = set(ids), []
    for message in stored:
        if after(message) in found and message.id not in but:
            found.add(message.id)
            left.append(message)
    return tuple(left)


def way_to(stored: Sequence[Message], last: Message) -> set[str]:
    """The ids of a stored message and of those that it follows along the links."""
    way = {last.id}
    for message in reversed(stored):
        link = after(message) if message.id in way else None
        if link is not None:
            way.add(link)
    return way


# --- the history in the transcript ----------------------------------------------------------------------------------


def known(stored: Sequence[Message], line: Sequence[Payload], *, whole: bool, again: bool = False) -> Known:
    """How a history stands among stored messages (in order of position). `whole`: it is known to be the client's whole history,
    not just the newest message; `again`: the client says that it repeats a request."""
    told = [identity(payload) for payload in line]
    runs = trusted(runs_of(like(stored, line, told), told), stored)
    if not runs:
        return Known(None, 0, ())
    run = runs[-1]
    last, count = stored[run.stored + run.size - 1], run.line + run.size
    left = following(stored, [last.id])
    if len(line) == 1 and not whole and not repeats(stored, last, left, again):
        return Known(None, 0, ())
    way = way_to(stored, last)
    here = {message.id for one in runs for message in stored[one.stored : one.stored + one.size]}
    return Known(last, count, left, following(stored, way - {last.id}, but=way | here))


def like(stored: Sequence[Message], line: Sequence[Payload], told: Sequence[str]) -> list[str]:
    """The identities of stored messages. An answer that was cut takes that of the client's longer or shorter part of it."""
    here = [identity(message.payload) for message in stored]
    for at, message in enumerate(stored):
        if not note_of(message).get("cut") or here[at] in told:
            continue
        text = text_said(message.payload)
        for payload, one in zip(line, told, strict=True):
            other = text_said(payload) if payload["role"] == "assistant" else ""
            if text and other and (text.startswith(other) or other.startswith(text)):
                here[at] = one
    return here


def runs_of(here: Sequence[str], told: Sequence[str]) -> list[Run]:
    """Runs that are the same in both, in order; the longest first to be found, the latest of equals."""
    matcher = SequenceMatcher(None, here[::-1], told[::-1], autojunk=False)
    found = (Run(len(here) - a - size, len(told) - b - size, size) for a, b, size in matcher.get_matching_blocks() if size)
    return sorted(found, key=lambda run: run.line)


def trusted(runs: Sequence[Run], stored: Sequence[Message]) -> list[Run]:
    """Those that are no likeness by chance; see (3)."""
    kept: list[Run] = []
    for run, following in zip_longest(runs, runs[1:]):
        leads = following is not None and follows(following, run, stored)
        if run.size > 1 or leads or (joins(run, kept[-1], stored) if kept else begins(run, stored)):
            kept.append(run)
    return kept


def follows(run: Run, before: Run, stored: Sequence[Message]) -> bool:
    """Whether a run goes right on from another one in the history, and by its link here too, whatever stands between."""
    end = stored[before.stored + before.size - 1]
    return run.line == before.line + before.size and after(stored[run.stored]) == end.id


def begins(run: Run, stored: Sequence[Message]) -> bool:
    """Whether a lone message may be where a history sets in: its first, and an answer, or the first or the newest message that is
    stored but for answers."""
    own, later = stored[run.stored], stored[run.stored + 1 :]
    newest = all(message.role == "assistant" for message in later)
    return run.line == 0 and (own.role == "assistant" or own.position == 1 or newest)


def joins(run: Run, before: Run, stored: Sequence[Message]) -> bool:
    """Whether a lone message goes on from the run before it: right after it, or with as much between them here, or deleted here,
    as in the history."""
    end, own = stored[before.stored + before.size - 1], stored[run.stored]
    between = run.line - before.line - before.size
    return 0 < between < own.position - end.position or follows(run, before, stored)


def repeats(stored: Sequence[Message], last: Message, left: Sequence[Message], again: bool) -> bool:
    """Whether a single message is the newest one asked again, not the same words anew: it has no whole answer yet, or the client
    says so, or nothing was said before it, so that one message is all that there is to send."""
    rest = [message for message in stored if message.position > last.position]
    if len(rest) > len(left) or any(message.role != "assistant" for message in left):
        return False
    return again or last.position == 1 or all(note_of(message).get("cut") for message in left)


# --- names ----------------------------------------------------------------------------------------------------------


def root_name(owner: str | None, line: Sequence[Payload]) -> str:
    """The session of a client that names none, by how its history begins. No text can be read from it."""
    return ROOT + digest_of([owner, *map(identity, line[:1])])[:NAME_CHARS]


def branch_name(root: str, line: Sequence[Payload]) -> str:
    """The session of a history that begins so and no longer goes with the root's."""
    return f"{root}-{digest_of([identity(payload) for payload in line])[:NAME_CHARS]}"


def aside_name(name: str) -> str:
    """The session that keeps what was taken out of this one's line."""
    aside = name + ASIDE
    return aside if len(aside) <= LONGEST_NAME else ROOT + digest_of(name)[:NAME_CHARS] + ASIDE


def id_of(place: Any, payload: Payload) -> str:
    """The id of a message at a place: the same one there again is the same message."""
    return "r_" + digest_of([place, payload])[:24]
