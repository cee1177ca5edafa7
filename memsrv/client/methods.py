"""Turns a call's description into a method: the session's name is the handle's, and the handle's memory sends it."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Described = TypeVar("Described")


class Method(Generic[P, Described]):
    """A descriptor's common part; each transport says what comes back."""

    def __init__(self, make: Callable[Concatenate[str, P], Described]):
        self.make = make

    def bound(self, name: str, ask: Callable[[Described], R]) -> Callable[P, R]:
        """The call for the session of this name, asked at once."""

        def asked(*args: P.args, **options: P.kwargs) -> R:
            return ask(self.make(name, *args, **options))

        update_wrapper(asked, self.make)
        return asked
