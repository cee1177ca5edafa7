"""Small exports of every format, written for the tests, and how they are read."""

import json
from typing import Any

from memsrv.core.imports.formats import conversations
from memsrv.core.imports.splitting import values
from memsrv.web.schemas import MessageIn


def read(data, *, branches=False):
    """What a JSON file of this value holds."""
    return list(conversations(values([json.dumps(data).encode()]), branches=branches))


def read_lines(rows, *, branches=False):
    """What JSON Lines of these values hold."""
    body = "".join(json.dumps(row) + "\n" for row in rows)
    return list(conversations(values([body.encode()]), branches=branches))


def accepted(draft):
    """The message as POST /context/{session}/messages takes it; raises if it does not."""
    at = draft.sent_at.isoformat() if draft.sent_at else None
    return MessageIn.model_validate({**draft.payload, "id": draft.id, "sent_at": at, "metadata": draft.metadata})


def node(id: str, parent: str | None, role: str, text: str, *, at: float | None = None, **more: Any) -> dict[str, Any]:
    """A node of a ChatGPT mapping; `content`, `metadata`, `recipient`, `author` replace what is usual."""
    message = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "metadata": {},
        "recipient": "all",
    } | more
    return {"id": id, "message": message, "parent": parent, "children": []}


def chatgpt(*nodes: dict[str, Any], current: str | None = None, **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation of a root without a message and these nodes."""
    root = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {one["id"]: one for one in (root, *nodes)}
    about = {"title": "Bread", "create_time": 1700000000.5, "conversation_id": "c-1", "current_node": current}
    return about | {"mapping": mapping} | more


CHATGPT = chatgpt(
    node("u1", "root", "user", "How long do I knead?", at=1700000001.0),
    node("a1", "u1", "assistant", "Ten minutes.", at=1700000002.0, metadata={"model_slug": "gpt-x"}),
    node("u2", "a1", "user", "And rye?", at=1700000003.0),
    node("a2", "u2", "assistant", "Five minutes.", at=1700000004.0),
    node("a2b", "u2", "assistant", "Hardly at all.", at=1700000005.0),
    current="a2",
)
CLAUDE = {
    "uuid": "k-1",
    "name": "Tea",
    "created_at": "2025-01-01T00:00:00Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "created_at": "2025-01-01T00:00:01Z",
            "text": "Which tea calms?",
            "content": [{"type": "text", "text": "Which tea calms?"}],
            "attachments": [{"file_name": "list.txt", "extracted_content": "lime blossom"}],
            "files": [{"file_name": "cup.png"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "created_at": "2025-01-01T00:00:02Z",
            "text": "",
            "content": [
                {"type": "thinking", "thinking": "They want to sleep."},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "name": "search", "input": {"q": "tea"}},
                {"type": "tool_result", "content": [{"type": "text", "text": "lime"}]},
                {"type": "text", "text": "Lime blossom."},
            ],
            "attachments": [],
            "files": [],
        },
    ],
}
LIBRECHAT = {
    "conversationId": "l-1",
    "title": "Bees",
    "recursive": True,
    "messages": [
        {
            "messageId": "b1",
            "parentMessageId": "00000000-0000-0000-0000-000000000000",
            "isCreatedByUser": True,
            "sender": "User",
            "text": "When do bees swarm?",
            "createdAt": "2024-05-01T10:00:00.000Z",
            "children": [
                {
                    "messageId": "b2",
                    "parentMessageId": "b1",
                    "isCreatedByUser": False,
                    "sender": "GPT",
                    "model": "gpt-x",
                    "text": "In May.",
                    "createdAt": "2024-05-01T10:00:05.000Z",
                    "children": [],
                },
                {
                    "messageId": "b3",
                    "parentMessageId": "b1",
                    "isCreatedByUser": False,
                    "sender": "GPT",
                    "text": "",
                    "content": [{"type": "think", "think": "Early."}, {"type": "text", "text": {"value": "In May and June."}}],
                    "createdAt": "2024-05-01T10:01:00.000Z",
                    "children": [],
                },
            ],
        }
    ],
}
CHATBOTUI = {
    "version": 4,
    "history": [
        {
            "id": "h-1",
            "name": "Knots",
            "messages": [{"role": "user", "content": "Which knot?"}, {"role": "assistant", "content": "A bowline."}],
            "model": {"id": "gpt-x"},
            "prompt": "Be brief.",
            "folderId": None,
        }
    ],
    "folders": [],
    "prompts": [],
}
OPENWEBUI = {
    "id": "w-1",
    "user_id": "u",
    "title": "Rain",
    "chat": {
        "title": "Rain",
        "history": {
            "currentId": "r2",
            "messages": {
                "r1": {"id": "r1", "parentId": None, "role": "user", "content": "Will it rain?", "timestamp": 1700000000},
                "r2": {
                    "id": "r2",
                    "parentId": "r1",
                    "role": "assistant",
                    "model": "small",
                    "content": '<details type="reasoning" done="true"><summary>Thought</summary>&gt; Clouds.</details>\nYes.',
                    "timestamp": 1700000010,
                },
                "r3": {"id": "r3", "parentId": "r1", "role": "assistant", "content": "No.", "timestamp": 1700000020},
            },
        },
    },
}
GROK = {
    "conversations": [
        {
            "conversation": {"id": "g-1", "title": "Stars", "create_time": "2025-06-21T19:28:21.177720Z"},
            "responses": [
                {
                    "response": {
                        "_id": "s2",
                        "sender": "ASSISTANT",
                        "message": 'Sirius.<grok:render type="x"><a/></grok:render>',
                        "create_time": {"$date": {"$numberLong": "1750534105000"}},
                        "model": "grok-x",
                    }
                },
                {
                    "response": {
                        "_id": "s1",
                        "sender": "human",
                        "message": "Which star is brightest?",
                        "create_time": {"$date": {"$numberLong": "1750534101000"}},
                    }
                },
            ],
        }
    ],
    "projects": [],
}
OPENAI = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {"url": "https://x.test/i"}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
        {"role": "assistant", "content": "Seven.", "timestamp": 1700000000},
    ]
}
TAVERN = [
    {"user_name": "Ada", "character_name": "Aqua", "create_date": "2023-6-3 @17h 5m 3s 123ms", "chat_metadata": {}},
    {
        "name": "Aqua",
        "is_user": False,
        "send_date": "June 3, 2023 5:05pm",
        "mes": "Welcome!",
        "swipe_id": 0,
        "swipes": ["Welcome!", "Hi!"],
    },
    {"name": "Ada", "is_user": True, "send_date": "2023-6-3 @17h 6m 3s 123ms", "mes": "Hello.", "extra": {}},
    {"name": "System", "is_user": False, "is_system": True, "mes": "A note.", "extra": {"type": "comment"}},
    {"name": "Aqua", "is_user": False, "is_system": True, "send_date": 1685812000000, "mes": "A hidden answer.", "extra": {}},
]
OWN = [
    {
        "memsrv": 1,
        "session": "anna",
        "owner": "o",
        "settings": {"mode": "window"},
        "meta": {"goal": "rest"},
        "pins": [],
        "messages": 2,
    },
    {"id": "m-1", "position": 1, "role": "user", "content": "Hello", "sent_at": "2026-03-01T09:30:00Z", "metadata": None},
    {"id": "m-2", "position": 2, "role": "assistant", "content": "", "sent_at": "2026-03-01T09:31:00Z", "metadata": {"k": [1]}},
]
FILES = {
    "chatgpt": [CHATGPT],
    "claude": [CLAUDE],
    "librechat": LIBRECHAT,
    "chatbotui": CHATBOTUI,
    "openwebui": [OPENWEBUI],
    "grok": GROK,
    "openai": OPENAI,
}
LINES = {"sillytavern": TAVERN, "memsrv": OWN, "openai": OPENAI["messages"]}
