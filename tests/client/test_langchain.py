"""LangChain's own classes over a session of the real server."""

import pytest
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from memsrv.client import Conflict
from memsrv.client.langchain import MemsrvChatMessageHistory, MemsrvRetriever

CALL = {"name": "look", "args": {"where": "pot"}, "id": "c1", "type": "tool_call"}


def test_a_history_gives_back_what_was_added(memory):
    history = MemsrvChatMessageHistory(memory.session("lc history"))
    assert history.messages == []
    said = [
        SystemMessage("Be brief."),
        HumanMessage("Where is the key?", id="h1"),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage("under it", tool_call_id="c1"),
        AIMessage("Under the pot."),
    ]
    history.add_messages(said)
    read = history.messages
    assert [type(message) for message in read] == [type(message) for message in said]
    assert [message.content for message in read] == [message.content for message in said]
    assert read[1].id == "h1"
    assert read[2].tool_calls == [CALL]
    assert read[3].tool_call_id == "c1"
    history.clear()
    history.clear()
    assert history.messages == []


def test_a_message_with_an_id_is_stored_once(memory):
    history = MemsrvChatMessageHistory(memory.session("lc once"))
    for _ in range(2):
        history.add_message(HumanMessage("hello", id="h1"))
    assert len(history.messages) == 1
    with pytest.raises(Conflict):
        history.add_message(HumanMessage("other", id="h1"))


def test_pictures_are_kept_in_place(memory):
    history = MemsrvChatMessageHistory(memory.session("lc parts"))
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]
    history.add_message(HumanMessage(parts))
    assert history.messages[0].content == parts


def test_with_a_budget_a_history_is_the_prompt(memory):
    session = memory.session("lc budget")
    session.put_meta(system_prompt="Be brief.")
    history = MemsrvChatMessageHistory(session, budget=200)
    history.add_messages([HumanMessage(f"Remark {n}: the walk along the river was long.") for n in range(40)])
    shown = history.messages
    assert "Be brief." in shown[0].content
    assert 0 < len(shown) < 40


async def test_a_history_works_in_an_event_loop(memory):
    history = MemsrvChatMessageHistory(memory.session("lc async"))
    await history.aadd_messages([HumanMessage("hello")])
    assert [message.content for message in await history.aget_messages()] == ["hello"]
    await history.aclear()
    assert await history.aget_messages() == []


@pytest.mark.parametrize("budget", [None, 2000])
def test_a_chain_remembers_through_it(memory, budget):
    session = memory.session(f"lc chain {budget}")
    template = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    model = RunnableLambda(lambda prompt: AIMessage(f"I was shown {len(prompt.to_messages())} messages."))
    with pytest.warns(LangChainDeprecationWarning):
        chain = RunnableWithMessageHistory(
            template | model,
            lambda session_id: MemsrvChatMessageHistory(session, budget=budget),
            input_messages_key="question",
            history_messages_key="history",
        )
    for question in ("first?", "second?"):
        answer = chain.invoke({"question": question}, {"configurable": {"session_id": "any"}})
    assert answer.content == "I was shown 3 messages."
    assert [message.text for message in session.messages()][::2] == ["first?", "second?"]


async def test_a_retriever_finds_pieces_with_their_origin(memory):
    session = memory.session("lc found")
    assert MemsrvRetriever(session=memory.session("lc nobody")).invoke("key") == []
    session.add(["My spare key is under the blue flowerpot.", "The lease ends in May."], wait_ms=30_000)
    retriever = MemsrvRetriever(session=session, k=1)
    for found in (retriever.invoke("where is the key?"), await retriever.ainvoke("where is the key?")):
        assert [document.page_content for document in found] == ["My spare key is under the blue flowerpot."]
        assert found[0].metadata["role"] == "user"
        assert found[0].metadata["score"] > 0
