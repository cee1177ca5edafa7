"""Many inside, or one alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from memsrv.adapters.gate import Gate

LIMIT_S = 30


def test_many_are_inside_together() -> None:
    gate, together = Gate(), [Event(), Event()]

    def pass_through(own: Event, other: Event) -> bool:
        with gate.passed():
            own.set()
            return other.wait(LIMIT_S)

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(pass_through, together, together[::-1]))


def test_one_who_wants_to_be_alone_waits_for_those_inside_and_keeps_others_out() -> None:
    gate, inside, leave, alone, done = Gate(), Event(), Event(), Event(), Event()
    order: list[str] = []

    def stay() -> None:
        with gate.passed():
            inside.set()
            leave.wait(LIMIT_S)
            order.append("out")

    def be_alone() -> None:
        with gate.alone():
            order.append("alone")
            alone.set()
            done.wait(LIMIT_S)
            order.append("done")

    def come_later() -> None:
        with gate.passed():
            order.append("later")

    with ThreadPoolExecutor(3) as threads:
        threads.submit(stay)
        inside.wait(LIMIT_S)
        threads.submit(be_alone)
        leave.set()
        alone.wait(LIMIT_S)
        threads.submit(come_later)
        done.set()
    assert order == ["out", "alone", "done", "later"]


def test_who_fails_inside_or_alone_leaves_it_open() -> None:
    gate = Gate()
    for way in (gate.passed, gate.alone):
        try:
            with way():
                raise ValueError
        except ValueError:
            pass
    with gate.alone():
        pass
    with gate.passed():
        pass
