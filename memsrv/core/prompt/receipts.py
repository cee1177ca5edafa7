"""A prompt's account as JSON: what the HTTP answer shows and what is kept."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from memsrv.model import Payload, Prompt, Recall, Region

MOST_NOTES = 20
ID_CHARS = 24


def receipt_body(prompt: Prompt) -> dict[str, Any]:
    """The receipt as api.md shows it; `considered` only if it was asked for."""
    receipt = prompt.receipt
    summary = receipt.summary
    body: dict[str, Any] = {
        "id": receipt.id,
        "regions": [region_body(region) for region in receipt.regions],
        "recall": [recall_body(hit) for hit in receipt.recall],
        "summary": {"version": summary.version, "covers_upto": summary.covers_upto} if summary else None,
        "degraded": list(receipt.degraded),
        "factor": receipt.factor,
        "advice": [dict(entry) for entry in receipt.advice],
    }
    if receipt.considered is not None:
        body["considered"] = [dict(note) for note in receipt.considered]
    return body


def account_body(prompt: Prompt) -> dict[str, Any]:
    """What is kept of a prompt: its receipt, and what it was made for."""
    made_for = {"mode": prompt.mode.value, "model": prompt.model}
    return receipt_body(prompt) | made_for | {"budget_tokens": prompt.budget_tokens, "total_tokens": prompt.total_tokens}


def region_body(region: Region) -> dict[str, Any]:
    return {
        "name": region.name.value,
        "tokens": region.tokens,
        "limit_tokens": region.limit_tokens,
        "items": region.items,
        "dropped": [dict(note) for note in region.dropped],
    }


def recall_body(hit: Recall) -> dict[str, Any]:
    """One recalled piece: where it comes from, who said it and when, and what spoke for it. A passage of a summary comes from
    no message."""
    chunk = hit.chunk
    of_message = chunk.summary_version is None
    return {
        "message_id": chunk.message_id if of_message else None,
        "position": chunk.position if of_message else None,
        "summary_version": chunk.summary_version,
        "session": chunk.session,
        "role": chunk.role,
        "name": chunk.name,
        "sent_at": written(chunk.sent_at),
        "score": hit.score,
        "signals": dict(hit.signals),
        "text": chunk.text,
    }


def written(at: datetime) -> str:
    """A time in UTC as RFC 3339."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def bounded(notes: Sequence[Mapping[str, Any]], *, most: int = MOST_NOTES) -> tuple[Mapping[str, Any], ...]:
    """The first notes, and how many more there are."""
    if len(notes) <= most:
        return tuple(notes)
    return (*notes[:most], {"what": "more", "count": len(notes) - most, "why": "this list is bounded"})


def receipt_id(session: str, asked: Mapping[str, Any], messages: Sequence[Payload]) -> str:
    """An id that the same prompt gets again: a hash of what was asked and what was answered."""
    content = json.dumps([session, asked, messages], ensure_ascii=True, sort_keys=True, default=str)
    return "r" + sha256(content.encode("ascii")).hexdigest()[:ID_CHARS]
