"""Work that holds the interpreter for long, in one process beside the server: writing summaries and checking them.

In a thread of the server it would take the interpreter from every request that comes meanwhile, a millisecond or more at each
of the request's own steps.

(1) The process is started when there is work, ends when there was none for a while (but on Windows, which cannot wait for a pipe
    so long), and ends with the server, however that ends.
(2) One piece of work is done at a time, the others wait in order.
(3) A process that died is started again once for the work that it had in hand; then SummarizerDown.

What is given and what comes back are pickled, so work is a function of a module, and so is what it is given.
"""

import asyncio
import atexit
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import IO, Any, ParamSpec, TypeVar

from memsrv.errors import SummarizerDown

P = ParamSpec("P")
T = TypeVar("T")

NICENESS = 15  # beyond the server's own: after what is embedded, but not starved by whatever else the machine does
IDLE_S = 60.0
LAST_WAIT_S = 5.0
ENDED = (OSError, EOFError, pickle.UnpicklingError)
"""What is raised when the process has ended, between two pieces of work or amid an answer."""


class Beside:
    """The process, seen from the server."""

    def __init__(self) -> None:
        self._turns = ThreadPoolExecutor(1, "beside")
        self._process: subprocess.Popen[bytes] | None = None
        self._in_hand = self._broken_off = False
        atexit.register(self.end)

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the work comes to. Raises SummarizerDown, also in the place of what the work raises."""
        loop = asyncio.get_running_loop()
        found: T = await loop.run_in_executor(self._turns, self._done, pickle.dumps(partial(work, *args, **kwargs)))
        return found

    def break_off(self) -> None:
        """End what is in hand, if anything is: SummarizerDown for who waits for it."""
        self._broken_off = self._in_hand  # first, so that a process that is being started is ended as well
        if self._broken_off and (process := self._process) is not None:
            process.kill()

    def _done(self, work: bytes) -> Any:
        self._broken_off = False
        self._in_hand = True
        try:
            try:
                well, found = self._told(work)
            except ENDED:
                self.end()
                if self._broken_off:
                    raise
                well, found = self._told(work)
        except ENDED as error:
            self.end()
            raise SummarizerDown("The process that makes summaries ended before it was done.") from error
        finally:
            self._in_hand = False
        if not well:
            raise SummarizerDown(f"A summary could not be made ({found}).")
        return found

    def _told(self, work: bytes) -> tuple[bool, Any]:
        """Whether the work went well, and what it came to or the kind of its error. Raises one of ENDED."""
        if self._process is not None and self._process.poll() is not None:  # it had nothing to do
            self.end()
        process = self._process or self._start()
        if self._broken_off:
            raise EOFError
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(work)
        process.stdin.flush()
        answer: tuple[bool, Any] = pickle.load(process.stdout)  # noqa: S301 - our own process
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-P", "-m", __name__],  # -P: a file in the folder that the server was started in is no module
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        return self._process

    def end(self) -> None:
        """End the process; the next work starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError, subprocess.TimeoutExpired):  # what could not be written any more
                process.communicate(timeout=LAST_WAIT_S)


beside = Beside()
"""The one of this process."""


def work_on(asked: IO[bytes], told: IO[bytes]) -> None:
    """Do what is asked, until nothing is for IDLE_S or nobody is there who could."""
    while waited_for(asked):
        try:
            work = pickle.load(asked)  # noqa: S301 - the server's own words
        except EOFError:
            return
        try:
            answer = pickle.dumps((True, work()))
        except Exception as error:  # noqa: BLE001 - told to the server, which decides; its text may be what was said
            answer = pickle.dumps((False, type(error).__name__))
        told.write(answer)
        told.flush()


def waited_for(asked: IO[bytes]) -> bool:
    """Whether something is asked, or nobody can ask any more, before IDLE_S have gone by."""
    if sys.platform == "win32":
        return True
    from select import select

    return bool(select([asked], [], [], IDLE_S)[0])


def main() -> None:
    """The process itself: asked by its standard input, it tells by its standard output, which prints don't reach."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the server, which lets its work come to an end
    if sys.platform != "win32":
        os.nice(NICENESS)
    told = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(BrokenPipeError):
        work_on(sys.stdin.buffer, told)


if __name__ == "__main__":
    main()
