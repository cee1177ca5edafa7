"""Where an import puts conversations: a running server, a data folder that no server uses, or nowhere."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from memsrv.cli.options import folder_settings
from memsrv.cli.remote import Refused, ask, path_of
from memsrv.core.imports.drafts import Conversation, Imported, Skipped, State
from memsrv.core.imports.own import draft_line, header_line
from memsrv.errors import BadRequest
from memsrv.model import SessionKey

if TYPE_CHECKING:
    from memsrv.wiring import Runtime

MOST_MESSAGES = 500
MOST_BYTES = 4_000_000
WAIT_S = 120.0
TRIES = 20
LONGEST_PAUSE_S = 30.0
TOO_LARGE = "larger than the server takes"
BODY_TOO_LARGE, CONFLICT = 413, 409


class Destination(Protocol):
    """Takes conversations."""

    def store(self, session: str, found: Conversation, owner: str | None) -> Imported:
        """Store what is new of a conversation. Raises Refused."""
        ...


class DryRun:
    """Nowhere: every message would be stored."""

    def store(self, session: str, found: Conversation, owner: str | None) -> Imported:
        """Nothing is stored."""
        return Imported(stored=len(found.drafts))


class Remote:
    """A running server. It is sent what it takes in one request, and waited for while it is busy."""

    def __init__(self, http: httpx.Client):
        self._http = http

    def store(self, session: str, found: Conversation, owner: str | None) -> Imported:
        """Send the messages as memsrv's own JSON Lines; the state of the session goes with each request."""
        state = replace(found.state or State(), messages=None)
        head = header_line(session, replace(state, owner=owner or state.owner))
        done = Imported()
        for lines in requests(found, MOST_BYTES - len(head)):
            done += self._send(session, head, lines)
        return done

    def _send(self, session: str, head: bytes, lines: Sequence[tuple[str, bytes]]) -> Imported:
        """Send lines of messages; in halves if they are too large together."""
        try:
            answer = self._post(f"{path_of(session)}/import", head + b"".join(line for _, line in lines))
        except Refused as refusal:
            if refusal.status != BODY_TOO_LARGE or not lines:
                raise
            if len(lines) == 1:
                return Imported(too_large=(Skipped(TOO_LARGE, lines[0][0]),))
            half = len(lines) // 2
            return self._send(session, head, lines[:half]) + self._send(session, head, lines[half:])
        changed = [id for account in answer["sessions"] for id in account["changed"]]
        return Imported(answer["stored"], answer["already_there"], answer["conflicts"], tuple(changed))

    def _post(self, path: str, body: bytes) -> Any:
        """The answer, however often the server asks to come back; another writer of the same session is waited for too."""
        for attempt in range(1, TRIES + 1):
            try:
                return ask(self._http, path, method="POST", content=body, timeout=WAIT_S)
            except Refused as refusal:
                if attempt == TRIES or not (refusal.wait_s or refusal.status == CONFLICT):
                    raise
                time.sleep(min(refusal.wait_s, LONGEST_PAUSE_S))
        raise AssertionError("the last try answers or raises")


def requests(found: Conversation, most_bytes: int) -> Iterator[list[tuple[str, bytes]]]:
    """The messages as lines under their ids, in runs that fit into one request each; one empty run if there is only a state."""
    run, size = list[tuple[str, bytes]](), 0
    for draft in found.drafts:
        line = draft_line(draft)
        if run and (len(run) == MOST_MESSAGES or size + len(line) > most_bytes):
            yield run
            run, size = [], 0
        run.append((draft.id or "", line))
        size += len(line)
    if run or found.state:
        yield run


class Folder:
    """A data folder that no server uses, written to by this process; its vectors are made by the next server."""

    def __init__(self, runner: asyncio.Runner, runtime: "Runtime", tenant: str):
        self._runner = runner
        self._runtime = runtime
        self._tenant = tenant

    def store(self, session: str, found: Conversation, owner: str | None) -> Imported:
        """Write the messages."""
        from fastapi.exceptions import RequestValidationError

        from memsrv.web.failures import refusal
        from memsrv.web.transfer import checked

        try:
            state = checked(found.state, self._runtime.providers)
        except (RequestValidationError, BadRequest) as error:
            problem = error if isinstance(error, BadRequest) else refusal(error.errors())
            raise Refused(f"{problem.message} {problem.hint}") from None
        key = SessionKey(self._tenant, session)
        return self._runner.run(self._runtime.importing.store(key, found.drafts, owner=owner, state=state))


@contextmanager
def folder(data_dir: Path) -> Iterator[Folder]:
    """The folder, open. Of several tenants the first is taken. Raises DataDirLocked, and SettingsError if the
    sessions are not in a folder."""
    from memsrv.services.access import DEFAULT_TENANT
    from memsrv.web.logs import configure
    from memsrv.wiring import opened

    configure("auto", "error")
    ours = folder_settings(data_dir)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        runtime = runner.run(stack.enter_async_context(opened(ours)))
        try:
            yield Folder(runner, runtime, next(iter(ours.keys), DEFAULT_TENANT))
        finally:
            runner.run(stack.aclose())
