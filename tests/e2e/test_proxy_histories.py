"""Histories that clients of the proxy send again, trim, edit and share: all is stored, once and in its line."""

import threading

import openai
import pytest

from tests.adapters.upstream_server import DIE, Refuse, Say
from tests.e2e.proxied import ask, assistant, names, pairs, stored_whole, talk, transcript, user


@pytest.mark.parametrize("session", [None, "resent"])
def test_a_history_that_is_sent_again_and_again_is_stored_once(client, proxy, upstream, session):
    turns = [(f"{session} question {n}", f"Answer {n}.") for n in range(6)]
    history, found = talk(client, upstream, turns, session)
    assert transcript(proxy, found) == pairs(history)


def test_an_imported_chat_goes_on_in_its_session_and_nothing_of_it_is_stored_again(client, proxy):
    turns = [user("Which ferry?"), assistant("The one at nine."), user("And back?"), assistant("At six.")]
    told = [
        {"messageId": f"m{n}", "parentMessageId": f"m{n - 1}", "text": one["content"], "isCreatedByUser": one["role"] == "user"}
        for n, one in enumerate(turns)
    ]
    export = {"conversationId": "c9", "endpoint": "custom", "title": "Ferries", "recursive": False, "messages": told}
    assert proxy.http.post("/import", json=export).json()["stored"] == 4
    ask(client, [*turns, user("How long is it?")], "librechat:c9")
    stored = transcript(proxy, "librechat:c9")
    assert stored[:5] == [(one["role"], one["content"]) for one in (*turns, user("How long is it?"))]
    assert len(stored) == 6


def test_two_talks_that_begin_alike_get_sessions_of_their_own(client, proxy, upstream):
    one, first = talk(client, upstream, [("hi there", "Hello."), ("cats?", "They purr.")])
    other, second = talk(client, upstream, [("hi there", "Hello."), ("dogs?", "They bark.")])
    third, third_session = talk(client, upstream, [("hi there", "Good day."), ("birds?", "They sing.")])
    assert len({first, second, third_session}) == 3
    for history, session in ((one, first), (other, second), (third, third_session)):
        assert transcript(proxy, session) == pairs(history)
    grown, again = talk(client, upstream, [("and cats sleep?", "A lot.")], history=one)
    assert again == first
    assert transcript(proxy, first) == pairs(grown)


def test_nothing_of_the_one_talk_is_seen_in_the_other(client, upstream):
    talk(client, upstream, [("hello you", "Hello."), ("My code word is swordfish.", "Noted.")])
    talk(client, upstream, [("hello you", "Good day."), ("What is my code word?", "I don't know.")])
    assert "swordfish" not in str(upstream.requests[-1])
    assert "swordfish" not in str(upstream.requests[-2])


@pytest.mark.parametrize("session", [None, "regenerated"])
def test_an_answer_made_anew_takes_the_place_of_the_old_one_which_is_kept_aside(client, proxy, upstream, session):
    history, found = talk(client, upstream, [(f"{session}: a name?", "Rex."), ("another?", "Bob.")], session)
    upstream.script = [Say(["Tom."])]
    assert ask(client, history[:-1], session) == ("Tom.", found)
    assert upstream.prompt()[-1] == ("user", "another?")
    assert transcript(proxy, found) == pairs([*history[:-1], assistant("Tom.")])
    assert transcript(proxy, f"{found}~aside") == [("assistant", "Bob.")]
    grown, again = talk(client, upstream, [("thanks", "Welcome.")], session, [*history[:-1], assistant("Tom.")])
    assert (again, transcript(proxy, found)) == (found, pairs(grown))


def test_an_old_answer_stands_while_no_new_one_comes(client, proxy, upstream):
    history, session = talk(client, upstream, [("a colour?", "Red.")], next(names))
    upstream.script = [Refuse(500, {"error": {"message": "x"}})]
    with pytest.raises(openai.InternalServerError):
        ask(client, history[:-1], session)
    assert transcript(proxy, session) == pairs(history)


def test_an_edit_in_a_named_session_takes_the_old_end_out_of_the_line_and_keeps_it(client, proxy, upstream):
    turns = [("one", "First."), ("two", "Second."), ("three", "Third.")]
    history, session = talk(client, upstream, turns, next(names))
    edited, _ = talk(client, upstream, [("two, but better", "Other.")], session, history[:2])
    assert transcript(proxy, session) == pairs(edited)
    assert upstream.prompt() == pairs(edited[:-1])
    assert transcript(proxy, f"{session}~aside") == pairs(history[2:])
    back, _ = talk(client, upstream, [("four", "Fourth.")], session, history)
    assert transcript(proxy, session) == pairs(back)


@pytest.mark.parametrize("refusal", [Refuse(429, {"error": {"message": "later"}}), Say([DIE])])
def test_an_edit_that_gets_no_answer_leaves_the_old_line_as_it_was(client, proxy, upstream, refusal):
    history, session = talk(client, upstream, [("one", "First."), ("two", "Second.")], next(names))
    before = stored_whole(proxy, session)
    edited = [*history[:2], user("two, but better")]
    for _ in range(2):
        upstream.script = [refusal]
        with pytest.raises(openai.APIStatusError):
            ask(client, edited, session)
        assert upstream.prompt() == pairs(edited)
    grown, _ = talk(client, upstream, [("three", "Third.")], session, history)
    assert upstream.prompt() == pairs(grown[:-1])
    assert transcript(proxy, session) == pairs(grown)
    assert stored_whole(proxy, session)[:4] == before
    assert transcript(proxy, f"{session}~aside") == pairs(edited[2:])


def test_an_edit_that_is_answered_at_last_takes_the_old_end_out_of_the_line(client, proxy, upstream):
    history, session = talk(client, upstream, [("one", "First."), ("two", "Second.")], next(names))
    edited = [*history[:2], user("two, but better")]
    upstream.script = [Refuse(500, {"error": {"message": "x"}}), Say(["Better."])]
    with pytest.raises(openai.InternalServerError):
        ask(client, edited, session)
    assert transcript(proxy, session) == pairs([*history, edited[2]])
    ask(client, edited, session)
    assert transcript(proxy, session) == pairs([*edited, assistant("Better.")])
    assert transcript(proxy, f"{session}~aside") == pairs(history[2:])


def test_what_is_said_to_a_message_while_it_is_edited_goes_aside_with_it(client, proxy, upstream):
    history, session = talk(client, upstream, [("one", "First.")], next(names))

    asked, answered = threading.Event(), threading.Event()
    edited = [*history, user("two, but better")]
    editing = threading.Thread(target=ask, args=(client, edited, session))
    upstream.script = [
        Say([editing.start, lambda: asked.wait(30), "Early."]),
        Say([asked.set, lambda: answered.wait(30), "Better."]),
    ]
    ask(client, [*history, user("two")], session)
    answered.set()
    editing.join(30)
    assert transcript(proxy, session) == pairs([*edited, assistant("Better.")])
    assert transcript(proxy, f"{session}~aside") == pairs([user("two"), assistant("Early.")])


def test_an_answer_that_comes_after_its_question_was_edited_goes_aside(client, proxy, upstream):
    history, session = talk(client, upstream, [("one", "First.")], next(names))

    def edit():
        ask(client, [*history, user("two, but better")], session)

    upstream.script = [Say([edit, "Late."]), Say(["Better."])]
    ask(client, [*history, user("two")], session)
    assert transcript(proxy, session) == pairs([*history, user("two, but better"), assistant("Better.")])
    assert transcript(proxy, f"{session}~aside") == pairs([user("two"), assistant("Late.")])


def test_an_edit_in_a_derived_session_begins_one_of_its_own(client, proxy, upstream):
    history, session = talk(client, upstream, [("uno", "First."), ("dos", "Second."), ("tres", "Third.")])
    edited, branch = talk(client, upstream, [("dos, mejor", "Other."), ("cuatro", "Fourth.")], history=history[:2])
    assert transcript(proxy, session) == pairs(history)
    assert (branch != session, transcript(proxy, branch)) == (True, pairs(edited))


def test_a_client_that_trims_its_history_loses_and_repeats_nothing(client, proxy, upstream):
    session, history = next(names), []
    for n in range(8):
        upstream.script = [Say([f"Answer {n}."])]
        history.append(user(f"question {n}"))
        ask(client, history[-5:], session)
        history.append(assistant(f"Answer {n}."))
    assert transcript(proxy, session) == pairs(history)


def test_a_client_that_sends_only_what_is_new_is_served_with_the_past(client, proxy, upstream):
    session, history = next(names), []
    for n, words in enumerate(["Tell me a tale.", "go on", "go on", "go on"]):
        upstream.script = [Say([f"Part {n}."])]
        ask(client, [user(words)], session)
        history.append(user(words))
        assert upstream.prompt() == pairs(history)
        history.append(assistant(f"Part {n}."))
    assert transcript(proxy, session) == pairs(history)


def test_what_was_said_long_ago_is_in_the_prompt_of_a_client_that_sends_only_what_is_new(client, proxy, upstream):
    session = next(names)
    upstream.script = [Say(["Noted."])]
    ask(client, [user("My spare key is under the blue flowerpot.")], session)
    proxy.http.post(f"/context/{session}/messages", json={"messages": [user(f"Remark {n}.") for n in range(14)]})
    proxy.wait_indexed(session)
    upstream.script = [Say(["Under the flowerpot."])]
    ask(client, [user("Where is my spare key?")], session)
    assert "blue flowerpot" in upstream.system()


def test_two_clients_on_one_session_lose_nothing_and_repeat_nothing(client, proxy, upstream):
    session, both = next(names), threading.Barrier(2)
    upstream.script = []
    upstream.otherwise = lambda request: Say([f"To {request['messages'][-1]['content']}."])
    asked = []

    def run(who):
        history = []
        for n in range(4):
            both.wait(30)
            history.append(user(f"{who} {n}"))
            answer, _ = ask(client, history, session)
            history.append(assistant(answer))
        asked.append(pairs(history))

    threads = [threading.Thread(target=run, args=(who,)) for who in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    upstream.otherwise = lambda request: Say()
    assert sorted(transcript(proxy, session)) == sorted(line for history in asked for line in history)
    for history in asked:  # each was answered to what it asked, and its own talk stands in its own order
        assert all(
            answer == ("assistant", f"To {question}.") for (_, question), answer in zip(history[::2], history[1::2], strict=True)
        )
        assert [line for line in transcript(proxy, session) if line in history] == history


def test_a_message_that_was_deleted_does_not_come_back_with_the_history(client, proxy, upstream):
    history, session = talk(client, upstream, [("my secret is 42", "I see."), ("hm", "Yes?")], next(names))
    first = proxy.http.get(f"/context/{session}/messages").json()["messages"][0]["id"]
    proxy.http.delete(f"/context/{session}/messages/{first}")
    grown, _ = talk(client, upstream, [("well", "Well.")], session, history)
    assert transcript(proxy, session) == pairs(grown[1:])
    assert "secret" not in str(upstream.requests[-1])


def test_forgetting_a_session_forgets_what_is_aside_too(client, proxy, upstream):
    history, session = talk(client, upstream, [("q", "Old.")], next(names))
    upstream.script = [Say(["New."])]
    ask(client, history[:-1], session)
    assert proxy.http.get(f"/context/{session}~aside").status_code == 200
    proxy.http.delete(f"/context/{session}")
    assert proxy.http.get(f"/context/{session}~aside").status_code == 404


def test_what_goes_aside_does_so_though_another_text_is_there_under_its_id(client, proxy, upstream):
    history, session = talk(client, upstream, [("q", "Old.")], next(names))
    old = proxy.http.get(f"/context/{session}/messages").json()["messages"][-1]
    taken = {"role": "assistant", "content": "Older.", "id": f"{old['id']}@{old['position']}"}
    proxy.http.post(f"/context/{session}~aside/messages", json=taken)
    upstream.script = [Say(["New."])]
    ask(client, history[:-1], session)
    assert transcript(proxy, f"{session}~aside") == [("assistant", "Older."), ("assistant", "Old.")]
    assert transcript(proxy, session) == [("user", "q"), ("assistant", "New.")]


def test_forgetting_an_owner_forgets_what_is_aside_of_a_session_that_became_theirs_later(client, proxy, upstream):
    history, session = talk(client, upstream, [("q", "Old.")], next(names))
    proxy.http.patch(f"/context/{session}", json={"retention": {"days": 3}})
    upstream.script = [Say(["New."])]
    ask(client, history[:-1], session)
    assert proxy.http.get(f"/context/{session}~aside").json()["settings"]["retention"] == {"days": 3}
    proxy.http.patch(f"/context/{session}", json={"owner": f"owner of {session}"})
    proxy.http.delete("/context", params={"owner": f"owner of {session}"})
    assert proxy.http.get(f"/context/{session}~aside").status_code == 404


def test_an_answer_does_not_bring_back_a_session_that_was_forgotten_meanwhile(client, proxy, upstream):
    session = next(names)
    upstream.script = [Say([lambda: proxy.http.delete(f"/context/{session}"), "Too late."])]
    assert ask(client, [user("Forget me.")], session)[0] == "Too late."
    assert proxy.http.get(f"/context/{session}").status_code == 404
