"""Every refusal memsrv knows: code, HTTP status and a hint that says what to do.

    MemsrvError
    ├── BadRequest 422 invalid_request      ├── NotFound 404 not_found
    │   ├── BadJson 400 bad_json            │   ├── SessionNotFound 404 session_not_found
    │   ├── UnknownField 422 unknown_field  │   ├── MessageNotFound 404 message_not_found
    │   ├── BadSessionName 422 ...          │   ├── PinNotFound 404 pin_not_found
    │   ├── BudgetTooSmall 422 ...          │   ├── SummaryNotFound 404 summary_not_found
    │   └── BadExport 422 bad_export        │   ├── ReceiptNotFound 404 receipt_not_found
    │                                       │   ├── NoUpstream 404 no_upstream
    │                                       │   └── ModelNotFound 404 model_not_found
    ├── Unauthorized 401 unauthorized       ├── MessageConflict 409 message_conflict
    ├── ForeignHost 403 foreign_host        ├── IdempotencyConflict 409 idempotency_conflict
    ├── ForeignOrigin 403 foreign_origin    ├── ForbiddenScope 403 forbidden_scope
    ├── RateLimited 429 rate_limited        ├── NotHere 409 not_here
    ├── BodyTooLarge 413 body_too_large     ├── SummaryConflict 409 summary_conflict
    ├── Busy 429 too_many_waiting           ├── SummaryStale 409 summary_stale
    ├── StoreDown 503 store_unavailable     ├── SummarizerDown 503 summarizer_down
    ├── DiskFull 507 disk_full              ├── UpstreamDown 502 upstream_down
    │                                       └── Internal 500 internal_error

    Not over HTTP: EmbedderDown, IndexDown (a prompt degrades instead), SessionMoved (it is read again), SettingsError,
    DataDirLocked, KeyNotFound (the command line).

A message may quote what the client sent; a hint never does. Neither ever holds a traceback, a path or SQL.
"""

from typing import ClassVar


class MemsrvError(Exception):
    """The root. `message` says what is wrong, `hint` what to do about it."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    hint: str = "Try again; if it stays, look into the server's log."

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        if hint is not None:
            self.hint = hint


class Internal(MemsrvError):
    """Something of ours broke."""


class BadRequest(MemsrvError):
    """A field has a value that cannot be used."""

    code, status = "invalid_request", 422
    hint = "Mend the field that the message names; the page /docs shows the shape."


class BadJson(BadRequest):
    """The body is not JSON, or not UTF-8."""

    code, status = "bad_json", 400
    hint = "Send one JSON object in UTF-8, without NaN or Infinity."


class UnknownField(BadRequest):
    """A field that memsrv does not know."""

    code, status = "unknown_field", 422
    hint = "Leave the field out, or check its spelling on the page /docs."


class BadSessionName(BadRequest):
    """A session or owner name that is empty, too long, or holds control characters."""

    code, status = "bad_session_name", 422
    hint = "Use 1 to 512 characters of any text but control characters, percent-encoded in a path or header."


class BudgetTooSmall(BadRequest):
    """No useful prompt fits this budget; the hint names one that does."""

    code, status = "budget_too_small", 422

    def __init__(self, budget_tokens: int, smallest_tokens: int):
        super().__init__(
            f"A budget of {budget_tokens} tokens is too small for this session.",
            f"Ask with a budget of at least {smallest_tokens} tokens.",
        )
        self.smallest_tokens = smallest_tokens


class BadExport(BadRequest):
    """A file or body to import that cannot be read, or not to its end."""

    code, status = "bad_export", 422
    hint = "Take an export of a program that docs/import.md names, or JSON Lines of 'memsrv export'."


class Unauthorized(MemsrvError):
    """The key is missing or wrong."""

    code, status = "unauthorized", 401
    hint = "Send the header 'Authorization: Bearer <key>' with a key of this server."


class ForeignHost(MemsrvError):
    """Without keys, only requests to a loopback name are served: a web page must not reach the memory by a name of its own."""

    code, status = "foreign_host", 403
    hint = "Ask by the address that the server told at its start, or make keys (or set MEMSRV_ALLOW_OPEN)."


class ForeignOrigin(MemsrvError):
    """Without keys, a web page of another origin is not served: a browser would act for it unasked."""

    code, status = "foreign_origin", 403
    hint = "Name the page's origin in MEMSRV_CORS_ORIGINS if it may use the memory, or make keys."


class ForbiddenScope(MemsrvError):
    """The key may not do this."""

    code, status = "forbidden_scope", 403
    hint = "Use another key of the tenant; 'memsrv keys create --scopes read,write,admin' makes one that may do everything."


class RateLimited(MemsrvError):
    """The key has asked too often."""

    code, status = "rate_limited", 429
    hint = "Wait as long as the header Retry-After says, then send it again; MEMSRV_RATE_PER_MINUTE is the limit."

    def __init__(self, message: str, retry_after_s: int):
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotFound(MemsrvError):
    """No such route or thing."""

    code, status = "not_found", 404
    hint = "Check the path; the page /docs lists the routes."


class SessionNotFound(NotFound):
    """No session of this name (or it belongs to another tenant)."""

    code = "session_not_found"
    hint = "A session begins with its first message or its first PUT; check the name, and that it is percent-encoded."


class MessageNotFound(NotFound):
    """No message of this id in the session."""

    code = "message_not_found"
    hint = "Look the id up with GET /context/{session}/messages."


class PinNotFound(NotFound):
    """No pin of this id in the session."""

    code = "pin_not_found"
    hint = "Look the id up with GET /context/{session}/pins."


class SummaryNotFound(NotFound):
    """No summary of this version in the session."""

    code = "summary_not_found"
    hint = "Look the version up with GET /context/{session}/summaries."


class ReceiptNotFound(NotFound):
    """No receipt of this id, or none of a prompt for this model, in the session."""

    code = "receipt_not_found"
    hint = "Report on a prompt of this session, by the receipt it came with; MEMSRV_RECEIPTS_KEPT of them are kept."


class NoUpstream(NotFound):
    """No endpoint is set that the proxy could ask."""

    code = "no_upstream"
    hint = "Set MEMSRV_UPSTREAM_URL (and MEMSRV_UPSTREAM_KEY) to an OpenAI-compatible endpoint, or name some in MEMSRV_PROVIDERS."


class ModelNotFound(NotFound):
    """No upstream of the proxy has this model, as it is named."""

    code = "model_not_found"
    hint = "Name a model as GET /v1/models lists it; with several upstreams that is provider/model."


class MethodNotAllowed(MemsrvError):
    """The route exists, the method does not."""

    code, status = "method_not_allowed", 405
    hint = "The page /docs lists the methods of each route."


class MessageConflict(MemsrvError):
    """The id is taken by a message with other content; nothing was stored."""

    code, status = "message_conflict", 409
    hint = "Send the same content again, give the message an id of its own, or edit the old one with PATCH."


class SessionMoved(MemsrvError):
    """What was to be stored only while the session is as it was came too late."""

    code, status = "session_moved", 409
    hint = "Read the session again."


class IdempotencyConflict(MemsrvError):
    """The Idempotency-Key was used for another request, or for messages that were deleted; nothing was stored."""

    code, status = "idempotency_conflict", 409
    hint = "Use a new Idempotency-Key for each new request."


class SummaryConflict(MemsrvError):
    """The session changed while it was summarised; nothing was stored."""

    code, status = "summary_conflict", 409
    hint = "Try again: a message was edited or deleted, or another summary came first."


class SummaryStale(MemsrvError):
    """The version tells what was edited or deleted since; it cannot be restored."""

    code, status = "summary_stale", 409
    hint = "Restore a version that is not stale, or make a new one with POST /context/{session}/compact."


class NotHere(MemsrvError):
    """What is asked for is done by another process, or by the database itself."""

    code, status = "not_here", 409
    hint = "docs/growing.md says what is done where."


class BodyTooLarge(MemsrvError):
    """The body is over the limit."""

    code, status = "body_too_large", 413
    hint = "Send fewer or shorter messages, or raise MEMSRV_MAX_BODY_BYTES."


class Busy(MemsrvError):
    """Too many writes wait already."""

    code, status = "too_many_waiting", 429
    hint = "Wait as long as the header Retry-After says, then send it again."
    retry_after_s: int = 1


class StoreDown(MemsrvError):
    """The transcript cannot be reached or is locked; nothing was written."""

    code, status = "store_unavailable", 503
    hint = "Try again in a moment; /readyz says what is wrong."
    retry_after_s: int = 1


class DiskFull(MemsrvError):
    """The disk of the data folder is full; nothing was written."""

    code, status = "disk_full", 507
    hint = "Free some space on the disk of the data folder; the server goes on by itself."


class EmbedderDown(MemsrvError):
    """The embedder did not answer, or answered nonsense. `poison` is true when the text itself is to blame."""

    code, status = "embedder_down", 503
    hint = "Check the embedder's settings (MEMSRV_EMBEDDER_...) and that it is up; 'memsrv doctor' tries it."

    def __init__(self, message: str, *, poison: bool = False):
        super().__init__(message)
        self.poison = poison


class IndexDown(MemsrvError):
    """The vector index did not answer."""

    code, status = "index_down", 503


class SummarizerDown(MemsrvError):
    """No summary was made that holds; the old one stands."""

    code, status = "summarizer_down", 503
    hint = "Try again in a moment: every message is still there. /metrics counts what was refused, and why."
    retry_after_s: int = 5

    def __init__(self, message: str, hint: str | None = None, *, too_long: bool = False, nothing_holds: bool = False):
        super().__init__(message, hint)
        self.too_long = too_long
        self.nothing_holds = nothing_holds
        """Every summarizer answered, and no answer held."""


class UpstreamDown(MemsrvError):
    """A language model did not answer, or answered nothing that can be used. `too_long`: the input is to blame."""

    code, status = "upstream_down", 502
    hint = "Try again in a moment; if it stays, check MEMSRV_UPSTREAM_URL or MEMSRV_PROVIDERS, and that the endpoint is up."

    def __init__(self, message: str, *, too_long: bool = False):
        super().__init__(message)
        self.too_long = too_long


class SettingsError(MemsrvError):
    """A setting is unknown or has a value that cannot be used."""

    code = "bad_setting"
    hint = "Mend it or unset it; 'memsrv config' lists every setting, its value and where it came from."


class KeyNotFound(MemsrvError):
    """No key of this id was made here."""

    code = "key_not_found"
    hint = "'memsrv keys list' shows those that were; one of MEMSRV_KEYS goes when it is taken out of the setting."


class CannotStart(MemsrvError):
    """The server cannot start as it is set up."""

    code = "cannot_start"
    hint = "'memsrv doctor' says what is set up and what is missing."


class DataDirLocked(CannotStart):
    """Another process serves this data folder."""

    code = "data_dir_locked"
    hint = "Stop the other server, or choose another folder with --data-dir."
