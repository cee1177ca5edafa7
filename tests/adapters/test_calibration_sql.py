"""Calibrations outlive the server, and their number is bounded."""

from memsrv.adapters.calibration_sql import KEPT, SqlCalibrations, put
from memsrv.adapters.database import Database
from memsrv.core.prompt.calibration import Calibration, reported


async def test_a_factor_is_there_after_a_restart(tmp_path):
    for expected in (2.0, 3.0):
        database = await Database.open(tmp_path)
        now = await SqlCalibrations(database).change(
            "acme", "m", lambda old: reported(old, 1000, 2000 if not old.reports else 4000)
        )
        assert now.factor == expected
        await database.close()


async def test_the_models_that_were_not_heard_of_for_longest_go(tmp_path):
    database = await Database.open(tmp_path)
    store = SqlCalibrations(database)
    await store.change("other", "m", lambda _: Calibration(reports=1))
    for begin in range(0, KEPT + 2, 501):
        await database.write(
            lambda connection, begin=begin: [
                put(connection, "acme", f"m{n}", Calibration(reports=n + 1)) for n in range(begin, begin + 501)
            ]
        )
    assert [(await store.find("acme", f"m{n}")).reports for n in (0, 1, 2, KEPT + 1)] == [0, 0, 3, KEPT + 2]
    assert (await store.find("other", "m")).reports == 1
    await database.close()
