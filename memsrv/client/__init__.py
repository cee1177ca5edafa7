"""memsrv from Python, over HTTP: `Memory` for programs that wait, `AsyncMemory` for those with an event loop.

Nothing of the server is imported. What can be sent again without harm is sent again when the connection fails or the server
is busy; a message is never stored twice by it. What went wrong is raised as `Refused`, with the server's code and hint.
"""

from memsrv.client.awaiting import AsyncMemory, AsyncSession
from memsrv.client.blocking import Memory, Session
from memsrv.client.refusals import Busy, Conflict, Denied, Failed, Invalid, NotFound, Refused, Unreachable
from memsrv.client.shapes import (
    Appended,
    Chunk,
    Compacted,
    Coverage,
    Deleted,
    Forgotten,
    Handoff,
    Line,
    Listed,
    Message,
    Meta,
    ModeLog,
    Pin,
    Prompt,
    Recall,
    Recalls,
    Receipt,
    Region,
    State,
    Stored,
    Summary,
    SummaryDetail,
    Switch,
    Usage,
)

__all__ = [
    "Appended",
    "AsyncMemory",
    "AsyncSession",
    "Busy",
    "Chunk",
    "Compacted",
    "Conflict",
    "Coverage",
    "Deleted",
    "Denied",
    "Failed",
    "Forgotten",
    "Handoff",
    "Invalid",
    "Line",
    "Listed",
    "Memory",
    "Message",
    "Meta",
    "ModeLog",
    "NotFound",
    "Pin",
    "Prompt",
    "Recall",
    "Recalls",
    "Receipt",
    "Refused",
    "Region",
    "Session",
    "State",
    "Stored",
    "Summary",
    "SummaryDetail",
    "Switch",
    "Unreachable",
    "Usage",
]
