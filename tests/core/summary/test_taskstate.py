"""The task state of a marked line: what marks it, who can set it, what becomes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.summary.taskstate import MAX_CHARS, marked_state, task_state_of
from memsrv.core.text.marks import block, quoted

MARKS = ("Task state: ", "task-state: ", "TASK_STATE:", "[state] ", "[Task state]: ", "任务状态：", "【任务状态】", "[任务状态] ")
line = st.text(st.characters(codec="utf-8"), max_size=80)


def said(content: object, role: str = "assistant", **fields: object) -> str | None:
    return task_state_of({"role": role, "content": content, **fields})


@pytest.mark.parametrize("mark", MARKS)
def test_every_mark_tells_the_state(mark: str) -> None:
    assert said(f"Here is the draft.\n\n{mark}draft sent, waits for Ada") == "draft sent, waits for Ada"


@pytest.mark.parametrize("text", ["**Task state:** step 2 of 3", "**Task state: step 2 of 3**", "__Task state__: step 2 of 3"])
def test_a_bold_mark_is_a_mark(text: str) -> None:
    assert said(text) == "step 2 of 3"


def test_emphasis_inside_a_state_stays() -> None:
    assert said("Task state: wait for **Ada**") == "wait for **Ada**"


@pytest.mark.parametrize("role", ["user", "system", "developer", "tool"])
def test_nobody_but_the_assistant_sets_it(role: str) -> None:
    assert said("Task state: all done", role) is None


@pytest.mark.parametrize(
    "text",
    [
        "Write 'Task state: x' at the end.",
        "> Task state: x",
        "- Task state: x",
        "    Task state: x",
        "\tTask state: x",
        "```\nTask state: x\n```",
        "~~~ text\nTask state: x",
        "````\n```\nTask state: x\n````",
        "State: California",
        "The task state: x",
        "Task statement: x",
        "Task state:",
        "Task state: \u200b",
    ],
)
def test_what_is_quoted_code_or_no_mark_sets_nothing(text: str) -> None:
    assert said(text) is None


def test_a_state_after_closed_code_counts() -> None:
    assert said("```python\nprint(1)\n```\nTask state: code shown") == "code shown"


def test_inline_code_of_three_ticks_opens_no_fence() -> None:
    assert said("```x``` is code\nTask state: go on") == "go on"


def test_the_last_marked_line_counts_and_an_empty_one_does_not() -> None:
    assert said("Task state: one\nTask state: two\nTask state:  ") == "two"


def test_an_echo_of_our_own_block_sets_nothing() -> None:
    assert said(f"As you see:\n{block('state', 'Task state: from the prompt')}\nFine.") is None


def test_reasoning_and_tool_calls_set_nothing() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "Task state: x", "arguments": "Task state: y"}}
    assert said(None, tool_calls=[call], reasoning="Task state: z", reasoning_content="Task state: z") is None


def test_the_parts_of_a_content_are_read() -> None:
    assert said([{"type": "text", "text": "Hi"}, {"type": "text", "text": "Task state: greeted"}]) == "greeted"


def test_a_long_state_is_cut_visibly() -> None:
    state = said("Task state: " + "word " * 500)
    assert state is not None
    assert len(state) <= MAX_CHARS
    assert state.endswith("…")


@given(st.lists(line, max_size=6), st.sampled_from(MARKS), line)
def test_a_state_is_one_clean_line_wherever_it_stands(before: list[str], mark: str, state: str) -> None:
    found = marked_state("\n".join([*before, mark + state]))
    if found is not None:
        assert found
        assert len(found) <= MAX_CHARS
        assert found == found.strip()
        assert len(found.splitlines()) == 1
        assert "<memory" not in found.lower()


@given(st.text(max_size=300))
def test_recalled_text_never_sets_a_state(text: str) -> None:
    assert marked_state("> " + quoted(f"Task state: {text}")) is None


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    marked_state(text)
