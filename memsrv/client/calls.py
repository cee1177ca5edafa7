"""Every call, described once: how its request is built and how its answer is read. No network here.

`Memory` and `AsyncMemory` turn these into methods; the session's name, which stands first, is then the handle's.
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from memsrv.client import shapes
from memsrv.client.shapes import (
    Appended,
    Compacted,
    Deleted,
    Forgotten,
    Format,
    Handoff,
    Line,
    Listed,
    Message,
    Meta,
    Mode,
    ModeLog,
    Page,
    Pin,
    PinKind,
    Prompt,
    Reach,
    Recalls,
    Receipt,
    State,
    Summary,
    SummaryDetail,
    Switch,
    Usage,
    listing,
    paging,
    reading,
)

T = TypeVar("T")
MessageIn = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request. `repeatable` says that sending it twice does what sending it once does."""

    method: str
    path: str
    read: Callable[[Any], T]
    params: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True

    def after(self, cursor: int | str) -> "Call[T]":
        """The same for the next page."""
        return replace(self, params={**self.params, "after": cursor})


def get(path: str, read: Callable[[Any], T], **params: Any) -> Call[T]:
    return Call("GET", path, read, given(params))


def send(method: str, path: str, body: Any, read: Callable[[Any], T], *, repeatable: bool = True) -> Call[T]:
    """A call with a JSON body."""
    written = json.dumps(body, allow_nan=False, default=plain).encode("ascii")
    return Call(method, path, read, body=written, headers={"content-type": "application/json"}, repeatable=repeatable)


def plain(value: object) -> Any:
    """What JSON has no word for: times as RFC 3339, mappings and tuples as what they are."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is not None."""
    return {name: value for name, value in values.items() if value is not None}


def path_of(session: str, *rest: str | int) -> str:
    """The path of a session, or of something in it. A name that is only dots would be taken for a step in the path."""
    return "/".join(("/context", *(segment(str(part)) for part in (session, *rest))))


def segment(name: str) -> str:
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


# --- messages -------------------------------------------------------------------------------------------------------


def add(
    session: str,
    /,
    messages: MessageIn | Sequence[MessageIn],
    *,
    role: str = "user",
    wait_ms: int = 0,
    idempotency_key: str | None = None,
) -> Call[Appended]:
    """Store one message or several, all or none; they are durable when this answers.

    A message is a mapping in OpenAI's shape (with `id`, `sent_at`, `metadata` if you like), or a text, which is said by
    `role`. `wait_ms` waits so long until they can be recalled. One without an `id` gets one, so that a repeated try stores
    nothing twice; for the same across restarts of your program give ids of your own, or an `idempotency_key`.
    """
    many = [messages] if isinstance(messages, str | Mapping) else list(messages)
    whole = [{"role": role, "content": one} if isinstance(one, str) else one for one in many]
    if idempotency_key is None:
        whole = [{"id": uuid.uuid4().hex, **one} for one in whole]
    call = send("POST", path_of(session, "messages"), {"messages": whole}, reading(Appended))
    headers = {**call.headers, **given({"idempotency-key": idempotency_key})}
    return replace(call, params=given({"wait_ms": wait_ms or None}), headers=headers)


def messages(session: str, /, *, after: int = 0, before: int | None = None, page: int = 100) -> Call[Page[Message]]:
    """Walk over the transcript in order, verbatim, positions above `after` and below `before`; `page` at a time are fetched."""
    return get(path_of(session, "messages"), paging("messages", shapes.message), after=after, before=before, limit=page)


def message(session: str, /, id: str) -> Call[Message]:
    """One message, with its chunks."""
    return get(path_of(session, "messages", id), shapes.message)


def edit(session: str, /, id: str, **changes: Any) -> Call[Message]:
    """Change a message's `content`, `name`, `tool_calls`, `sent_at` or `metadata`; what it is remembered by follows."""
    return send("PATCH", path_of(session, "messages", id), changes, shapes.message)


def delete(session: str, /, id: str) -> Call[Deleted]:
    """Take a message out of the transcript and of all memory."""
    return Call("DELETE", path_of(session, "messages", id), reading(Deleted), repeatable=False)


# --- prompt and recall ----------------------------------------------------------------------------------------------


def prompt(
    session: str,
    /,
    query: str | None = None,
    *,
    budget: int | None = None,
    model: str | None = None,
    mode: Mode | None = None,
    k: int | None = None,
    scope: Reach | None = None,
    format: Format | None = None,
    explain: bool = False,
) -> Call[Prompt]:
    """The prompt, ready to send and within `budget` tokens; `query` is what to recall for, by default the newest user message."""
    asked = {"query": query, "budget": budget, "model": model, "mode": mode, "k": k, "scope": scope, "format": format}
    return send("POST", path_of(session, "prompt"), given(asked | {"explain": explain or None}), reading(Prompt))


def recall(session: str, /, query: str, *, k: int | None = None, scope: Reach | None = None) -> Call[Recalls]:
    """The search alone: the `k` best pieces of old messages for a query, of this session or of all of its owner's."""
    return get(path_of(session, "recall"), reading(Recalls), query=query, k=k, scope=scope)


def receipts(session: str, /, limit: int = 50) -> Call[tuple[Receipt, ...]]:
    """What the last prompts were made of, the newest first."""
    return get(path_of(session, "receipts"), listing("receipts", reading(Receipt)), limit=limit)


def usage(session: str, /, prompt_tokens: int, *, receipt: str | None = None, model: str | None = None) -> Call[Usage]:
    """Tell what the provider counted for the prompt of a receipt, or for the newest prompt for a model."""
    body = given({"prompt_tokens": prompt_tokens, "receipt": receipt, "model": model})
    return send("POST", path_of(session, "usage"), body, reading(Usage), repeatable=False)


# --- state ----------------------------------------------------------------------------------------------------------


def state(session: str, /) -> Call[State]:
    """Settings and counts."""
    return get(path_of(session), reading(State))


def put_settings(session: str, /, **settings: Any) -> Call[State]:
    """Make the session if it is new, and set its settings whole: `owner`, `mode`, `profile`, `window={"size": 8}`, ..."""
    return send("PUT", path_of(session), settings, reading(State))


def patch_settings(session: str, /, **settings: Any) -> Call[State]:
    """Change the given settings; None takes one back to its default."""
    return send("PATCH", path_of(session), settings, reading(State))


def meta(session: str, /) -> Call[Meta]:
    """System prompt, profile, goal, task state and your own keys: they stand in every prompt."""
    return get(path_of(session, "meta"), shapes.meta)


def put_meta(session: str, /, **values: Any) -> Call[Meta]:
    """Set meta whole; the session comes into being if it is new."""
    return send("PUT", path_of(session, "meta"), values, shapes.meta)


def patch_meta(session: str, /, **values: Any) -> Call[Meta]:
    """Change the given keys of meta; None takes one out."""
    return send("PATCH", path_of(session, "meta"), values, shapes.meta)


def pins(session: str, /) -> Call[tuple[Pin, ...]]:
    """Facts and decisions that stand in every prompt."""
    return get(path_of(session, "pins"), listing("pins", reading(Pin)))


def pin(session: str, /, text: str, kind: PinKind = "fact") -> Call[Pin]:
    """Pin a text; one that is pinned already is answered as it is."""
    return send("POST", path_of(session, "pins"), {"text": text, "kind": kind}, reading(Pin))


def unpin(session: str, /, id: str) -> Call[Deleted]:
    """Take a pin out."""
    return Call("DELETE", path_of(session, "pins", id), reading(Deleted), repeatable=False)


def suggested_pins(session: str, /) -> Call[tuple[Line, ...]]:
    """Decisions and constraints of the newest summary that no pin says yet."""
    return get(path_of(session, "pins", "suggested"), listing("suggestions", reading(Line)))


def forget(session: str, /, *, dry_run: bool = False) -> Call[Forgotten]:
    """Forget the session whole, or with `dry_run` only say what would go."""
    params = {"dry_run": "true"} if dry_run else {}
    return Call("DELETE", path_of(session), reading(Forgotten), params, repeatable=dry_run)


# --- summaries, modes, handoff --------------------------------------------------------------------------------------


def summaries(session: str, /, *, after: int = 0, page: int = 100) -> Call[Page[Summary]]:
    """Walk over the stored summaries by version, stale ones too."""
    return get(path_of(session, "summaries"), paging("summaries", reading(Summary)), after=after, limit=page)


def summary(session: str, /, version: int) -> Call[SummaryDetail]:
    """One version with its lines, what went in, and how it differs from its base."""
    return get(path_of(session, "summaries", version), reading(SummaryDetail))


def restore(session: str, /, version: int) -> Call[Summary]:
    """Make a version the newest again, as a new version."""
    return send("POST", path_of(session, "summaries", version, "restore"), {}, reading(Summary), repeatable=False)


def compact(session: str, /, keep: int | None = None) -> Call[Compacted]:
    """Summarise now all but the newest `keep` messages; 0 summarises everything so far."""
    return send("POST", path_of(session, "compact"), given({"keep": keep}), reading(Compacted))


def mode(session: str, /) -> Call[ModeLog]:
    """The mode, and its switches with their reasons."""
    return get(path_of(session, "mode"), reading(ModeLog))


def switch_mode(session: str, /, mode: Mode, reason: str = "") -> Call[Switch]:
    """Switch safely: what would leave the prompt is summarised first; nothing changes if that fails."""
    return send("POST", path_of(session, "mode"), {"mode": mode, "reason": reason}, reading(Switch), repeatable=False)


def handoff(session: str, /, to: str | None = None, *, max_tokens: int = 600) -> Call[Handoff]:
    """What another agent needs to take over; with `to` it is put into that session, which may be new."""
    return send("POST", path_of(session, "handoff"), given({"to": to, "max_tokens": max_tokens}), reading(Handoff))


# --- all sessions ---------------------------------------------------------------------------------------------------


def sessions(*, owner: str | None = None, page: int = 100) -> Call[Page[Listed]]:
    """Walk over the sessions (of one owner), in order of name."""
    return get("/context", paging("sessions", reading(Listed)), owner=owner, limit=page)
