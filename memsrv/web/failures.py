"""Every refusal leaves through here, in one shape: {"code", "message", "hint"}.

The routes under `/v1` add OpenAI's `error` object to it, for its SDKs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from memsrv.errors import BadJson, BadRequest, Internal, MemsrvError, MethodNotAllowed, NotFound, UnknownField

TAGS = ("one", "many")
TYPES = ("str", "int", "float", "bool", "dict")
OPENAI_PATHS = "/v1/"
TYPES_OF_ERRORS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
"""What OpenAI calls errors of these statuses."""

log = structlog.get_logger()


def install(app: FastAPI) -> None:
    """Answer every refusal of the app in the one shape; `crashed` does it for what is none."""
    app.add_exception_handler(MemsrvError, answer_refusal)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(HTTPException, answer_http)


def shaped(error: MemsrvError, path: str, more_headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a refusal on a path, with Retry-After where waiting helps."""
    headers = {"retry-after": str(error.retry_after_s)} if hasattr(error, "retry_after_s") else {}
    body = openai_body(error) if path.startswith(OPENAI_PATHS) else plain_body(error)
    return JSONResponse(body, status_code=error.status, headers={**headers, **(more_headers or {})})


def plain_body(error: MemsrvError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def openai_body(error: MemsrvError) -> dict[str, Any]:
    """The same with OpenAI's `error` beside it, whose message holds the hint: it is all that many clients show."""
    kind = TYPES_OF_ERRORS.get(error.status, "server_error" if error.status >= 500 else "invalid_request_error")
    told = {"message": f"{error.message} {error.hint}", "type": kind, "param": None, "code": error.code}
    return {"error": told, **plain_body(error)}


async def answer_refusal(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MemsrvError)
    if error.status >= 500:
        log.error("refused", code=error.code)
    return shaped(error, request.url.path)


async def answer_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return shaped(refusal(error.errors()), request.url.path)


def refusal(problems: Sequence[Any]) -> BadRequest:
    """The first problem of a body or query, naming its field; an unknown field counts before others."""
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    if unknown:
        return UnknownField(f"Unknown field: {', '.join(place(problem) for problem in unknown[:5])}.")
    problem = problems[0]
    if problem["type"] == "value_error" and place(problem) == "body":  # a rule between fields
        return BadRequest(f"{problem['msg'].removeprefix('Value error, ')}.")
    if problem["loc"] in (("body",), *(("body", tag) for tag in TAGS)):
        return BadRequest(
            "The request needs a JSON object as its body.", "Send it with the header 'Content-Type: application/json'."
        )
    return BadRequest(f"{place(problem)}: {problem['msg'].removeprefix('Value error, ')}.")


def place(problem: Any) -> str:
    """`messages[3].role` from a problem's path, without what pydantic puts between: where it looked, and which of several
    types it tried."""
    written = ""
    for at, step in enumerate(problem["loc"]):
        if at == 0 or (at == 1 and step in TAGS) or step in TYPES or "[" in str(step):
            continue
        written += f"[{step}]" if isinstance(step, int) else f".{step}" if written else str(step)
    return written[:200] or "body"


async def answer_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return shaped(refused(request, error), request.url.path, error.headers if error.status_code == 405 else None)


def refused(request: Request, error: HTTPException) -> MemsrvError:
    """The framework's own refusal as one of ours."""
    if isinstance(error.__cause__, MemsrvError):  # raised while the body was read
        return error.__cause__
    if error.status_code == 404:
        return NotFound("No such route.")
    if error.status_code == 405:
        return MethodNotAllowed(f"{request.method} is not possible here.")
    return BadJson("The body could not be read as JSON.") if error.status_code == 400 else Internal("Something went wrong.")


def crashed(error: Exception, path: str) -> JSONResponse:
    """The last resort. The error's own text may quote a message, so only its kind and place are logged."""
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = f"{frame.tb_frame.f_globals.get('__name__')}:{frame.tb_lineno}" if frame else None
    log.error("crashed", error=type(error).__name__, where=where)
    return shaped(Internal("Something went wrong."), path)
