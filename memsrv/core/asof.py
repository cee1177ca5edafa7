"""A session as it was when a message had just been said: what came later is not there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memsrv.core.summary.taskstate import task_state_of
from memsrv.model import Message, Outset, Recall, Session


def as_of(outset: Outset, upto: int, newest: Sequence[Message], later: Iterable[Message], *, most: int) -> Outset:
    """What a prompt begins with, up to a position: of it the `newest` messages from there back, at most `most`. A summary that
    reaches beyond it and a task state that was told later are not known yet."""
    meta = outset.session.meta
    told_later = meta.task_state is not None and any(task_state_of(message.payload) == meta.task_state for message in later)
    session = replace(outset.session, meta=replace(meta, task_state=None)) if told_later else outset.session
    snapshot = outset.snapshot if outset.snapshot and outset.snapshot.covers_upto <= upto else None
    opening = outset.opening if len(newest) == most else ()
    return replace(outset, session=session, snapshot=snapshot, newest=tuple(newest), opening=opening)


def said_by_then(hits: Iterable[Recall], session: Session, upto: int | None) -> tuple[Recall, ...]:
    """The hits without those of this session that were said later, or stand in a summary of what was."""
    if upto is None:
        return tuple(hits)
    return tuple(hit for hit in hits if hit.chunk.session_number != session.number or hit.chunk.position <= upto)
