"""Who gets what when tokens are short, and who gives up first."""

from dataclasses import replace
from typing import Any

import pytest

from memsrv.core.prompt.budget import Fit, fit, shared
from memsrv.core.prompt.regions import Material
from memsrv.core.prompt.sizes import Sizes
from memsrv.core.prompt.turns import talk
from memsrv.errors import BudgetTooSmall
from memsrv.model import Format, Recall, RegionName, Snapshot
from tests.fakes_prompt import START, hit, message

SENTENCE = "the chain skips on the small cog and needs a look. "


def by_four(text: str) -> int:
    return -(-len(text) // 4)


def fitted(material: Material, budget: int, shape: Format = Format.OPENAI) -> Fit:
    made = fit(material, budget_tokens=budget, shape=shape, sizes=Sizes(by_four))
    assert made.total_tokens <= budget
    return made


def turns(*payloads: dict[str, Any]) -> Any:
    messages = [message(n, payload) for n, payload in enumerate(payloads, 1)]
    return talk(messages, system_prompt="", max_tool_bytes=16_384, opens=True).turns


def chat(count: int, text: str = SENTENCE) -> list[dict[str, Any]]:
    return [{"role": role, "content": f"{n} {text}"} for n in range(count) for role in ("user", "assistant")]


def pieces(count: int) -> tuple[Recall, ...]:
    return tuple(hit(message(-n, {"role": "user", "content": f"piece {n} {SENTENCE}"}), rank=float(-n)) for n in range(count))


def images(made: Fit) -> int:
    return sum(
        part["type"] == "image_url" for said in made.messages if isinstance(said["content"], list) for part in said["content"]
    )


QUESTION = {"role": "user", "content": "and the gate code?"}
FULL = Material(
    session="s",
    system_prompt="Be kind.",
    profile="Ada rides",
    pins=("no chrome",),
    summary=Snapshot(3, 4, "- goal: a bike\n- open: the saddle", START),
    hits=pieces(20),
    turns=turns(*chat(20), QUESTION),
    state="Goal: a bike",
)


def test_everything_stands_when_there_is_room() -> None:
    made = fitted(FULL, 4_000)
    assert len(made.chosen.hits) == 20
    assert len(made.chosen.window) == 41
    assert not any(made.dropped.values())


def test_recall_has_half_and_the_window_what_it_can_show() -> None:
    made = fitted(FULL, 700)
    recall = Sizes(by_four).messages(said for said in made.messages if "<memory:recall>" in said["content"])
    assert 250 <= recall <= 450
    assert len(made.chosen.window) >= 3


def test_recall_gives_up_its_worst_hits() -> None:
    made = fitted(FULL, 500)
    assert made.chosen.hits == FULL.hits[: len(made.chosen.hits)]  # type: ignore[index]
    assert made.dropped[RegionName.RECALL][0]["why"] == "budget"


def test_the_window_keeps_its_newest_turns_whole() -> None:
    window = fitted(FULL, 500).chosen.window
    assert window[-1] == QUESTION
    assert window[0]["role"] == "user"
    assert [said["content"][:2] for said in window[:-1]] == [
        said["content"][:2] for said in [*chat(20), QUESTION][-len(window) : -1]
    ]


def test_what_recall_does_not_use_the_window_may() -> None:
    assert len(fitted(replace(FULL, hits=()), 700).chosen.window) > len(fitted(FULL, 700).chosen.window)


def test_recall_that_is_yet_to_come_keeps_its_half() -> None:
    waiting = fitted(replace(FULL, hits=None), 700)
    assert waiting.numbers <= fitted(FULL, 700).numbers


def test_a_hit_that_the_window_shows_is_not_shown_twice() -> None:
    shown = message(40, {"role": "assistant", "content": SENTENCE})
    made = fitted(replace(FULL, hits=(hit(shown),)), 4_000)
    assert made.chosen.hits == ()
    assert made.dropped[RegionName.RECALL][0]["why"] == "the window shows it"


def test_pins_and_profile_stand_before_recall_and_window() -> None:
    made = fitted(FULL, 220)
    assert (made.chosen.profile, made.chosen.pins) == ("Ada rides", ("no chrome",))


def test_system_prompt_question_and_state_stand_last() -> None:
    made = fitted(FULL, 50)
    assert made.chosen.system_prompt == "Be kind."
    assert made.chosen.window == (QUESTION,)
    assert made.chosen.state


def test_a_long_question_is_cut_visibly_beside_a_whole_system_prompt() -> None:
    made = fitted(replace(FULL, turns=turns({"role": "user", "content": "head " + SENTENCE * 400 + "tail"})), 200)
    assert made.chosen.system_prompt == "Be kind."
    content = made.messages[-1]["content"]
    assert content.startswith("head ")
    assert content.endswith("tail")
    assert "characters left out" in content
    assert made.dropped[RegionName.WINDOW][0] == {"what": "newest user message", "why": "cut to the budget"}


def test_a_long_system_prompt_is_cut_visibly_beside_a_whole_question() -> None:
    made = fitted(replace(FULL, system_prompt="First rule. " + SENTENCE * 400 + "Last rule."), 200)
    assert made.messages[-1] == QUESTION
    assert made.chosen.system_prompt.startswith("First rule.")
    assert made.chosen.system_prompt.endswith("Last rule.")


def test_a_long_summary_is_cut_after_a_line() -> None:
    summary = Snapshot(1, 4, "\n".join(f"- point {n}: {SENTENCE}" for n in range(90)), START)
    made = fitted(replace(FULL, summary=summary), 900)
    assert made.chosen.summary.startswith("- point 0")
    assert made.chosen.summary.endswith("characters left out …]")
    assert made.messages[-1] == QUESTION


def test_a_single_long_pin_is_cut_and_short_ones_stay() -> None:
    made = fitted(replace(FULL, pins=("no chrome", SENTENCE * 100)), 600)
    assert made.chosen.pins[0] == "no chrome"
    assert "left out" in made.chosen.pins[1]


def test_a_tool_call_goes_with_its_result_and_the_talk_stays() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "x" * 4_000}}
    traffic = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "17 left", "tool_call_id": "a"},
    ]
    made = fitted(
        Material(
            "s", turns=turns({"role": "user", "content": "stock?"}, *traffic, {"role": "assistant", "content": "17."}, QUESTION)
        ),
        100,
    )
    assert [said["content"] for said in made.messages] == ["stock?", "17.", QUESTION["content"]]
    assert made.dropped[RegionName.WINDOW][0]["what"] == "tool call"


def test_a_giant_message_does_not_hide_what_is_before_it() -> None:
    giant = [{"role": "user", "content": "word " * 200_000}, {"role": "assistant", "content": "ok"}]
    made = fitted(Material("s", turns=turns(*chat(1, "gate code 5521"), *giant, QUESTION)), 200)
    assert [said["content"][:3] for said in made.messages] == ["0 g", "0 g", "and"]


def test_images_become_marks_under_pressure() -> None:
    photo = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    photos = [{"role": "user", "content": [{"type": "text", "text": f"photo {n}"}, photo]} for n in range(12)]
    made = fitted(Material("s", turns=turns(*photos)), 1_000)
    assert images(made) == 1
    assert len(made.messages) == 12
    assert made.messages[0]["content"][1] == {"type": "text", "text": "[image]"}
    assert images(fitted(Material("s", turns=turns(photos[0])), 60)) == 0


@pytest.mark.parametrize("shape", Format)
def test_a_refused_budget_names_one_that_works(shape: Format) -> None:
    with pytest.raises(BudgetTooSmall) as refusal:
        fitted(FULL, 5, shape)
    smallest = refusal.value.smallest_tokens
    assert smallest <= 50
    for larger in range(60):
        fitted(FULL, smallest + larger, shape)


def test_an_empty_session_gives_an_empty_prompt() -> None:
    assert fitted(Material("s"), 10).messages == ()


def test_shares_follow_the_guide_and_flow_on() -> None:
    meta, summary, window = RegionName.META, RegionName.SUMMARY, RegionName.WINDOW
    assert shared(600, {meta: 900, summary: 900, window: 900}) == {meta: 100, summary: 200, window: 300}
    assert shared(600, {meta: 0, summary: 900, window: 900}) == {meta: 0, summary: 240, window: 360}
    assert shared(600, {meta: 10, summary: 20, window: 30}) == {meta: 10, summary: 20, window: 30}
    assert shared(0, {meta: 10, summary: 20, window: 30}) == {meta: 0, summary: 0, window: 0}


def test_each_pin_is_counted_once_however_many_there_are() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return by_four(text)

    material = Material(session="s", pins=tuple(f"fact {n}" for n in range(2_000)), turns=turns(QUESTION))
    made = fit(material, budget_tokens=4_000, shape=Format.OPENAI, sizes=Sizes(count))
    assert made.chosen.pins[-1] == "fact 1999"
    assert len(made.chosen.pins) > 500
    assert sum(map(len, counted)) < 4 * sum(map(len, material.pins))


def test_long_pins_are_not_counted_to_their_end() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return by_four(text)

    material = Material(session="s", pins=("a long fact " * 1_600,) * 200, turns=turns(QUESTION))
    made = fit(material, budget_tokens=2_000, shape=Format.OPENAI, sizes=Sizes(count))
    assert made.chosen.pins
    assert sum(counted) < 1_000_000


def test_what_a_hit_says_is_worked_out_once_for_a_prompt() -> None:
    asked: list[str] = []

    class Said(str):
        def strip(self, chars: str | None = None, /) -> str:
            asked.append(self)
            return super().strip(chars)

    hits = tuple(hit(message(-n, {"role": "user", "content": "x"}), text=Said(f"piece {n} {SENTENCE}")) for n in range(20))
    fitted(replace(FULL, hits=hits), 700)
    assert len(asked) == len(hits)


def test_a_file_that_does_not_fit_becomes_a_mark() -> None:
    book = {"type": "file", "file": {"file_data": "A" * 100_000}}
    made = fitted(Material(session="s", turns=turns({"role": "user", "content": [book]})), 3_000)
    assert made.messages[0]["content"] == [{"type": "text", "text": "[file]"}]
