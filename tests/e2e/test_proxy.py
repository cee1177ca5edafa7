"""The proxy as the `openai` SDK meets it: the real server between it and a scripted upstream."""

import asyncio
import itertools
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.adapters.upstream_server import DIE, Refuse, Say, call
from tests.e2e.conftest import Served
from tests.patience import wait_until

names = (f"talk-{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def served(upstream, tmp_path_factory) -> Iterator[Served]:
    served = Served(
        tmp_path_factory.mktemp("proxy"),
        MEMSRV_UPSTREAM_URL=upstream.url,
        MEMSRV_UPSTREAM_KEY="${SECRET_OF_TEST}",
        SECRET_OF_TEST="key-for-upstream",
        MEMSRV_UPSTREAM_MODEL="small",
        MEMSRV_SUMMARY_ENABLED="false",
    )
    yield served
    served.stop()


@pytest.fixture
def client(served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{served.address}/v1", api_key="unused", max_retries=0) as client:
        yield client


TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def named(session):
    return {"x-memory-session": session}


def ask(client, messages, session=None, **options):
    """One request; the answer's text, and the session that it belongs to."""
    headers = named(session) if session else {}
    raw = client.chat.completions.with_raw_response.create(
        model="small", messages=messages, extra_headers={**headers, **options.pop("headers", {})}, **options
    )
    return raw.parse().choices[0].message.content, raw.headers["x-memory-session"]


def notes(served, session):
    read = served.http.get(f"/context/{session}/messages", params={"limit": 1000}).json()
    return [(m["metadata"] or {}).get("relay", {}).get("cut") for m in read["messages"]]


def transcript(served, session):
    read = served.http.get(f"/context/{session}/messages", params={"limit": 1000}).json()
    return [(m["role"], m["content"]) for m in read["messages"]]


def stored_whole(served, session):
    """The messages with all that is told of them, but for what indexing changes in its own time."""
    read = served.http.get(f"/context/{session}/messages").json()["messages"]
    return [{name: value for name, value in message.items() if name != "indexed"} for message in read]


def test_an_answer_comes_and_both_sides_are_stored(client, served, upstream):
    session = next(names)
    upstream.script = [Say(["Blue."])]
    answer = client.chat.completions.with_raw_response.create(
        model="small", messages=[user("Which colour?")], extra_headers=named(session)
    )
    assert answer.parse().choices[0].message.content == "Blue."
    assert transcript(served, session) == [("user", "Which colour?"), ("assistant", "Blue.")]
    assert answer.headers["x-memory-session"] == session
    assert answer.headers["x-context-mode"] == "hybrid"
    assert int(answer.headers["x-context-tokens"]) > 0
    receipts = served.http.get(f"/context/{session}/receipts").json()["receipts"]
    assert receipts[0]["id"] == answer.headers["x-context-receipt"]
    assert upstream.seen[-1]["authorization"] == "Bearer key-for-upstream"


def test_a_stream_comes_and_both_sides_are_stored(client, served, upstream):
    session = next(names)
    upstream.script = [Say(["One", ", two", ", three."])]
    stream = client.chat.completions.create(model="small", messages=[user("Count.")], stream=True, extra_headers=named(session))
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert "".join(pieces) == "One, two, three."
    assert transcript(served, session) == [("user", "Count."), ("assistant", "One, two, three.")]


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


def test_the_question_is_on_disk_before_the_upstream_is_asked(client, served, upstream):
    session, seen = next(names), []
    upstream.script = [Say([lambda: seen.extend(transcript(served, session)), "x"])]
    ask(client, [user("Durable?")], session)
    assert seen == [("user", "Durable?")]


async def test_the_asynchronous_sdk_works_too(served, upstream):
    upstream.script = [Say(["One."]), Say(["Two", "."])]
    async with AsyncOpenAI(base_url=f"{served.address}/v1", api_key="unused") as client:
        whole = await client.chat.completions.create(model="small", messages=[user("a1")], extra_headers=named(next(names)))
        stream = await client.chat.completions.create(
            model="small", messages=[user("a2")], stream=True, extra_headers=named(next(names))
        )
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert (whole.choices[0].message.content, "".join(pieces)) == ("One.", "Two.")


def test_the_example_in_the_readme_works(served, upstream, capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(from openai.*?)```", readme, re.DOTALL)[1]
    upstream.script = [Say(["Under the flowerpot."])]
    exec(example.replace("http://127.0.0.1:8000", served.address), {})
    assert capsys.readouterr().out == "Under the flowerpot.\n"
    assert transcript(served, "anna")[0] == ("user", "Where is my spare key?")


# --- what goes on, and what comes back ------------------------------------------------------------------------------


def test_parameters_go_on_untouched_and_every_choice_comes_back(client, served, upstream):
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
    assert transcript(served, session)[1:] == [("assistant", "first")]


def test_usage_in_a_stream_comes_through(client, upstream):
    upstream.script = [Say(["x"])]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    stream = client.chat.completions.create(model="small", messages=[user("u")], extra_headers=named(next(names)), **options)
    chunks = list(stream)
    assert chunks[-1].usage.prompt_tokens == 40


def test_what_the_provider_counts_calibrates(client, served, upstream):
    session = next(names)
    long = "a fairly long question about the weather " * 20

    def factor() -> float:
        return served.http.get(f"/context/{session}/prompt", params={"model": "counting"}).json()["receipt"]["factor"]

    for n in range(3):
        upstream.script = [Say(["x"], usage={"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901})]
        client.chat.completions.create(model="counting", messages=[user(f"{n} {long}")], extra_headers=named(session))
    deadline = time.monotonic() + 30  # counts are taken in behind the answers
    while factor() <= 1.2 and time.monotonic() < deadline:
        pass
    assert factor() > 1.2


def test_the_models_of_the_upstream_are_listed(client):
    assert [model.id for model in client.models.list()] == ["small"]


def test_parts_and_pictures_go_on(client, upstream):
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png", "detail": "low"}}
    content = [{"type": "text", "text": "What is this?"}, picture]
    ask(client, [{"role": "user", "content": content}], next(names))
    assert upstream.prompt()[-1] == ("user", content)


# --- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [False, True])
def test_a_loop_of_parallel_tool_calls_is_stored_once_and_sent_whole(client, served, upstream, streams):
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
    assert len(transcript(served, session)) == len(history) + 1


def answered(client, messages, session, streams):
    options = {"tools": TOOLS, "extra_headers": {**named(session), "x-memory-mode": "window"}}
    answer = client.chat.completions.create(model="small", messages=messages, stream=streams, **options)
    if streams:
        list(answer)


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"), [(401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.InternalServerError)]
)
def test_errors_of_the_upstream_come_as_they_are(client, served, upstream, status, kind):
    session = next(names)
    told = {"error": {"message": "no more", "type": "t", "param": None, "code": "c"}}
    upstream.script = [Refuse(status, told, {"retry-after": "7", "x-ratelimit-reset-tokens": "9s"})]
    with pytest.raises(kind) as caught:
        ask(client, [user("x")], session)
    assert caught.value.response.json() == told
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.response.headers["x-ratelimit-reset-tokens"] == "9s"
    assert transcript(served, session) == [("user", "x")]


def test_a_retry_stores_nothing_twice(served, upstream):
    session = next(names)
    refusal = Refuse(500, {"error": {"message": "x"}}, {"retry-after-ms": "1"})
    upstream.script = [refusal, refusal, Say(["Yes."])]
    with OpenAI(base_url=f"{served.address}/v1", api_key="unused", max_retries=2) as client:
        ask(client, [user("Again?")], session)
    assert transcript(served, session) == [("user", "Again?"), ("assistant", "Yes.")]


def test_an_upstream_that_dies_before_it_answers_is_a_clear_error(client, served, upstream):
    session = next(names)
    upstream.script = [Say([DIE])]
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, [user("x")], session)
    assert caught.value.status_code == 502
    assert caught.value.code == "upstream_down"
    assert transcript(served, session) == [("user", "x")]


@pytest.mark.parametrize("half", [b"data: ", b'data: {"id": "c1", "choi', b"data: {}\n"])
def test_an_answer_that_dies_on_its_way_is_told_and_stored_as_cut(client, served, upstream, half):
    session, came = next(names), threading.Event()
    upstream.script = [Say(["So", " far", half, lambda: came.wait(30), DIE])]
    stream = client.chat.completions.create(model="small", messages=[user("x")], stream=True, extra_headers=named(session))

    def read():
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content == " far":
                came.set()

    with pytest.raises(openai.APIError, match="cannot be reached"):
        read()
    assert transcript(served, session) == [("user", "x"), ("assistant", "So far")]
    assert notes(served, session) == [None, "upstream"]


def test_a_client_that_goes_away_stops_the_upstream_and_keeps_what_came(client, served, upstream):
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
    said = wait_until(lambda: transcript(served, session)[1:])
    assert said[0][1].startswith("Once")
    assert notes(served, session) == [None, "client"]
    upstream.script = [Say(["Whole."])]
    ask(client, [user("x")], session)
    assert transcript(served, session) == [("user", "x"), ("assistant", "Whole.")]


def test_a_client_that_goes_away_before_the_answer_stops_the_upstream(served, upstream):
    session, asked = next(names), threading.Event()
    upstream.gone.clear()
    upstream.script = [Say([asked.set, *[lambda: upstream.gone.wait(0.01), "x"] * 3000])]

    async def leave():
        async with AsyncOpenAI(base_url=f"{served.address}/v1", api_key="unused", max_retries=0) as client:
            request = client.chat.completions.create(
                model="small", messages=[user("x")], stream=True, extra_headers=named(session)
            )
            asking = asyncio.ensure_future(request)
            await asyncio.to_thread(asked.wait, 30)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(leave())
    assert upstream.gone.wait(30)


# --- histories ------------------------------------------------------------------------------------------------------


def talk(client, upstream, turns, session=None, history=()):
    """A client that sends its whole history each time; its history and its session at the end."""
    history = list(history)
    for question, answer in turns:
        upstream.script = [Say([answer])]
        history.append(user(question))
        _, found = ask(client, history, session)
        history.append(assistant(answer))
    return history, found


def pairs(history):
    return [(message["role"], message["content"]) for message in history]


@pytest.mark.parametrize("session", [None, "resent"])
def test_a_history_that_is_sent_again_and_again_is_stored_once(client, served, upstream, session):
    turns = [(f"{session} question {n}", f"Answer {n}.") for n in range(6)]
    history, found = talk(client, upstream, turns, session)
    assert transcript(served, found) == pairs(history)


def test_an_imported_chat_goes_on_in_its_session_and_nothing_of_it_is_stored_again(client, served):
    turns = [user("Which ferry?"), assistant("The one at nine."), user("And back?"), assistant("At six.")]
    told = [
        {"messageId": f"m{n}", "parentMessageId": f"m{n - 1}", "text": one["content"], "isCreatedByUser": one["role"] == "user"}
        for n, one in enumerate(turns)
    ]
    export = {"conversationId": "c9", "endpoint": "custom", "title": "Ferries", "recursive": False, "messages": told}
    assert served.http.post("/import", json=export).json()["stored"] == 4
    ask(client, [*turns, user("How long is it?")], "librechat:c9")
    stored = transcript(served, "librechat:c9")
    assert stored[:5] == [(one["role"], one["content"]) for one in (*turns, user("How long is it?"))]
    assert len(stored) == 6


def test_two_talks_that_begin_alike_get_sessions_of_their_own(client, served, upstream):
    one, first = talk(client, upstream, [("hi there", "Hello."), ("cats?", "They purr.")])
    other, second = talk(client, upstream, [("hi there", "Hello."), ("dogs?", "They bark.")])
    third, third_session = talk(client, upstream, [("hi there", "Good day."), ("birds?", "They sing.")])
    assert len({first, second, third_session}) == 3
    for history, session in ((one, first), (other, second), (third, third_session)):
        assert transcript(served, session) == pairs(history)
    grown, again = talk(client, upstream, [("and cats sleep?", "A lot.")], history=one)
    assert again == first
    assert transcript(served, first) == pairs(grown)


def test_nothing_of_the_one_talk_is_seen_in_the_other(client, upstream):
    talk(client, upstream, [("hello you", "Hello."), ("My code word is swordfish.", "Noted.")])
    talk(client, upstream, [("hello you", "Good day."), ("What is my code word?", "I don't know.")])
    assert "swordfish" not in str(upstream.requests[-1])
    assert "swordfish" not in str(upstream.requests[-2])


@pytest.mark.parametrize("session", [None, "regenerated"])
def test_an_answer_made_anew_takes_the_place_of_the_old_one_which_is_kept_aside(client, served, upstream, session):
    history, found = talk(client, upstream, [(f"{session}: a name?", "Rex."), ("another?", "Bob.")], session)
    upstream.script = [Say(["Tom."])]
    assert ask(client, history[:-1], session) == ("Tom.", found)
    assert upstream.prompt()[-1] == ("user", "another?")
    assert transcript(served, found) == pairs([*history[:-1], assistant("Tom.")])
    assert transcript(served, f"{found}~aside") == [("assistant", "Bob.")]
    grown, again = talk(client, upstream, [("thanks", "Welcome.")], session, [*history[:-1], assistant("Tom.")])
    assert (again, transcript(served, found)) == (found, pairs(grown))


def test_an_old_answer_stands_while_no_new_one_comes(client, served, upstream):
    history, session = talk(client, upstream, [("a colour?", "Red.")], next(names))
    upstream.script = [Refuse(500, {"error": {"message": "x"}})]
    with pytest.raises(openai.InternalServerError):
        ask(client, history[:-1], session)
    assert transcript(served, session) == pairs(history)


def test_an_edit_in_a_named_session_takes_the_old_end_out_of_the_line_and_keeps_it(client, served, upstream):
    turns = [("one", "First."), ("two", "Second."), ("three", "Third.")]
    history, session = talk(client, upstream, turns, next(names))
    edited, _ = talk(client, upstream, [("two, but better", "Other.")], session, history[:2])
    assert transcript(served, session) == pairs(edited)
    assert upstream.prompt() == pairs(edited[:-1])
    assert transcript(served, f"{session}~aside") == pairs(history[2:])
    back, _ = talk(client, upstream, [("four", "Fourth.")], session, history)
    assert transcript(served, session) == pairs(back)


@pytest.mark.parametrize("refusal", [Refuse(429, {"error": {"message": "later"}}), Say([DIE])])
def test_an_edit_that_gets_no_answer_leaves_the_old_line_as_it_was(client, served, upstream, refusal):
    history, session = talk(client, upstream, [("one", "First."), ("two", "Second.")], next(names))
    before = stored_whole(served, session)
    edited = [*history[:2], user("two, but better")]
    for _ in range(2):
        upstream.script = [refusal]
        with pytest.raises(openai.APIStatusError):
            ask(client, edited, session)
        assert upstream.prompt() == pairs(edited)
    grown, _ = talk(client, upstream, [("three", "Third.")], session, history)
    assert upstream.prompt() == pairs(grown[:-1])
    assert transcript(served, session) == pairs(grown)
    assert stored_whole(served, session)[:4] == before
    assert transcript(served, f"{session}~aside") == pairs(edited[2:])


def test_an_edit_that_is_answered_at_last_takes_the_old_end_out_of_the_line(client, served, upstream):
    history, session = talk(client, upstream, [("one", "First."), ("two", "Second.")], next(names))
    edited = [*history[:2], user("two, but better")]
    upstream.script = [Refuse(500, {"error": {"message": "x"}}), Say(["Better."])]
    with pytest.raises(openai.InternalServerError):
        ask(client, edited, session)
    assert transcript(served, session) == pairs([*history, edited[2]])
    ask(client, edited, session)
    assert transcript(served, session) == pairs([*edited, assistant("Better.")])
    assert transcript(served, f"{session}~aside") == pairs(history[2:])


def test_what_is_said_to_a_message_while_it_is_edited_goes_aside_with_it(client, served, upstream):
    history, session = talk(client, upstream, [("one", "First.")], next(names))

    asked, answered = threading.Event(), threading.Event()
    edited = [*history, user("two, but better")]
    editing = threading.Thread(target=ask, args=(client, edited, session))
    upstream.script = [
        Say([editing.start, lambda: asked.wait(30), "Early."]),
        Say([asked.set, lambda: answered.wait(30), "Better."]),
    ]
    ask(client, [*history, user("two")], session)
    answered.set()
    editing.join(30)
    assert transcript(served, session) == pairs([*edited, assistant("Better.")])
    assert transcript(served, f"{session}~aside") == pairs([user("two"), assistant("Early.")])


def test_an_answer_that_comes_after_its_question_was_edited_goes_aside(client, served, upstream):
    history, session = talk(client, upstream, [("one", "First.")], next(names))

    def edit():
        ask(client, [*history, user("two, but better")], session)

    upstream.script = [Say([edit, "Late."]), Say(["Better."])]
    ask(client, [*history, user("two")], session)
    assert transcript(served, session) == pairs([*history, user("two, but better"), assistant("Better.")])
    assert transcript(served, f"{session}~aside") == pairs([user("two"), assistant("Late.")])


def test_an_edit_in_a_derived_session_begins_one_of_its_own(client, served, upstream):
    history, session = talk(client, upstream, [("uno", "First."), ("dos", "Second."), ("tres", "Third.")])
    edited, branch = talk(client, upstream, [("dos, mejor", "Other."), ("cuatro", "Fourth.")], history=history[:2])
    assert transcript(served, session) == pairs(history)
    assert (branch != session, transcript(served, branch)) == (True, pairs(edited))


def test_a_client_that_trims_its_history_loses_and_repeats_nothing(client, served, upstream):
    session, history = next(names), []
    for n in range(8):
        upstream.script = [Say([f"Answer {n}."])]
        history.append(user(f"question {n}"))
        ask(client, history[-5:], session)
        history.append(assistant(f"Answer {n}."))
    assert transcript(served, session) == pairs(history)


def test_a_client_that_sends_only_what_is_new_is_served_with_the_past(client, served, upstream):
    session, history = next(names), []
    for n, words in enumerate(["Tell me a tale.", "go on", "go on", "go on"]):
        upstream.script = [Say([f"Part {n}."])]
        ask(client, [user(words)], session)
        history.append(user(words))
        assert upstream.prompt() == pairs(history)
        history.append(assistant(f"Part {n}."))
    assert transcript(served, session) == pairs(history)


def test_what_was_said_long_ago_is_in_the_prompt_of_a_client_that_sends_only_what_is_new(client, served, upstream):
    session = next(names)
    upstream.script = [Say(["Noted."])]
    ask(client, [user("My spare key is under the blue flowerpot.")], session)
    served.http.post(f"/context/{session}/messages", json={"messages": [user(f"Remark {n}.") for n in range(14)]})
    served.wait_indexed(session)
    upstream.script = [Say(["Under the flowerpot."])]
    ask(client, [user("Where is my spare key?")], session)
    assert "blue flowerpot" in upstream.system()


def test_two_clients_on_one_session_lose_nothing_and_repeat_nothing(client, served, upstream):
    session, both = next(names), threading.Barrier(2)
    upstream.script = []
    upstream.otherwise = lambda request: Say([f"To {request['messages'][-1]['content']}."])
    asked = []

    def run(who):
        history = []
        for n in range(4):
            both.wait(30)
            history.append(user(f"{who} {n}"))
            answer, _ = ask(client, history, session)
            history.append(assistant(answer))
        asked.append(pairs(history))

    threads = [threading.Thread(target=run, args=(who,)) for who in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    upstream.otherwise = lambda request: Say()
    assert sorted(transcript(served, session)) == sorted(line for history in asked for line in history)
    for history in asked:  # each was answered to what it asked, and its own talk stands in its own order
        assert all(
            answer == ("assistant", f"To {question}.") for (_, question), answer in zip(history[::2], history[1::2], strict=True)
        )
        assert [line for line in transcript(served, session) if line in history] == history


def test_a_message_that_was_deleted_does_not_come_back_with_the_history(client, served, upstream):
    history, session = talk(client, upstream, [("my secret is 42", "I see."), ("hm", "Yes?")], next(names))
    first = served.http.get(f"/context/{session}/messages").json()["messages"][0]["id"]
    served.http.delete(f"/context/{session}/messages/{first}")
    grown, _ = talk(client, upstream, [("well", "Well.")], session, history)
    assert transcript(served, session) == pairs(grown[1:])
    assert "secret" not in str(upstream.requests[-1])


def test_forgetting_a_session_forgets_what_is_aside_too(client, served, upstream):
    history, session = talk(client, upstream, [("q", "Old.")], next(names))
    upstream.script = [Say(["New."])]
    ask(client, history[:-1], session)
    assert served.http.get(f"/context/{session}~aside").status_code == 200
    served.http.delete(f"/context/{session}")
    assert served.http.get(f"/context/{session}~aside").status_code == 404


def test_what_goes_aside_does_so_though_another_text_is_there_under_its_id(client, served, upstream):
    history, session = talk(client, upstream, [("q", "Old.")], next(names))
    old = served.http.get(f"/context/{session}/messages").json()["messages"][-1]
    taken = {"role": "assistant", "content": "Older.", "id": f"{old['id']}@{old['position']}"}
    served.http.post(f"/context/{session}~aside/messages", json=taken)
    upstream.script = [Say(["New."])]
    ask(client, history[:-1], session)
    assert transcript(served, f"{session}~aside") == [("assistant", "Older."), ("assistant", "Old.")]
    assert transcript(served, session) == [("user", "q"), ("assistant", "New.")]


def test_forgetting_an_owner_forgets_what_is_aside_of_a_session_that_became_theirs_later(client, served, upstream):
    history, session = talk(client, upstream, [("q", "Old.")], next(names))
    served.http.patch(f"/context/{session}", json={"retention": {"days": 3}})
    upstream.script = [Say(["New."])]
    ask(client, history[:-1], session)
    assert served.http.get(f"/context/{session}~aside").json()["settings"]["retention"] == {"days": 3}
    served.http.patch(f"/context/{session}", json={"owner": f"owner of {session}"})
    served.http.delete("/context", params={"owner": f"owner of {session}"})
    assert served.http.get(f"/context/{session}~aside").status_code == 404


def test_an_answer_does_not_bring_back_a_session_that_was_forgotten_meanwhile(client, served, upstream):
    session = next(names)
    upstream.script = [Say([lambda: served.http.delete(f"/context/{session}"), "Too late."])]
    assert ask(client, [user("Forget me.")], session)[0] == "Too late."
    assert served.http.get(f"/context/{session}").status_code == 404


# --- tasks on the side ----------------------------------------------------------------------------------------------

TITLE = "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: q\nASSISTANT: Yes.\n</chat_history>"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("headers", "asked"), [({}, TITLE), ({"x-memory-task": "title_generation"}, "A title, please.")])
def test_a_task_about_a_talk_goes_on_as_it_came_and_nothing_of_it_is_stored(client, served, upstream, headers, asked, stream):
    history, session = talk(client, upstream, [("q", "Yes.")], next(names))
    sessions = len(served.http.get("/context", params={"limit": 1000}).json()["sessions"])
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
    assert transcript(served, session) == pairs(history)
    assert served.http.get(f"/context/{session}/meta").json()["system_prompt"] is None
    assert len(served.http.get("/context", params={"limit": 1000}).json()["sessions"]) == sessions


# --- instructions, names, blocks ------------------------------------------------------------------------------------


def test_the_client_s_system_prompt_is_that_of_the_prompt_and_can_change(client, served, upstream):
    session, history = next(names), []
    for prompt in ("You are a pirate.", "You are a poet."):
        upstream.script = [Say([f"As {prompt}"])]
        history.append(user(f"Who are you? {prompt}"))
        ask(client, [{"role": "system", "content": prompt}, *history], session)
        assert upstream.system().startswith(prompt)
        history.append(assistant(f"As {prompt}"))
    assert "pirate" not in upstream.system()
    assert transcript(served, session) == pairs(history)


def test_a_prompt_of_ours_that_is_sent_through_the_proxy_is_not_stored_again(client, served, upstream):
    history, session = talk(client, upstream, [("I like tea.", "Noted."), ("and rain", "Noted too.")], next(names))
    served.http.patch(f"/context/{session}/meta", json={"goal": "know the user", "profile": "Ada"})
    served.http.post(f"/context/{session}/messages", json=user("What do I like?"))
    prompt = served.http.get(f"/context/{session}/prompt").json()["messages"]
    upstream.script = [Say(["Tea."])]
    ask(client, prompt, session)
    assert transcript(served, session) == pairs([*history, user("What do I like?"), assistant("Tea.")])
    assert served.http.get(f"/context/{session}/meta").json()["system_prompt"] is None


def test_the_user_field_is_the_owner_and_keeps_talks_apart(client, served, upstream):
    _, mine = ask(client, [user("who am I?")], user="ada")
    _, other = ask(client, [user("who am I?")], user="bob")
    assert mine != other
    assert served.http.get(f"/context/{mine}").json()["owner"] == "ada"
    headers = {"x-memory-owner": "%E5%BC%A0"}
    _, third = ask(client, [user("who am I?")], headers=headers, user="bob")
    assert served.http.get(f"/context/{third}").json()["owner"] == "张"


def test_a_session_s_name_can_be_any_text(client, served, upstream):
    _, told = ask(client, [user("x")], "telegram/a:b%20%E5%BC%A0")
    assert told == "telegram/a:b%20%E5%BC%A0"
    assert len(transcript(served, "telegram%2Fa:b%20%E5%BC%A0")) == 2
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        ask(client, [user("x")], "x" * 513)
    assert caught.value.code == "bad_session_name"


def test_neither_log_nor_metrics_hold_what_was_said(served, client, upstream):
    session = next(names)
    ask(client, [user("the password is swordfish")], session)
    metrics = served.http.get("/metrics").text
    assert 'memsrv_relay_requests_total{outcome="whole",upstream="upstream"}' in metrics
    log = wait_until(lambda: [line for line in served.lines if "/v1/chat/completions" in line])
    assert "swordfish" not in "".join(log) + metrics
    assert session not in "".join(served.lines) + metrics
