"""A talk through the proxy, as its client and its server see it."""

import itertools

from tests.adapters.upstream_server import Say

names = (f"talk-{n}" for n in itertools.count())


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


def notes(proxy, session):
    read = proxy.http.get(f"/context/{session}/messages", params={"limit": 1000}).json()
    return [(m["metadata"] or {}).get("relay", {}).get("cut") for m in read["messages"]]


def transcript(proxy, session):
    read = proxy.http.get(f"/context/{session}/messages", params={"limit": 1000}).json()
    return [(m["role"], m["content"]) for m in read["messages"]]


def stored_whole(proxy, session):
    """The messages with all that is told of them, but for what indexing changes in its own time."""
    read = proxy.http.get(f"/context/{session}/messages").json()["messages"]
    return [{name: value for name, value in message.items() if name != "indexed"} for message in read]


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
