"""Work that has time is done aside, one piece after the other, and leaves the shared threads free."""

import asyncio
import threading

import pytest

from memsrv.threads import aside


async def test_what_waits_aside_takes_no_shared_thread():
    go, begun = threading.Event(), threading.Event()

    def long() -> str:
        begun.set()
        assert go.wait(30)
        return threading.current_thread().name

    waiting = [asyncio.create_task(aside(long)) for _ in range(50)]
    await asyncio.to_thread(begun.wait, 30)
    shared = await asyncio.gather(*(asyncio.to_thread(lambda: threading.current_thread().name) for _ in range(20)))
    assert not any(name.startswith("aside") for name in shared)
    go.set()
    assert set(await asyncio.gather(*waiting)) == {"aside_0"}


async def test_what_goes_wrong_aside_is_told():
    with pytest.raises(ValueError, match="no number"):
        await aside(int, "no number")
