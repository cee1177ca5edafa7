"""How often a key may ask."""

from memsrv.services import rates
from memsrv.services.rates import Rates


class Clock:
    at = 0.0

    def __call__(self) -> float:
        return self.at


def test_a_minutes_worth_may_be_asked_at_once_and_then_as_time_goes_by():
    clock = Clock()
    buckets = Rates(clock)
    assert [buckets.wait_s("a", 3) for _ in range(4)] == [0, 0, 0, 20]
    clock.at = 10
    assert buckets.wait_s("a", 3) == 10
    clock.at = 20
    assert [buckets.wait_s("a", 3), buckets.wait_s("a", 3)] == [0, 20]


def test_a_key_does_not_use_up_anothers():
    buckets = Rates(Clock())
    assert [buckets.wait_s(key, 1) for key in "ab"] == [0, 0]


def test_rest_fills_no_more_than_a_minutes_worth():
    clock = Clock()
    buckets = Rates(clock)
    buckets.wait_s("a", 2)
    clock.at = 10_000
    assert [buckets.wait_s("a", 2) for _ in range(3)] == [0, 0, 30]


def test_no_more_buckets_are_held_than_the_bound():
    buckets = Rates(Clock())
    for n in range(rates.MOST_BUCKETS + 10):
        buckets.wait_s(str(n), 5)
    assert len(buckets._buckets) == rates.MOST_BUCKETS
