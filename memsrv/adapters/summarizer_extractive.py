"""ports.Summarizer without any model behind it: what was said, word for word, chosen by `core.summary.extract`."""

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from memsrv.adapters.beside import beside
from memsrv.core.summary.extract import extract
from memsrv.core.summary.learned import Learned
from memsrv.core.summary.summary import Count, Heading, Line, Summary, Task
from memsrv.errors import CannotStart

WEIGHTS = "weights.npz"


class ExtractiveSummarizer:
    """The built-in summarizer. It needs no embedder and no network. CannotStart if its weights cannot be used."""

    name = "built-in"

    def __init__(self, *, count: Count):
        self._count = count
        shipped_weights()

    async def summarise(self, task: Task) -> Summary:
        """The new summary, in place of `task.previous`."""
        return await beside(made, task, self._count)

    async def close(self) -> None:
        """Nothing is open."""


def made(task: Task, count: Count) -> Summary:
    """The summary, or, where nothing is worth keeping, where the talk stands."""
    found = extract(task, count=count, learned=shipped_weights())
    return found if found.lines else Summary(tuple(newest(task, count)), task.language)


@lru_cache(maxsize=1)
def shipped_weights() -> Learned:
    """The weights that ship with memsrv: inside an installed package, or beside it in a checkout."""
    package = Path(str(files("memsrv")))
    installed = package / "data" / "summary"
    folder = installed if installed.is_dir() else package.parent / "data" / "summary"
    try:
        with np.load(folder / WEIGHTS, allow_pickle=False) as arrays:
            return Learned.of(arrays)
    except (OSError, ValueError, KeyError) as error:
        raise CannotStart(
            f"The weights of the built-in summarizer cannot be used ({type(error).__name__}).", "Install memsrv again."
        ) from error


def newest(task: Task, count: Count) -> Iterator[Line]:
    """Where a talk of which nothing is worth keeping stands: what the user said last, or whoever did."""
    said = [source for source in task.said if source.role == "user"] or list(task.said)
    for source in reversed(said):
        text = " ".join(source.text.split())
        while text and count(text) > task.max_tokens // 2:
            text = text[: len(text) * 2 // 3].rstrip()
        if text:
            yield Line(Heading.STATE, text, source.position, source.sent_at)
            return
