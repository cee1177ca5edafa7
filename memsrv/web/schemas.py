"""The bodies of the HTTP contract, in and out. Unknown fields are refused by name."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    model_validator,
)

from memsrv.core.prompt.receipts import written
from memsrv.model import Draft, Format, Message, Mode, PromptRequest, Reach

MAX_NAME = 512
MAX_POSITION = 2**63 - 1
MAX_WAIT_MS = 60_000


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def utc(value: datetime) -> datetime:
    """A time without a zone is taken as UTC; every time is kept in UTC."""
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is out of range") from None


def moment(value: object) -> object:
    """A number is epoch seconds, whatever its size; text is left to be read as RFC 3339."""
    if isinstance(value, str) and not value.strip().lstrip("+-").replace(".", "", 1).isdigit():
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a time is RFC 3339 text such as 2026-03-01T09:30:00Z, or epoch seconds as a number, not as text")
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError, ValueError):
        raise ValueError("the time is out of range") from None


def plain(value: str) -> str:
    """A name: no control characters."""
    if has_controls(value):
        raise ValueError("control characters are not allowed")
    return value


def has_controls(text: str) -> bool:
    return any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text)


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(plain)]
Instant = Annotated[datetime, BeforeValidator(moment), AfterValidator(utc)]
Object = dict[str, JsonValue]


# --- messages -------------------------------------------------------------------------------------------------------


class Part(BaseModel):
    """One part of a message's content, in OpenAI's shape; what else it holds depends on its type."""

    model_config = ConfigDict(extra="allow", frozen=True)
    type: str = Field(min_length=1, max_length=64)
    text: str | None = None


class Function(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    name: str
    arguments: str = ""


class ToolCall(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    id: str = Field(min_length=1, max_length=MAX_NAME)
    type: Literal["function"] = "function"
    function: Function


class MessageIn(Body):
    """One message in OpenAI's shape, with memsrv's `id`, `sent_at` and `metadata`."""

    role: Literal["user", "assistant", "system", "tool", "developer"]
    content: str | list[Part] | None = None
    name: str | None = Field(None, max_length=MAX_NAME)
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = Field(None, max_length=MAX_NAME)
    reasoning_content: JsonValue = None
    reasoning: JsonValue = None
    refusal: str | None = None
    audio: JsonValue = None
    annotations: JsonValue = None
    id: Name | None = None
    sent_at: Instant | None = None
    metadata: Object | None = None

    @model_validator(mode="after")
    def paired(self) -> "MessageIn":
        if self.role == "tool" and not self.tool_call_id:
            raise ValueError("a message of role tool needs the tool_call_id of its call")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("only a message of role assistant can have tool_calls")
        return self

    def draft(self) -> Draft:
        """The payload as it was sent, and memsrv's own fields beside it."""
        payload = self.model_dump(exclude_unset=True, exclude={"id", "sent_at", "metadata"})
        return Draft({"content": None} | payload, self.id, self.sent_at, self.metadata)


class Batch(Body):
    messages: list[MessageIn] = Field(min_length=1)


def one_or_many(value: object) -> str:
    return "many" if isinstance(value, dict) and "messages" in value else "one"


Messages = Annotated[
    Annotated[MessageIn, Tag("one")] | Annotated[Batch, Tag("many")],
    Discriminator(one_or_many),
]


class EditIn(Body):
    """What PATCH may change in a message; what is left out stays. The whole must be a message that POST would take."""

    content: str | list[Part] | None = None
    name: str | None = Field(None, max_length=MAX_NAME)
    tool_calls: list[ToolCall] | None = None
    sent_at: Instant | None = None
    metadata: Object | None = None

    def draft(self, old: Message) -> Draft:
        """The old message with the given fields in place."""
        whole = {**old.payload, "id": old.id, "sent_at": old.sent_at.isoformat(), "metadata": old.metadata}
        try:
            return MessageIn.model_validate(whole | self.model_dump(exclude_unset=True, mode="json")).draft()
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None


class StoredOut(BaseModel):
    id: str
    position: int
    created: bool
    chunks: int


class AppendedOut(BaseModel):
    session: str
    messages: list[StoredOut]
    pending_index: int


def message_out(message: Message) -> dict[str, Any]:
    """A stored message: the payload verbatim, with memsrv's own fields."""
    return {
        **message.payload,
        "id": message.id,
        "position": message.position,
        "sent_at": written(message.sent_at),
        "stored_at": written(message.stored_at),
        "metadata": message.metadata,
        "indexed": message.indexed,
    }


# --- prompt and recall ----------------------------------------------------------------------------------------------


class PromptIn(Body):
    """What a prompt is asked with; what is left out is as the session and the settings say."""

    query: str | None = Field(None, description="What to recall for; default: the newest user message.")
    budget: int | None = Field(None, ge=1, le=100_000_000, description="Tokens the whole prompt may use.")
    model: str | None = Field(None, max_length=MAX_NAME, description="Picks the tokenizer and the context window.")
    mode: Mode | None = Field(None, description="For this call only; default: the session's.")
    k: int | None = Field(None, ge=0, le=1000, description="Recalled chunks, at most.")
    scope: Reach | None = Field(None, description="Recall from this session, or from all of its owner's.")
    format: Format = Field(Format.OPENAI, description="Shape of the messages.")
    explain: bool = Field(False, description="Add what was considered and why it fell out.")

    def request(self) -> PromptRequest:
        return PromptRequest(
            query=self.query,
            budget_tokens=self.budget,
            model=self.model,
            mode=self.mode,
            k=self.k,
            reach=self.scope,
            format=self.format,
            explain=self.explain,
        )


class UsageIn(Body):
    """What a provider counted, for the prompt of a receipt or for the newest prompt for a model."""

    receipt: str | None = Field(None, min_length=1, max_length=MAX_NAME, description="The receipt of the prompt that was sent.")
    model: str | None = Field(None, min_length=1, max_length=MAX_NAME, description="Instead: the newest prompt for this model.")
    prompt_tokens: int = Field(ge=1, le=10_000_000, description="What the provider counted for the whole prompt.", strict=True)

    @model_validator(mode="after")
    def of_one(self) -> "UsageIn":
        if (self.receipt is None) == (self.model is None):
            raise ValueError("name either the receipt or the model")
        return self


class RecallIn(Body):
    query: str = Field(description="What to look for.")
    k: int | None = Field(None, ge=0, le=1000, description="Hits, at most.")
    scope: Reach | None = Field(None, description="This session, or all of its owner's.")


# --- session state --------------------------------------------------------------------------------------------------


class WindowIn(Body):
    size: int | None = Field(None, ge=0, le=100_000, description="Messages in the window, at most; 0 is none.")
    keep: int | None = Field(None, ge=0, le=100_000, description="Messages that stay after a compaction.")


class TriggerIn(Body):
    type: Literal["messages", "tokens"]
    value: int = Field(ge=1)


class SummaryIn(Body):
    enabled: bool | None = None
    trigger: TriggerIn | None = None
    max_tokens: int | None = Field(None, ge=16, le=100_000)
    max_input_tokens: int | None = Field(None, ge=128, le=10_000_000)
    provider: str | None = None
    model: str | None = None
    parameters: Object | None = None
    prompt: str | None = None
    update_prompt: str | None = None


class RecallSettingsIn(Body):
    k: int | None = Field(None, ge=0, le=1000)
    scope: Reach | None = None
    min_score: float | None = Field(None, ge=-1, le=1)


class BudgetIn(Body):
    tokens: int | None = Field(None, ge=1, le=100_000_000)
    model: str | None = Field(None, max_length=MAX_NAME)
    reserve_ratio: float | None = None


class SectionsIn(Body):
    last_bytes: int | None = Field(None, ge=0)
    limit_recent: bool | None = None
    max_tool_bytes: int | None = Field(None, ge=1)
    use_qa: bool | None = None
    max_qa: int | None = Field(None, ge=0)
    max_qa_bytes: int | None = Field(None, ge=0)
    keep_qa: int | None = Field(None, ge=0)
    summarize_human: bool | None = None


class RetentionIn(Body):
    days: int | None = Field(None, ge=0, le=36_500, description="Days that messages are kept; 0 is for good.")


class SessionIn(Body):
    """Settings of a session, all optional; null takes one back to the default."""

    owner: Name | None = None
    profile: Literal["assistant", "agent", "support", "project", "knowledge", "events"] | None = None
    mode: Mode | None = None
    window: WindowIn | None = None
    summary: SummaryIn | None = None
    recall: RecallSettingsIn | None = None
    budget: BudgetIn | None = None
    sections: SectionsIn | None = None
    retention: RetentionIn | None = None

    def settings(self) -> dict[str, Any]:
        """What was given, without the owner, as JSON values."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={"owner"})


class MetaIn(BaseModel):
    """What never scrolls away; other keys are the client's own and stand in the prompt too."""

    model_config = ConfigDict(extra="allow", frozen=True)
    system_prompt: str | None = None
    profile: str | None = None
    goal: str | None = None
    task_state: str | None = None
    __pydantic_extra__: dict[str, JsonValue]


class PinIn(Body):
    text: str = Field(min_length=1, max_length=20_000)
    kind: Literal["fact", "decision", "constraint"] = "fact"


class ExportedPinIn(PinIn):
    kind: Literal["fact", "decision", "constraint", "handoff"] = "fact"  # type: ignore[assignment]


class StateIn(Body):
    """What an exported session has beside its messages."""

    owner: Name | None = None
    settings: SessionIn = SessionIn()
    meta: MetaIn | None = None
    pins: list[ExportedPinIn] = []


class CompactIn(Body):
    keep: int | None = Field(None, ge=0, le=100_000, description="Messages that stay; 0 summarises everything so far.")


class HandoffIn(Body):
    to: Name | None = Field(default=None, description="Session that takes over; it comes into being if it is new.")
    max_tokens: int = Field(default=600, ge=32, le=100_000, description="Longest `text`.")


class SwitchIn(Body):
    mode: Mode
    reason: str = Field("", max_length=2_000, description="Why; it stands in the log of switches.")


class Failure(BaseModel):
    """The one shape of every error."""

    code: str
    message: str
    hint: str
