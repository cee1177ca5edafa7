"""How much may still be said in a session before a look at its transcript is due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memsrv.core.prompt.policy import Policy
from memsrv.core.summary.compacting import Ground, certainly_within, payload_bound
from memsrv.model import NewMessage, Session


@dataclass(frozen=True, slots=True)
class Calm:
    """What may still be added to a session before anything can be due, so that most appends need no look at the transcript."""

    settings: Mapping[str, Any]
    rewrites: int
    last_position: int
    messages_left: int
    tokens_left: int

    def after(self, session: Session, added: Sequence[NewMessage]) -> "Calm | None":
        """What is left after an append, or None if a look is due: also if anything else happened meanwhile."""
        created = session.last_position - self.last_position
        if (session.rewrites, session.settings) != (self.rewrites, self.settings) or not 0 <= created <= len(added):
            return None
        tokens = sum(payload_bound(message.payload) for message in added)
        left = replace(
            self,
            last_position=session.last_position,
            messages_left=self.messages_left - created,
            tokens_left=self.tokens_left - tokens,
        )
        return left if left.messages_left >= 0 and left.tokens_left >= 0 else None


def calm_at(session: Session, policy: Policy, ground: Ground) -> Calm:
    """How calm a session is that holds this beside its summary."""
    most = certainly_within(policy)
    used = sum(payload_bound(message.payload) for message in ground.messages)
    last = max(ground.last_position, session.last_position)
    return Calm(session.settings, session.rewrites, last, most.messages - len(ground.messages), most.tokens - used)
