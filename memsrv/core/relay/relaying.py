"""What the proxy reads in a request, and what it sends on.

(1) A request goes on as it came, but for its messages and the name of its model. (2) What tools and the answer will take of a
model's window is taken off the budget of the prompt; the answer never takes more than half.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memsrv.core.prompt.policy import Policy
from memsrv.core.relay.resent import text_said
from memsrv.errors import BadRequest, ModelNotFound, NoUpstream
from memsrv.model import Payload

ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function"})
TOOLS = ("tools", "functions", "response_format")
"""Fields whose content stands in the prompt that the model sees."""
LIMITS = ("max_completion_tokens", "max_tokens")
LEAST_SHARE = 2
TASK, QUOTED = "### Task:", ("<chat_history>", "</chat_history>")
"""How Open WebUI begins what it asks of a model on the side, and the talk that it quotes in it."""
MOST_MESSAGES = 10_000
"""In one request: a client sends all that was ever said again."""


def messages_of(body: Mapping[str, Any]) -> list[Payload]:
    """The messages of a request. Raises BadRequest that names the one that cannot be used."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages: a list of at least one message is needed.")
    if len(messages) > MOST_MESSAGES:
        raise BadRequest(
            f"messages: {len(messages)} in one request; at most {MOST_MESSAGES} are taken.",
            "Name the session with the header x-memory-session, and send the newest messages only.",
        )
    for at, message in enumerate(messages):
        if problem := problem_of(message):
            raise BadRequest(f"messages[{at}]: {problem}.")
    return messages


def problem_of(message: Any) -> str:
    """Why a message cannot be used, or nothing."""
    if not isinstance(message, Mapping):
        return "not an object"
    if message.get("role") not in ROLES:
        return f"role is one of {', '.join(sorted(ROLES))}"
    if not isinstance(message.get("content"), str | list | None):
        return "content is a text, a list of parts or null"
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        return "tool_calls is a list"
    if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
        return "a message of role tool needs the tool_call_id of its call"
    return ""


def is_task(line: Sequence[Payload]) -> bool:
    """Whether a history is no talk but a task about one (its title, its tags): one message that says so and quotes the talk."""
    if len(line) != 1 or line[0]["role"] != "user":
        return False
    text = text_said(line[0])
    return text.startswith(TASK) and all(mark in text for mark in QUOTED)


def chosen(model: Any, names: Iterable[str], default: str | None) -> tuple[str, str]:
    """The upstream that a model's name asks for, and the name that it goes by there: `name/model`, or a model of the default one.
    Raises NoUpstream or ModelNotFound."""
    known = sorted(names)
    if not known:
        raise NoUpstream("No upstream is set, so there is no model to ask.")
    named = model if isinstance(model, str) else ""
    prefix, slash, rest = named.partition("/")
    if slash and prefix in known:
        return prefix, rest
    if default is None:
        raise ModelNotFound("The model's name does not begin with that of an upstream.", f"Upstreams: {', '.join(known)}.")
    return default, named


def budget_of(policy: Policy, body: Mapping[str, Any], tools_tokens: int) -> int:
    """What the messages may use: the budget less the tools and, where it is the model's window, less what the answer may take."""
    budget = policy.budget_tokens - tools_tokens
    if policy.of_window:
        budget = max(budget - answer_tokens(body), budget // LEAST_SHARE)
    return max(1, budget)


def answer_tokens(body: Mapping[str, Any]) -> int:
    """The longest answer that a request allows; 0 if it sets no limit."""
    limits = (body.get(name) for name in LIMITS)
    return next((limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0), 0)


def tools_text(body: Mapping[str, Any]) -> str:
    """The tool definitions of a request, as text to count."""
    given = [body[name] for name in TOOLS if body.get(name)]
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")) if given else ""


def passed_on(body: Mapping[str, Any], messages: Iterable[Payload], model: str) -> dict[str, Any]:
    """The request as it goes to the upstream."""
    return {**body, "messages": list(messages)} | ({"model": model} if model else {})


def listed(by_upstream: Mapping[str, list[dict[str, Any]]], default: str | None) -> list[dict[str, Any]]:
    """The models of all upstreams as one list; with several, those that are not the default's carry its name."""
    return [
        model if name == default else {**model, "id": f"{name}/{model['id']}"}
        for name, models in by_upstream.items()
        for model in models
    ]
