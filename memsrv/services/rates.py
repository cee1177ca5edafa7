"""How often a key may ask: a bucket of tokens for each, filled as time goes by.

A bucket holds a minute's worth at most, so that a key that has rested may ask so many times at once.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MOST_BUCKETS = 10_000
"""Beyond, the one that was asked for longest ago goes; its key begins with a full one."""


@dataclass(slots=True)
class Bucket:
    """So many tokens at that moment."""

    tokens: float
    at: float


class Rates:
    """The buckets of the keys that asked last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def wait_s(self, key: str, per_minute: int) -> float:
        """Take a token of a key's bucket: 0; or, with none left, the seconds until there is one."""
        at = self._clock()
        bucket = self._buckets.pop(key, None) or Bucket(per_minute, at)
        bucket.tokens = min(per_minute, bucket.tokens + (at - bucket.at) * per_minute / 60)
        bucket.at = at
        self._buckets[key] = bucket
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            return (1 - bucket.tokens) * 60 / per_minute
        bucket.tokens -= 1
        return 0.0
