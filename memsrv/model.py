"""The nouns. Frozen, parsed once at the edge, known to every other room.

Times are aware datetimes in UTC. A `payload` is an OpenAI-shaped message as the client sent it, kept verbatim; its
`text` is what can be searched in it (see `core.content`). Database numbers (`session.number`, `message.number`,
`chunk.number`) never leave the server; clients know sessions and messages by name and id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

Payload = Mapping[str, Any]

SUMMARY = "summary"
"""The role of a recalled passage of a snapshot; no message has it."""


class Mode(StrEnum):
    """Which regions a prompt is made of."""

    FULL = "full"
    WINDOW = "window"
    SUMMARY = "summary"
    RETRIEVAL = "retrieval"
    HYBRID = "hybrid"


class Reach(StrEnum):
    """How far recall looks: this session, or every session of its owner."""

    SESSION = "session"
    OWNER = "owner"


class Format(StrEnum):
    """The shape in which a prompt is given out."""

    OPENAI = "openai"
    STRICT = "strict"
    TEXT = "text"


class RegionName(StrEnum):
    META = "meta"
    SUMMARY = "summary"
    RECALL = "recall"
    WINDOW = "window"
    STATE = "state"


# --- sessions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A session as a client names it, inside its tenant. The name is kept to the character."""

    tenant: str
    name: str


@dataclass(frozen=True, slots=True)
class Meta:
    """What never scrolls away. `extra` holds the client's own keys."""

    system_prompt: str | None = None
    profile: str | None = None
    goal: str | None = None
    task_state: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pin:
    """A fact or decision that stands in every prompt."""

    id: str
    text: str
    kind: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `settings` holds only what the client set; `core.policy` adds profile and defaults. `rewrites`
    counts its edits and deletes."""

    number: int
    key: SessionKey
    owner: str | None
    settings: Mapping[str, Any]
    meta: Meta
    last_position: int
    made_at: datetime
    changed_at: datetime
    rewrites: int = 0


@dataclass(frozen=True, slots=True)
class SessionCounts:
    messages: int
    chunks: int
    pending_index: int
    set_aside: int


# --- messages and chunks --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) of a message's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A piece about to be stored: where it stands, what it says, its search terms (segmented and stemmed)."""

    span: Span
    text: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as it came in: parsed and checked, not yet looked into."""

    payload: Payload
    id: str | None = None
    sent_at: datetime | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message about to be stored. `digest` identifies its content, for idempotent writes; `task_state` is what it tells
    of the task on a marked line (see `core.taskstate`)."""

    id: str | None
    payload: Payload
    sent_at: datetime | None
    metadata: Mapping[str, Any] | None
    digest: str
    chunks: tuple[NewChunk, ...]
    task_state: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One stored turn of one role; `position` is its 1-based ordinal in the session."""

    number: int
    id: str
    position: int
    payload: Payload
    sent_at: datetime
    stored_at: datetime
    metadata: Mapping[str, Any] | None
    chunk_count: int
    indexed: bool

    @property
    def role(self) -> str:
        return str(self.payload["role"])

    @property
    def name(self) -> str | None:
        name = self.payload.get("name")
        return str(name) if name else None


@dataclass(frozen=True, slots=True)
class Stored:
    """The answer to one appended message."""

    id: str
    position: int
    created: bool
    chunks: int


@dataclass(frozen=True, slots=True)
class Appended:
    """The answer to one append, whole."""

    session: Session
    messages: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which messages of a session: positions strictly between `after` and `before`, sent at `since` or later and before
    `until`. What is None does not bound it."""

    after: int = 0
    before: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a deletion takes, or would take: rows of each kind. `summaries` are versions that lose their text, and their
    passages with it, which are not counted."""

    sessions: int = 0
    messages: int = 0
    chunks: int = 0
    summaries: int = 0
    receipts: int = 0
    pins: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored piece of a message, with what a reader needs to know of where it comes from.

    A passage of a snapshot is one too: with a `summary_version`, the role `SUMMARY`, the time at which that was made, the
    last position that it covers, and no message.
    """

    number: int
    session_number: int
    session: str
    message_number: int
    message_id: str
    position: int
    ordinal: int
    role: str
    name: str | None
    sent_at: datetime
    span: Span
    text: str
    summary_version: int | None = None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the store holds it; `terms` are one text, parted by blanks."""

    span: Span
    text: str
    terms: str


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message with what the store keeps beside it."""

    message: Message
    digest: str
    chunks: tuple[StoredChunk, ...]


# --- index ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search may see. There is no scope without sessions: an empty one finds nothing.

    The index holds the passages of a session's snapshots under its number negated, and each under its own number negated,
    so that they are searched apart from the messages.
    """

    tenant: str
    session_numbers: tuple[int, ...]

    def __post_init__(self) -> None:
        assert self.tenant, "a scope names its tenant"

    def of_passages(self) -> "Scope":
        """The passages of the same sessions."""
        return Scope(self.tenant, tuple(-number for number in self.session_numbers))

    def with_passages(self) -> "Scope":
        """The messages and the passages of the sessions."""
        return Scope(self.tenant, (*self.session_numbers, *self.of_passages().session_numbers))


@dataclass(frozen=True, slots=True)
class Generation:
    """One build of the vector index, tied to the embedder and chunker that made it. A fingerprint is
    `embedder|dimension|view|chunker`."""

    number: int
    fingerprint: str

    @property
    def space(self) -> str:
        """What makes vectors of two generations comparable: the embedder and the dimension."""
        return self.fingerprint.rsplit("|", 2)[0]

    @property
    def chunker(self) -> str:
        """What cut the chunks."""
        return self.fingerprint.rsplit("|", 1)[-1]


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of talk and who said it."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk that waits for its vector, with the piece before it in the session, if there is one. `attempts`: how often
    its message failed. `fresh`: the generation that answers has no vector of it either. A passage's numbers are negated (see
    Scope), and it stands for its message too."""

    number: int
    session_number: int
    message_number: int
    tenant: str
    said: Said
    before: Said | None
    attempts: int = 0
    fresh: bool = False


# --- summaries ------------------------------------------------------------------------------------------------------


class Heading(StrEnum):
    """What a summary tells, in the order of reading."""

    GOAL = "goal"
    DECISIONS = "decisions"
    CONSTRAINTS = "constraints"
    QUESTIONS = "questions"
    FACTS = "facts"
    STATE = "state"


class Language(StrEnum):
    """The language that a summary is written in."""

    ENGLISH = "en"
    CHINESE = "zh"


@dataclass(frozen=True, slots=True)
class Line:
    """One statement. `position` is that of the message that says it (0: not known), `sent_at` its time."""

    heading: Heading
    text: str
    position: int = 0
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The lines in order of reading: heading by heading, and inside one as they are to be read."""

    lines: tuple[Line, ...] = ()
    language: Language = Language.ENGLISH

    def under(self, heading: Heading) -> tuple[Line, ...]:
        """The lines of one heading."""
        return tuple(line for line in self.lines if line.heading is heading)


@dataclass(frozen=True, slots=True)
class Source:
    """A message that goes into a summary, as plain text: tool calls and results are a short note, images a mark."""

    position: int
    role: str
    speaker: str
    sent_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """What a summarizer is asked: fold `said`, in order, into `previous`. What `keep` says (pins) must not vanish; `options`
    are the session's `summary` settings (provider, model, parameters, prompt, update_prompt, max_input_tokens)."""

    previous: Summary | None
    said: tuple[Source, ...]
    max_tokens: int
    language: Language = Language.ENGLISH
    keep: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


class Trigger(StrEnum):
    """Why a summary was made."""

    MESSAGES = "messages"
    TOKENS = "tokens"
    SHARE = "share"
    SECTIONS = "sections"
    STALE = "stale"
    ASKED = "asked"
    SWITCH = "switch"
    PROMPT = "prompt"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class NewPassage:
    """What a snapshot says that the one before it did not, in a piece that can be recalled; with its search terms."""

    text: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """A summary about to be stored. It was folded from the snapshot `base` (0: none) and the messages of positions
    `covers_from` to `covers_upto`, read while the session's `rewrites` stood as told here."""

    base: int
    covers_from: int
    covers_upto: int
    summary: Summary
    text: str
    made_by: str
    reason: Trigger
    rewrites: int
    findings: tuple[Mapping[str, Any], ...] = ()
    passages: tuple[NewPassage, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stored summary: immutable, versioned, says up to which position it covers the session.

    What went in is the snapshot `base` (0: none) and every message of positions `covers_from` to `covers_upto`; the
    transcript still holds them. `made_by` is the summarizer, `reason` what triggered it, `findings` what the guard did.
    """

    version: int
    covers_upto: int
    text: str
    made_at: datetime
    stale: bool = False
    covers_from: int = 1
    summary: Summary | None = None
    made_by: str = ""
    reason: Trigger = Trigger.ASKED
    base: int = 0
    findings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """A session as the compaction finds it: how far its newest sound snapshot reaches, how far a newer one reached that
    turned stale since (0: none), and how often a compaction failed since the last that did not: why, and how many seconds
    the next try has to wait."""

    key: SessionKey
    session_number: int
    covered_upto: int
    stale_upto: int
    failures: int
    wait_s: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """A change of a session's mode, on the record. `version` is the snapshot that was made for it, if one was."""

    at: datetime
    before: Mode
    after: Mode
    reason: str
    version: int | None


# --- recall and prompt ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recall:
    """A found chunk. `score` is the cosine similarity to the query (None while the embedder is down); `rank_score`
    orders the hits; `signals` tells what went into it."""

    chunk: Chunk
    score: float | None
    rank_score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CosineScale:
    """How an embedder's cosines read: what two texts that have nothing to do with each other come to (two Chinese texts come
    to `unrelated_han`), and how much more is worth as much as `core.recall.ranking.COVERED` of the question's words."""

    unrelated: float
    unrelated_han: float
    step: float


@dataclass(frozen=True, slots=True)
class Recalls:
    """The answer of a recall: hits, best first, and what could not be used."""

    hits: tuple[Recall, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outset:
    """What a prompt begins with, as of one moment: `newest` messages from the newest back and, if there are more before them, the
    session's `opening` ones in order."""

    session: Session
    pins: tuple[Pin, ...]
    snapshot: Snapshot | None
    newest: tuple[Message, ...]
    opening: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What a client asks for; None means: as the session and the settings say. `upto`: the prompt is made as if nothing had been
    said after this position; `whole_turn`: the newest turn is shown whole, whatever the window's size, if it fits the budget."""

    query: str | None = None
    budget_tokens: int | None = None
    model: str | None = None
    mode: Mode | None = None
    k: int | None = None
    reach: Reach | None = None
    format: Format = Format.OPENAI
    explain: bool = False
    upto: int | None = None
    whole_turn: bool = False


@dataclass(frozen=True, slots=True)
class Region:
    """The account of one region: tokens spent, tokens it might have had, items in it, and what fell out and why."""

    name: RegionName
    tokens: int
    limit_tokens: int
    items: int
    dropped: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a prompt was made of. `factor` is how many tokens its provider was taken to count for one of ours, `advice` what to
    change where a region took too much (see `core.advice`)."""

    id: str
    regions: tuple[Region, ...]
    recall: tuple[Recall, ...]
    summary: Snapshot | None
    degraded: tuple[str, ...]
    considered: tuple[Mapping[str, Any], ...] | None = None
    factor: float = 1.0
    advice: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, ready to send: `total_tokens <= budget_tokens`, always."""

    session: str
    mode: Mode
    model: str | None
    budget_tokens: int
    total_tokens: int
    messages: tuple[Payload, ...]
    receipt: Receipt


# --- access ---------------------------------------------------------------------------------------------------------


class KeyScope(StrEnum):
    """What a key may do: read, write, or all (`admin`)."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key of one tenant. Its text is not known: only the SHA-256 of it. A limit that is None is the server's."""

    id: str
    tenant: str
    scopes: frozenset[KeyScope]
    digest: bytes
    name: str
    made_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    rate_per_minute: int | None = None
    max_body_bytes: int | None = None
