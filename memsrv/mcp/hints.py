"""What a client of the tools can do about a refusal, where the server's hint speaks of routes and headers."""

from memsrv.client import Refused

HINTS = {
    "bad_session_name": "Use 1 to 512 characters of any text but control characters.",
    "body_too_large": "Send a shorter text.",
    "forbidden_scope": "The key of this connection may not do it; whoever set it up can make one that may.",
    "invalid_request": "Mend the argument that the message names.",
    "message_conflict": "Call remember without an id, or with another one.",
    "message_not_found": "Look the id up with recall: it tells the message_id.",
    "not_found": "The server may be older than this tool; whoever runs it can update it.",
    "pin_not_found": "Look the id up with list_pins.",
    "rate_limited": "Wait a minute, then call it again.",
    "session_not_found": "Check the name; a conversation begins with its first remember.",
    "store_unavailable": "Call it again in a moment; if that stays so, tell whoever runs the server.",
    "summarizer_down": "Read it again in a moment: every message is still there.",
    "summary_not_found": "Read the resource 'summaries': it tells the versions.",
    "too_many_waiting": "Wait a moment, then call it again.",
    "unauthorized": "Whoever set up this connection has to give it a key of the server.",
    "unknown_field": "The server may be older than this tool; whoever runs it can update it.",
}


def told(refused: Refused) -> str:
    """A refusal in words, with what to do about it."""
    return f"{refused.message} {HINTS.get(refused.code, refused.hint)}".strip()
