"""What every store of calibrations keeps."""

import asyncio
from dataclasses import replace

from memsrv.core.prompt.calibration import Calibration

FOUND = Calibration(1000, 1300, 130, 4)


def put(new: Calibration):
    return lambda old: new


def one_more(old: Calibration) -> Calibration:
    return replace(old, reports=old.reports + 1)


async def test_a_model_that_nothing_was_reported_for_has_a_neutral_calibration(stores):
    assert await stores.calibrations.find("acme", "gpt-4o") == Calibration()


async def test_what_was_changed_is_found_again(stores):
    assert await stores.calibrations.change("acme", "gpt-4o", put(FOUND)) == FOUND
    assert await stores.calibrations.find("acme", "gpt-4o") == FOUND
    assert await stores.calibrations.change("acme", "gpt-4o", one_more) == replace(FOUND, reports=5)


async def test_neither_another_tenant_nor_another_model_is_moved(stores):
    await stores.calibrations.change("acme", "gpt-4o", put(FOUND))
    assert await stores.calibrations.find("evil", "gpt-4o") == Calibration()
    assert await stores.calibrations.find("acme", "gpt-4") == Calibration()
    assert await stores.calibrations.find("acme", "") == Calibration()


async def test_no_report_is_lost_to_another_at_the_same_time(stores):
    await asyncio.gather(*(stores.calibrations.change("acme", "m", one_more) for _ in range(20)))
    assert (await stores.calibrations.find("acme", "m")).reports == 20


async def test_a_change_that_changes_nothing_leaves_all_as_it_was(stores):
    await stores.calibrations.change("acme", "m", lambda old: old)
    assert await stores.calibrations.find("acme", "m") == Calibration()


async def test_a_model_may_have_any_name(stores):
    for name in ("", "名\0", "m" * 512, "100%'\""):
        await stores.calibrations.change("acme", name, put(replace(FOUND, reports=len(name))))
    for name in ("", "名\0", "m" * 512, "100%'\""):
        assert (await stores.calibrations.find("acme", name)).reports == len(name)
