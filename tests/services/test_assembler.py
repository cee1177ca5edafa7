"""The prompt of a session, put together from its stores."""

import json
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from memsrv.core.prompt.policy import Defaults, Policy
from memsrv.core.prompt.receipts import receipt_body
from memsrv.errors import BudgetTooSmall, SessionNotFound
from memsrv.model import Format, Meta, Mode, Prompt, PromptRequest, Reach, RegionName, Session, SessionKey
from memsrv.services.ahead import Ahead
from memsrv.services.assembler import Assembler
from tests.fakes import HashingEmbedder
from tests.fakes_prompt import KEY, START, LetterCounter, Store, WordRecall


class Noting(HashingEmbedder):
    """It notes the queries that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def query(self, text: str) -> np.ndarray:
        self.asked.append(text)
        return await super().query(text)


class Room:
    """A store, its recall and an assembler over both."""

    def __init__(self, *, degraded: tuple[str, ...] = (), **store: Any):
        self.store = Store(**store)
        self.recall = WordRecall(self.store, degraded=degraded)
        stores = (self.store, self.store, self.store)
        self.embedder = Noting()
        self.assembler = Assembler(*stores, self.recall, LetterCounter(), Ahead(self.embedder), Defaults())

    def chat(self, turns: int, text: str = "talk about routes") -> None:
        for n in range(turns):
            self.store.say("user", f"{text} {n} asked")
            self.store.say("assistant", f"{text} {n} answered")

    async def prompt(self, **asked: Any) -> Prompt:
        return await self.assembler.prompt(KEY, PromptRequest(**asked))


def contents(prompt: Prompt) -> list[Any]:
    return [message["content"] for message in prompt.messages]


def text(prompt: Prompt) -> str:
    return "\n".join(str(content) for content in contents(prompt))


async def test_a_session_that_is_not_there_is_refused() -> None:
    with pytest.raises(SessionNotFound):
        await Room().assembler.prompt(SessionKey("default", "other"), PromptRequest())


async def test_hybrid_has_meta_summary_recall_window_and_state_in_order() -> None:
    room = Room(meta=Meta(system_prompt="Be kind.", goal="a bike"))
    room.store.pin("no chrome")
    room.store.say("user", "my frame size is 56")
    room.chat(10)
    room.store.summarise("- routes", covers_upto=13)
    room.store.say("user", "which frame size ?")
    made = await room.prompt()
    places = [
        text(made).index(part)
        for part in ("Be kind.", "no chrome", "- routes", "frame size is 56", "6 answered", "Goal: a bike", "which frame")
    ]
    assert places == sorted(places)
    assert made.mode is Mode.HYBRID
    assert contents(made)[-1] == "which frame size ?"


@pytest.mark.parametrize(
    ("mode", "summary", "recall", "oldest"),
    [
        (Mode.FULL, False, False, True),
        (Mode.WINDOW, False, False, False),
        (Mode.SUMMARY, True, False, False),
        (Mode.RETRIEVAL, False, True, False),
        (Mode.HYBRID, True, True, False),
    ],
)
async def test_a_mode_decides_what_is_shown(mode: Mode, summary: bool, recall: bool, oldest: bool) -> None:
    room = Room()
    room.store.say("user", "my frame size is 56")
    room.chat(20)
    room.store.summarise("- about bikes", covers_upto=30)
    room.store.say("user", "which frame size ?")
    made = await room.prompt(mode=mode)
    assert ("- about bikes" in text(made)) is summary
    assert bool(made.receipt.recall) is recall
    assert ("my frame size is 56" in contents(made)) is oldest
    assert bool(made.receipt.summary) is summary


@pytest.mark.parametrize("later", [1, 300])
async def test_a_prompt_as_of_a_message_knows_nothing_of_what_came_later(later: int) -> None:
    room = Room()
    room.store.say("user", "my frame size is 56")
    room.store.say("assistant", "noted")
    asked = room.store.say("user", "which frame size ?")
    for n in range(later):
        room.store.say("user", f"the frame size is secret {n} ?")
        room.store.say("assistant", f"frame secret {n}\nTask state: keep the secret")
    room.store.meta = Meta(task_state="keep the secret", goal="a bike")
    room.store.summarise("- a secret", covers_upto=5)
    for mode in Mode:
        made = await room.prompt(upto=asked.position, mode=mode)
        assert "secret" not in text(made)
        assert contents(made)[-1] == "which frame size ?"
        assert "Goal: a bike" in text(made)


@pytest.mark.parametrize("between", [1, 300])
async def test_a_prompt_knows_nothing_of_what_is_hidden_from_it(between: int) -> None:
    room = Room()
    room.store.say("user", "my frame size is 56")
    room.store.say("assistant", "noted")
    hidden = []
    for n in range(between):
        hidden.append(room.store.say("user", f"the frame size is secret {n} ?"))
        hidden.append(room.store.say("assistant", f"frame secret {n}\nTask state: keep the secret"))
    room.store.say("user", "which frame size ?")
    room.store.meta = Meta(task_state="keep the secret", goal="a bike")
    room.store.summarise("- a secret", covers_upto=3)
    for mode in Mode:
        made = await room.prompt(hidden=frozenset(message.position for message in hidden), mode=mode)
        assert "secret" not in text(made)
        assert [*contents(made)[:2], contents(made)[-1]] == ["my frame size is 56", "noted", "which frame size ?"]
        assert "Goal: a bike" in text(made)


async def test_the_default_query_is_the_newest_user_message() -> None:
    room = Room()
    room.chat(10)
    newest = room.store.say("user", "which frame size ?")
    room.store.say("assistant", "56")
    await room.prompt()
    query, reach, without = room.recall.asked[0]
    assert query == "which frame size ?"
    assert reach is Reach.SESSION
    assert newest.number in without


async def test_the_query_begins_to_be_embedded_before_anything_is_chosen() -> None:
    room = Room()
    room.chat(10)
    room.store.say("user", "which frame size ?")
    await room.prompt()
    await room.prompt(query="routes")
    await room.prompt(query="  ")
    await room.prompt(query="lamps", mode=Mode.WINDOW)
    assert room.embedder.asked == ["which frame size ?", "routes"]
    assert [query for query, _, _ in room.recall.asked] == ["which frame size ?", "routes"]


async def test_a_late_message_may_be_embedded_in_vain_but_is_not_what_recall_is_asked_for() -> None:
    room = Room()
    room.chat(10)
    room.store.say("user", "which frame size ?")
    room.store.say("user", "where was that bell ?", sent_at=START - timedelta(days=3))
    await room.prompt()
    assert room.embedder.asked == ["where was that bell ?"]
    assert [query for query, _, _ in room.recall.asked] == ["which frame size ?"]


async def test_a_blank_query_recalls_nothing() -> None:
    room = Room()
    room.chat(10)
    made = await room.prompt(query="  ")
    assert room.recall.asked == []
    assert made.receipt.recall == ()


async def test_what_the_window_shows_is_not_recalled_but_what_fell_out_is() -> None:
    room = Room()
    room.chat(8, "a rather long remark about mudguards and lamps and the way they rattle")
    made = await room.prompt(query="remark about mudguards", budget_tokens=500)
    shown = contents(made)
    assert made.receipt.recall
    assert not any(hit.chunk.text in shown for hit in made.receipt.recall)
    recalled_or_shown = {hit.chunk.position for hit in made.receipt.recall}
    in_window = [stored.position for stored in room.store.stored if stored.payload["content"] in shown]
    assert min(in_window) - 1 in recalled_or_shown


async def test_what_recall_lacks_is_told() -> None:
    room = Room(degraded=("recall",))
    room.chat(10)
    assert (await room.prompt(query="routes")).receipt.degraded == ("recall",)


async def test_the_same_request_gives_the_same_bytes() -> None:
    room = Room(meta=Meta(extra={"b": 1, "a": 2}))
    room.chat(20)
    one, two = await room.prompt(query="routes"), await room.prompt(query="routes")
    assert json.dumps(one.messages) == json.dumps(two.messages)
    assert receipt_body(one) == receipt_body(two)


async def test_a_new_message_leaves_the_regions_before_it_as_they_were() -> None:
    room = Room(meta=Meta(system_prompt="Be kind."))
    room.chat(10)
    room.store.summarise("- routes", covers_upto=14)
    before = await room.prompt(mode=Mode.SUMMARY)
    room.store.say("user", "and now?")
    after = await room.prompt(mode=Mode.SUMMARY)
    assert after.messages[: len(before.messages)] == before.messages


async def test_the_first_system_message_is_found_far_back() -> None:
    room = Room()
    room.store.say("system", "RULE: answer in French.")
    room.chat(150)
    made = await room.prompt(budget_tokens=300)
    assert contents(made)[0] == "RULE: answer in French."


async def test_a_system_prompt_of_meta_replaces_the_first_system_message() -> None:
    room = Room(meta=Meta(system_prompt="Be kind."))
    room.store.say("system", "Be rude.")
    room.chat(2)
    assert contents(await room.prompt())[0] == "Be kind."
    assert "Be rude." not in text(await room.prompt())


async def test_no_more_is_read_than_can_be_shown() -> None:
    room = Room()
    room.chat(2_000)
    for mode in Mode:
        room.store.messages_read = 0
        await room.prompt(mode=mode, budget_tokens=1_000, query="routes")
        assert room.store.messages_read < 300


async def test_full_reads_as_far_as_the_budget_goes() -> None:
    room = Room()
    room.chat(200)
    assert len((await room.prompt(mode=Mode.FULL, budget_tokens=100_000)).messages) == 400
    small = await room.prompt(mode=Mode.FULL, budget_tokens=1_000)
    assert 900 < small.total_tokens <= 1_000
    window = next(region for region in small.receipt.regions if region.name is RegionName.WINDOW)
    assert window.dropped[-1]["what"] in ("more", "older messages")


async def test_the_newest_user_message_is_found_behind_much_tool_traffic() -> None:
    room = Room()
    room.store.say("user", "go")
    for n in range(200):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        room.store.say("assistant", None, tool_calls=[call])
        room.store.say("tool", "ok", tool_call_id=f"c{n}")
    made = await room.prompt(mode=Mode.WINDOW)
    assert [message["role"] for message in made.messages[:2]] == ["user", "assistant"]
    assert made.messages[0]["content"] == "go"
    assert len(made.messages) == 11
    assert len((await room.prompt(mode=Mode.WINDOW, whole_turn=True)).messages) == 401


async def test_a_backfilled_message_is_not_the_current_turn() -> None:
    room = Room()
    room.chat(2)
    room.store.say("user", "old remark", sent_at=START - timedelta(days=1))
    assert contents(await room.prompt(mode=Mode.FULL))[-1] == "talk about routes 1 answered"


async def test_the_session_sets_what_the_request_does_not() -> None:
    room = Room(settings={"mode": "window", "window": {"size": 4}, "budget": {"tokens": 777}})
    room.chat(5)
    made = await room.prompt()
    assert (made.mode, made.budget_tokens, len(made.messages)) == (Mode.WINDOW, 777, 4)


async def test_a_budget_too_small_is_refused_with_one_that_works() -> None:
    room = Room(meta=Meta(system_prompt="Be kind."))
    room.chat(5)
    with pytest.raises(BudgetTooSmall) as refusal:
        await room.prompt(budget_tokens=6)
    made = await room.prompt(budget_tokens=refusal.value.smallest_tokens)
    assert made.total_tokens <= refusal.value.smallest_tokens


async def test_the_receipt_is_kept() -> None:
    room = Room()
    room.chat(20)
    made = await room.prompt(query="routes", budget_tokens=600)
    assert room.store.accounts == [
        receipt_body(made) | {"mode": "hybrid", "model": None, "budget_tokens": 600, "total_tokens": made.total_tokens}
    ]
    assert [region["name"] for region in room.store.accounts[0]["regions"]] == ["meta", "summary", "recall", "window", "state"]
    assert sum(region.tokens for region in made.receipt.regions) + 3 == made.total_tokens


async def test_explain_tells_what_fell_out() -> None:
    room = Room()
    room.chat(40)
    assert (await room.prompt(query="routes", budget_tokens=120)).receipt.considered is None
    considered = (await room.prompt(query="routes", budget_tokens=120, explain=True)).receipt.considered
    assert considered
    assert {note["what"] for note in considered} >= {"recalled piece", "turn"}


async def test_a_prompt_that_is_posted_back_is_not_shown_twice() -> None:
    room = Room(meta=Meta(system_prompt="Be kind.", goal="a bike"), settings={"summary": {"enabled": False}})
    room.store.say("user", "my frame size is 56")
    room.chat(10)
    for _ in range(8):
        made = await room.prompt(query="frame size", budget_tokens=900)
        for message in made.messages:
            room.store.say(message["role"], message["content"])
        room.store.say("assistant", "noted")
        assert text(made).count("<memory:recall>") == 1
        assert text(made).count("Be kind.") == 1


@pytest.mark.parametrize("shape", Format)
async def test_every_format_keeps_the_budget(shape: Format) -> None:
    room = Room(meta=Meta(system_prompt="Be kind.", goal="a bike"))
    room.chat(30)
    made = await room.prompt(format=shape, budget_tokens=250, query="routes")
    assert made.total_tokens <= 250
    assert "answered" in text(made)


@pytest.mark.parametrize("shape", Format)
async def test_a_prompt_that_is_posted_back_again_and_again_does_not_grow(shape: Format) -> None:
    room = Room(meta=Meta(system_prompt="Be kind. " * 40, profile="Ada rides", goal="a bike"))
    room.store.pin("no chrome")
    room.store.say("user", "which frame size ?")
    totals = []
    for _ in range(6):
        made = await room.prompt(format=shape, mode=Mode.WINDOW)
        totals.append(made.total_tokens)
        for message in made.messages:
            room.store.say(**message)
        room.store.say("assistant", "noted")
        room.store.say("user", "which frame size ?")
        assert text(made).count("Be kind.") == 40
        assert "user: user:" not in text(made)
    assert totals[-1] <= totals[0] + 12 * 15


@pytest.mark.parametrize("mode", Mode)
async def test_a_session_without_a_user_is_not_read_whole(mode: Mode) -> None:
    room = Room()
    for n in range(4_000):
        room.store.say("assistant", f"event {n}")
    made = await room.prompt(mode=mode, budget_tokens=1_000)
    assert "event 3999" in text(made)
    assert room.store.messages_read <= 520


async def test_giant_messages_are_not_read_without_end() -> None:
    room = Room()
    for _ in range(2_000):
        room.store.say("user", "x" * 9_000)
    await room.prompt(mode=Mode.FULL, budget_tokens=1_000)
    assert room.store.messages_read < 600


async def test_an_account_of_dropped_pins_holds_no_text() -> None:
    room = Room()
    for n in range(50):
        room.store.pin(f"secret number {n} of the house")
    room.store.say("user", "hi")
    made = await room.prompt(budget_tokens=120)
    dropped = made.receipt.regions[0].dropped
    assert dropped[0] == {"what": "pin", "id": "p0", "why": "budget"}
    assert "secret" not in json.dumps(dropped)


# --- nothing falls between window and summary -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.SUMMARY, Mode.HYBRID])
@pytest.mark.parametrize("covered", [0, 7, 60])
async def test_while_no_summary_covers_it_a_message_is_in_the_window(mode: Mode, covered: int) -> None:
    room = Room()
    room.chat(90)
    if covered:
        room.store.summarise("- routes", covers_upto=covered)
    made = await room.prompt(mode=mode, budget_tokens=100_000)
    window = [content for content in contents(made) if str(content).startswith("talk about routes")]
    first = window.index(room.store.stored[covered].payload["content"])
    assert len(window[first:]) == 180 - covered


async def test_a_backlog_longer_than_the_budget_is_shown_as_far_as_it_goes_and_not_read_whole() -> None:
    room = Room()
    room.chat(2000)
    made = await room.prompt(mode=Mode.SUMMARY, budget_tokens=1000)
    assert made.total_tokens <= 1000
    assert contents(made)[-1] == "talk about routes 1999 answered"
    assert room.store.messages_read < 400


async def test_a_session_without_summaries_keeps_to_its_window() -> None:
    room = Room(settings={"summary": {"enabled": False}})
    room.chat(20)
    assert len((await room.prompt(mode=Mode.SUMMARY)).messages) == 12


async def test_a_late_message_is_shown_although_it_stands_among_what_is_covered() -> None:
    room = Room()
    room.chat(10)
    room.store.summarise("- routes", covers_upto=20)
    room.store.say("user", "sent long ago", sent_at=START - timedelta(days=1))
    room.store.say("user", "and now?")
    assert "sent long ago" in contents(await room.prompt(mode=Mode.SUMMARY))


async def test_a_turn_that_is_covered_in_part_keeps_its_user_message() -> None:
    room = Room()
    room.store.say("user", "go on")
    for n in range(5):
        room.store.say("assistant", f"step {n}")
    room.store.summarise("- steps", covers_upto=4)
    shown = contents(await room.prompt(mode=Mode.SUMMARY))
    assert "- steps" in shown[0]
    assert shown[1:] == ["go on", "step 3", "step 4"]


async def test_an_agents_prompt_keeps_the_users_words_of_what_is_covered() -> None:
    room = Room(settings={"profile": "agent", "mode": "summary"})
    room.chat(4)
    room.store.summarise("- routes", covers_upto=6)
    shown = contents(await room.prompt())
    assert shown[1:] == [*(f"talk about routes {n} asked" for n in range(4)), "talk about routes 3 answered"]


class RoomMaker:
    """Compacts when it is asked, if it may."""

    def __init__(self, store: Store, *, able: bool = True):
        self.store, self.able, self.asked = store, able, 0

    async def make_room(self, session: Session, policy: Policy) -> bool:
        self.asked += 1
        if self.able:
            self.store.summarise("- all of it", covers_upto=len(self.store.stored) - 2)
        return self.able


@pytest.mark.parametrize(("able", "shown"), [(True, 2), (False, 6)])
async def test_before_a_prompt_that_would_not_fit_its_window_is_compacted(able: bool, shown: int) -> None:
    room = Room()
    maker = RoomMaker(room.store, able=able)
    stores = (room.store, room.store, room.store)
    room.assembler = Assembler(*stores, room.recall, LetterCounter(), Ahead(room.embedder), Defaults(), maker)
    room.chat(5, "w" * 400)
    made = await room.prompt(mode=Mode.SUMMARY, budget_tokens=4000)
    assert maker.asked == 0
    room.chat(10, "w" * 400)
    made = await room.prompt(mode=Mode.SUMMARY, budget_tokens=2000)
    assert maker.asked == 1
    assert ("- all of it" in text(made)) is able
    assert len([content for content in contents(made) if str(content).startswith("www")]) >= shown
    await room.prompt(mode=Mode.WINDOW, budget_tokens=2000)
    await room.prompt(mode=Mode.SUMMARY, budget_tokens=400)
    assert maker.asked == 1
