"""Receipts as JSON."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from memsrv.core.prompt.receipts import MOST_NOTES, account_body, bounded, recall_body, receipt_body, receipt_id
from memsrv.model import Mode, Prompt, Receipt, Region, RegionName, Snapshot
from tests.fakes_prompt import START, hit, message

PIECE = hit(message(7, {"role": "user", "content": "old", "name": "Ada"}))
RECEIPT = Receipt(
    id="r1",
    regions=(Region(RegionName.RECALL, 20, 30, 1, ({"what": "recalled piece", "why": "budget"},)),),
    recall=(PIECE,),
    summary=Snapshot(2, 5, "text", START),
    degraded=("recall",),
)
PROMPT = Prompt("s", Mode.HYBRID, None, 100, 40, (), RECEIPT)


def test_a_recalled_passage_of_a_summary_names_its_version_and_no_message() -> None:
    passage = replace(PIECE, chunk=replace(PIECE.chunk, message_id="", position=0, role="summary", name=None, summary_version=3))
    body = recall_body(passage)
    assert (body["message_id"], body["position"], body["summary_version"], body["role"]) == (None, None, 3, "summary")


def test_a_receipt_has_the_shape_of_the_contract() -> None:
    body = receipt_body(PROMPT)
    assert list(body) == ["id", "regions", "recall", "summary", "degraded", "factor", "advice"]
    assert body["regions"] == [
        {"name": "recall", "tokens": 20, "limit_tokens": 30, "items": 1, "dropped": [{"what": "recalled piece", "why": "budget"}]}
    ]
    assert body["summary"] == {"version": 2, "covers_upto": 5}
    assert body["recall"][0] == {
        "message_id": "m7",
        "position": 7,
        "summary_version": None,
        "session": "s",
        "role": "user",
        "name": "Ada",
        "sent_at": "2026-01-10T09:07:00Z",
        "score": 0.8,
        "signals": {"dense": 0.8},
        "text": "old",
    }


def test_what_is_kept_says_what_it_was_for() -> None:
    body = account_body(PROMPT)
    assert json.loads(json.dumps(body)) == body
    assert (body["mode"], body["budget_tokens"], body["total_tokens"]) == ("hybrid", 100, 40)


def test_a_long_list_of_notes_says_how_much_more_there_is() -> None:
    notes = bounded([{"position": n} for n in range(100)])
    assert len(notes) == MOST_NOTES + 1
    assert notes[-1]["count"] == 100 - MOST_NOTES


def test_an_id_depends_on_what_was_asked_and_answered_only() -> None:
    one = receipt_id("s", {"mode": "full"}, [{"role": "user", "content": "\ud83d"}])
    assert one == receipt_id("s", {"mode": "full"}, [{"role": "user", "content": "\ud83d"}])
    assert one != receipt_id("s", {"mode": "window"}, [{"role": "user", "content": "\ud83d"}])
    assert one != receipt_id("t", {"mode": "full", "at": datetime(2026, 1, 1, tzinfo=UTC)}, [])
