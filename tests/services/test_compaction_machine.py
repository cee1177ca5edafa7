"""Whatever is posted, edited, deleted, asked for, restored or restarted: no message is lost, told twice, or told as it no longer
reads, and when all is quiet nothing goes on."""

import asyncio
import tempfile
from functools import cache
from pathlib import Path
from shutil import copytree, rmtree

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from memsrv.adapters.database import Database
from memsrv.errors import SummaryStale
from tests.house import KEY, House, new
from tests.patience import PATIENCE_S


@cache
def empty_folder() -> Path:
    """A data folder with an empty database: copying it is cheaper than making one for each run."""

    async def make(folder: Path) -> None:
        await (await Database.open(folder)).close()

    folder = Path(tempfile.mkdtemp())
    asyncio.run(make(folder))
    return folder


class Machine(RuleBasedStateMachine):
    """A session beside a plain list of what it should hold: the number that each position tells, None where it was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.house = House(copytree(empty_folder(), self.folder / "store"))
        self.texts: list[int | None] = []
        self.edits = 0

    @initialize(count=st.integers(1, 30))
    def begin(self, count: int) -> None:
        self.runner.run(self.house.open())
        self.say(count)

    @rule(count=st.integers(1, 9))
    def say(self, count: int) -> None:
        self.texts += range(self.house.said + 1, self.house.said + count + 1)
        self.runner.run(self.house.say(count))

    def held(self) -> list[int]:
        return [at for at, text in enumerate(self.texts) if text is not None]

    @precondition(lambda self: self.held())
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from(self.held()))
        self.edits += 1
        self.texts[at] = 100_000 + self.edits
        self.runner.run(self.change(at, f"message {self.texts[at]}"))

    @precondition(lambda self: self.held())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from(self.held()))
        self.texts[at] = None
        self.runner.run(self.change(at, None))

    async def change(self, at: int, text: str | None) -> None:
        number, id = await self.house.number(), f"message{at + 1}"
        if text is None:
            await self.house.transcript.delete(number, id)
        else:
            await self.house.transcript.replace(number, id, lambda old: new(text, str(old.payload["role"])))
        self.house.compaction.notify(await self.house.sessions.find(KEY))

    @rule(keep=st.integers(0, 9))
    def compact(self, keep: int) -> None:
        self.runner.run(self.house.compaction.compact(KEY, keep=keep))

    @rule(back=st.integers(0, 3))
    def restore(self, back: int) -> None:
        async def run() -> None:
            versions = await self.house.snapshots.listing(await self.house.number(), limit=1000)
            if len(versions) > back:
                try:
                    await self.house.compaction.restore(KEY, versions[-1 - back].version)
                except SummaryStale:
                    assert versions[-1 - back].stale or not versions[-1 - back].text

        self.runner.run(run())

    @rule(grace_s=st.sampled_from([0.0, 3.0]))
    def restart(self, grace_s: float) -> None:
        async def run() -> None:
            await self.house.close(grace_s)
            await self.house.open()

        self.runner.run(run())

    @rule()
    def rest(self) -> None:
        self.runner.run(self.look())

    async def look(self) -> None:
        """When all is quiet, the newest summary and what comes after it are the whole session."""
        self.house.compaction.notify(await self.house.sessions.find(KEY))  # a restored version stands until something comes
        await self.quiet()
        versions = await self.house.settled()
        assert [one.version for one in versions] == list(range(1, len(versions) + 1))
        newest = await self.house.snapshots.latest(await self.house.number())
        covered = newest.covers_upto if newest else 0
        assert len([text for text in self.texts[covered:] if text is not None]) <= 13  # a user message and twelve
        if newest is not None and newest.summary is not None:
            told = [int(line.text.split()[1]) for line in newest.summary.lines]
            assert told == [text for text in self.texts[:covered] if text is not None]
        gone = {f"message {at + 1}" for at, text in enumerate(self.texts) if text is None}
        assert not any(line in gone for one in versions for line in one.text.replace("- ", "").splitlines())
        calls = len(self.house.listing.tasks)
        self.house.compaction.notify(await self.house.sessions.find(KEY))
        await self.quiet()
        assert len(self.house.listing.tasks) == calls

    async def quiet(self) -> None:
        """Until nothing is being done, nor waits for its next try."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await self.house.settled()
                standing = await self.house.compactions.standing(await self.house.number())
                if self.house.compaction.idle and not (standing and standing.failures):
                    return
                if standing and standing.failures:  # broken off by a restart: not waited for here
                    await self.house.compactions.settled(standing.session_number)
                    self.house.compaction.notify(await self.house.sessions.find(KEY))
                await asyncio.sleep(0.005)

    def teardown(self) -> None:
        async def run() -> None:
            await self.look()
            await self.house.close()

        try:
            if hasattr(self.house, "database"):
                self.runner.run(run())
        finally:
            self.runner.close()
            rmtree(self.folder)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=15, stateful_step_count=15)
