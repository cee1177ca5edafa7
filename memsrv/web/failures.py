"""Every refusal leaves through here, in one shape: {"code", "message", "hint"}."""

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

log = structlog.get_logger()


def install(app: FastAPI) -> None:
    """Answer every refusal of the app in the one shape; `crashed` does it for what is none."""
    app.add_exception_handler(MemsrvError, answer_refusal)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(HTTPException, answer_http)


def shaped(error: MemsrvError, more_headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a refusal, with Retry-After where waiting helps."""
    headers = {"retry-after": str(error.retry_after_s)} if hasattr(error, "retry_after_s") else {}
    body = {"code": error.code, "message": error.message, "hint": error.hint}
    return JSONResponse(body, status_code=error.status, headers={**headers, **(more_headers or {})})


async def answer_refusal(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MemsrvError)
    if error.status >= 500:
        log.error("refused", code=error.code)
    return shaped(error)


async def answer_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return shaped(refusal(error.errors()))


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
    if isinstance(error.__cause__, MemsrvError):  # raised while the body was read
        return shaped(error.__cause__)
    if error.status_code == 404:
        return shaped(NotFound("No such route."))
    if error.status_code == 405:
        return shaped(MethodNotAllowed(f"{request.method} is not possible here."), error.headers)
    return (
        shaped(BadJson("The body could not be read as JSON."))
        if error.status_code == 400
        else shaped(Internal("Something went wrong."))
    )


def crashed(error: Exception) -> JSONResponse:
    """The last resort. The error's own text may quote a message, so only its kind and place are logged."""
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = f"{frame.tb_frame.f_globals.get('__name__')}:{frame.tb_lineno}" if frame else None
    log.error("crashed", error=type(error).__name__, where=where)
    return shaped(Internal("Something went wrong."))
