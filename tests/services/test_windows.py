"""The lists of models are followed in the background, and their failures are borne."""

import asyncio

import structlog

from memsrv.core.prompt.windows import Windows
from memsrv.errors import UpstreamDown
from memsrv.services.windows import ModelWindows
from tests.patience import PATIENCE_S, until

KNOWN = Windows(known={"big": 8_000})


class Listing:
    """A list of models that answers as it is told."""

    def __init__(self, name: str = "main", **windows: int):
        self.name = name
        self.windows_told = windows
        self.down = False
        self.asked = 0

    async def windows(self) -> dict[str, int]:
        self.asked += 1
        if self.down:
            raise UpstreamDown("The provider main answered 500.")
        return self.windows_told


async def test_before_a_list_has_answered_what_is_known_holds() -> None:
    windows = ModelWindows(KNOWN, [Listing(big=32_000)])
    assert (windows.of("big"), windows.of("small"), windows.of(None)) == (8_000, None, None)
    await windows.close()


async def test_what_the_lists_say_holds_when_they_have_answered() -> None:
    windows = ModelWindows(KNOWN, [Listing(big=32_000), Listing("other", big=16_000, small=4_000)])
    windows.start()
    await until(lambda: windows.of("small") == 4_000)
    await until(lambda: windows.of("big") == 16_000)
    await windows.close()


async def test_a_list_is_asked_for_again_and_what_it_said_last_holds() -> None:
    listing = Listing(big=32_000)
    windows = ModelWindows(KNOWN, [listing], every_s=0.001)
    windows.start()
    await until(lambda: windows.of("big") == 32_000)
    listing.windows_told = {"big": 64_000}
    await until(lambda: windows.of("big") == 64_000)
    listing.windows_told = {}
    await until(lambda: windows.of("big") == 8_000)
    await windows.close()


async def test_a_list_that_fails_leaves_what_was_known_and_is_told_once() -> None:
    listing = Listing(big=32_000)
    windows = ModelWindows(KNOWN, [listing], every_s=0.002, retry_s=0.001)
    with structlog.testing.capture_logs() as logs:
        windows.start()
        await until(lambda: windows.of("big") == 32_000)
        listing.down, seen = True, listing.asked
        await until(lambda: listing.asked > seen + 5)
        assert windows.of("big") == 32_000
        listing.down = False
        listing.windows_told = {"big": 64_000}
        await until(lambda: windows.of("big") == 64_000)
        await windows.close()
    assert [line["event"] for line in logs] == ["models_not_listed"]


async def test_one_list_that_fails_keeps_no_other_back() -> None:
    failing = Listing("failing")
    failing.down = True
    windows = ModelWindows(KNOWN, [failing, Listing(small=4_000)])
    windows.start()
    await until(lambda: windows.of("small") == 4_000)
    await windows.close()


async def test_a_list_that_hangs_does_not_hold_up_the_end() -> None:
    class Hanging(Listing):
        async def windows(self) -> dict[str, int]:
            await asyncio.sleep(3600)
            return {}

    windows = ModelWindows(KNOWN, [Hanging()])
    windows.start()
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_S):
        await windows.close()
