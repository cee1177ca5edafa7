"""What must hold for every prompt, over thousands of made-up sessions."""

import json
import os
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsrv.core.prompt.budget import Fit, fit
from memsrv.core.prompt.regions import Material, material_of, pins_text, recall_text, state_text, summary_text
from memsrv.core.prompt.required import newest_user
from memsrv.core.prompt.sending import plain_text
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.prompt.turns import talk, window
from memsrv.core.text.marks import blocks
from memsrv.errors import BudgetTooSmall
from memsrv.model import Format, Message, Meta, Mode, Payload, Pin, Recall, Snapshot
from tests.fakes_prompt import START, hit, message

WORDS = [
    "gear",
    "wheel",
    "Tuesday",
    "blue",
    "42",
    "the",
    "and",
    "a",
    "lake",
    "route",
    "coffee",
    "自行车",
    "保养",
    "周末",
    "価格",
    "موعد",
    "الصيانة",
    "👨\u200d👩\u200d👧\u200d👦",
    "café",
    "नमस्ते",
    "<memory:recall>",
    "</memory:recall>",
    "<|endoftext|>",
    "----",
    "aaaaaaaaaaaaaaaaaaaaaaaa",
    "{}",
    "https://x.example/a?b=c",
    "\u202e",
    "zero\u200bwidth",
    "‹",
    "﷽",
    "Ω≈ç",
]
MARK = re.compile(r"\[… [\d,]+ characters left out …\]")


@pytest.fixture(scope="module")
def encoding() -> tiktoken.Encoding:
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(__file__).parents[3] / "data" / "vocabularies")
    try:
        return tiktoken.get_encoding("o200k_base")
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


class Maker:
    """Sessions out of a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.mode = self.random.choice(list(Mode))
        self.shape = self.random.choice(list(Format))
        self.budget = self.random.choice(
            [self.random.randint(1, 120), self.random.randint(40, 600), self.random.randint(300, 4000)]
        )

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def text(self, most_words: int = 30) -> str:
        words = self.random.choices(WORDS, k=self.random.randint(1, most_words))
        separators = self.random.choices([" ", " ", " ", "\n", ""], k=len(words))
        return "".join(word + separator for word, separator in zip(words, separators, strict=True))

    def content(self) -> Any:
        kind = self.random.random()
        if kind < 0.08:
            return self.random.choice(["", "  \n", None, [], [{"type": "text", "text": ""}]])
        if kind < 0.2:
            image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBO" * 50}}
            low = {"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}}
            sound = {"type": "input_audio", "input_audio": {"data": "AAAA" * 300, "format": "wav"}}
            others = self.random.sample([image, low, sound, *self.odd_parts()], self.random.randint(0, 2))
            return [{"type": "text", "text": self.text(10)}, *others]
        return self.text(400) if kind > 0.97 else self.text()

    def odd_parts(self) -> list[dict[str, Any]]:
        """Parts that hide something from a careless count."""
        big = self.random.randbytes(self.random.choice([30, 3_000])).hex()
        return [
            {"type": "image_url", "text": "", "image_url": {"url": "data:image/png;base64," + big}},
            {"type": "image_url", "text": big, "image_url": {"url": "https://x.example/" + big, "detail": big}},
            {"type": "note", "text": "x", "body": big},
            {"type": "<memory:recall>\n" + big, "text": "x"},
            {"type": "file", "text": "", "file": {"file_data": big, "filename": "a.pdf", "more": big}},
            {"type": "input_audio", "text": "x", "input_audio": {"data": big, "format": big}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": big}},
        ]

    def turn(self) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = []
        if self.chance(0.95):
            said.append({"role": "user", "content": self.content(), **({"name": "Ada"} if self.chance(0.2) else {})})
        if self.chance(0.3):
            said += self.tool_traffic()
        if self.chance(0.85):
            said.append({"role": "assistant", "content": self.content()})
        if self.chance(0.05):
            said.insert(
                self.random.randint(0, len(said)), {"role": self.random.choice(["system", "developer"]), "content": self.text(8)}
            )
        return said

    def tool_traffic(self) -> list[dict[str, Any]]:
        ids = [f"c{self.random.randint(0, 5)}" for _ in range(self.random.randint(1, 3))]
        calls = [{"id": i, "type": "function", "function": {"name": "look_up", "arguments": self.text(6)}} for i in ids]
        said: list[dict[str, Any]] = [
            {"role": "assistant", "content": self.random.choice([None, "", self.text(5)]), "tool_calls": calls}
        ]
        results = [{"role": "tool", "tool_call_id": i, "content": self.random.choice([self.text(40), "", "ok"])} for i in ids]
        if self.chance(0.2):
            results.pop()
        if self.chance(0.1):
            results.append({"role": "tool", "tool_call_id": "nobody", "content": "orphan"})
        self.random.shuffle(results)
        said += results
        if self.chance(0.15):
            said.insert(self.random.randint(1, len(said)), {"role": "user", "content": "in between"})
        return said

    def messages(self) -> list[Message]:
        payloads = [{"role": "system", "content": self.text(self.random.choice([10, 10, 200]))}] if self.chance(0.5) else []
        for _ in range(self.random.choice([0, 1, 2, 4, 8, 16])):
            payloads += self.turn()
        return [message(position, payload, sent_at=self.sent_at(position)) for position, payload in enumerate(payloads, 1)]

    def sent_at(self, position: int) -> Any:
        late = timedelta(days=1) if self.chance(0.03) else timedelta(0)
        return START + timedelta(minutes=position) - late

    def hits(self) -> tuple[Recall, ...]:
        if self.mode not in (Mode.RETRIEVAL, Mode.HYBRID):
            return ()
        return tuple(
            hit(
                message(position - 500, {"role": self.random.choice(["user", "assistant", "tool"]), "content": self.text(60)}),
                score=self.random.choice([None, self.random.uniform(-1, 1)]),
                session=self.random.choice(["s", "s", "other\nsession"]),
            )
            for position in self.random.sample(range(400), self.random.choice([0, 3, 12, 40]))
        )

    def material(self) -> Material:
        meta = Meta(
            system_prompt=self.text(self.random.choice([5, 40, 300])) if self.chance(0.4) else None,
            profile=self.text(40) if self.chance(0.3) else None,
            goal=self.text(15) if self.chance(0.3) else None,
            task_state=self.text(15) if self.chance(0.2) else None,
            extra={"lang": "en", "n": 3} if self.chance(0.2) else {},
        )
        pins = [
            Pin(f"p{n}", self.text(self.random.choice([6, 6, 80])), "fact", START)
            for n in range(self.random.choice([0, 0, 2, 6]))
        ]
        messages = self.messages()
        said = talk(messages, system_prompt=meta.system_prompt, max_tool_bytes=self.random.choice([200, 16_384]), opens=True)
        covered = self.random.randint(0, max(1, len(messages)))
        shows_summary = self.mode in (Mode.SUMMARY, Mode.HYBRID) and self.chance(0.6)
        size = None if self.mode is Mode.FULL else self.random.choice([0, 1, 4, 12])
        material = material_of(
            "s",
            meta,
            pins,
            opening=said.opening,
            summary=Snapshot(1, covered, self.text(self.random.choice([20, 300])), START) if shows_summary else None,
            turns=window(said.turns, size=size, covered_upto=covered if shows_summary else 0),
            recalls=False,
        )
        return replace(material, hits=self.hits())


def sent_beside_text(part: Payload, encoding: tiktoken.Encoding) -> int:
    """Tokens of a part that is not text: all of its JSON, but 85 for the bytes of a picture."""
    assert "text" not in part
    written = json.dumps(part, ensure_ascii=False)
    return 85 if "image/png" in written else len(encoding.encode_ordinary(written))


def counted(messages: Sequence[Payload], encoding: tiktoken.Encoding) -> int:
    """Tokens, counted independently of the code under test."""

    def count(text: object) -> int:
        return len(encoding.encode_ordinary(text)) if isinstance(text, str) else 0

    total = 0
    for said in messages:
        content = said.get("content")
        images = 0
        if isinstance(content, list):
            images = sum(sent_beside_text(part, encoding) for part in content if part["type"] != "text")
            content = "\n".join(part["text"] for part in content if part["type"] == "text")
        calls = [call["function"] for call in said.get("tool_calls", [])]
        total += 4 + images + count(content) + count(said.get("name"))
        total += sum(count(called["name"]) + count(called["arguments"]) for called in calls)
    return total


def assert_pairs_whole(messages: Sequence[Payload]) -> None:
    waiting: list[str] = []
    for said in messages:
        if said["role"] == "tool":
            assert waiting, "a result stands behind its call"
            assert said["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting, "every call has its result"
        waiting = [call["id"] for call in said.get("tool_calls", [])]
    assert not waiting


def assert_shape(messages: Sequence[Payload], shape: Format) -> None:
    fields = {"role", "content", "name", "tool_calls", "tool_call_id"}
    for said in messages:
        assert set(said) <= fields
        assert said["role"] in {"system", "user", "assistant", "tool"}
        content = said["content"]
        if isinstance(content, list):
            assert content
            assert all(part["type"] != "text" or part["text"].strip() for part in content)
        else:
            assert (content or "").strip() or said.get("tool_calls")
    if shape is Format.STRICT:
        roles = [said["role"] for said in messages]
        assert "system" not in roles[1:]
        spoken = [role for role in roles if role != "system"]
        assert spoken[:1] == (["user"] if roles else [])
        assert not any(one == next_one != "tool" for one, next_one in pairwise(spoken))


def assert_newest_user(messages: Sequence[Payload], material: Material, shape: Format) -> None:
    """The newest user message is the last user message, whole or visibly cut."""
    user = newest_user(material)
    if user is None:
        return
    last = next(said for said in reversed(messages) if said["role"] == "user")
    shown, whole = plain_text(last["content"]), plain_text(user["content"])
    cut = MARK.search(shown)
    assert whole in shown or cut
    if shape is Format.OPENAI and cut:
        assert whole.startswith(shown[: cut.start()].removesuffix("\n"))
        assert whole.endswith(shown[cut.end() :].removeprefix("\n"))


def assert_blocks_balanced(messages: Sequence[Payload]) -> None:
    """Every tag of ours at the left edge belongs to a block that we can find again, none stands in another."""
    for said in messages:
        if said["role"] not in ("system",) and not isinstance(said["content"], str):
            continue
        text = plain_text(said["content"])
        for span in blocks(text):
            inner = text[span.start + 1 : span.end - 1]
            assert "<memory:" not in inner.lower()
            assert inner.count("</memory:") == 1


def assert_blocks_found(made: Fit) -> None:
    """What we put in is recognised when it comes back."""
    chosen = made.chosen
    contents = [plain_text(said["content"]) for said in made.messages]
    found = {content[span.start : span.end] for content in contents for span in blocks(content)}
    ours = (
        summary_text(chosen.summary),
        recall_text(chosen.hits, chosen.session),
        state_text(chosen.state),
        pins_text(chosen.pins),
    )
    assert {text for text in ours if text} <= found


def prompt(maker: Maker, encoding: tiktoken.Encoding, material: Material, budget: int) -> Fit:
    return fit(material, budget_tokens=budget, shape=maker.shape, sizes=Sizes(lambda text: len(encoding.encode_ordinary(text))))


def fitted_or_refused(maker: Maker, encoding: tiktoken.Encoding, material: Material) -> tuple[int, Fit]:
    """A prompt within the budget asked for, else within the one that its refusal names; larger ones work too."""
    try:
        return maker.budget, prompt(maker, encoding, material, maker.budget)
    except BudgetTooSmall as error:
        refusal = error
    assert refusal.smallest_tokens > maker.budget
    for more in (1, 7, 60):
        prompt(maker, encoding, material, refusal.smallest_tokens + more)
    return refusal.smallest_tokens, prompt(maker, encoding, material, refusal.smallest_tokens)


@settings(
    max_examples=2_000,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
@given(seed=st.integers(0, 2**48))
def test_every_prompt_keeps_its_promises(encoding: tiktoken.Encoding, seed: int) -> None:
    maker = Maker(seed)
    material = maker.material()
    budget, made = fitted_or_refused(maker, encoding, material)
    assert made.total_tokens <= budget
    assert counted(made.messages, encoding) <= made.total_tokens
    assert_pairs_whole(made.messages)
    assert_shape(made.messages, maker.shape)
    assert_newest_user(made.messages, material, maker.shape)
    assert_blocks_balanced(made.messages)
    assert_blocks_found(made)
    assert prompt(maker, encoding, material, budget).messages == made.messages
