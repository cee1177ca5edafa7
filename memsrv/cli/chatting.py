"""Talk to an upstream with memory, through the proxy of a running server.

(1) A line is a message, and only that is sent: what was said before is the server's to know. (2) What goes wrong is one line, and
the talk goes on. (3) What comes from the server or the upstream moves no cursor.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import typer

from memsrv.cli.asking import row_of
from memsrv.cli.options import Key, Url, harmless
from memsrv.cli.remote import Refused, ask, path_of, server, told
from memsrv.core.prompt.sending import plain_text
from memsrv.core.relay.streaming import Events, read
from memsrv.errors import CannotStart
from memsrv.model import Mode

ANSWER_WAIT = httpx.Timeout(30.0, read=None)
"""The server itself gives up an upstream that is silent."""
PLACE = "/v1/chat/completions"
STREAM = "text/event-stream"
BROKEN_OFF = "The answer broke off before its end."
HELP = """/recall QUERY    what would be recalled
/prompt [QUERY]  what would be sent, and the tokens of each region
/mode [MODE]     the mode of the prompts from now on; without MODE, what it is
/pin TEXT        let it stand in every prompt of the session
/help            this
/exit            end the talk; so does Ctrl-D
A message that begins with / has a blank before it.
"""


def add_to(app: typer.Typer) -> None:
    app.command(name="chat")(chat)


def chat(
    session: Annotated[str, typer.Argument(help="Name of the session; it knows what was said in it.")] = "chat",
    model: Annotated[
        str | None, typer.Option(help="Model to ask, as /v1/models lists it; default: the upstream's own.", show_default=False)
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Whose session it is.", show_default=False)] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Mode of the prompts; default: the session's own.", show_default=False)
    ] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Talk to the upstream of a running server, with memory.

    A line is a message; '/help' tells the commands, '/exit' or Ctrl-D ends it. Ctrl-C breaks an answer off. Lines may come from a
    pipe: then the exit status is 1 if one of them failed.
    """
    with server(url=url, key=key) as http:
        ask(http, "/healthz")
        talk = Talk(http, session, model=model, owner=owner, mode=mode)
        by_hand = sys.stdin.isatty()
        if by_hand:
            say(f"Session '{session}'. /help tells the commands, /exit ends.\n")
        for line in typed() if by_hand else piped():
            if not talk.take(line):
                break
    if talk.failed and not by_hand:
        raise typer.Exit(1)


def typed() -> Iterator[str]:
    """The lines that are typed, until Ctrl-D or Ctrl-C; they can be edited and gone back to, where Python can do that."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - input() uses it then
    while True:
        try:
            yield input("> ")
        except (EOFError, KeyboardInterrupt):
            say("\n")
            return


def piped() -> Iterator[str]:
    """The lines of a pipe; bytes that are no UTF-8 become U+FFFD."""
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace")


def say(text: str) -> None:
    """Show text at once, as it is but for what would move the cursor."""
    print(harmless(text), end="", flush=True)


class Talk:
    """A talk in one session. `failed`: a line could not be done."""

    def __init__(self, http: httpx.Client, session: str, *, model: str | None, owner: str | None, mode: Mode | None):
        self._http, self._session, self._model, self._owner, self._mode = http, session, model, owner, mode
        self.failed = False
        self._commands: Mapping[str, Callable[[str], None]] = {
            "/recall": self._recall,
            "/prompt": self._prompt,
            "/mode": self._change_mode,
            "/pin": self._pin,
            "/help": lambda _: say(HELP),
        }

    def take(self, line: str) -> bool:
        """Do what a line says; whether the talk goes on."""
        word, _, rest = line.rstrip().partition(" ")
        if word == "/exit":
            return False
        try:
            if word in self._commands:
                self._commands[word](rest.strip())
            elif word.startswith("/"):
                self._fail(f"There is no {word}; /help tells the commands.")
            elif line.strip():
                self._message(line.strip())
        except (Refused, CannotStart) as error:
            self._fail(str(error) if isinstance(error, Refused) else f"{error.message} {error.hint}")
        except KeyboardInterrupt:
            say("\n")
        return True

    def _fail(self, text: str) -> None:
        self.failed = True
        print(f"memsrv: {' '.join(harmless(text).split())}", file=sys.stderr, flush=True)

    # --- the upstream -------------------------------------------------------------------------------------------------

    def _message(self, text: str) -> None:
        """Send a message and show the answer as it comes. Raises Refused and CannotStart."""
        body = {"messages": [{"role": "user", "content": text}], "stream": True} | self._named_model()
        begun = False
        try:
            with self._http.stream("POST", PLACE, json=body, headers=self._headers(), timeout=ANSWER_WAIT) as answer:
                for piece in pieces_of(answer):
                    say(piece)
                    begun = True
        except httpx.HTTPError:
            if begun:
                raise Refused(BROKEN_OFF) from None
            raise CannotStart(f"No memsrv answers at {self._http.base_url}.", "Start it with 'memsrv serve'.") from None
        finally:
            if begun:
                say("\n")

    def _named_model(self) -> dict[str, str]:
        return {"model": self._model} if self._model else {}

    def _headers(self) -> dict[str, str]:
        told = {"x-memory-session": self._session, "x-memory-owner": self._owner, "x-memory-mode": self._mode}
        return {name: quote(value, safe="") for name, value in told.items() if value is not None}

    # --- the memory ---------------------------------------------------------------------------------------------------

    def _recall(self, query: str) -> None:
        told = ask(self._http, f"{path_of(self._session)}/recall", params={"query": query})
        for hit in told["recall"]:
            score, said, by, _, position, _, text = row_of(hit)
            say(f"{score}  {said}  {by} ({position}): {text}\n")
        if not told["recall"]:
            say("Nothing is recalled.\n")

    def _prompt(self, query: str) -> None:
        asked = self._named_model() | ({"mode": self._mode.value} if self._mode else {}) | ({"query": query} if query else {})
        told = ask(self._http, f"{path_of(self._session)}/prompt", params=asked)
        for message in told["messages"]:
            say(f"--- {message['role']}\n{shown(message)}\n")
        regions = ", ".join(f"{region['name']} {region['tokens']}" for region in told["receipt"]["regions"])
        say(f"--- {told['mode']}: {told['total_tokens']} of {told['budget_tokens']} tokens ({regions})\n")

    def _change_mode(self, mode: str) -> None:
        if mode and mode not in list(Mode):
            raise Refused(f"There is no mode {mode}; there are {', '.join(Mode)}.")
        if mode:
            self._mode = Mode(mode)
        now = self._mode or ask(self._http, f"{path_of(self._session)}/mode")["mode"]
        say(f"The mode is {now}.\n")

    def _pin(self, text: str) -> None:
        ask(self._http, f"{path_of(self._session)}/pins", method="POST", json={"text": text})
        say("It is pinned.\n")


def pieces_of(answer: httpx.Response) -> Iterator[str]:
    """The text of an answer, as it comes; of several choices, the first. Raises Refused, also in the midst."""
    if not answer.is_success:
        raise Refused(reason(read(answer.read()), answer.status_code))
    if not answer.headers.get("content-type", "").startswith(STREAM):
        yield from texts(read(answer.read()), "message")
        return
    events, ended = Events(), False
    for data in answer.iter_bytes():
        for event in events.feed(data):
            chunk = read(event)
            if isinstance(chunk, Mapping) and chunk.get("error"):
                raise Refused(reason(chunk, answer.status_code))
            ended = ended or event == "[DONE]" or finished(chunk)
            yield from texts(chunk, "delta")
    if not ended:
        raise Refused(BROKEN_OFF)


def choices(answer: Any) -> Iterator[Mapping[str, Any]]:
    """The first choice, where there is one."""
    found = answer.get("choices") if isinstance(answer, Mapping) else None
    for choice in found if isinstance(found, list) else ():
        if isinstance(choice, Mapping) and choice.get("index") in (0, None):
            yield choice


def texts(answer: Any, name: str) -> Iterator[str]:
    """What an answer, or a chunk of one, says."""
    for choice in choices(answer):
        said = choice.get(name)
        for field in ("content", "refusal"):
            if isinstance(said, Mapping) and isinstance(said.get(field), str) and said[field]:
                yield said[field]


def finished(chunk: Any) -> bool:
    return any(choice.get("finish_reason") for choice in choices(chunk))


def reason(body: Any, status: int) -> str:
    """Why there is no answer: memsrv's words and hint, or the upstream's."""
    answer = body if isinstance(body, Mapping) else {}
    if answer.get("hint"):
        return told(answer)
    error = answer.get("error")
    said = error.get("message") if isinstance(error, Mapping) else error
    return f"The upstream refuses ({status}): {said or 'it does not say why'}"


def shown(message: Mapping[str, Any]) -> str:
    """A message of a prompt in text."""
    calls = "".join(
        f"\n[calls {call['function']['name']} {call['function']['arguments']}]" for call in message.get("tool_calls", ())
    )
    return f"{plain_text(message.get('content') or '')}{calls}"
