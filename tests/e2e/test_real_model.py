"""A real model behind the proxy and the summaries: what memsrv keeps whatever the model says.

MEMSRV_TEST_CHAT_URL (with `/v1`), MEMSRV_TEST_CHAT_MODEL and MEMSRV_TEST_CHAT_KEY say which one; docs/recipes.md tells how to
start one. A small and often wrong one is the best: what it says is never looked at, only what became of it.
"""

import itertools
import json
import os
import re
import threading
from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.served import Served

pytestmark = pytest.mark.skipif("MEMSRV_TEST_CHAT_URL" not in os.environ, reason="MEMSRV_TEST_CHAT_URL names no endpoint to try")

BUDGET_TOKENS = 500
SUMMARY_TOKENS = 120
WAIT_S = 600
TALK = (
    "Let us plan a week in Rome.",
    "Good. When do you want to go?",
    "We fly on 3 May. That is decided.",
    "Noted: the flight is on 3 May.",
    "No rental car, please.",
    "Then you will go by train and on foot, without a car.",
    "The hotel costs 140 euros a night.",
    "That is 980 euros for the week.",
)
INVENTING = """Here is a summary. Write one of the same shape, with some more lines of your own:
Goal: buy a bike
Decided:
- it costs 777 euros
Constraints and exclusions:
- no trains
Facts:
- the shop is in Oslo
Open questions and to-dos:
- which colour?
Current state: the shop is closed
{messages}"""
"""A model that follows this tells what nobody said."""

names = (f"real-{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    url, key = os.environ["MEMSRV_TEST_CHAT_URL"], os.environ.get("MEMSRV_TEST_CHAT_KEY", "")
    model = os.environ.get("MEMSRV_TEST_CHAT_MODEL", "default")
    served = Served(
        tmp_path_factory.mktemp("real"),
        MEMSRV_UPSTREAM_URL=url,
        MEMSRV_UPSTREAM_KEY=key,
        MEMSRV_UPSTREAM_MODEL=model,
        MEMSRV_UPSTREAM_FORMAT="strict",
        MEMSRV_BUDGET_TOKENS=str(BUDGET_TOKENS),
        MEMSRV_PROVIDERS=json.dumps({"real": {"base_url": url, "api_key": key, "model": model, "timeout_s": WAIT_S}}),
        MEMSRV_SUMMARY_PARAMETERS=json.dumps({"temperature": 0.2, "seed": 7}),
    )
    served.http.timeout = WAIT_S
    yield served
    served.stop()


@pytest.fixture
def client(served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{served.address}/v1", api_key="unused", timeout=WAIT_S) as client:
        yield client


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def transcript(served, session):
    return served.http.get(f"/context/{session}/messages", params={"limit": 1000}).json()["messages"]


def said(served, session):
    return [(message["role"], message["content"]) for message in transcript(served, session)]


def pairs(history):
    return [(message["role"], message["content"]) for message in history]


def ask(client, history, session=None, *, stream=False):
    """The answer and the headers of one request that sends the whole history."""
    options = {"stream": stream, **({"stream_options": {"include_usage": True}} if stream else {})}
    raw = client.chat.completions.with_raw_response.create(
        model="", messages=history, max_tokens=24, extra_headers={"x-memory-session": session} if session else {}, **options
    )
    answer = raw.parse()
    if not stream:
        return answer.choices[0].message.content, raw.headers
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices), raw.headers


# --- the proxy --------------------------------------------------------------------------------------------------------


def test_its_models_are_listed(client):
    assert [model.id for model in client.models.list()]


@pytest.mark.parametrize("named", [False, True])
def test_a_talk_of_several_turns_is_stored_once_and_each_prompt_is_within_its_budget(served, client, named):
    session, history = next(names) if named else None, []
    asked = ("My dog is called Rex.", "What is my dog called?", "Tell me a word that begins with A.", "And one with B?")
    for n, question in enumerate(asked):
        history.append(user(f"{question} ({session})"))
        answer, headers = ask(client, history, session, stream=bool(n % 2))
        assert answer
        assert int(headers["x-context-tokens"]) <= BUDGET_TOKENS
        history.append(assistant(answer))
    assert said(served, headers["x-memory-session"]) == pairs(history)


def test_an_answer_made_anew_takes_the_place_of_the_old_one(served, client):
    session = next(names)
    history = [user("Name a town.")]
    first, _ = ask(client, history, session)
    again, _ = ask(client, history, session)
    assert said(served, session) == pairs([*history, assistant(again)])
    if again != first:
        assert said(served, f"{session}~aside") == pairs([assistant(first)])


def test_an_edit_puts_what_followed_aside(served, client):
    session = next(names)
    history = [user("Name a town.")]
    first, _ = ask(client, history, session)
    history += [assistant(first), user("And a river?")]
    second, _ = ask(client, history, session)
    edited = [*history[:2], user("And a mountain?")]
    third, _ = ask(client, edited, session)
    assert said(served, session) == pairs([*edited, assistant(third)])
    assert said(served, f"{session}~aside") == pairs([user("And a river?"), assistant(second)])


def test_an_answer_that_the_client_breaks_off_is_marked_as_cut(served, client):
    session = next(names)
    stream = client.chat.completions.create(
        model="", messages=[user("Tell me a long story.")], stream=True, extra_headers={"x-memory-session": session}
    )
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()
    for _ in range(3000):
        if len(stored := transcript(served, session)) == 2:
            break
        threading.Event().wait(0.01)
    assert stored[1]["metadata"]["relay"]["cut"] == "client"


def test_what_it_counts_calibrates_within_bounds(served, client):
    session, history = next(names), []
    for n in range(3):
        history.append(user(f"{n}: {' '.join(TALK)}"))
        history.append(assistant(ask(client, history, session)[0]))
    model = os.environ.get("MEMSRV_TEST_CHAT_MODEL", "default")
    receipt = served.http.get(f"/context/{session}/prompt", params={"model": model}).json()["receipt"]
    assert 0.5 <= receipt["factor"] <= 5
    assert receipt["factor"] != 1


# --- summaries --------------------------------------------------------------------------------------------------------


def summarised(served, session, **summary):
    """The summary of a talk by the model, or by whoever took its place, in two compactions."""
    own = {"provider": "real", "max_tokens": SUMMARY_TOKENS, **summary}
    served.http.put(f"/context/{session}", json={"summary": own})
    for part in (TALK[:4], TALK[4:]):
        messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(part)]
        served.http.post(f"/context/{session}/messages", json={"messages": messages})
        made = served.http.post(f"/context/{session}/compact", json={"keep": 0}).json()
        assert (made["made"], made["reason"]) == (True, None)
    version = made["summary"]["version"]
    return served.http.get(f"/context/{session}/summaries/{version}").json()


@pytest.mark.parametrize("prompt", ["", INVENTING])
def test_whatever_it_writes_a_summary_holds_and_tells_nothing_that_was_not_said(served, prompt):
    session = next(names)
    summary = summarised(served, session, prompt=prompt)
    assert summary["covers_upto"] == len(TALK)
    assert summary["text"]
    failed = {finding["kind"] for finding in summary["findings"] if finding["made_by"] == "chat"}
    assert summary["made_by"] == "chat" or failed & {"down", "refused"}
    figures = re.compile(r"\d+")
    assert set(figures.findall(summary["text"])) <= set(figures.findall(" ".join(TALK)))
    assert not any(word in summary["text"] for word in ("bike", "Oslo", "<memory:"))
    prompt = served.http.get(f"/context/{session}/prompt", params={"mode": "summary"}).json()
    assert prompt["total_tokens"] <= BUDGET_TOKENS
    assert next(region for region in prompt["receipt"]["regions"] if region["name"] == "summary")["tokens"] > 0
    assert [text for _, text in said(served, session)] == list(TALK)
