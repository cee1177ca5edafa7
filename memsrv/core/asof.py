"""A session as a request knows it: what came after its message, or left its line, is not there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memsrv.core.summary.taskstate import task_state_of
from memsrv.model import Message, Outset, PromptRequest, Recall, Session


def knows(request: PromptRequest, position: int) -> bool:
    """Whether the prompt may know of the message at a position."""
    return (request.upto is None or position <= request.upto) and position not in request.hidden


def first_unknown(request: PromptRequest, last_position: int) -> int:
    """The first position that the prompt must not know of; the one after the last, if it may know of all."""
    end = last_position if request.upto is None else min(request.upto, last_position)
    return min([end + 1, *request.hidden])


def as_of(outset: Outset, request: PromptRequest, newest: Sequence[Message], unknown: Iterable[Message], *, most: int) -> Outset:
    """What a prompt begins with: the `newest` messages up to the last that it may know of, at most `most`. A summary that tells
    of an `unknown` message, and a task state that one told, are not known yet."""
    meta, last = outset.session.meta, outset.session.last_position
    told = meta.task_state is not None and any(task_state_of(message.payload) == meta.task_state for message in unknown)
    session = replace(outset.session, meta=replace(meta, task_state=None)) if told else outset.session
    covers = outset.snapshot.covers_upto if outset.snapshot else 0
    snapshot = outset.snapshot if covers < first_unknown(request, last) else None
    opening = outset.opening if len(newest) == most else ()
    return replace(outset, session=session, snapshot=snapshot, newest=tuple(newest), opening=opening)


def said_by_then(hits: Iterable[Recall], session: Session, request: PromptRequest) -> tuple[Recall, ...]:
    """The hits without those of this session that the prompt must not know of, or that stand in a summary of such."""
    unknown = first_unknown(request, session.last_position)

    def known(hit: Recall) -> bool:
        chunk = hit.chunk
        if chunk.session_number != session.number:
            return True
        return chunk.position < unknown if chunk.summary_version is not None else knows(request, chunk.position)

    return tuple(hit for hit in hits if known(hit))
