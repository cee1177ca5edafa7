"""What every store of receipts and switches keeps."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memsrv.errors import ReceiptNotFound, SessionNotFound
from memsrv.model import Mode, SessionKey

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KEPT = 5  # of the fixture


async def test_receipts_come_newest_first_whether_written_or_not(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    for i in range(3):
        await stores.receipts.add(number, f"r{i}", {"n": i}, quotes=(), made_at=NOW)
    assert [one["n"] for one in await stores.receipts.listing(number, 9)] == [2, 1, 0]
    await stores.drained()
    assert [one["n"] for one in await stores.receipts.listing(number, 9)] == [2, 1, 0]
    await stores.receipts.add(number, "r3", {"n": 3}, quotes=(), made_at=NOW)
    assert [one["n"] for one in await stores.receipts.listing(number, 2)] == [3, 2]


@pytest.mark.parametrize("written_between", [False, True])
async def test_a_receipt_of_the_same_id_replaces_the_first(stores, key, written_between):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    await stores.receipts.add(number, "r", {"n": 1}, quotes=(), made_at=NOW)
    if written_between:
        await stores.drained()
    await stores.receipts.add(number, "r", {"n": 2}, quotes=(), made_at=NOW)
    assert await stores.receipts.listing(number, 9) == [{"n": 2}]
    await stores.drained()
    assert await stores.receipts.listing(number, 9) == [{"n": 2}]


async def test_only_the_newest_receipts_are_kept(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    for i in range(KEPT + 3):
        await stores.receipts.add(number, f"r{i}", {"n": i}, quotes=(), made_at=NOW)
    newest = list(range(KEPT + 2, 2, -1))
    assert [one["n"] for one in await stores.receipts.listing(number, 99)] == newest
    await stores.drained()
    assert [one["n"] for one in await stores.receipts.listing(number, 99)] == newest


async def test_a_receipt_is_found_by_its_id_in_its_session_only(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    await stores.receipts.add(number, "r", {"n": 1}, quotes=(), made_at=NOW)
    assert await stores.receipts.find(number, "r") == {"n": 1}
    await stores.drained()
    assert await stores.receipts.find(number, "r") == {"n": 1}
    for missing in ((number + 1, "r"), (number, "q"), (number, "r\0")):
        with pytest.raises(ReceiptNotFound):
            await stores.receipts.find(*missing)


async def test_receipts_of_one_session_are_not_listed_in_another(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    await stores.receipts.add(number, "r", {"n": 1}, quotes=(), made_at=NOW)
    assert await stores.receipts.listing(number + 1, 9) == []


async def test_a_receipt_of_a_forgotten_session_goes_nowhere_and_takes_none_with_it(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    await stores.receipts.add(number + 99, "lost", {}, quotes=(), made_at=NOW)
    await stores.receipts.add(number, "r", {"n": 1}, quotes=(), made_at=NOW)
    await stores.drained()
    assert await stores.receipts.listing(number + 99, 9) == []
    assert await stores.receipts.listing(number, 9) == [{"n": 1}]


@pytest.mark.parametrize("change", ["edit", "delete", "forget"])
async def test_a_receipt_on_its_way_is_dropped_when_what_it_quotes_goes(stores, key, message, change):
    session = (await stores.transcript.append(key, [message("secret", id="x")])).session
    other = (await stores.transcript.append(SessionKey("acme", "other"), [message("b", id="y")])).session
    quoted = [chunk.number for chunk in await stores.transcript.chunks_of(await stores.transcript.message(session.number, "x"))]
    if change == "edit":
        await stores.transcript.replace(session.number, "x", lambda _: message("new"))
    elif change == "delete":
        await stores.transcript.delete(session.number, "x")
    else:
        await stores.sessions.forget(key)
    await stores.receipts.add(other.number, "lost", {"n": 0}, quotes=quoted, made_at=NOW)
    await stores.receipts.add(other.number, "kept", {"n": 1}, quotes=(), made_at=NOW)
    await stores.drained()
    assert await stores.receipts.listing(other.number, 9) == [{"n": 1}]


async def test_a_receipt_that_is_written_goes_with_what_it_quotes(stores, key, message):
    number = (await stores.transcript.append(key, [message("a", id="x"), message("b", id="y")])).session.number
    of_x, of_y = [await stores.transcript.chunks_of(await stores.transcript.message(number, id)) for id in "xy"]
    await stores.receipts.add(number, "r", {"n": 1}, quotes=[of_x[0].number, of_x[0].number], made_at=NOW)
    await stores.receipts.add(number, "s", {"n": 2}, quotes=[of_y[0].number], made_at=NOW)
    await stores.drained()
    await stores.transcript.delete(number, "x")
    assert await stores.receipts.listing(number, 9) == [{"n": 2}]


# --- switches -------------------------------------------------------------------------------------------------------


async def test_a_switch_changes_the_mode_and_nothing_else_and_is_on_the_record(stores, key):
    session = await stores.sessions.save(key, lambda old: replace(old, settings={"window": {"size": 4}}), create=True)
    first = await stores.switches.add(key, Mode.HYBRID, Mode.WINDOW, "cheap\0er", None)
    second = await stores.switches.add(key, Mode.WINDOW, Mode.FULL, "", 7)
    assert (await stores.sessions.find(key)).settings == {"window": {"size": 4}, "mode": "full"}
    assert await stores.switches.listing(session.number, limit=9) == [second, first]
    assert await stores.switches.listing(session.number, limit=1) == [second]
    assert (first.before, first.after, first.reason, first.version) == (Mode.HYBRID, Mode.WINDOW, "cheap\u2400er", None)


async def test_a_session_that_is_not_there_cannot_be_switched(stores, key):
    with pytest.raises(SessionNotFound):
        await stores.switches.add(key, Mode.HYBRID, Mode.WINDOW, "", None)


async def test_switches_go_with_their_session(stores, key):
    session = await stores.sessions.save(key, lambda old: old, create=True)
    await stores.switches.add(key, Mode.HYBRID, Mode.WINDOW, "", None)
    await stores.sessions.forget(key)
    assert await stores.switches.listing(session.number, limit=9) == []


async def test_a_receipt_is_reported_on_once_also_while_it_is_on_its_way(stores, key):
    number = (await stores.sessions.save(key, lambda old: old, create=True)).number
    await stores.receipts.add(number, "r1", {}, quotes=(), made_at=datetime.now(UTC))
    assert await stores.receipts.report(number, "r1")
    assert not await stores.receipts.report(number, "r1")
    assert not await stores.receipts.report(number, "nobody's")
    await stores.receipts.add(number, "r1", {}, quotes=(), made_at=datetime.now(UTC))  # the same prompt, asked for again
    assert await stores.receipts.report(number, "r1")
