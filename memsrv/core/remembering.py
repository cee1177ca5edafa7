"""What is kept to save work is kept within a bound of memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Generic, TypeVar

LONGEST = 1000
"""Characters of a text that is kept; hardly a sentence has more."""

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def remembered(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Keep the answers for the last `most` texts of at most `LONGEST` characters; a longer one is read anew each time."""

    def over(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = lru_cache(most)(function)

        @wraps(function)
        def asked(text: str) -> T:
            return kept(text) if len(text) <= LONGEST else function(text)

        return asked

    return over


@dataclass(frozen=True, slots=True, eq=False)
class Same(Generic[V]):
    """A value that is known again by being the very same one, to remember what was made of what cannot be a key itself."""

    value: V

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


class Latest(dict[K, V]):
    """A mapping of the keys that were set last, `most` of them."""

    def __init__(self, most: int):
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]
