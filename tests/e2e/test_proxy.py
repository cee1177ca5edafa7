"""The proxy as the `openai` SDK meets it: the real server between it and a scripted upstream."""

import asyncio
import itertools
import re
import threading
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.adapters.upstream_server import DIE, Refuse, Say, call
from tests.e2e.proxied import ask, assistant, named, names, notes, pairs, talk, transcript, user
from tests.patience import wait_until

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def test_an_answer_comes_and_both_sides_are_stored(client, proxy, upstream):
    session = next(names)
    upstream.script = [Say(["Blue."])]
    answer = client.chat.completions.with_raw_response.create(
        model="small", messages=[user("Which colour?")], extra_headers=named(session)
    )
    assert answer.parse().choices[0].message.content == "Blue."
    assert transcript(proxy, session) == [("user", "Which colour?"), ("assistant", "Blue.")]
    assert answer.headers["x-memory-session"] == session
    assert answer.headers["x-context-mode"] == "hybrid"
    assert int(answer.headers["x-context-tokens"]) > 0
    receipts = proxy.http.get(f"/context/{session}/receipts").json()["receipts"]
    assert receipts[0]["id"] == answer.headers["x-context-receipt"]
    assert upstream.seen[-1]["authorization"] == "Bearer key-for-upstream"


def test_a_stream_comes_and_both_sides_are_stored(client, proxy, upstream):
    session = next(names)
    upstream.script = [Say(["One", ", two", ", three."])]
    stream = client.chat.completions.create(model="small", messages=[user("Count.")], stream=True, extra_headers=named(session))
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert "".join(pieces) == "One, two, three."
    assert transcript(proxy, session) == [("user", "Count."), ("assistant", "One, two, three.")]


def test_pieces_of_a_stream_come_before_it_ends(client, upstream):
    came = threading.Event()
    upstream.script = [Say(["first", lambda: came.wait(30), " last"])]
    stream = client.chat.completions.create(model="small", messages=[user("x")], stream=True, extra_headers=named(next(names)))
    texts = []
    for chunk in stream:
        texts.append(chunk.choices[0].delta.content)
        if texts[-1] == "first":
            came.set()
    assert texts[-2:] == [" last", None]


def test_the_question_is_on_disk_before_the_upstream_is_asked(client, proxy, upstream):
    session, seen = next(names), []
    upstream.script = [Say([lambda: seen.extend(transcript(proxy, session)), "x"])]
    ask(client, [user("Durable?")], session)
    assert seen == [("user", "Durable?")]


async def test_the_asynchronous_sdk_works_too(proxy, upstream):
    upstream.script = [Say(["One."]), Say(["Two", "."])]
    async with AsyncOpenAI(base_url=f"{proxy.address}/v1", api_key="unused") as client:
        whole = await client.chat.completions.create(model="small", messages=[user("a1")], extra_headers=named(next(names)))
        stream = await client.chat.completions.create(
            model="small", messages=[user("a2")], stream=True, extra_headers=named(next(names))
        )
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert (whole.choices[0].message.content, "".join(pieces)) == ("One.", "Two.")


def test_the_example_in_the_readme_works(proxy, upstream, capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(from openai.*?)```", readme, re.DOTALL)[1]
    upstream.script = [Say(["Under the flowerpot."])]
    exec(example.replace("http://127.0.0.1:8000", proxy.address), {})
    assert capsys.readouterr().out == "Under the flowerpot.\n"
    assert transcript(proxy, "anna")[0] == ("user", "Where is my spare key?")


# --- what goes on, and what comes back ------------------------------------------------------------------------------


def test_parameters_go_on_untouched_and_every_choice_comes_back(client, proxy, upstream):
    session = next(names)
    upstream.script = [Say(["first"], more=["second"])]
    sent = {"temperature": 0.3, "stop": ["x"], "n": 2, "tools": TOOLS, "tool_choice": "none", "seed": 7}
    answer = client.chat.completions.create(
        model="small", messages=[user("?")], extra_headers=named(session), extra_body={"new_field": [1]}, **sent
    )
    assert [choice.message.content for choice in answer.choices] == ["first", "second"]
    assert {name: value for name, value in upstream.requests[-1].items() if name not in ("messages", "model")} == {
        **sent,
        "new_field": [1],
    }
    assert transcript(proxy, session)[1:] == [("assistant", "first")]


def test_usage_in_a_stream_comes_through(client, upstream):
    upstream.script = [Say(["x"])]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    stream = client.chat.completions.create(model="small", messages=[user("u")], extra_headers=named(next(names)), **options)
    chunks = list(stream)
    assert chunks[-1].usage.prompt_tokens == 40


def test_what_the_provider_counts_calibrates(client, proxy, upstream):
    session = next(names)
    long = "a fairly long question about the weather " * 20

    def factor() -> float:
        return proxy.http.get(f"/context/{session}/prompt", params={"model": "counting"}).json()["receipt"]["factor"]

    for n in range(3):
        upstream.script = [Say(["x"], usage={"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901})]
        client.chat.completions.create(model="counting", messages=[user(f"{n} {long}")], extra_headers=named(session))
    wait_until(lambda: factor() > 1.2)  # counts are taken in behind the answers


def test_the_models_of_the_upstream_are_listed(client):
    assert [model.id for model in client.models.list()] == ["small"]


def test_parts_and_pictures_go_on(client, upstream):
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png", "detail": "low"}}
    content = [{"type": "text", "text": "What is this?"}, picture]
    ask(client, [{"role": "user", "content": content}], next(names))
    assert upstream.prompt()[-1] == ("user", content)


# --- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [False, True])
def test_a_loop_of_parallel_tool_calls_is_stored_once_and_sent_whole(client, proxy, upstream, streams):
    session = next(names)
    calls = [call("c0", "look", '{"n": 0}'), call("c1", "look", '{"n": 1}')]
    history = [user("Look twice.")]
    for turn in range(5):
        mine = [{**one, "id": f"{one['id']}-{turn}"} for one in calls]
        pieces = [{"tool_calls": [{"index": n, **one}]} for n, one in enumerate(mine)] if streams else []
        upstream.script = [Say(pieces, message={"tool_calls": mine}, finish_reason="tool_calls")]
        answered(client, history, session, streams)
        results = [{"role": "tool", "tool_call_id": one["id"], "content": f"saw {one['id']}"} for one in mine]
        history = [*history, {"role": "assistant", "content": None, "tool_calls": mine}, *results]
    upstream.script = [Say(["Done."])]
    answered(client, history, session, streams)
    sent = [m for m in upstream.requests[-1]["messages"] if m["role"] != "system"]
    assert [m["role"] for m in sent] == ["user", *["assistant", "tool", "tool"] * 5]
    assert [m["content"] for m in sent if m["role"] == "tool"] == [m["content"] for m in history if m["role"] == "tool"]
    assert len(transcript(proxy, session)) == len(history) + 1


def answered(client, messages, session, streams):
    options = {"tools": TOOLS, "extra_headers": {**named(session), "x-memory-mode": "window"}}
    answer = client.chat.completions.create(model="small", messages=messages, stream=streams, **options)
    if streams:
        list(answer)


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"), [(401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.InternalServerError)]
)
def test_errors_of_the_upstream_come_as_they_are(client, proxy, upstream, status, kind):
    session = next(names)
    told = {"error": {"message": "no more", "type": "t", "param": None, "code": "c"}}
    upstream.script = [Refuse(status, told, {"retry-after": "7", "x-ratelimit-reset-tokens": "9s"})]
    with pytest.raises(kind) as caught:
        ask(client, [user("x")], session)
    assert caught.value.response.json() == told
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.response.headers["x-ratelimit-reset-tokens"] == "9s"
    assert transcript(proxy, session) == [("user", "x")]


def test_a_retry_stores_nothing_twice(proxy, upstream):
    session = next(names)
    refusal = Refuse(500, {"error": {"message": "x"}}, {"retry-after-ms": "1"})
    upstream.script = [refusal, refusal, Say(["Yes."])]
    with OpenAI(base_url=f"{proxy.address}/v1", api_key="unused", max_retries=2) as client:
        ask(client, [user("Again?")], session)
    assert transcript(proxy, session) == [("user", "Again?"), ("assistant", "Yes.")]


def test_an_upstream_that_dies_before_it_answers_is_a_clear_error(client, proxy, upstream):
    session = next(names)
    upstream.script = [Say([DIE])]
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, [user("x")], session)
    assert caught.value.status_code == 502
    assert caught.value.code == "upstream_down"
    assert transcript(proxy, session) == [("user", "x")]


@pytest.mark.parametrize("half", [b"data: ", b'data: {"id": "c1", "choi', b"data: {}\n"])
def test_an_answer_that_dies_on_its_way_is_told_and_stored_as_cut(client, proxy, upstream, half):
    session, came = next(names), threading.Event()
    upstream.script = [Say(["So", " far", half, lambda: came.wait(30), DIE])]
    stream = client.chat.completions.create(model="small", messages=[user("x")], stream=True, extra_headers=named(session))

    def read():
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content == " far":
                came.set()

    with pytest.raises(openai.APIError, match="cannot be reached"):
        read()
    assert transcript(proxy, session) == [("user", "x"), ("assistant", "So far")]
    assert notes(proxy, session) == [None, "upstream"]


def test_a_client_that_goes_away_stops_the_upstream_and_keeps_what_came(client, proxy, upstream):
    session = next(names)
    upstream.gone.clear()
    slowly = itertools.chain(["Once"], itertools.cycle([lambda: upstream.gone.wait(0.01), " more"]))
    upstream.script = [Say(slowly)]
    stream = client.chat.completions.create(model="small", messages=[user("x")], stream=True, extra_headers=named(session))
    for chunk in stream:
        if chunk.choices[0].delta.content == "Once":
            break
    stream.close()
    assert upstream.gone.wait(30)
    said = wait_until(lambda: transcript(proxy, session)[1:])
    assert said[0][1].startswith("Once")
    assert notes(proxy, session) == [None, "client"]
    upstream.script = [Say(["Whole."])]
    ask(client, [user("x")], session)
    assert transcript(proxy, session) == [("user", "x"), ("assistant", "Whole.")]


def test_a_client_that_goes_away_before_the_answer_stops_the_upstream(proxy, upstream):
    session, asked = next(names), threading.Event()
    upstream.gone.clear()
    upstream.script = [Say([asked.set, *[lambda: upstream.gone.wait(0.01), "x"] * 3000])]

    async def leave():
        async with AsyncOpenAI(base_url=f"{proxy.address}/v1", api_key="unused", max_retries=0) as client:
            request = client.chat.completions.create(
                model="small", messages=[user("x")], stream=True, extra_headers=named(session)
            )
            asking = asyncio.ensure_future(request)
            await asyncio.to_thread(asked.wait, 30)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(leave())
    assert upstream.gone.wait(30)


# --- tasks on the side ----------------------------------------------------------------------------------------------

TITLE = "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: q\nASSISTANT: Yes.\n</chat_history>"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("headers", "asked"), [({}, TITLE), ({"x-memory-task": "title_generation"}, "A title, please.")])
def test_a_task_about_a_talk_goes_on_as_it_came_and_nothing_of_it_is_stored(client, proxy, upstream, headers, asked, stream):
    history, session = talk(client, upstream, [("q", "Yes.")], next(names))
    sessions = len(proxy.http.get("/context", params={"limit": 1000}).json()["sessions"])
    messages = [{"role": "system", "content": "Answer in JSON."}, user(asked)]
    for name in (named(session), {}):
        upstream.script = [Say(['{"title": "Yes"}'])]
        raw = client.chat.completions.with_raw_response.create(
            model="small", messages=messages, stream=stream, extra_headers={**headers, **name}
        )
        answer = raw.parse()
        text = "".join(c.choices[0].delta.content or "" for c in answer) if stream else answer.choices[0].message.content
        assert text == '{"title": "Yes"}'
        assert upstream.requests[-1]["messages"] == messages
        assert "x-memory-session" not in raw.headers
    assert transcript(proxy, session) == pairs(history)
    assert proxy.http.get(f"/context/{session}/meta").json()["system_prompt"] is None
    assert len(proxy.http.get("/context", params={"limit": 1000}).json()["sessions"]) == sessions


# --- instructions, names, blocks ------------------------------------------------------------------------------------


def test_the_client_s_system_prompt_is_that_of_the_prompt_and_can_change(client, proxy, upstream):
    session, history = next(names), []
    for prompt in ("You are a pirate.", "You are a poet."):
        upstream.script = [Say([f"As {prompt}"])]
        history.append(user(f"Who are you? {prompt}"))
        ask(client, [{"role": "system", "content": prompt}, *history], session)
        assert upstream.system().startswith(prompt)
        history.append(assistant(f"As {prompt}"))
    assert "pirate" not in upstream.system()
    assert transcript(proxy, session) == pairs(history)


def test_a_prompt_of_ours_that_is_sent_through_the_proxy_is_not_stored_again(client, proxy, upstream):
    history, session = talk(client, upstream, [("I like tea.", "Noted."), ("and rain", "Noted too.")], next(names))
    proxy.http.patch(f"/context/{session}/meta", json={"goal": "know the user", "profile": "Ada"})
    proxy.http.post(f"/context/{session}/messages", json=user("What do I like?"))
    prompt = proxy.http.get(f"/context/{session}/prompt").json()["messages"]
    upstream.script = [Say(["Tea."])]
    ask(client, prompt, session)
    assert transcript(proxy, session) == pairs([*history, user("What do I like?"), assistant("Tea.")])
    assert proxy.http.get(f"/context/{session}/meta").json()["system_prompt"] is None


def test_the_user_field_is_the_owner_and_keeps_talks_apart(client, proxy, upstream):
    _, mine = ask(client, [user("who am I?")], user="ada")
    _, other = ask(client, [user("who am I?")], user="bob")
    assert mine != other
    assert proxy.http.get(f"/context/{mine}").json()["owner"] == "ada"
    headers = {"x-memory-owner": "%E5%BC%A0"}
    _, third = ask(client, [user("who am I?")], headers=headers, user="bob")
    assert proxy.http.get(f"/context/{third}").json()["owner"] == "张"


def test_a_session_s_name_can_be_any_text(client, proxy, upstream):
    _, told = ask(client, [user("x")], "telegram/a:b%20%E5%BC%A0")
    assert told == "telegram/a:b%20%E5%BC%A0"
    assert len(transcript(proxy, "telegram%2Fa:b%20%E5%BC%A0")) == 2
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        ask(client, [user("x")], "x" * 513)
    assert caught.value.code == "bad_session_name"


def test_neither_log_nor_metrics_hold_what_was_said(proxy, client, upstream):
    session = next(names)
    ask(client, [user("the password is swordfish")], session)
    metrics = proxy.http.get("/metrics").text
    assert 'memsrv_relay_requests_total{outcome="whole",upstream="upstream"}' in metrics
    log = wait_until(lambda: [line for line in proxy.lines if "/v1/chat/completions" in line])
    assert "swordfish" not in "".join(log) + metrics
    assert session not in "".join(proxy.lines) + metrics
