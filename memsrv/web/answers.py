"""The shapes of the answers, for the page /docs. The routes build them by hand: they are checked by tests, not at run time."""

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memsrv.model import Heading, Language, Mode, Trigger


class ChunkOut(BaseModel):
    """A piece of a message: characters `start` to `end` (exclusive) of its text."""

    text: str
    start: int
    end: int


class MessageOut(BaseModel):
    """A stored message: what was sent, verbatim, with memsrv's own fields."""

    model_config = ConfigDict(extra="allow")
    id: str
    position: int = Field(description="1-based ordinal in the session, in order of arrival.")
    role: str
    content: JsonValue
    sent_at: str = Field(description="RFC 3339, UTC.")
    stored_at: str
    metadata: dict[str, JsonValue] | None
    indexed: bool = Field(description="Whether its vectors are in the index.")


class MessageWithChunksOut(MessageOut):
    chunks: list[ChunkOut]


class MessagesOut(BaseModel):
    messages: list[MessageOut]
    next: int | None = Field(description="The `after` of the next page.")


class ImportedSessionOut(BaseModel):
    """What became of one session."""

    session: str
    source: str = Field(description="The program that wrote the conversation.")
    title: str
    stored: int
    already_there: int
    conflicts: int = Field(description="Messages that say something else than what is stored under their id, which stays.")
    changed: list[str] = Field(description="Their ids, the first 100.")
    skipped: int


class SkippedOut(BaseModel):
    why: str
    count: int
    places: list[str] = Field(description="The first of them.")


class ImportOut(BaseModel):
    conversations: int
    stored: int
    already_there: int
    conflicts: int
    skipped: list[SkippedOut]
    sessions: list[ImportedSessionOut]


class RecallOut(BaseModel):
    """A recalled piece of a message, or a passage of a summary."""

    message_id: str | None = Field(description="null: it is a passage of a summary.")
    position: int | None
    summary_version: int | None = Field(description="The version that said it first; sent_at is when that was made.")
    session: str
    role: str
    name: str | None
    sent_at: str
    score: float | None = Field(description="Cosine similarity; null while its vector or the embedder is missing.")
    signals: dict[str, float] = Field(
        description="What was added up to its rank: words, dense, around (neighbours), speaker, time, role, asks; or relevance."
    )
    text: str


class RecallsOut(BaseModel):
    session: str
    recall: list[RecallOut] = Field(description="Best first.")
    degraded: list[str] = Field(description="`recall` while only words could be searched.")


class RegionOut(BaseModel):
    name: str = Field(description="meta, summary, recall, window or state.")
    tokens: int
    limit_tokens: int
    items: int
    dropped: list[dict[str, JsonValue]] = Field(description="What fell out or was cut, and why.")


class AdviceOut(BaseModel):
    """What to change where a region took far more than its share and something else had no room."""

    region: str
    share: float = Field(description="Part of the budget that it took.")
    guide: float = Field(description="Part of the budget that is its share: meta, summary and window as 1 : 2 : 3.")
    setting: str
    text: str


class CoverageOut(BaseModel):
    version: int
    covers_upto: int = Field(description="The position up to which it covers the session.")


class ReceiptOut(BaseModel):
    """What a prompt was made of."""

    id: str
    regions: list[RegionOut]
    recall: list[RecallOut]
    summary: CoverageOut | None
    degraded: list[str]
    factor: float = Field(description="Tokens that the provider was taken to count for one of ours.")
    advice: list[AdviceOut]


class PromptOut(BaseModel):
    """A prompt, ready to send: total_tokens <= budget_tokens, always."""

    session: str
    mode: Mode
    model: str | None
    budget_tokens: int
    total_tokens: int
    messages: list[dict[str, JsonValue]] = Field(description="In OpenAI's shape.")
    receipt: ReceiptOut


class UsageOut(BaseModel):
    """What came of a report."""

    session: str
    receipt: str = Field(description="The prompt that the report was set against.")
    model: str | None
    prompt_tokens: int = Field(description="What the provider counted.")
    total_tokens: int = Field(description="What memsrv counted.")
    counted: bool = Field(description="false: this prompt was reported on before, or the two are too far apart for that.")
    factor: float = Field(description="In force from now on for this model's prompts.")
    reports: int = Field(description="How many were counted so far.")


class ReceiptsOut(BaseModel):
    receipts: list[ReceiptOut]
    next: None


class SummaryOut(CoverageOut):
    """A version of the summary."""

    text: str
    made_at: str
    covers_from: int = Field(description="The position of the first message that was newly folded in.")
    made_by: str = Field(description="The summarizer.")
    reason: Trigger = Field(description="What triggered it.")
    base: int | None = Field(description="The version that it was folded from.")
    stale: bool = Field(description="Whether a message that it covers was edited or deleted since.")


class FailingOut(BaseModel):
    """A compaction that does not come to an end."""

    tries: int = Field(description="Since the last one that did.")
    reason: str
    wait_s: float = Field(description="Seconds until the next try.")


class SummariesOut(BaseModel):
    summaries: list[SummaryOut]
    next: int | None
    failing: FailingOut | None


class LineOut(BaseModel):
    """One statement of a summary."""

    heading: Heading
    text: str
    position: int | None = Field(description="The message that says it, if that is known.")
    sent_at: str | None


class ChangedLineOut(BaseModel):
    before: LineOut
    after: LineOut


class DifferenceOut(BaseModel):
    """How a version differs from the one that it was folded from."""

    against: int | None
    added: list[LineOut]
    removed: list[LineOut]
    changed: list[ChangedLineOut]


class SourceOut(BaseModel):
    """A message that went into a summary, as it reads now."""

    id: str
    position: int
    role: str
    name: str | None
    sent_at: str
    text: str


class SummaryDetailOut(SummaryOut):
    language: Language | None
    lines: list[LineOut]
    findings: list[dict[str, JsonValue]] = Field(description="What the guard found and did; each has a `kind`.")
    difference: DifferenceOut
    messages: list[SourceOut] = Field(description="What went in beside `base`, in order.")
    next: int | None = Field(description="The `after` of the next page of messages.")


class CompactedOut(BaseModel):
    session: str
    made: bool = Field(description="Whether there was anything to summarise.")
    reason: str | None = Field(description="Why there was not.")
    summary: SummaryOut | None = Field(description="The newest summary.")


class SwitchOut(BaseModel):
    """A change of mode, on the record."""

    at: str
    before: Mode
    after: Mode
    reason: str
    summary_version: int | None = Field(description="The summary that was made for it.")


class SwitchedOut(SwitchOut):
    session: str


class ModeOut(BaseModel):
    session: str
    mode: Mode
    switches: list[SwitchOut] = Field(description="The newest first.")


class SuggestedPinsOut(BaseModel):
    suggestions: list[LineOut] = Field(description="Decisions and constraints of the newest summary that no pin says yet.")


class SessionOut(BaseModel):
    session: str
    owner: str | None
    settings: dict[str, JsonValue] = Field(description="What the session set itself.")
    last_position: int
    made_at: str
    changed_at: str


class SessionsOut(BaseModel):
    sessions: list[SessionOut]
    next: str | None


class SessionStateOut(SessionOut):
    mode: Mode
    messages: int
    chunks: int
    pending_index: int = Field(description="Chunks that wait for their vectors.")
    set_aside: int = Field(description="Messages that could not be indexed.")
    summary: CoverageOut | None


class ErasedOut(BaseModel):
    """What a deletion takes, or would take."""

    session: str
    dry_run: bool
    messages: int
    chunks: int
    summaries: int = Field(description="Versions of the summary that lose their text.")
    receipts: int


class MessageDeletedOut(ErasedOut):
    deleted: str


class ForgottenOut(ErasedOut):
    pins: int


class OwnerForgottenOut(BaseModel):
    owner: str
    dry_run: bool
    sessions: int
    messages: int
    chunks: int
    summaries: int
    receipts: int
    pins: int


class DeletedOut(BaseModel):
    session: str
    deleted: str


class RebuildingOut(BaseModel):
    """How far a rebuild of the index is."""

    running: bool
    messages: int = Field(description="That there are to index; passages of summaries count as messages.")
    left: int = Field(description="That the generation that is filled misses still.")
    generation: int | None = Field(description="The one that is filled; null while the index is not open.")
    answers: int | None = Field(description="The one that is searched.")
    degraded: list[str] = Field(description="`embedder` or `index`, while they stand in the way.")


class CheckOut(BaseModel):
    name: str
    wrong: int
    mended: bool = Field(description="Mended, or being made anew in the background.")


class VerifiedOut(BaseModel):
    good: bool
    waiting: int = Field(description="Messages and passages of summaries that wait for their vectors; they are not checked.")
    checks: list[CheckOut]


class PurgedOut(BaseModel):
    purged: bool


class MetaOut(BaseModel):
    """What stands in every prompt; the client's own keys beside these."""

    model_config = ConfigDict(extra="allow")
    system_prompt: str | None
    profile: str | None
    goal: str | None
    task_state: str | None


class PinOut(BaseModel):
    id: str
    text: str
    kind: str
    made_at: str


class PinsOut(BaseModel):
    pins: list[PinOut]
    next: None


class HandoffOut(BaseModel):
    """What another agent needs to take over."""

    session: str
    to: str | None = Field(description="The session that it was put into.")
    language: Language
    goal: str | None
    task_state: str | None
    pins: list[PinOut]
    decisions: list[LineOut] = Field(description="Those that no pin says.")
    constraints: list[LineOut] = Field(description="Those that no pin says.")
    questions: list[LineOut]
    summary: CoverageOut | None = Field(description="The stored summary that went in; what was said since went in too.")
    text: str = Field(description="All of it, as far as `max_tokens` goes, in the language of the talk.")
    tokens: int = Field(description="Of `text`.")
