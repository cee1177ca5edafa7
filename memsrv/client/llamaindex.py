"""memsrv for LlamaIndex: a memory block. `pip install '.[llamaindex]'`.

LlamaIndex keeps the newest messages itself; what leaves its queue is put into the session, and each prompt is preceded by what
the session has to say to the question. It may run every call in an event loop of its own, so the session is a blocking one,
asked in a thread.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field
from pydantic_core import to_json, to_jsonable_python

from memsrv.client.blocking import Session
from memsrv.client.refusals import NotFound
from memsrv.client.shapes import Mode

ROLES = {"chatbot": "assistant", "model": "assistant", "function": "tool"}
"""LlamaIndex's other names for roles."""


class MemsrvMemoryBlock(BaseMemoryBlock[list[ChatMessage]]):
    """A session's prompt for the newest question, as messages before those of LlamaIndex's own queue.

    `budget_tokens` should be what the `Memory` leaves beside its queue: (1 - chat_history_token_ratio) x token_limit.
    """

    name: str = Field(default="memsrv", description="Name of the block.")
    session: Session = Field(description="The session that what leaves the queue is put into.")
    budget_tokens: int = Field(default=2000, ge=1, description="Tokens that the block may take.")
    mode: Mode | None = Field(default=None, description="Mode of the prompt; default: the session's.")

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> list[ChatMessage]:
        query = next((message.content for message in reversed(messages or []) if message.role == "user"), None)
        return await asyncio.to_thread(self._asked, query)

    def _asked(self, query: str | None) -> list[ChatMessage]:
        try:
            prompt = self.session.prompt(query, budget=self.budget_tokens, mode=self.mode)
        except NotFound:  # nothing has left the queue yet
            return []
        return [read(message) for message in prompt.messages]

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if messages:
            await asyncio.to_thread(self.session.add, [written(message) for message in messages])


def written(message: ChatMessage) -> dict[str, Any]:
    """A message as memsrv takes it. A tool's result that does not tell its call is told by the assistant: nothing else would
    show it again."""
    own = message.additional_kwargs
    role = ROLES.get(message.role.value, message.role.value)
    call_id = own.get("tool_call_id")
    if role == "tool" and not call_id:
        role = "assistant"
    calls = tool_calls(message) if role == "assistant" else []
    payload = {"role": role, "content": content(message.blocks)}
    return payload | ({"tool_call_id": call_id} if role == "tool" else {}) | ({"tool_calls": calls} if calls else {})


def content(blocks: Sequence[Any]) -> str | list[dict[str, Any]] | None:
    """Text where there is nothing else, else parts; calls stand beside it."""
    shown = [block for block in blocks if not isinstance(block, ToolCallBlock)]
    if all(isinstance(block, TextBlock) for block in shown):
        return "\n".join(block.text for block in shown) if shown else None
    return [
        {"type": block.block_type, **block.model_dump(mode="json", exclude={"block_type"}, exclude_none=True)} for block in shown
    ]


def tool_calls(message: ChatMessage) -> list[dict[str, Any]]:
    """The calls of a message: its blocks', or those that older integrations keep beside it in OpenAI's shape."""
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if not blocks:
        kept: list[dict[str, Any]] = to_jsonable_python(message.additional_kwargs.get("tool_calls") or [], exclude_none=True)
        return kept
    return [call(block, number) for number, block in enumerate(blocks)]


def call(block: ToolCallBlock, number: int) -> dict[str, Any]:
    arguments = block.tool_kwargs if isinstance(block.tool_kwargs, str) else to_json(block.tool_kwargs).decode()
    function = {"name": block.tool_name, "arguments": arguments}
    return {"id": block.tool_call_id or f"call_{number}", "type": "function", "function": function}


def read(message: dict[str, Any]) -> ChatMessage:
    """A message of the prompt as LlamaIndex's; calls stand beside the text in OpenAI's shape, as its integrations read them."""
    beside = {name: message[name] for name in ("tool_calls", "tool_call_id", "name") if message.get(name)}
    said = message.get("content")
    if isinstance(said, list):  # a part that is no text is no block of LlamaIndex's
        said = "\n".join(part.get("text") or f"[{part['type']}]" for part in said)
    return ChatMessage(role=message["role"], content=said or "", additional_kwargs=beside)
