"""The shapes of the answers, for the page /docs. The routes build them by hand: they are checked by tests, not at run time."""

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memsrv.model import Mode


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


class RecallOut(BaseModel):
    """A recalled piece of a message."""

    message_id: str
    position: int
    session: str
    role: str
    name: str | None
    sent_at: str
    score: float | None = Field(description="Cosine similarity; null while its vector or the embedder is missing.")
    signals: dict[str, float] = Field(
        description="What was added up to its rank: words, dense, around (neighbours), speaker, time, role, asks."
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


class PromptOut(BaseModel):
    """A prompt, ready to send: total_tokens <= budget_tokens, always."""

    session: str
    mode: Mode
    model: str | None
    budget_tokens: int
    total_tokens: int
    messages: list[dict[str, JsonValue]] = Field(description="In OpenAI's shape.")
    receipt: ReceiptOut


class ReceiptsOut(BaseModel):
    receipts: list[ReceiptOut]
    next: None


class SummaryOut(CoverageOut):
    text: str
    made_at: str
    stale: bool


class SummariesOut(BaseModel):
    summaries: list[SummaryOut]
    next: int | None


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


class ForgottenOut(BaseModel):
    session: str
    dry_run: bool
    messages: int
    chunks: int


class DeletedOut(BaseModel):
    session: str
    deleted: str


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
