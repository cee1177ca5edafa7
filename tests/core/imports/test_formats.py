"""Every format, from bytes to drafts."""

import json
from copy import deepcopy

import pytest

from memsrv.core.imports.drafts import Skipped
from memsrv.core.imports.formats import conversations
from memsrv.core.imports.splitting import values
from tests.core.imports.samples import (
    CHATBOTUI,
    CHATGPT,
    CLAUDE,
    FILES,
    GROK,
    LIBRECHAT,
    LINES,
    OPENAI,
    OPENWEBUI,
    OWN,
    TAVERN,
    accepted,
    chatgpt,
    node,
    read,
    read_lines,
)


def spoken(found):
    return [(draft.payload["role"], draft.payload["content"]) for draft in found.drafts]


def why(found):
    return [one.why for one in found.skipped]


# --- telling formats apart --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FILES)
def test_a_format_is_known_by_its_content(source):
    found = read(FILES[source])
    assert [one.source for one in found] == [source]
    assert all(accepted(draft) for one in found for draft in one.drafts)


@pytest.mark.parametrize("source", LINES)
def test_json_lines_are_known_by_their_content(source):
    found = read_lines(LINES[source])
    assert [one.source for one in found] == [source]
    assert all(accepted(draft) for draft in found[0].drafts)


@pytest.mark.parametrize("source", FILES)
def test_a_conversation_stands_alone_in_a_list_or_on_a_line(source):
    data = FILES[source]
    inner = data[0] if isinstance(data, list) else data
    alone = [(one.id, one.drafts) for one in read(data)]
    assert [(one.id, one.drafts) for one in read(inner)] == alone
    if source not in ("grok", "chatbotui"):
        assert [(one.id, one.drafts) for one in read_lines([inner, CHATGPT])][: len(alone)] == alone


def test_values_of_no_known_format_are_skipped_with_their_place():
    assert read([CHATGPT, {"title": "Corrupted"}, None, 7])[1:] == [
        Skipped("no conversation of a known format", f"item {number}") for number in (2, 3, 4)
    ]


# --- ChatGPT ----------------------------------------------------------------------------------------------------------


def test_chatgpt_shows_the_path_to_the_current_node_and_puts_the_others_aside():
    (found,) = read([CHATGPT])
    assert (found.id, found.title) == ("c-1", "Bread")
    assert [draft.id for draft in found.drafts] == ["u1", "a1", "u2", "a2"]
    assert found.skipped == (Skipped("on another branch", "a2b"),)
    assert found.drafts[1].metadata == {"source": "chatgpt", "title": "Bread", "model": "gpt-x"}


def test_branches_can_be_conversations_of_their_own():
    main, branch = read([CHATGPT], branches=True)
    assert (branch.id, branch.branch) == (main.id, "a2b")
    assert [draft.id for draft in branch.drafts] == ["u1", "a1", "u2", "a2b"]
    assert not main.skipped


def test_without_a_current_node_the_newest_leaf_is_shown():
    for current in (None, "gone"):
        (found,) = read([CHATGPT | {"current_node": current}])
        assert found.drafts[-1].id == "a2b"


def test_circles_and_missing_parents_lose_no_message():
    circle = chatgpt(node("x", "y", "user", "one", at=1.7e9), node("y", "x", "assistant", "two", at=1.8e9))
    assert sorted(draft.id for draft in read([circle])[0].drafts) == ["x", "y"]
    orphan = chatgpt(node("x", "root", "user", "one", at=1.7e9), node("y", "gone", "assistant", "two", at=1.8e9))
    assert [draft.id for draft in read([orphan])[0].drafts] == ["x", "y"]


def test_hidden_blank_and_null_messages_are_skipped_with_their_reason():
    hidden = node("h", "root", "system", "secret", metadata={"is_visually_hidden_from_conversation": True})
    context = node("c", "h", "user", "", content={"content_type": "user_editable_context", "user_profile": "An SRE."})
    recap = node("r", "b", "assistant", "", content={"content_type": "reasoning_recap", "content": "Thought for 8s"})
    data = chatgpt(hidden, context, node("b", "c", "user", " "), recap, node("u", "r", "user", "Hi"), current="u")
    data["mapping"]["n"] = {"id": "n", "message": None, "parent": "u"}
    (found,) = read([data])
    assert spoken(found) == [("user", "Hi")]
    assert why(found) == ["hidden by the app", "hidden by the app", "empty", "a note of the app"]


def test_calls_of_tools_stand_with_their_results_and_thoughts_with_their_answer():
    quote = {"content_type": "tether_quote", "title": "Page", "url": "https://p.test", "text": "It rains."}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "Look it up."}]}
    data = chatgpt(
        node("u", "root", "user", "Rain?"),
        node("t", "u", "assistant", "", content=thoughts),
        node("c", "t", "assistant", "", recipient="browser", content={"content_type": "code", "text": "search('rain')"}),
        node("r1", "c", "tool", "", author={"role": "tool", "name": "browser"}, content=quote),
        node("r2", "r1", "tool", "More.", author={"role": "tool", "name": "browser"}),
        node("a", "r2", "assistant", "Yes【3:0†source】."),
        current="a",
    )
    (found,) = read([data])
    roles = [draft.payload["role"] for draft in found.drafts]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert found.drafts[1].payload["tool_calls"][0]["function"] == {"name": "browser", "arguments": "search('rain')"}
    assert found.drafts[2].payload["tool_call_id"] == found.drafts[1].payload["tool_calls"][0]["id"]
    assert found.drafts[2].payload["content"] == "Page\nhttps://p.test\nIt rains.\n\nMore."
    assert (found.drafts[3].payload["content"], found.drafts[3].payload["reasoning_content"]) == ("Yes.", "Look it up.")


def test_thoughts_that_no_answer_came_of_are_skipped():
    thoughts = {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}
    data = chatgpt(
        node("t", "root", "assistant", "", content=thoughts), node("u", "t", "user", "Go on"), node("a", "u", "assistant", "Yes.")
    )
    (found,) = read([data])
    assert why(found) == ["reasoning without an answer"]
    assert "reasoning_content" not in found.drafts[1].payload


def test_a_second_message_of_the_same_id_is_told_and_not_lost_silently():
    twice = [{"messageId": "m", "isCreatedByUser": True, "text": text} for text in ("one", "two")]
    (found,) = read({"conversationId": "c", "messages": twice})
    assert (spoken(found), found.skipped) == ([("user", "one")], (Skipped("an id that another message has", "m"),))


def test_a_tool_result_without_its_call_is_skipped():
    (found,) = read([chatgpt(node("r", "root", "tool", "x", author={"role": "tool", "name": "b"}), node("u", "r", "user", "y"))])
    assert why(found) == ["a tool result without its call"]


def test_marks_of_citations_go_and_the_words_in_them_stay():
    marked = 'Ask \ue200entity\ue202["person","Ada L.","x"]\ue201\ue200cite\ue202turn0search1\ue201, \ue200url\ue202here\ue202https://h.test\ue201\ue203.'
    references = {"content_references": [{"items": [{"title": "T", "url": "https://t.test"}]}]}
    (found,) = read([chatgpt(node("a", "root", "assistant", marked, metadata=references))])
    assert found.drafts[0].payload["content"] == "Ask Ada L., here."
    assert found.drafts[0].metadata["citations"] == [{"title": "T", "url": "https://t.test"}]


def test_images_recordings_and_files_leave_a_mark():
    parts = [
        "Look",
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://1"},
        {"content_type": "audio_asset_pointer"},
    ]
    more = {"content": {"content_type": "multimodal_text", "parts": parts}, "metadata": {"attachments": [{"name": "a.pdf"}]}}
    (found,) = read([chatgpt(node("u", "root", "user", "", **more))])
    assert spoken(found) == [("user", "Look\n[image]\n[recording]\n[file a.pdf]")]


def test_lone_surrogates_and_bytes_that_are_no_utf8_cost_only_themselves():
    body = json.dumps([chatgpt(node("u", "root", "user", "a\ud83d b"))]).encode().replace(b"Bread", b"Br\xffead")
    (found,) = conversations(values([body]))
    assert (found.title, found.drafts[0].payload["content"]) == ("Br�ead", "a� b")


def test_branches_beyond_the_most_are_put_aside():
    leaves = [node(f"a{number}", "u", "assistant", str(number), at=1.7e9 + number) for number in range(300)]
    found = read([chatgpt(node("u", "root", "user", "Go", at=1.7e9), *leaves)], branches=True)
    assert len(found) == 201
    assert len(found[0].skipped) == 99


# --- the others -------------------------------------------------------------------------------------------------------


def test_claude_blocks_become_messages_with_calls_and_results():
    (found,) = read([CLAUDE])
    assert spoken(found) == [
        ("user", "Which tea calms?\n\n[file list.txt]\nlime blossom\n\n[file cup.png]"),
        ("assistant", "Let me look."),
        ("tool", "lime"),
        ("assistant", "Lime blossom."),
    ]
    assert [draft.id for draft in found.drafts] == ["m1", "m2", "m2#2", "m2#3"]
    assert found.drafts[1].payload["reasoning_content"] == "They want to sleep."
    assert found.drafts[2].payload["tool_call_id"] == found.drafts[1].payload["tool_calls"][0]["id"]


def test_claude_text_counts_where_there_are_no_blocks_and_senders_take_turns_where_none_is_named():
    (found,) = read([{"title": "t", "chat_messages": [{"text": "\ue203Hello\ue204"}, {"text": "World"}]}])
    assert spoken(found) == [("user", "Hello"), ("assistant", "World")]


def test_claude_text_that_was_cut_by_citations_is_one():
    data = deepcopy(CLAUDE)
    data["chat_messages"][1]["content"] = [{"type": "text", "text": text} for text in ("Lime is ", "calming", ".")]
    assert read([data])[0].drafts[1].payload["content"] == "Lime is calming."


def test_claude_messages_that_name_their_parents_are_a_tree():
    data = deepcopy(CLAUDE)
    first, second = data["chat_messages"]
    first["parent_message_uuid"], second["parent_message_uuid"] = "00000000-0000-4000-8000-000000000000", "m1"
    other = {
        "uuid": "m0",
        "parent_message_uuid": "m1",
        "sender": "assistant",
        "text": "Mint.",
        "created_at": "2025-01-01T00:00:01.5Z",
    }
    data["chat_messages"].insert(1, other)
    (found,) = read([data])
    assert (found.drafts[-1].payload["content"], why(found)) == ("Lime blossom.", ["on another branch"])


def test_librechat_shows_the_newest_answer_and_reads_parts():
    (found,) = read(LIBRECHAT)
    assert spoken(found) == [("user", "When do bees swarm?"), ("assistant", "In May and June.")]
    assert found.drafts[1].payload["reasoning_content"] == "Early."
    assert found.skipped == (Skipped("on another branch", "b2"),)


def test_librechat_flat_exports_read_the_same():
    flat = []
    for message in (LIBRECHAT["messages"][0], *LIBRECHAT["messages"][0]["children"]):
        flat.append({name: value for name, value in message.items() if name != "children"})
    assert read(LIBRECHAT | {"recursive": False, "messages": flat})[0].drafts == read(LIBRECHAT)[0].drafts


def test_librechat_exports_nested_deeply_are_skipped_or_read_but_never_raise():
    inner = {"messageId": "m0", "text": "deep", "children": []}
    for number in range(1, 400):
        inner = {"messageId": f"m{number}", "text": "x", "isCreatedByUser": True, "children": [inner]}
    assert len(read({"conversationId": "d", "messages": [inner]})[0].drafts) == 400


def test_chatbotui_prompts_are_system_messages():
    (found,) = read(CHATBOTUI)
    assert spoken(found) == [("system", "Be brief."), ("user", "Which knot?"), ("assistant", "A bowline.")]


def test_openwebui_thoughts_come_out_of_the_content():
    (found,) = read([OPENWEBUI])
    assert spoken(found) == [("user", "Will it rain?"), ("assistant", "Yes.")]
    assert found.drafts[1].payload["reasoning_content"] == "> Clouds."
    assert found.skipped == (Skipped("on another branch", "r3"),)


def test_blocks_that_never_end_stay_and_take_linear_time():
    endless = '<details type="reasoning">' * 100_000
    data = deepcopy(OPENWEBUI)
    data["chat"]["history"]["messages"]["r2"]["content"] = endless
    assert read([data])[0].drafts[1].payload["content"] == endless
    response = {"sender": "human", "message": "<grok:render x>" * 100_000}
    assert read({"responses": [response]})[0].drafts[0].payload["content"] == response["message"]


def test_openwebui_output_tells_calls_and_results():
    data = deepcopy(OPENWEBUI)
    data["chat"]["history"]["messages"]["r2"]["output"] = [
        {"type": "function_call", "call_id": "c", "name": "sky", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "grey"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]},
    ]
    (found,) = read([data])
    assert [draft.payload["role"] for draft in found.drafts] == ["user", "assistant", "tool", "assistant"]


def test_openwebui_lists_of_messages_are_read_where_there_is_no_history():
    listed = [{"role": "user", "content": "a", "timestamp": 1700000000}, {"role": "assistant", "content": "b"}]
    (found,) = read([{"id": "w", "chat": {"messages": listed}}])
    assert spoken(found) == [("user", "a"), ("assistant", "b")]


def test_grok_responses_stand_in_the_order_of_their_times():
    (found,) = read(GROK)
    assert spoken(found) == [("user", "Which star is brightest?"), ("assistant", "Sirius.")]
    assert found.drafts[0].sent_at.isoformat() == "2025-06-21T19:28:21+00:00"


def test_sillytavern_keeps_names_times_and_hidden_talk_but_no_notes():
    (found,) = read_lines(TAVERN)
    assert [(draft.payload["name"], draft.payload["content"]) for draft in found.drafts] == [
        ("Aqua", "Welcome!"),
        ("Ada", "Hello."),
        ("Aqua", "A hidden answer."),
    ]
    assert [draft.sent_at.isoformat() for draft in found.drafts[:2]] == [
        "2023-06-03T17:05:00+00:00",
        "2023-06-03T17:06:03.123000+00:00",
    ]
    assert why(found) == ["another answer that was not chosen", "a note of the app"]


def test_sillytavern_reads_marks_of_order_crlf_and_bad_lines():
    rows = [json.dumps(row) for row in TAVERN]
    body = ("\ufeff" + "\r\n".join([rows[0], "{broken", *rows[1:], ""])).encode()
    (found,) = conversations(values([body]))
    assert found.skipped[0] == Skipped("not JSON", "line 2")
    assert len(found.drafts) == 3


def test_openai_calls_parts_and_old_functions_are_read():
    old = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "7"},
        {"role": "human", "content": "Thanks"},
    ]
    (found,) = read(OPENAI)
    assert found.drafts[2].payload["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'
    (found,) = read(old)
    assert [draft.payload["role"] for draft in found.drafts] == ["assistant", "tool", "user"]
    assert found.drafts[1].payload["tool_call_id"] == found.drafts[0].payload["tool_calls"][0]["id"]


def test_openai_lists_of_lists_and_objects_on_lines_are_a_conversation_each():
    talks = [[{"role": "user", "content": text}] for text in "ab"]
    assert [spoken(one) for one in read(talks)] == [[("user", "a")], [("user", "b")]]
    assert [spoken(one) for one in read_lines([{"messages": one} for one in talks])] == [[("user", "a")], [("user", "b")]]
    assert [spoken(one) for one in read_lines(talks)] == [[("user", "a")], [("user", "b")]]


def test_conversations_without_ids_that_begin_alike_are_told_apart():
    talks = [{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text}]} for text in "ab"]
    first, second = read_lines(talks)
    assert second.id == f"{first.id}-2"


def test_own_lines_are_taken_as_they_are():
    (found,) = read_lines(OWN)
    assert [(draft.id, draft.payload, draft.metadata) for draft in found.drafts] == [
        ("m-1", {"role": "user", "content": "Hello"}, None),
        ("m-2", {"role": "assistant", "content": ""}, {"k": [1]}),
    ]
    assert (found.state.owner, found.state.settings, found.state.meta) == ("o", {"mode": "window"}, {"goal": "rest"})


def test_an_own_export_that_was_cut_off_between_lines_is_noticed():
    (found,) = read_lines([*OWN[:-1], OWN[0] | {"session": "b", "messages": 0}])[:1]
    assert found.skipped == (Skipped("missing: the export was cut off", "1 of 2 messages"),)


def test_long_talk_on_lines_comes_in_parts():
    rows = [{"role": "user", "content": f"remark {number}"} for number in range(1200)]
    parts = read_lines(rows)
    assert [len(part.drafts) for part in parts] == [500, 500, 200]
    assert len({part.id for part in parts}) == 1
    assert len({draft.id for part in parts for draft in part.drafts}) == 1200
