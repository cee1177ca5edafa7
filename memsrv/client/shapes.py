"""What the calls answer with: frozen, times as aware datetimes in UTC, lists as tuples.

Fields that a newer server adds are left out here and do no harm.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import TypeAdapter

T = TypeVar("T")
JsonObject = Mapping[str, Any]
Mode = Literal["full", "window", "summary", "retrieval", "hybrid"]
Reach = Literal["session", "owner"]
Format = Literal["openai", "strict", "text"]
PinKind = Literal["fact", "decision", "constraint"]


# --- messages -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stored:
    """One message of an append; `created` is false when it was there already."""

    id: str
    position: int
    created: bool
    chunks: int


@dataclass(frozen=True, slots=True)
class Appended:
    """`pending_index` is how many chunks of the session still wait for their vectors."""

    session: str
    messages: tuple[Stored, ...]
    pending_index: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a message: characters `start` to `end` (exclusive) of its text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message; `payload` is what was sent, verbatim, in OpenAI's shape. `chunks` are told of single messages only."""

    id: str
    position: int
    payload: JsonObject
    sent_at: datetime
    stored_at: datetime
    metadata: JsonObject | None
    indexed: bool
    chunks: tuple[Chunk, ...] = ()

    @property
    def role(self) -> str:
        return str(self.payload["role"])

    @property
    def content(self) -> Any:
        """Text, a list of parts, or None."""
        return self.payload.get("content")

    @property
    def text(self) -> str:
        """The text of the content, parts joined by line ends."""
        if not isinstance(self.content, list):
            return self.content or ""
        return "\n".join(part["text"] for part in self.content if isinstance(part.get("text"), str))


# --- prompt and recall ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recall:
    """A recalled piece of a message. `score` is its cosine similarity, None while it waits for its vector. A passage of an older
    summary has no message: it has the `summary_version` that said it first, and `sent_at` is when that was made."""

    message_id: str | None
    position: int | None
    session: str
    role: str
    name: str | None
    sent_at: datetime
    score: float | None
    signals: Mapping[str, float]
    text: str
    summary_version: int | None = None


@dataclass(frozen=True, slots=True)
class Recalls:
    """Best first. `degraded` names `recall` while only words could be searched."""

    session: str
    recall: tuple[Recall, ...]
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    name: str
    tokens: int
    limit_tokens: int
    items: int
    dropped: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """A version of the summary, and the position up to which it covers the session."""

    version: int
    covers_upto: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a prompt was made of; `considered` is told with `explain`."""

    id: str
    regions: tuple[Region, ...]
    recall: tuple[Recall, ...]
    summary: Coverage | None
    degraded: tuple[str, ...]
    factor: float = 1.0
    advice: tuple[JsonObject, ...] = ()
    considered: tuple[JsonObject, ...] | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """`messages` are ready to send; total_tokens <= budget_tokens, always."""

    session: str
    mode: str
    model: str | None
    budget_tokens: int
    total_tokens: int
    messages: list[dict[str, Any]]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Usage:
    """What came of a report; `factor` is in force from now on for this model's prompts."""

    session: str
    receipt: str
    model: str | None
    prompt_tokens: int
    total_tokens: int
    counted: bool
    factor: float
    reports: int


# --- state ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in a list; `settings` is what it set itself."""

    session: str
    owner: str | None
    settings: JsonObject
    last_position: int
    made_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class State(Listed):
    """A session's settings and counts."""

    mode: str
    messages: int
    chunks: int
    pending_index: int
    set_aside: int
    summary: Coverage | None


@dataclass(frozen=True, slots=True)
class Meta:
    """What stands in every prompt; `own` holds the client's own keys."""

    system_prompt: str | None
    profile: str | None
    goal: str | None
    task_state: str | None
    own: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pin:
    id: str
    text: str
    kind: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Deleted:
    session: str
    deleted: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went, or with `dry_run` what would go."""

    session: str
    dry_run: bool
    messages: int
    chunks: int


# --- summaries, modes, handoff --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One statement of a summary, with the message that says it, if that is known."""

    heading: str
    text: str
    position: int | None
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A version of the summary. `base` is the version that it was folded from; `stale` says that a message which it covers
    was edited or deleted since."""

    version: int
    covers_from: int
    covers_upto: int
    text: str
    made_at: datetime
    made_by: str
    reason: str
    base: int | None
    stale: bool


@dataclass(frozen=True, slots=True)
class SummaryDetail(Summary):
    """The same with its lines, what the guard found, and how it differs from its base; `messages` are what went in, the
    first hundred of them."""

    language: str | None
    lines: tuple[Line, ...]
    findings: tuple[JsonObject, ...]
    difference: JsonObject
    messages: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """`made` says whether there was anything to summarise, `reason` why not; `summary` is the newest one."""

    session: str
    made: bool
    summary: Summary | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """A change of mode, on the record."""

    at: datetime
    before: str
    after: str
    reason: str
    summary_version: int | None


@dataclass(frozen=True, slots=True)
class ModeLog:
    """The mode in force, and its switches, the newest first."""

    session: str
    mode: str
    switches: tuple[Switch, ...]


@dataclass(frozen=True, slots=True)
class Handoff:
    """What another agent needs to take over; `text` holds all of it, as far as `max_tokens` goes."""

    session: str
    to: str | None
    language: str
    goal: str | None
    task_state: str | None
    pins: tuple[Pin, ...]
    decisions: tuple[Line, ...]
    constraints: tuple[Line, ...]
    questions: tuple[Line, ...]
    summary: Coverage | None
    text: str
    tokens: int


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A piece of a list; `next` is the cursor of what follows, None at its end."""

    items: tuple[T, ...]
    next: int | str | None


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Checks and converts JSON values to a shape; made once, when it is first needed."""
    return TypeAdapter(kind)


def reading(kind: type[T]) -> Callable[[Any], T]:
    """Reads a body as one of the shapes above. Raises ValueError."""
    return lambda body: cast(T, adapter(cast(Any, kind)).validate_python(body))


def listing(name: str, read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """Reads the list of this name."""
    return lambda body: tuple(read(item) for item in object_of(body)[name])


def paging(name: str, read: Callable[[Any], T]) -> Callable[[Any], Page[T]]:
    """Reads one page of the list of this name."""
    return lambda body: Page(listing(name, read)(body), body["next"])


OWN_OF_MESSAGE = frozenset({"id", "position", "sent_at", "stored_at", "metadata", "indexed", "chunks"})
OWN_OF_META = frozenset({"system_prompt", "profile", "goal", "task_state"})


def message(body: Any) -> Message:
    """A message: the server's own fields beside what was sent."""
    own, payload = parted(body, OWN_OF_MESSAGE)
    return reading(Message)({**own, "payload": payload})


def meta(body: Any) -> Meta:
    """Meta: the known keys beside the client's own."""
    known, own = parted(body, OWN_OF_META)
    return reading(Meta)({**known, "own": own})


def parted(body: Any, names: frozenset[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    known = {name: value for name, value in object_of(body).items() if name in names}
    return known, {name: value for name, value in body.items() if name not in names}


def object_of(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise ValueError("the answer is no JSON object")
    return body
