"""Work beside the server is done in another process, one piece after the other, and no end of that process goes unnoticed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memsrv.adapters.beside import Beside
from memsrv.errors import SummarizerDown
from tests.patience import until, wait_until


@pytest.fixture
def beside():
    made = Beside()
    yield made
    made.end()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        die()
    return "done"


def linger(mark: Path) -> None:
    mark.touch()
    time.sleep(600)


def tell(text: str) -> str:
    print(text)
    return text


async def test_work_is_done_in_another_process_and_the_next_in_the_same(beside):
    first, second = await beside(os.getpid), await beside(os.getpid)
    assert first == second != os.getpid()


async def test_what_the_work_prints_stays_out_of_its_answer(beside, capfd):
    assert [await beside(tell, text) for text in ("one", "two")] == ["one", "two"]
    assert capfd.readouterr().out == ""


async def test_many_pieces_wait_for_each_other(beside):
    assert await asyncio.gather(*(beside(divmod, n, 7) for n in range(50))) == [divmod(n, 7) for n in range(50)]


async def test_what_goes_wrong_is_told_without_its_text(beside):
    with pytest.raises(SummarizerDown) as told:
        await beside(int, "a secret")
    assert "ValueError" in told.value.message
    assert "secret" not in told.value.message
    assert await beside(int, "7") == 7


async def test_a_process_that_died_is_started_again_for_the_same_work(beside, tmp_path):
    assert await beside(die_once, tmp_path / "died") == "done"


async def test_work_that_kills_its_process_twice_is_given_up(beside):
    with pytest.raises(SummarizerDown):
        await beside(die)
    assert await beside(int, "7") == 7


async def test_work_in_hand_is_broken_off_at_the_end(beside, tmp_path):
    waiting = asyncio.create_task(beside(linger, tmp_path / "begun"))
    await until((tmp_path / "begun").exists)
    beside.break_off()
    with pytest.raises(SummarizerDown):
        await waiting
    assert await beside(int, "7") == 7


async def test_a_file_in_the_folder_of_the_server_takes_no_modules_place(beside, tmp_path, monkeypatch):
    (tmp_path / "queue.py").write_text("raise SystemExit('not the module that was meant')")
    monkeypatch.chdir(tmp_path)
    assert await beside(int, "7") == 7


def test_the_process_ends_with_a_server_that_is_killed():
    asks = "import asyncio, os; from memsrv.adapters.beside import beside; print(asyncio.run(beside(os.getpid)), flush=True)"
    server = subprocess.Popen([sys.executable, "-c", f"{asks}; import time; time.sleep(600)"], stdout=subprocess.PIPE)
    assert server.stdout is not None
    helper = int(server.stdout.readline())
    server.kill()
    server.communicate()
    wait_until(lambda: not running(helper))  # or it goes on alone


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and ") Z " in stat.read_text())
