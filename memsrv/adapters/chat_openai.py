"""Any OpenAI-compatible `/chat/completions` endpoint.

(1) What a model thought is never part of the text: not in a field of its own, not as a `<think>` part of the answer.
(2) Neither key, header nor text stands in an error or a log; retries, rests and limits are those of `openai_http`.
(3) `model`, `messages` and one whole answer are ours to ask for, whatever the parameters say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx

from memsrv.adapters.openai_http import REST_S, RETRIED, Endpoint, EndpointError, Failed, Refused, Unavailable
from memsrv.core.relay.providers import Provider
from memsrv.core.remembering import Latest
from memsrv.core.summary.asking import Completion
from memsrv.core.text.content import mended, part_texts
from memsrv.core.text.reasoning import without_reasoning
from memsrv.errors import UpstreamDown

CONCURRENCY = 4
REASONING = ("reasoning_content", "reasoning", "thinking")
TOO_LONG = ("context length", "context window", "context_length", "context size", "too long", "too many tokens", "too large")
HARMLESS = frozenset({403, 404})
"""Answers to a model that is not there, or not for this key: one session's wrong setting must not close the provider to all."""
NOT_ASKED_FOR = frozenset({"stream", "stream_options", "n"})
"""One whole answer is what comes unasked, and some servers refuse the very fields."""
NEWER_LIMIT = "max_completion_tokens"
MOST_MODELS = 1000
"""Models whose wants are kept; sessions may name any."""


class OpenAIChat:
    """ports.ChatModel over HTTP, one for each provider, shared by all who ask it. `model` is taken where none is named."""

    def __init__(
        self,
        provider: Provider,
        *,
        concurrency: int = CONCURRENCY,
        wait_s: float = 0.5,
        rest_s: float = REST_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ):
        self._name = f"The provider {provider.name}"
        self._endpoint = Endpoint(
            provider.base_url,
            name=self._name,
            key=provider.api_key,
            headers=provider.headers,
            timeout_s=provider.timeout_s,
            wait_s=wait_s,
            rest_s=rest_s,
            concurrency=concurrency,
            harmless=HARMLESS,
            transport=transport,
        )
        self._unlike: Latest[str, frozenset[str]] = Latest(MOST_MODELS)
        self.model = provider.model

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, model: str | None, parameters: Mapping[str, Any], max_tokens: int
    ) -> Completion:
        """One answer of at most `max_tokens`, unless the parameters say how many. UpstreamDown; `too_long` if the input is."""
        named = model or self.model
        if not named:
            raise UpstreamDown(f"{self._name} is asked for an answer, and no model is named.")
        limit = {} if NEWER_LIMIT in parameters else {"max_tokens": max_tokens}
        others = {name: value for name, value in parameters.items() if name not in NOT_ASKED_FOR}
        body = mended({**limit, **others, "model": named, "messages": list(messages)})
        try:
            return replace(await self._ask(body), model=named)
        except EndpointError as error:
            raise UpstreamDown(error.message, too_long=isinstance(error, Refused) and is_too_long(error)) from None

    async def close(self) -> None:
        await self._endpoint.close()

    async def _ask(self, body: dict[str, Any]) -> Completion:
        """Ask as this model wants to be asked: some refuse `max_tokens` or a temperature, and say so."""
        model = body["model"]
        unlike = self._unlike.get(model, frozenset())
        while True:
            try:
                return await self._endpoint.post("chat/completions", adapted(body, unlike), self._completion)
            except Refused as error:
                known = unlike | refused_fields(error.said, body)
                if known == unlike:
                    raise
                self._unlike[model] = unlike = known

    def _completion(self, answer: Any) -> Completion:
        if isinstance(answer, Mapping) and not answer.get("choices") and isinstance(answer.get("error"), Mapping):
            raise self._reported(answer["error"].get("code"))
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            return completion_of(message, str(choice.get("finish_reason") or ""), answer.get("usage"))
        except (LookupError, TypeError, AttributeError):
            raise Failed(f"{self._name} answered something that is no chat completion.") from None

    def _reported(self, code: object) -> EndpointError:
        """Some gateways answer 200 and put the upstream's failure into the body."""
        said = f"{self._name} answered with an error."
        return Unavailable(said) if code in RETRIED else Failed(said)


def completion_of(message: Mapping[str, Any], finish_reason: str, usage: object) -> Completion:
    """The answer, what was thought apart from what was said."""
    content = message.get("content")
    said = content if isinstance(content, str) else "\n".join(part_texts(content))
    thought = next((message[name] for name in REASONING if isinstance(message.get(name), str) and message[name]), "")
    text = without_reasoning(said)
    spent = usage if isinstance(usage, Mapping) else {}
    return Completion(
        text=text,
        reasoning=thought or ("" if len(text) == len(said) else said),
        prompt_tokens=counted(spent.get("prompt_tokens")),
        completion_tokens=counted(spent.get("completion_tokens")),
        finish_reason=finish_reason,
    )


def counted(value: object) -> int:
    """Tokens that a provider tells; 0 for anything that is no count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def is_too_long(error: Refused) -> bool:
    """Whether the input is refused for its length."""
    said = error.said.lower()
    return error.status == httpx.codes.REQUEST_ENTITY_TOO_LARGE or any(mark in said for mark in TOO_LONG)


def refused_fields(said: str, body: Mapping[str, Any]) -> frozenset[str]:
    """Which fields of the body a refusal is about, of those that there is another way for."""
    found = {"max_tokens"} if NEWER_LIMIT in said and "max_tokens" in body else set()
    return frozenset(found | ({"temperature"} if "temperature" in said and "temperature" in body else set()))


def adapted(body: Mapping[str, Any], unlike: frozenset[str]) -> dict[str, Any]:
    """The body without these fields; a limit of tokens goes under its newer name."""
    sent = {name: value for name, value in body.items() if name not in unlike}
    if "max_tokens" in unlike and "max_tokens" in body:
        sent[NEWER_LIMIT] = body["max_tokens"]
    return sent
