"""What was thought aloud is told from what was said."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.text.reasoning import without_reasoning


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nhidden\n</think>\n\nshown",
        "<think>hidden</think>shown",
        "<THINKING>hidden</THINKING>\nshown",
        "hidden, its opening mark eaten\n</think>\n\nshown",
        "hidden.</think>\nshown",
        "<think>hidden <think> again</think>\nshown",
        "<think></think>\n\nshown",
        "◁think▷hidden◁/think▷shown",
        "[THINK]hidden[/THINK]shown",
        "<|channel|>analysis<|message|>hidden<|end|><|start|>assistant<|channel|>final<|message|>shown",
    ],
)
def test_a_thought_is_taken_out(text: str) -> None:
    assert without_reasoning(text) == "shown"


@pytest.mark.parametrize("text", ["<think>hidden", "<think>\nGoal: hidden\n", "<|channel|>analysis<|message|>Goal: hidden"])
def test_a_thought_without_an_end_leaves_nothing(text: str) -> None:
    assert without_reasoning(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Facts:\n- the parser drops <think> parts",
        "Facts:\n- the parser drops </think> marks at once",
        "Facts:\n- the template begins with <|channel|>final<|message|> here",
        "  nothing special\n",
    ],
)
def test_talk_about_marks_is_not_touched(text: str) -> None:
    assert without_reasoning(text) == text


@given(st.lists(st.sampled_from(["<think>", "</think>", "\n", " ", "a", "<|channel|>", "final<|message|>"]), max_size=30))
def test_what_is_left_stood_there(pieces: list[str]) -> None:
    text = "".join(pieces)
    left = without_reasoning(text)
    assert not left.strip() or left.count("a") <= text.count("a")
    assert len(left) <= len(text)


@pytest.mark.parametrize(
    "mark", ["<think>", "</think>", "<think>\n", "</think>\n", "<think></think>\n", " ", "<|channel|>final<|message|>"]
)
def test_any_number_of_marks_takes_linear_time(mark: str) -> None:
    started = time.thread_time()
    without_reasoning(mark * (400_000 // len(mark)))
    assert time.thread_time() - started < 5
