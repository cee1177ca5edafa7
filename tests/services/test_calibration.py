"""A report is set against the prompt that it is about."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from memsrv.core.prompt.calibration import Calibration
from memsrv.errors import ReceiptNotFound
from memsrv.model import Meta, Session, SessionKey
from memsrv.services.calibration import Calibrator
from tests.fakes_prompt import START


class Stored:
    """Calibrations and receipts in memory."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Calibration] = {}
        self.accounts: list[Mapping[str, Any]] = []
        self.reported: set[str] = set()

    async def find(self, *key: Any) -> Any:
        if isinstance(key[0], str):
            return self.known.get((key[0], key[1]), Calibration())
        found = [one for one in self.accounts if one["id"] == key[1]]
        if not found:
            raise ReceiptNotFound("none")
        return found[0]

    def percent(self, tenant: str, model: str | None) -> int:
        return self.known.get((tenant, model or ""), Calibration()).percent

    async def change(self, tenant: str, model: str, change: Callable[[Calibration], Calibration]) -> Calibration:
        self.known[tenant, model] = change(await self.find(tenant, model))
        return self.known[tenant, model]

    async def report(self, session_number: int, id: str) -> bool:
        first = id not in self.reported
        self.reported.add(id)
        return first

    async def listing(self, session_number: int, limit: int) -> list[Mapping[str, Any]]:
        return self.accounts[:limit]

    async def add(self, *args: Any) -> None:
        raise AssertionError("a report adds no receipt")


class TwoEncodings:
    """A counter that counts the models whose name begins with `old` otherwise."""

    def encoding_name(self, model: str | None) -> str:
        return "old" if (model or "").startswith("old") else "usual"


def session(tenant: str = "acme") -> Session:
    return Session(7, SessionKey(tenant, "talk"), None, {}, Meta(), 1, START, START)


def made(*accounts: tuple[str, str | None, int]) -> tuple[Calibrator, Stored]:
    """A calibrator over receipts, the newest first: id, model, tokens."""
    stored = Stored()
    stored.accounts = [{"id": id, "model": model, "total_tokens": total} for id, model, total in accounts]
    return Calibrator(stored, stored, TwoEncodings()), stored  # type: ignore[arg-type]


async def test_a_receipt_tells_the_model_and_our_count() -> None:
    calibrator, stored = made(("r2", "other", 50), ("r1", "gpt-4o", 1000))
    usage = await calibrator.report(session(), 1500, receipt="r1")
    assert (usage.model, usage.total_tokens, usage.counted, usage.calibration.factor) == ("gpt-4o", 1000, True, 1.5)
    assert stored.percent("acme", "gpt-4o") == 150


async def test_the_newest_prompt_for_a_model_is_meant_where_no_receipt_is_named() -> None:
    calibrator, _ = made(("r3", "other", 10), ("r2", "gpt-4o", 1000), ("r1", "gpt-4o", 500))
    assert (await calibrator.report(session(), 1200, model="gpt-4o")).receipt == "r2"


async def test_a_prompt_that_named_no_model_can_stand_for_one_that_is_counted_alike() -> None:
    calibrator, stored = made(("r1", None, 1000))
    usage = await calibrator.report(session(), 1200, model="gpt-4o")
    assert (usage.receipt, usage.model) == ("r1", "gpt-4o")
    assert (stored.percent("acme", "gpt-4o"), stored.percent("acme", None)) == (120, 100)


async def test_it_cannot_for_one_that_is_counted_otherwise() -> None:
    calibrator, stored = made(("r1", None, 1000))
    with pytest.raises(ReceiptNotFound):
        await calibrator.report(session(), 1200, model="old-model")
    assert stored.known == {}


async def test_a_prompt_that_named_no_model_is_calibrated_under_no_name() -> None:
    calibrator, stored = made(("r1", None, 1000))
    assert (await calibrator.report(session(), 1200, receipt="r1")).model is None
    assert (stored.percent("acme", None), stored.percent("acme", "gpt-4o")) == (120, 100)


async def test_the_reports_of_a_tenant_move_no_factor_of_another() -> None:
    calibrator, stored = made(("r1", "gpt-4o", 1000))
    await calibrator.report(session("evil"), 4000, receipt="r1")
    assert stored.percent("acme", "gpt-4o") == 100


async def test_a_report_that_cannot_be_believed_is_answered_and_changes_nothing() -> None:
    calibrator, _ = made(("r1", "gpt-4o", 1000))
    usage = await calibrator.report(session(), 1_000_000, receipt="r1")
    assert (usage.counted, usage.calibration) == (False, Calibration())


async def test_a_prompt_counts_once_however_often_it_is_reported() -> None:
    calibrator, _ = made(("r1", "gpt-4o", 1000))
    reports = [await calibrator.report(session(), 1500, receipt="r1") for _ in range(3)]
    assert [one.counted for one in reports] == [True, False, False]
    assert reports[-1].calibration == reports[0].calibration


async def test_a_report_that_is_not_believed_leaves_room_for_the_right_one() -> None:
    calibrator, _ = made(("r1", "gpt-4o", 1000))
    assert not (await calibrator.report(session(), 1_000_000, receipt="r1")).counted
    assert (await calibrator.report(session(), 1500, receipt="r1")).counted
