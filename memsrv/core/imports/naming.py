"""The session that a conversation of a source goes to: the same one each time."""

from memsrv.core.imports.drafts import LONGEST_NAME, Conversation, hashed, is_name
from memsrv.core.imports.own import SOURCE

KEPT_CHARS = 400


def session_of(found: Conversation, *, session: str = "", prefix: str = "") -> str:
    """The name that is asked for, or else the prefix and what the conversation is called by: its own name in memsrv's
    exports, `source:id` in others. A branch that is kept aside has `#branch-` and its id behind that."""
    own = found.id if found.source == SOURCE and not found.id.startswith("h_") else f"{found.source}:{found.id}"
    name = session or f"{prefix}{own}"
    name += f"#branch-{found.branch}" if found.branch else ""
    if is_name(name):
        return name
    plain = "".join(char for char in name if is_name(char))
    return f"{plain[:KEPT_CHARS]}~{hashed(name)}"[:LONGEST_NAME]
