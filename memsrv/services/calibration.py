"""Let a provider's own count correct ours, model by model.

(1) What a tenant reports moves its own factors and no other's.
(2) A report is set against the very prompt it is about, as the receipt tells it in our uncorrected count, and counts once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from memsrv.core.prompt.calibration import Calibration, is_credible, reported
from memsrv.errors import ReceiptNotFound
from memsrv.model import Session
from memsrv.ports import Calibrations, Receipts, TokenCounter

MOST_RECEIPTS = 1000

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Usage:
    """A report, and what came of it: `total_tokens` is our count of the prompt, `counted` whether the report was
    believed, and the first about its prompt."""

    receipt: str
    model: str | None
    prompt_tokens: int
    total_tokens: int
    counted: bool
    calibration: Calibration


class Calibrator:
    """The factors of every tenant's models."""

    def __init__(self, calibrations: Calibrations, receipts: Receipts, counter: TokenCounter):
        self._calibrations, self._receipts, self._counter = calibrations, receipts, counter

    async def report(
        self, session: Session, prompt_tokens: int, *, receipt: str | None = None, model: str | None = None
    ) -> Usage:
        """Take what the provider counted for the prompt of this receipt, or for the newest one for this model. Raises
        ReceiptNotFound."""
        account = await self._account(session, receipt, model)
        total = int(account["total_tokens"])
        name = model if receipt is None else account["model"]
        counted = is_credible(total, prompt_tokens)
        if not counted:
            log.warning("usage_not_credible", session=session.number, counted=total, reported=prompt_tokens)
        counted = counted and await self._receipts.report(session.number, str(account["id"]))
        tenant = session.key.tenant
        if counted:
            now = await self._calibrations.change(tenant, name or "", lambda old: reported(old, total, prompt_tokens))
        else:
            now = await self._calibrations.find(tenant, name or "")
        return Usage(str(account["id"]), name, prompt_tokens, total, counted, now)

    async def _account(self, session: Session, receipt: str | None, model: str | None) -> Mapping[str, Any]:
        if receipt is not None:
            return await self._receipts.find(session.number, receipt)
        for account in await self._receipts.listing(session.number, MOST_RECEIPTS):
            if account["model"] == model or (account["model"] is None and self._counts_alike(model)):
                return account
        raise ReceiptNotFound(f"No prompt of this session that is still on record was made for the model {model!r}.")

    def _counts_alike(self, model: str | None) -> bool:
        """Whether a prompt that named no model was counted as one for this model is."""
        return self._counter.encoding_name(model) == self._counter.encoding_name(None)
