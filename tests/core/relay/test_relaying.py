"""What the proxy reads in a request."""

from dataclasses import replace

import pytest

from memsrv.core.prompt.policy import Defaults, resolve
from memsrv.core.relay.relaying import budget_of, chosen, is_task, listed, messages_of, passed_on, tools_text
from memsrv.errors import BadRequest, ModelNotFound, NoUpstream

POLICY = replace(resolve(Defaults(), {}), budget_tokens=1000)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (None, "messages: a list"),
        ([], "messages: a list"),
        (["x"], r"messages\[0\]: not an object"),
        ([{"role": "user", "content": "x"}, {"role": "wizard", "content": "x"}], r"messages\[1\]: role is one of"),
        ([{"role": "user", "content": 5}], r"messages\[0\]: content is"),
        ([{"role": "tool", "content": "x"}], r"messages\[0\]: .*tool_call_id"),
        ([{"role": "assistant", "content": None, "tool_calls": {}}], r"messages\[0\]: tool_calls is a list"),
        ([{"role": "user", "content": "x"}] * 10_001, "10001 in one request"),
    ],
)
def test_messages_that_cannot_be_used_are_named(messages, said):
    with pytest.raises(BadRequest, match=said):
        messages_of({"messages": messages})


@pytest.mark.parametrize(
    ("model", "names", "default", "expected"),
    [
        ("gpt-4o", ["upstream"], "upstream", ("upstream", "gpt-4o")),
        ("local/small", ["upstream", "local"], "upstream", ("local", "small")),
        ("openai/gpt-4o", ["upstream", "local"], "upstream", ("upstream", "openai/gpt-4o")),
        ("local/team/small", ["local", "other"], None, ("local", "team/small")),
        (None, ["upstream"], "upstream", ("upstream", "")),
        ("local/", ["local", "other"], None, ("local", "")),
    ],
)
def test_a_model_s_name_tells_the_upstream(model, names, default, expected):
    assert chosen(model, names, default) == expected


def test_without_an_upstream_the_error_says_which_setting_to_make():
    with pytest.raises(NoUpstream) as caught:
        chosen("gpt-4o", [], None)
    assert "MEMSRV_UPSTREAM_URL" in caught.value.hint


def test_with_several_upstreams_and_no_default_the_name_must_tell():
    with pytest.raises(ModelNotFound) as caught:
        chosen("gpt-4o", ["one", "two"], None)
    assert "one, two" in caught.value.hint


def test_tools_are_taken_off_every_budget_and_the_answer_off_a_window():
    assert budget_of(POLICY, {"max_tokens": 300}, 100) == 900
    window = replace(POLICY, of_window=True)
    assert budget_of(window, {"max_tokens": 300}, 100) == 600
    assert budget_of(window, {"max_tokens": 5, "max_completion_tokens": 300}, 100) == 600


def test_the_answer_takes_no_more_than_half_of_a_window():
    assert budget_of(replace(POLICY, of_window=True), {"max_tokens": 100_000}, 0) == 500


def test_only_messages_and_model_of_a_request_change():
    body = {"model": "local/small", "messages": [], "temperature": 0, "new_field": {"a": 1}, "stream": True}
    sent = passed_on(body, [{"role": "user", "content": "x"}], "small")
    assert sent == {**body, "model": "small", "messages": [{"role": "user", "content": "x"}]}


def test_tools_and_schemas_are_counted():
    assert tools_text({"temperature": 1}) == ""
    assert "look" in tools_text({"tools": [{"function": {"name": "look"}}]})
    assert "schema" in tools_text({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}})


def test_models_of_other_upstreams_carry_their_name():
    lists = {"upstream": [{"id": "a"}], "local": [{"id": "b", "owned_by": "me"}]}
    assert listed(lists, "upstream") == [{"id": "a"}, {"id": "local/b", "owned_by": "me"}]


TASK = "### Task:\nGenerate a concise title.\n### Chat History:\n<chat_history>\nUSER: hi\nASSISTANT: Hello.\n</chat_history>"


@pytest.mark.parametrize("content", [TASK, [{"type": "text", "text": TASK}], f"\n{TASK}\n"])
def test_one_message_that_says_it_is_a_task_and_quotes_a_talk_is_one(content):
    assert is_task([{"role": "user", "content": content}])


@pytest.mark.parametrize(
    "line",
    [
        [],
        [{"role": "user", "content": "### Task:\nWrite a poem."}],
        [{"role": "user", "content": f"Look at this prompt:\n{TASK}"}],
        [{"role": "assistant", "content": TASK}],
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": TASK}],
        [{"role": "user", "content": None}],
    ],
)
def test_a_talk_is_no_task_whatever_it_is_about(line):
    assert not is_task(line)
