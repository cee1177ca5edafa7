"""Stand between a client and a model: store what is said, put the prompt together, pass the answer on.

(1) What the client said is on disk before the upstream is asked, and the answer before the client sees its end. (2) An answer
that breaks off is stored as far as it came, marked as cut. (3) Storing and counting never cost the client an answer that is
there. (4) Nothing waits for the index, nor for the counts. (5) A task about a talk is no part of one: it goes on as it came,
and nothing is stored.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from memsrv.core.prompt.sending import content_of, plain_text
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.relay.relaying import budget_of, chosen, listed, passed_on, tools_text
from memsrv.core.relay.streaming import Gathered
from memsrv.errors import Busy, MemsrvError, NoUpstream, StoreDown, UpstreamDown
from memsrv.model import Format, Mode, Payload, Prompt, PromptRequest, Session
from memsrv.ports import Reply, TokenCounter, Upstream
from memsrv.services.ahead import Ahead
from memsrv.services.assembler import QUERY_CHARS, Assembler
from memsrv.services.calibration import Calibrator
from memsrv.services.lines import Lines, Place, Telling
from memsrv.services.lull import Lull

RETRIES = 2
MOST_COUNTING = 100
"""Counts that are taken in behind the answers; with more, an answer waits for its own."""

log = structlog.get_logger()


@dataclass(slots=True)
class Exchange:
    """One request on its way; a task has no `place` and no `prompt`. `began`: when, by the monotonic clock; `asked_s`: how long
    it took until the upstream was asked; `outcome` tells how it ended."""

    upstream: Upstream
    place: Place | None
    prompt: Prompt | None
    body: Mapping[str, Any]
    tools_tokens: int
    began: float
    gathered: Gathered = field(default_factory=Gathered)
    asked_s: float = 0.0
    outcome: str = ""
    answers: int = 0
    keeping: asyncio.Task[None] | None = None


class Relay:
    """The proxy. `default`: the upstream that is asked where a model's name names none."""

    def __init__(
        self,
        lines: Lines,
        assembler: Assembler,
        calibrator: Calibrator,
        counter: TokenCounter,
        ahead: Ahead,
        upstreams: Sequence[Upstream],
        *,
        default: str | None,
        shape: Format = Format.OPENAI,
        lull: Lull | None = None,
    ):
        self._lines, self._assembler, self._calibrator, self._counter = lines, assembler, calibrator, counter
        self._ahead = ahead
        self._upstreams = {upstream.name: upstream for upstream in upstreams}
        self._default, self._shape, self._lull = default, shape, lull or Lull()
        self._counting: set[asyncio.Task[None]] = set()

    async def prepare(self, telling: Telling, body: Mapping[str, Any], *, mode: Mode | None = None) -> Exchange:
        """Store what is new in a request and put its prompt together. Raises NoUpstream, ModelNotFound, BudgetTooSmall, and what
        storing does."""
        with self._lull.broken():
            return await self._prepare(telling, body, mode)

    async def _prepare(self, telling: Telling, body: Mapping[str, Any], mode: Mode | None) -> Exchange:
        with self._ahead.request() as begin:

            def met(session: Session) -> None:
                if self._assembler.policy(session, PromptRequest(mode=mode)).recalls:
                    begin(query_of(telling.line))

            return await self._placed(telling, body, mode, met)

    async def _placed(
        self, telling: Telling, body: Mapping[str, Any], mode: Mode | None, met: Callable[[Session], None]
    ) -> Exchange:
        began = time.monotonic()
        upstream, model = self._asked(body)
        place = await self._lines.place(telling, met)
        tools_tokens = await self._counted(tools_text(body), model)
        asked = PromptRequest(
            model=model or None,
            mode=mode,
            format=self._shape,
            upto=place.position,
            hidden=place.hidden,
            whole_turn=telling.in_tool_loop,
        )
        policy = self._assembler.policy(place.session, asked)
        if tools_tokens or policy.of_window:
            asked = replace(asked, budget_tokens=budget_of(policy, body, tools_tokens))
        prompt = await self._assembler.prompt(place.key, asked)
        return Exchange(upstream, place, prompt, passed_on(body, prompt.messages, model), tools_tokens, began)

    def task(self, body: Mapping[str, Any]) -> Exchange:
        """A request that goes on as it came. Raises NoUpstream and ModelNotFound."""
        upstream, model = self._asked(body)
        return Exchange(upstream, None, None, passed_on(body, body["messages"], model), 0, time.monotonic())

    def _asked(self, body: Mapping[str, Any]) -> tuple[Upstream, str]:
        """The upstream that a request asks, and the model there."""
        name, model = chosen(body.get("model"), self._upstreams, self._default)
        upstream = self._upstreams[name]
        return upstream, model or upstream.model

    async def _counted(self, text: str, model: str) -> int:
        """Tokens of a text that may be long."""
        sizes = Sizes(lambda text: self._counter.count(text, model or None))
        return await asyncio.to_thread(sizes.text, text) if text else 0

    async def ask(self, exchange: Exchange) -> Reply:
        """Pass the request on; the answer once its headers are there. Raises UpstreamDown."""
        exchange.asked_s = time.monotonic() - exchange.began
        try:
            reply = await exchange.upstream.ask(exchange.body)
        except UpstreamDown:
            exchange.outcome = "down"
            raise
        if reply.status >= 400:
            exchange.outcome = "refused"
        return reply

    async def keep(self, exchange: Exchange, *, cut: str = "") -> None:
        """Store the answer as far as it came, once, even if the caller is cancelled; what the provider counted is taken in after.
        `cut`: who broke it off, "client" or "upstream"; an upstream that ends without an end did too."""
        if exchange.keeping is None and not exchange.outcome:
            cut = cut or ("" if exchange.gathered.complete else "upstream")
            exchange.outcome = f"cut by {cut}" if cut else "whole"
            if exchange.place and exchange.prompt:
                exchange.keeping = asyncio.create_task(self._keep(exchange, exchange.place, exchange.prompt, cut))
        if exchange.keeping is not None:
            await asyncio.shield(exchange.keeping)

    async def _keep(self, exchange: Exchange, place: Place, prompt: Prompt, cut: str) -> None:
        try:
            if (message := exchange.gathered.message) is not None:
                with self._lull.broken():
                    await self._stored(place, message, cut)
                exchange.answers = 1
        except MemsrvError as error:
            log.error("answer_not_kept", code=error.code, session=place.session.number)
            return
        prompt_tokens = exchange.gathered.prompt_tokens - exchange.tools_tokens
        if prompt_tokens > 0:
            counting = asyncio.create_task(self._count(place, prompt, prompt_tokens))
            self._counting.add(counting)
            counting.add_done_callback(self._counting.discard)
            if len(self._counting) > MOST_COUNTING:
                await asyncio.shield(counting)

    async def _count(self, place: Place, prompt: Prompt, prompt_tokens: int) -> None:
        """Take in what the provider counted for a prompt."""
        try:
            await self._calibrator.report(place.session, prompt_tokens, receipt=prompt.receipt.id)
        except MemsrvError as error:
            log.error("count_not_kept", code=error.code, session=place.session.number)

    async def _stored(self, place: Place, message: Payload, cut: str) -> None:
        """Store an answer; a store that is busy or away for a moment is tried again."""
        for _ in range(RETRIES):
            try:
                return await self._lines.answer(place, message, cut=cut)
            except (Busy, StoreDown) as error:
                await asyncio.sleep(error.retry_after_s)
        await self._lines.answer(place, message, cut=cut)

    async def close(self) -> None:
        """Let the counts that are being taken in end."""
        if self._counting:
            await asyncio.wait(self._counting)

    async def models(self) -> list[dict[str, Any]]:
        """What the upstreams list. One that does not answer is left out, unless none does: then UpstreamDown."""
        if not self._upstreams:
            raise NoUpstream("No upstream is set, so there are no models.")
        names, lists = list(self._upstreams), [self._listed(one) for one in self._upstreams.values()]
        found = dict(zip(names, await asyncio.gather(*lists, return_exceptions=True), strict=True))
        wrong = [one for one in found.values() if isinstance(one, BaseException)]
        unforeseen = next((error for error in wrong if not isinstance(error, UpstreamDown)), None)
        if unforeseen or len(wrong) == len(found):
            raise unforeseen or wrong[0]
        return listed({name: one for name, one in found.items() if not isinstance(one, BaseException)}, self._default)

    async def _listed(self, upstream: Upstream) -> list[dict[str, Any]]:
        return await upstream.models()


def query_of(line: Sequence[Payload]) -> str:
    """What recall will be asked for the newest user message of a history, as far as can be told from it alone."""
    newest = next((payload for payload in reversed(line) if payload["role"] == "user"), None)
    return plain_text(content_of(newest))[:QUERY_CHARS] if newest else ""
