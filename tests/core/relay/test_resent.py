"""What is new in a history that is sent again."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.relay.resent import (
    NOTE,
    aside_name,
    branch_name,
    id_of,
    identity,
    instructions_of,
    known,
    line_of,
    root_name,
)
from memsrv.core.text.marks import block
from memsrv.model import Message

AT = datetime(2026, 3, 1, tzinfo=UTC)


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **fields):
    return {"role": "assistant", "content": text, **fields}


def call(id, arguments='{"a": 1}'):
    return {"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}}


def stored(*payloads, linked=True, gaps=()):
    """Messages as they are stored, each linked to the one before it, at positions that leave out the gaps."""
    kept, position = [], 0
    for payload in payloads:
        position += 1
        while position in gaps:
            position += 1
        note = {"after": kept[-1].id} if kept and linked else {}
        kept.append(message(payload, position, note))
    return kept


def message(payload, position, note):
    return Message(position, f"m{position}", position, payload, AT, AT, {NOTE: note} if note else None, 0, True)


def new_of(kept, line, **options):
    """The texts that are new, and the positions that were left behind."""
    found = known(kept, line, **{"whole": True} | options)
    return [payload["content"] for payload in line[found.count :]], [one.position for one in found.left]


TALK = [user("hi"), assistant("Hello!"), user("cats?"), assistant("Cats purr.")]


# --- what is new ----------------------------------------------------------------------------------------------------


def test_a_first_history_is_new_as_a_whole():
    assert new_of([], TALK) == (["hi", "Hello!", "cats?", "Cats purr."], [])


def test_only_the_end_of_a_history_that_was_sent_again_is_new():
    assert new_of(stored(*TALK), [*TALK, user("dogs?")]) == (["dogs?"], [])


def test_an_answer_is_made_anew_when_the_history_ends_before_it():
    assert new_of(stored(*TALK), TALK[:3]) == ([], [4])


def test_an_edited_message_leaves_behind_what_followed_the_one_before_it():
    kept = stored(*TALK, user("dogs?"), assistant("Dogs bark."))
    assert new_of(kept, [*TALK[:2], user("birds?")]) == (["birds?"], [3, 4, 5, 6])


def test_a_trimmed_history_leaves_nothing_behind():
    kept = stored(*TALK, user("dogs?"), assistant("Dogs bark."))
    line = [user("dogs?"), assistant("Dogs bark."), user("and foxes?")]
    assert new_of(kept, line, whole=False) == (["and foxes?"], [])


def test_a_history_trimmed_to_an_answer_and_a_question_is_known():
    assert new_of(stored(*TALK), [assistant("Cats purr."), user("why?")], whole=False) == (["why?"], [])


def test_a_single_new_message_is_new():
    assert new_of(stored(*TALK), [user("dogs?")], whole=False) == (["dogs?"], [])


def test_the_same_words_said_later_are_new():
    kept = stored(*TALK, user("go on"), assistant("They sleep a lot."))
    assert new_of(kept, [user("go on")], whole=False) == (["go on"], [])


def test_a_message_without_an_answer_is_sent_again_by_a_retry():
    assert new_of(stored(*TALK, user("go on")), [user("go on")], whole=False) == ([], [])


def test_a_repeated_request_is_told_by_the_client_itself():
    kept = stored(*TALK, user("go on"), assistant("They sleep a lot."))
    assert new_of(kept, [user("go on")], whole=False, again=True) == ([], [6])


def test_a_message_that_was_deleted_here_is_not_stored_again():
    kept = stored(TALK[0], TALK[1], TALK[3], gaps=(3,))
    assert new_of(kept, [*TALK, user("dogs?")]) == (["dogs?"], [])


def test_a_message_that_was_edited_here_is_not_stored_again():
    kept = stored(TALK[0], TALK[1], user("[redacted]"), TALK[3])
    assert new_of(kept, [*TALK, user("dogs?")]) == (["dogs?"], [])


def test_what_others_said_in_between_stays():
    mine, other = stored(TALK[0], TALK[1]), user("from another client")
    kept = [
        mine[0],
        message(other, 2, {}),
        message(TALK[1], 3, {"after": "m1"}),
        message(assistant("To it."), 4, {"after": "m2"}),
    ]
    assert new_of(kept, [TALK[0], TALK[1], user("cats?")], whole=False) == (["cats?"], [])


def test_a_talk_that_is_interleaved_with_another_is_found_by_its_links():
    mine = [user("a"), assistant("To a."), user("more")]
    kept = [message(user("b"), 1, {}), message(mine[0], 2, {}), message(assistant("To b."), 3, {"after": "m1"})]
    kept += [message(mine[1], 4, {"after": "m2"}), message(user("b again"), 5, {"after": "m3"})]
    assert new_of(kept, mine, whole=False) == (["more"], [])


def test_the_same_words_of_another_client_are_not_mine():
    kept = [*stored(TALK[0], TALK[1]), message(user("x"), 3, {}), message(user("yes"), 4, {"after": "m3"})]
    assert new_of(kept, [TALK[0], TALK[1], user("yes")], whole=False) == (["yes"], [])


def test_a_likeness_by_chance_at_the_end_hides_nothing():
    kept = stored(user("a"), assistant("b"), user("ok"), assistant("c"))
    line = [user("p"), assistant("q"), user("ok")]
    assert new_of(kept, line, whole=False) == (["p", "q", "ok"], [])


def test_messages_that_were_posted_without_links_are_never_left_behind():
    assert new_of(stored(*TALK, linked=False), [*TALK[:2], user("birds?")], whole=False) == (["birds?"], [])


def test_what_follows_an_earlier_message_of_the_history_is_beside_it():
    edited = message(user("dogs, rather?"), 6, {"after": "m2"})
    kept = [*stored(*TALK), edited, message(assistant("They bark."), 7, {"after": "m6"})]
    found = known(kept, [*TALK, user("birds?")], whole=False)
    assert (found.left, [one.position for one in found.beside]) == ((), [6, 7])


def test_what_the_history_tells_itself_is_never_beside_it():
    other = message(user("dogs?"), 5, {"after": "m2"})
    kept = [*stored(*TALK[:4]), other]
    assert known(kept, [*TALK[:4], user("dogs?"), user("birds?")], whole=False).beside == ()


def test_a_message_that_was_edited_here_is_not_beside_the_history():
    kept = stored(*TALK[:2], user("edited through the API"), *TALK[3:])
    assert known(kept, [*TALK, user("birds?")], whole=False).beside == ()


def test_of_an_answer_that_was_cut_any_part_is_the_same():
    cut = message(assistant("Cats purr and"), 4, {"after": "m3", "cut": "client"})
    kept = [*stored(*TALK[:3]), cut]
    for seen in ("Cats purr", "Cats purr and sleep"):
        assert new_of(kept, [*TALK[:3], assistant(seen), user("go on")]) == (["go on"], [])


@given(st.lists(st.sampled_from(["ok", "yes", "no", "tell me more"]), min_size=1, max_size=12), st.data())
def test_a_history_grown_by_one_turn_after_another_is_stored_once(words, data):
    kept = []
    line = []
    for number, word in enumerate(words):
        line = [*line, user(word)]
        sent = line[-data.draw(st.integers(3, 30)) :] if len(line) > 3 else line
        found = known(kept, sent, whole=False)
        new = sent[found.count :]
        assert [one["content"] for one in new] == [word]
        assert not found.left
        answer = assistant(f"answer {number}")
        for payload in (*new, answer):
            kept.append(message(payload, len(kept) + 1, {"after": kept[-1].id} if kept else {}))
        line = [*line, answer]


@given(st.lists(st.sampled_from("abcde"), max_size=8), st.lists(st.sampled_from("abcde"), max_size=8), st.booleans())
def test_what_is_known_is_a_beginning_and_what_is_left_behind_comes_after_it(here, sent, whole):
    kept = stored(*map(user, here))
    found = known(kept, [user(text) for text in sent], whole=whole)
    assert 0 <= found.count <= len(sent)
    assert (found.last is None) == (found.count == 0)
    if found.last:
        assert found.last.payload["content"] == sent[found.count - 1]
        assert all(one.position > found.last.position for one in found.left)


# --- what is the same -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (user("hi"), {"role": "user", "content": [{"type": "text", "text": "hi"}]}),
        (user("hi"), user(" hi\r\n")),
        (user("hi"), {"role": "user", "content": "hi", "name": "Ada"}),
        (assistant("four"), assistant("<think>two and two</think>four", reasoning_content="2+2")),
        (assistant(None, tool_calls=[call("1")]), assistant("", tool_calls=[call("1", '{"a":1}')])),
        (assistant(None, refusal="No."), assistant("No.")),
        (user("hi"), user(block("state", "Goal: x") + "\n\nhi")),
    ],
)
def test_these_say_the_same(one, other):
    assert identity(one) == identity(other)


@given(st.text(st.sampled_from("ab \n<>◁think/"), max_size=30), st.sampled_from(["user", "assistant", "system", "function"]))
def test_a_text_says_the_same_whether_it_is_remembered_or_in_parts(text, role):
    for _ in range(2):
        assert identity({"role": role, "content": text}) == identity({"role": role, "content": [{"type": "text", "text": text}]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (user("hi"), assistant("hi")),
        (user("hi"), user("Hi")),
        (assistant("x", tool_calls=[call("1")]), assistant("x", tool_calls=[call("2")])),
        (assistant("x", tool_calls=[call("1")]), assistant("x")),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a"}}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://b"}}]},
        ),
        ({"role": "tool", "tool_call_id": "1", "content": "ok"}, {"role": "tool", "tool_call_id": "2", "content": "ok"}),
    ],
)
def test_these_do_not_say_the_same(one, other):
    assert identity(one) != identity(other)


# --- a request's messages -------------------------------------------------------------------------------------------


def test_system_messages_are_no_part_of_the_history():
    line = line_of([{"role": "system", "content": "Be brief."}, user("hi"), {"role": "developer", "content": "x"}])
    assert [message["role"] for message in line] == ["user"]


def test_our_own_blocks_are_not_stored():
    recall = block("recall", "- something old")
    parts = [{"type": "text", "text": recall}, {"type": "text", "text": "hi"}]
    line = line_of([{"role": "user", "content": parts}, user(f"{recall}\n\nwhere?"), user(recall)])
    assert [message["content"] for message in line] == [[{"type": "text", "text": "hi"}], "where?"]


def test_the_instructions_are_all_that_system_messages_say_but_ours():
    messages = [{"role": "system", "content": "Be brief."}, {"role": "system", "content": block("pins", "- x")}, user("hi")]
    assert instructions_of([*messages, {"role": "developer", "content": "In English."}]) == "Be brief.\n\nIn English."
    assert instructions_of([user("hi")]) is None


def test_fields_for_the_provider_alone_are_not_stored():
    assert line_of([{**user("hi"), "cache_control": {"type": "ephemeral"}}]) == (user("hi"),)


# --- names ----------------------------------------------------------------------------------------------------------


def test_names_hold_no_text_and_tell_owners_and_branches_apart():
    line = [user("my secret"), assistant("x")]
    root = root_name(None, line)
    names = {root, root_name("ada", line), branch_name(root, line), branch_name(root, line[:1]), aside_name(root)}
    assert len(names) == 5
    assert not any("secret" in name for name in names)
    assert root_name(None, line[:1]) == root


def test_an_aside_has_a_name_of_its_own_however_long_the_session_s():
    assert len({aside_name("x" * 512), aside_name("x" * 511), aside_name("y" * 512)}) == 3
    assert len(aside_name("x" * 512)) <= 512


def test_an_id_tells_the_place_and_the_message():
    assert id_of("a", user("x")) == id_of("a", json.loads(json.dumps(user("x"))))
    assert len({id_of("a", user("x")), id_of("b", user("x")), id_of("a", user("y"))}) == 3
