"""One choice in three shapes."""

from typing import Any

from memsrv.core.prompt.regions import Chosen
from memsrv.core.prompt.render import PLACEHOLDER, rendered
from memsrv.core.text.marks import block, without_blocks
from memsrv.model import Format, Payload
from tests.fakes_prompt import hit, message


def user(content: Any, **fields: Any) -> Payload:
    return {"role": "user", "content": content, **fields}


def said(content: Any, **fields: Any) -> Payload:
    return {"role": "assistant", "content": content, **fields}


CALLS = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
PIECE = hit(message(1, user("old")))
WHOLE = Chosen(
    session="s",
    system_prompt="Be kind.",
    profile="Ada",
    pins=("no chrome",),
    summary="- bikes",
    hits=(PIECE,),
    window=(user("one"), said("two"), user("three")),
    current=2,
    state="Goal: a bike",
)


def roles(messages: tuple[Payload, ...]) -> list[str]:
    return [message["role"] for message in messages]


def test_the_regions_are_read_in_order() -> None:
    messages = rendered(WHOLE, Format.OPENAI)
    assert roles(messages) == ["system", "system", "system", "user", "assistant", "system", "user"]
    assert messages[0]["content"] == "\n\n".join(["Be kind.", block("profile", "Ada"), block("pins", "- no chrome")])
    assert messages[1]["content"] == block("summary", "- bikes")
    assert messages[2]["content"].startswith("<memory:recall>")
    assert messages[5]["content"] == block("state", "Goal: a bike")
    assert messages[6]["content"] == "three"


def test_nothing_chosen_is_no_message() -> None:
    assert all(rendered(Chosen("s"), shape) == () for shape in Format)


def test_strict_has_one_leading_system_message_and_the_state_at_the_newest_user_message() -> None:
    messages = rendered(WHOLE, Format.STRICT)
    assert roles(messages) == ["system", "user", "assistant", "user"]
    assert messages[-1]["content"] == block("state", "Goal: a bike") + "\n\nthree"


def test_strict_joins_neighbours_of_one_role() -> None:
    chosen = Chosen("s", window=(user("one"), user([{"type": "text", "text": "two"}]), said("three"), said("four")), current=1)
    assert rendered(chosen, Format.STRICT) == (
        user([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        said("three\n\nfour"),
    )


def test_strict_keeps_the_names_of_those_it_joins() -> None:
    chosen = Chosen("s", window=(user("one", name="Ada"), user("two", name="Bo"), user("three", name="Bo")), current=2)
    assert rendered(chosen, Format.STRICT) == (user("Ada: one\n\nBo: two\n\nBo: three"),)


def test_strict_keeps_the_state_on_lines_of_its_own_between_names() -> None:
    chosen = Chosen("s", window=(user("one", name="Ada"), user("two", name="Bo")), current=1, state="Goal: x")
    assert rendered(chosen, Format.STRICT) == (user("Ada: one\n\n" + block("state", "Goal: x") + "\n\nBo: two"),)
    alone = Chosen("s", window=(user("two", name="Bo"),), current=0, state="Goal: x")
    assert rendered(alone, Format.STRICT) == (user(block("state", "Goal: x") + "\n\ntwo", name="Bo"),)


def test_strict_begins_with_a_user() -> None:
    assert rendered(Chosen("s", window=(said("hi"),)), Format.STRICT) == (user(PLACEHOLDER), said("hi"))


def test_strict_takes_later_system_messages_to_the_front() -> None:
    chosen = Chosen(
        "s", system_prompt="Be kind.", window=(user("one"), {"role": "system", "content": "Be brief."}, user("two")), current=2
    )
    assert rendered(chosen, Format.STRICT) == ({"role": "system", "content": "Be kind.\n\nBe brief."}, user("one\n\ntwo"))


def test_strict_gives_a_call_the_text_before_it_and_keeps_its_results_apart() -> None:
    results = tuple({"role": "tool", "content": "r", "tool_call_id": "a"} for _ in range(2))
    chosen = Chosen("s", window=(user("q"), said("hm"), said(None, tool_calls=CALLS), *results, said("done")), current=0)
    messages = rendered(chosen, Format.STRICT)
    assert roles(messages) == ["user", "assistant", "tool", "tool", "assistant"]
    assert messages[1] == said("hm", tool_calls=CALLS)


def test_strict_without_a_user_message_tells_the_state_in_front() -> None:
    leading = {"role": "system", "content": block("state", "Goal: x")}
    assert rendered(Chosen("s", state="Goal: x"), Format.STRICT) == (leading, user(PLACEHOLDER))


def test_strict_has_a_user_turn_beside_a_system_prompt_alone() -> None:
    assert roles(rendered(Chosen("s", system_prompt="Be kind."), Format.STRICT)) == ["system", "user"]


def test_text_is_one_user_message_that_ends_with_the_newest() -> None:
    (message,) = rendered(WHOLE, Format.TEXT)
    assert message["role"] == "user"
    assert message["content"].endswith(block("state", "Goal: a bike") + "\n\nthree")
    assert block("window", "user: one\nassistant: two") in message["content"]


def test_text_shows_tool_traffic_and_marks_for_images() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    chosen = Chosen(
        "s",
        window=(user([image]), said(None, tool_calls=CALLS), {"role": "tool", "content": "r\ns", "tool_call_id": "a"}, user("q")),
        current=3,
    )
    (message,) = rendered(chosen, Format.TEXT)
    assert block("window", "user: [image]\nassistant: f({})\ntool: r\n> s") in message["content"]


def test_what_is_posted_back_loses_our_part() -> None:
    assert [without_blocks(message["content"]) for message in rendered(WHOLE, Format.OPENAI)] == [
        "Be kind.",
        "",
        "",
        "one",
        "two",
        "",
        "three",
    ]
    assert [without_blocks(message["content"]) for message in rendered(WHOLE, Format.STRICT)] == [
        "Be kind.",
        "one",
        "two",
        "three",
    ]
    assert [without_blocks(message["content"]) for message in rendered(WHOLE, Format.TEXT)] == ["three"]
