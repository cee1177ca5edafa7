"""The nouns. Frozen, parsed once at the edge, known to every other room; a module for each subject, every name here.

Times are aware datetimes in UTC. A `payload` is an OpenAI-shaped message as the client sent it, kept verbatim; its
`text` is what can be searched in it (see `core.text.content`). Database numbers (`session.number`, `message.number`,
`chunk.number`) never leave the server; clients know sessions and messages by name and id.
"""

from memsrv.model.access import AccessKey, KeyScope
from memsrv.model.chunks import SUMMARY, Chunk, NewChunk, Span, StoredChunk
from memsrv.model.index import Generation, PendingChunk, Said, Scope
from memsrv.model.messages import Appended, Draft, Message, NewMessage, Payload, Stored, StoredMessage, Stretch
from memsrv.model.modes import Mode, Switch
from memsrv.model.prompts import Format, Outset, Prompt, PromptRequest, Receipt, Region, RegionName, Wanted
from memsrv.model.recalls import CosineScale, Reach, Recall, Recalls
from memsrv.model.sessions import Forgotten, Meta, Pin, Session, SessionCounts, SessionKey
from memsrv.model.snapshots import NewPassage, NewSnapshot, Snapshot, Standing, Trigger
from memsrv.model.summaries import Heading, Language, Line, Source, Summary, Task

__all__ = [
    "SUMMARY",
    "AccessKey",
    "Appended",
    "Chunk",
    "CosineScale",
    "Draft",
    "Forgotten",
    "Format",
    "Generation",
    "Heading",
    "KeyScope",
    "Language",
    "Line",
    "Message",
    "Meta",
    "Mode",
    "NewChunk",
    "NewMessage",
    "NewPassage",
    "NewSnapshot",
    "Outset",
    "Payload",
    "PendingChunk",
    "Pin",
    "Prompt",
    "PromptRequest",
    "Reach",
    "Recall",
    "Recalls",
    "Receipt",
    "Region",
    "RegionName",
    "Said",
    "Scope",
    "Session",
    "SessionCounts",
    "SessionKey",
    "Snapshot",
    "Source",
    "Span",
    "Standing",
    "Stored",
    "StoredChunk",
    "StoredMessage",
    "Stretch",
    "Summary",
    "Switch",
    "Task",
    "Trigger",
    "Wanted",
]
