"""Writes pass the gate together, and not at all while a session is frozen."""

import asyncio

import pytest

from memsrv.errors import Busy
from memsrv.model import SessionKey
from memsrv.services.gates import Gates
from tests.patience import PATIENCE_S

KEY, OTHER = SessionKey("acme", "talk"), SessionKey("acme", "other")


async def turn() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_writes_to_a_frozen_session_wait_until_it_thaws() -> None:
    gates, done = Gates(), []

    async def write(key: SessionKey) -> None:
        async with gates.writing(key):
            done.append(key)

    async with gates.frozen(KEY):
        writes = [asyncio.create_task(write(key)) for key in (KEY, OTHER, KEY)]
        await turn()
        assert done == [OTHER]
    await asyncio.gather(*writes)
    assert done == [OTHER, KEY, KEY]


async def test_a_session_freezes_only_when_the_writes_in_hand_have_ended() -> None:
    gates, order = Gates(), []
    goes_on = asyncio.Event()

    async def write(name: str) -> None:
        async with gates.writing(KEY):
            order.append(f"{name} begins")
            await goes_on.wait()
            order.append(f"{name} ends")

    async def freeze() -> None:
        async with gates.frozen(KEY):
            order.append("frozen")

    tasks = [asyncio.create_task(write("a")), asyncio.create_task(write("b"))]
    await turn()
    tasks.append(asyncio.create_task(freeze()))
    await turn()
    tasks.append(asyncio.create_task(write("late")))
    await turn()
    assert order == ["a begins", "b begins"]
    goes_on.set()
    await asyncio.gather(*tasks)
    assert order[:5] == ["a begins", "b begins", "a ends", "b ends", "frozen"]
    assert order[5:] == ["late begins", "late ends"]


async def test_a_session_thaws_when_the_work_inside_fails() -> None:
    gates = Gates()
    with pytest.raises(ZeroDivisionError):
        async with gates.frozen(KEY):
            raise ZeroDivisionError
    async with asyncio.timeout(PATIENCE_S), gates.writing(KEY):
        pass


async def test_a_freezing_that_is_given_up_while_it_waits_thaws_too() -> None:
    gates = Gates()
    async with gates.writing(KEY):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), gates.frozen(KEY):
                raise AssertionError("a write is still in hand")
    async with asyncio.timeout(PATIENCE_S), gates.writing(KEY):
        pass


async def test_two_freezings_come_one_after_the_other() -> None:
    gates, inside = Gates(), 0

    async def freeze() -> None:
        nonlocal inside
        async with gates.frozen(KEY):
            inside += 1
            await turn()
            assert inside == 1
            inside -= 1

    await asyncio.gather(*(freeze() for _ in range(5)))


async def test_only_so_many_writes_wait_before_a_frozen_session() -> None:
    gates = Gates(most_waiting=2)

    async def write() -> None:
        async with gates.writing(KEY):
            pass

    async with gates.frozen(KEY):
        waiting = [asyncio.create_task(write()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await write()
    await asyncio.gather(*waiting)
    await write()
