"""Whatever clients do in whatever order, the API answers as a plain list of messages would; no answer is a server's error."""

import asyncio
import tempfile
from pathlib import Path
from shutil import rmtree
from typing import Any

import httpx
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from bench.standin import StandIn
from memsrv.settings import Settings
from memsrv.web.app import create_app
from memsrv.wiring import opened

NAMES = st.sampled_from(["anna", "telegram:a_b", "telegram/a:b", "会话 一"])
ROLES = st.sampled_from(["user", "assistant"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60) | st.sampled_from(
    ["The key is under the blue pot.", "我对花生过敏。", "We don't take the train; we decided on the bus.", "", "<memory:recall>"]
)
MODES = st.sampled_from(["full", "window", "summary", "retrieval", "hybrid"])


class Machine(RuleBasedStateMachine):
    """A server beside what it should hold: for each session (id, role, text) in order."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.held: dict[str, list[tuple[str, str, str]]] = {}
        self.made = 0
        self.start()

    def start(self) -> None:
        self.parts = opened(Settings(data_dir=self.folder, log_level="error"), embedder=StandIn())
        runtime = self.runner.run(self.parts.__aenter__())
        transport = httpx.ASGITransport(app=create_app(runtime), raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    def stop(self) -> None:
        self.runner.run(self.http.aclose())
        self.runner.run(self.parts.__aexit__(None, None, None))

    def ask(self, method: str, session: str, path: str = "", **options: Any) -> httpx.Response:
        name = session.replace("/", "%2F")
        answer = self.runner.run(self.http.request(method, f"/context/{name}{path}", **options))
        assert answer.status_code < 500, answer.text
        return answer

    @rule(target=ids, session=NAMES, role=ROLES, text=TEXTS)
    def post(self, session: str, role: str, text: str) -> tuple[str, str]:
        self.made += 1
        message = {"id": f"m{self.made}", "role": role, "content": text}
        answer = self.ask("POST", session, "/messages", json=message)
        assert answer.status_code == 201
        self.held.setdefault(session, []).append((message["id"], role, text))
        return session, message["id"]

    @rule(at=ids)
    def post_again(self, at: tuple[str, str]) -> None:
        session, id = at
        found = [one for one in self.held.get(session, ()) if one[0] == id]
        if found:
            [(_, role, text)] = found
            again = self.ask("POST", session, "/messages", json={"id": id, "role": role, "content": text})
            assert again.json()["messages"][0]["created"] is False
            other = self.ask("POST", session, "/messages", json={"id": id, "role": role, "content": text + "!"})
            assert other.status_code == 409

    @rule(at=ids, text=TEXTS)
    def edit(self, at: tuple[str, str], text: str) -> None:
        session, id = at
        there = any(own == id for own, _, _ in self.held.get(session, ()))
        answer = self.ask("PATCH", session, f"/messages/{id}", json={"content": text})
        assert answer.status_code == (200 if there else 404)
        if there:
            self.held[session] = [(own, role, text if own == id else old) for own, role, old in self.held[session]]

    @rule(at=ids)
    def delete(self, at: tuple[str, str]) -> None:
        session, id = at
        there = any(own == id for own, _, _ in self.held.get(session, ()))
        answer = self.ask("DELETE", session, f"/messages/{id}")
        assert answer.status_code == (200 if there else 404)
        if there:
            self.held[session] = [one for one in self.held[session] if one[0] != id]

    @rule(session=NAMES)
    def forget(self, session: str) -> None:
        answer = self.ask("DELETE", session)
        assert answer.status_code == (200 if session in self.held else 404)
        self.held.pop(session, None)

    @rule(session=NAMES, mode=MODES)
    def switch(self, session: str, mode: str) -> None:
        answer = self.ask("POST", session, "/mode", json={"mode": mode, "reason": "a test"})
        assert (answer.status_code == 404) == (session not in self.held)

    @rule(session=NAMES, keep=st.integers(0, 3))
    def compact(self, session: str, keep: int) -> None:
        answer = self.ask("POST", session, "/compact", json={"keep": keep})
        assert (answer.status_code == 404) == (session not in self.held)

    @rule(session=NAMES, mode=MODES, shape=st.sampled_from(["openai", "strict", "text"]), budget=st.integers(30, 900))
    def prompt(self, session: str, mode: str, shape: str, budget: int) -> None:
        asked = {"mode": mode, "format": shape, "budget": budget, "query": "Where is the key?"}
        answer = self.ask("GET", session, "/prompt", params=asked)
        if session not in self.held:
            assert answer.status_code == 404
        elif answer.status_code == 200:
            assert answer.json()["total_tokens"] <= budget
        else:
            assert answer.json()["code"] == "budget_too_small"

    @rule()
    def restart(self) -> None:
        self.stop()
        self.start()

    @invariant()
    def every_message_is_there_once_and_in_order(self) -> None:
        for session, held in self.held.items():
            read = self.ask("GET", session, "/messages", params={"limit": 1000}).json()["messages"]
            assert [(one["id"], one["role"], one["content"]) for one in read] == held
            assert [one["position"] for one in read] == sorted({one["position"] for one in read})

    def teardown(self) -> None:
        self.stop()
        self.runner.close()
        rmtree(self.folder)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=8, stateful_step_count=20)
