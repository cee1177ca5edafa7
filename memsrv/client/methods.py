"""Turns a call's description into a method: the session's name is the handle's, and the handle's memory sends it.

One list of methods serves both kinds of handle: whose it is tells what a method gives, the answer or what is awaited for it.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from memsrv.client import calls
from memsrv.client.calls import Call
from memsrv.client.shapes import Page

if TYPE_CHECKING:  # they are built on this
    from memsrv.client.awaiting import AsyncSession
    from memsrv.client.blocking import Session

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
Described = TypeVar("Described")


class Method(Generic[P, Described]):
    """A descriptor's common part."""

    def __init__(self, make: Callable[Concatenate[str, P], Described]):
        self.make = make

    def bound(self, name: str, ask: Callable[[Described], R]) -> Callable[P, R]:
        """The call for the session of this name, asked at once."""

        def asked(*args: P.args, **options: P.kwargs) -> R:
            return ask(self.make(name, *args, **options))

        update_wrapper(asked, self.make)
        return asked


class Verb(Method[P, Call[T]]):
    """A call as a method of a session."""

    @overload
    def __get__(self, at: None, owner: type) -> Callable[Concatenate[str, P], Call[T]]: ...
    @overload
    def __get__(self, at: "Session", owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, at: "AsyncSession", owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, at: "Session | AsyncSession | None", owner: type) -> Any:
        return self.make if at is None else self.bound(at.name, at.memory.send)


class Walk(Method[P, Call[Page[T]]]):
    """A call for a page as a method of a session that walks over all pages."""

    @overload
    def __get__(self, at: None, owner: type) -> Callable[Concatenate[str, P], Call[Page[T]]]: ...
    @overload
    def __get__(self, at: "Session", owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, at: "AsyncSession", owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, at: "Session | AsyncSession | None", owner: type) -> Any:
        return self.make if at is None else self.bound(at.name, at.memory.walk)


class Methods:
    """What a session can be asked. What each method takes and gives is written in `memsrv.client.calls`."""

    add = Verb(calls.add)
    messages = Walk(calls.messages)
    message = Verb(calls.message)
    edit = Verb(calls.edit)
    delete = Verb(calls.delete)
    prompt = Verb(calls.prompt)
    recall = Verb(calls.recall)
    receipts = Verb(calls.receipts)
    usage = Verb(calls.usage)
    state = Verb(calls.state)
    put_settings = Verb(calls.put_settings)
    patch_settings = Verb(calls.patch_settings)
    meta = Verb(calls.meta)
    put_meta = Verb(calls.put_meta)
    patch_meta = Verb(calls.patch_meta)
    pins = Verb(calls.pins)
    pin = Verb(calls.pin)
    unpin = Verb(calls.unpin)
    suggested_pins = Verb(calls.suggested_pins)
    summaries = Walk(calls.summaries)
    summary = Verb(calls.summary)
    restore = Verb(calls.restore)
    compact = Verb(calls.compact)
    mode = Verb(calls.mode)
    switch_mode = Verb(calls.switch_mode)
    handoff = Verb(calls.handoff)
    forget = Verb(calls.forget)
