"""memsrv for LangChain: a chat message history and a retriever. `pip install '.[langchain]'`.

Both take a `Session` of `memsrv.client`; LangChain runs their asynchronous forms in threads.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.retrievers import BaseRetriever

from memsrv.client.blocking import Session
from memsrv.client.refusals import NotFound
from memsrv.client.shapes import Message, Reach, Recall


class MemsrvChatMessageHistory(BaseChatMessageHistory):
    """A session as LangChain's history.

    `messages` is the transcript, whole. With a `budget` it is the prompt instead: profile, pins, summary, recalled pieces and
    recent messages within so many tokens. Messages that have an id are stored once, however often they are added.
    """

    def __init__(self, session: Session, *, budget: int | None = None):
        self._session = session
        self._budget = budget

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # LangChain declares an attribute and means either
        """Empty while there is no such session. Raises Refused."""
        try:
            if self._budget is None:
                return [read(message) for message in self._session.messages(page=1000)]
            return convert_to_messages(self._session.prompt(budget=self._budget).messages)
        except NotFound:
            return []

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store them, all or none. Raises Refused: Conflict where an id is taken by other content."""
        if messages:
            self._session.add([written(message) for message in messages])

    def clear(self) -> None:
        """Forget the session whole, its summaries, pins and settings too."""
        try:
            self._session.forget()
        except NotFound:
            return


class MemsrvRetriever(BaseRetriever):
    """Finds pieces of old messages: `k` at most, from this session or with `scope` "owner" from all of its owner's."""

    session: Session
    k: int = 8
    scope: Reach | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        try:
            return [document(hit) for hit in self.session.recall(query, k=self.k, scope=self.scope).recall]
        except NotFound:
            return []


def written(message: BaseMessage) -> dict[str, Any]:
    """A message as memsrv takes it: OpenAI's shape, with LangChain's id."""
    payload: dict[str, Any] = convert_to_openai_messages(message)
    return payload | ({"id": message.id} if message.id else {})


def read(message: Message) -> BaseMessage:
    """A stored message as LangChain's, with its id; when it was said stands in `additional_kwargs`."""
    (made,) = convert_to_messages([dict(message.payload)])
    made.id = message.id
    made.additional_kwargs["sent_at"] = message.sent_at.isoformat()
    return made


def document(hit: Recall) -> Document:
    """A recalled piece; who said it, where and when stands in its metadata."""
    metadata = {
        "message_id": hit.message_id,
        "position": hit.position,
        "summary_version": hit.summary_version,
        "session": hit.session,
        "role": hit.role,
        "name": hit.name,
        "sent_at": hit.sent_at.isoformat(),
        "score": hit.score,
    }
    return Document(page_content=hit.text, metadata=metadata)
