"""LlamaIndex's own memory with a block over a session of the real server."""

from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.memory import Memory as IndexMemory
from llama_index.core.storage.chat_store.sql import MessageStatus
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from memsrv.client.llamaindex import MemsrvMemoryBlock


def said(role, text, **beside):
    return ChatMessage(role=role, content=text, additional_kwargs=beside)


def index_memory(folder, block, **options):
    """LlamaIndex's memory; its queue's connections are closed after each use."""
    engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'queue.db'}", poolclass=NullPool)
    return IndexMemory.from_defaults(async_engine=engine, memory_blocks=[block], **options)


async def test_what_leaves_the_queue_is_recalled_for_the_next_question(memory, tmp_path):
    session = memory.session("li queue")
    block = MemsrvMemoryBlock(session=session, budget_tokens=800)
    ours = index_memory(tmp_path, block, token_limit=300, token_flush_size=100, chat_history_token_ratio=0.5)
    await ours.aput_messages([said("user", "My spare key is under the blue flowerpot."), said("assistant", "Noted.")])
    assert [message.content for message in await ours.aget()] == ["My spare key is under the blue flowerpot.", "Noted."]
    for n in range(30):
        role = ("user", "assistant")[n % 2]
        await ours.aput(said(role, f"Remark {n}: the walk along the river was long and the weather was fine."))
    await ours.aput(said("user", "Where is the spare key?"))
    shown = await ours.aget()
    assert shown[-1].content == "Where is the spare key?"
    assert any("blue flowerpot" in (message.content or "") for message in shown)
    queue = await ours.aget_all(MessageStatus.ACTIVE)
    assert session.state().messages + len(queue) == 33


async def test_every_kind_of_message_is_stored(memory):
    session = memory.session("li kinds")
    call = ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"where": "pot"})
    older = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    await MemsrvMemoryBlock(session=session).aput(
        [
            ChatMessage(role="user", blocks=[TextBlock(text="see"), ImageBlock(url="https://x.example/a.png")]),
            ChatMessage(role="assistant", blocks=[call]),
            said("tool", "under it", tool_call_id="c1"),
            said("chatbot", "", tool_calls=[older]),
            said("function", "a result without its call"),
        ],
        session_id="theirs",
    )
    read = [message.payload for message in session.messages()]
    assert [payload["role"] for payload in read] == ["user", "assistant", "tool", "assistant", "assistant"]
    assert [part["type"] for part in read[0]["content"]] == ["text", "image"]
    assert read[1]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"where":"pot"}'}
    assert read[2]["tool_call_id"] == "c1"
    assert read[3]["tool_calls"] == [older]


async def test_a_block_of_a_session_that_is_not_there_is_empty(memory):
    assert await MemsrvMemoryBlock(session=memory.session("li nobody")).aget([said("user", "key?")]) == []


async def test_a_prompt_with_calls_comes_back_in_one_piece(memory):
    session = memory.session("li calls")
    block = MemsrvMemoryBlock(session=session, mode="window")
    call = ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={})
    await block.aput([said("user", "key?"), ChatMessage(role="assistant", blocks=[call]), said("tool", "pot", tool_call_id="c1")])
    shown = await block.aget()
    assert [message.role.value for message in shown] == ["user", "assistant", "tool"]
    assert shown[1].additional_kwargs["tool_calls"][0]["id"] == "c1"
    assert shown[2].additional_kwargs["tool_call_id"] == "c1"


def test_it_works_without_an_event_loop_too(memory, tmp_path):
    block = MemsrvMemoryBlock(session=memory.session("li blocking"))
    ours = index_memory(tmp_path, block, token_limit=4000)
    for _ in range(2):
        ours.put(said("user", "hello"))
        assert ours.get()[-1].content == "hello"
