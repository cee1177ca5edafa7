"""Who summarises, what is kept of it, and how far it got."""

from typing import Protocol

from memsrv.model import NewSnapshot, Snapshot, Standing, Summary, Task


class Summarizer(Protocol):
    """Folds what was said into a summary."""

    @property
    def name(self) -> str:
        """What stands in a snapshot's `made_by`."""
        ...

    async def summarise(self, task: Task) -> Summary:
        """One new summary from the previous one and the messages of the task. Raises SummarizerDown."""
        ...

    async def close(self) -> None: ...


class Snapshots(Protocol):
    """Stored summaries: immutable, but that they turn stale, and lose their text when a message they cover is deleted."""

    async def latest(self, session_number: int) -> Snapshot | None:
        """The newest snapshot that is not stale."""
        ...

    async def get(self, session_number: int, version: int) -> Snapshot:
        """One version, else SummaryNotFound."""
        ...

    async def listing(self, session_number: int, *, after: int = 0, limit: int) -> list[Snapshot]:
        """Snapshots by version."""
        ...

    async def add(self, session_number: int, new: NewSnapshot) -> Snapshot:
        """Store a new version. SummaryConflict, and nothing is stored, if a message was edited or deleted since the session's
        `rewrites` were read, or if its base is no longer the newest sound version. SessionNotFound if the session is gone.
        Its passages are stored with it, to be indexed; they go when it turns stale."""
        ...

    async def restore(self, session_number: int, version: int) -> Snapshot:
        """Store the content and reach of a version as a new one; SummaryStale if it is stale or was emptied, else
        SummaryNotFound if there is none."""
        ...


class Compactions(Protocol):
    """How far sessions are summarised, and which compactions did not come to an end."""

    async def standing(self, session_number: int) -> Standing | None:
        """How one session stands; None if it was forgotten."""
        ...

    async def behind(self, *, after: int, limit: int) -> list[Standing]:
        """Sessions numbered above `after`, in order, that go on beyond their newest sound snapshot."""
        ...

    async def begin(self, session_number: int) -> None:
        """Note that a compaction is tried. Each note makes the next try wait twice as long; `Snapshots.add` takes them away."""
        ...

    async def failed(self, session_number: int, reason: str) -> None:
        """Say why the try that was begun failed."""
        ...

    async def settled(self, session_number: int) -> None:
        """Take the notes away: there is nothing to do any more."""
        ...
