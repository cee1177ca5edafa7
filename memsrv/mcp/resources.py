"""The resources: a conversation's summaries, `memsrv://{session}/...`, the session's name percent-encoded."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from memsrv.client import AsyncSession, NotFound
from memsrv.client.shapes import Summary, SummaryDetail, adapter

SCHEME = "memsrv://"
JSON, TEXT = "application/json", "text/plain"


@dataclass(frozen=True, slots=True)
class Resource:
    """`tail` is what follows the session in the address."""

    name: str
    tail: str
    description: str
    mime_type: str

    def uri(self, session: str) -> str:
        """The address for a session, or the template for `{session}`."""
        return f"{SCHEME}{session if session == '{session}' else quote(session, safe='')}/{self.tail}"


RESOURCES = (
    Resource("summary", "summary", "The newest summary of what has left the window of a conversation.", TEXT),
    Resource("summaries", "summaries", "The stored versions of the summary, with what each covers.", JSON),
    Resource(
        "summary-version", "summaries/{version}", "One version: its lines, its sources, how it differs from its base.", JSON
    ),
)


async def read(session_of: Callable[[str], AsyncSession], fixed: str | None, uri: str) -> tuple[str, str]:
    """(MIME type, text) of a resource. Raises Refused."""
    name, _, tail = uri.removeprefix(SCHEME).partition("/")
    name = unquote(name)
    if not uri.startswith(SCHEME) or not name or (fixed is not None and name != fixed):
        raise unknown()
    session = session_of(name)
    if tail == "summary":
        return TEXT, await newest(session)
    if tail == "summaries":
        versions = [adapter(Summary).dump_python(summary, mode="json") async for summary in session.summaries()]
        return JSON, json.dumps({"summaries": versions}, ensure_ascii=False)
    version = tail.removeprefix("summaries/")
    if not (version.isascii() and version.isdigit()):
        raise unknown()
    detail = adapter(SummaryDetail).dump_python(await session.summary(int(version)), mode="json")
    return JSON, json.dumps(detail, ensure_ascii=False)


async def newest(session: AsyncSession) -> str:
    coverage = (await session.state()).summary
    if coverage is None:
        raise NotFound("summary_not_found", "This conversation has no summary yet.", "All of it stands in the prompt still.")
    return (await session.summary(coverage.version)).text


def unknown() -> NotFound:
    return NotFound(
        "not_found", "There is no such resource.", "Addresses are told by resources/list and resources/templates/list."
    )
