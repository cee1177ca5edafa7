"""What providers counted, over SQL: one row for each tenant and model.

(1) A change is made on the newest row, with no other write in between: no report is lost to another.
(2) At most `KEPT` models a tenant: the name comes from clients. Beyond, those not heard of for longest go.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select

from memsrv.adapters.database import Database
from memsrv.adapters.schema import calibrations, now_micros
from memsrv.core.prompt.calibration import Calibration
from memsrv.core.text.content import without_nul

KEPT = 1000

# Asked for every prompt, so it is put together only once.
ROW = select(calibrations).where(calibrations.c.tenant == bindparam("tenant"), calibrations.c.model == bindparam("model"))


class SqlCalibrations:
    """The calibration of each tenant's models."""

    def __init__(self, database: Database):
        self._database = database

    async def find(self, tenant: str, model: str) -> Calibration:
        """What is known of a tenant's model; nothing, if nothing was reported."""
        return await self._database.read(lambda connection: calibration_of(row_of(connection, tenant, model)))

    async def change(self, tenant: str, model: str, change: Callable[[Calibration], Calibration]) -> Calibration:
        """Put what `change` makes of it in its place; `change` is pure and may run more than once."""

        def run(connection: Connection) -> Calibration:
            old = calibration_of(row_of(connection, tenant, model))
            new = change(old)
            if new != old:
                put(connection, tenant, model, new)
            return new

        return await self._database.write(run)


def names(tenant: str, model: str) -> dict[str, str]:
    return {"tenant": tenant, "model": without_nul(model)}


def row_of(connection: Connection, tenant: str, model: str) -> Row[Any] | None:
    return connection.execute(ROW, names(tenant, model)).one_or_none()


def put(connection: Connection, tenant: str, model: str, new: Calibration) -> None:
    """Write the row in place of the old one, and drop the oldest beyond the bound."""
    connection.execute(delete(calibrations).filter_by(**names(tenant, model)))
    values = {
        "counted_tokens": new.counted_tokens,
        "reported_tokens": new.reported_tokens,
        "percent": new.percent,
        "reports": new.reports,
        "changed_at": now_micros(),
    }
    connection.execute(insert(calibrations).values(names(tenant, model) | values))
    newest = select(calibrations.c.model).filter_by(tenant=tenant).order_by(calibrations.c.changed_at.desc())
    beyond = newest.offset(KEPT).limit(1_000_000)
    connection.execute(delete(calibrations).filter_by(tenant=tenant).where(calibrations.c.model.in_(beyond.scalar_subquery())))


def calibration_of(row: Row[Any] | None) -> Calibration:
    if row is None:
        return Calibration()
    return Calibration(row.counted_tokens, row.reported_tokens, row.percent, row.reports)
