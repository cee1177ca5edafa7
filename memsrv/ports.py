"""What the services need from the world, in our nouns. Each sentence here is a test in `tests/contracts/`.

Every method that touches stored data names a tenant or a session number that was looked up inside one. Errors of a
vendor come out as `memsrv.errors`: a store as StoreDown or DiskFull, an index as IndexDown, an embedder as EmbedderDown.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np

from memsrv.core.prompt.calibration import Calibration
from memsrv.model import (
    AccessKey,
    Appended,
    Chunk,
    CosineScale,
    Forgotten,
    Generation,
    Message,
    Mode,
    NewChunk,
    NewMessage,
    NewSnapshot,
    Outset,
    PendingChunk,
    Pin,
    Scope,
    Session,
    SessionCounts,
    SessionKey,
    Snapshot,
    Standing,
    StoredMessage,
    Stretch,
    Summary,
    Switch,
    Task,
)


class Transcript(Protocol):
    """The truth: every message, verbatim, in order. Durable when a call returns."""

    async def append(
        self, key: SessionKey, messages: Sequence[NewMessage], *, idempotency_key: str | None = None, request_digest: str = ""
    ) -> Appended:
        """Store all messages or none; the session comes into being if it is new.

        Positions are gap-free in order of arrival, also under concurrent writers. A message without an id is given
        one. A known id with the same digest answers `created=False`; with another digest MessageConflict. A known
        idempotency key with the same digest answers as it did the first time, but that nothing is created now; with
        another IdempotencyConflict. An empty key is none.
        Chunks and their terms are stored, and the message marked unindexed, in the same transaction; so is the task state
        that the newest of the new messages tells, as the session's.
        """
        ...

    async def messages(
        self, session_number: int, *, after: int = 0, before: int | None = None, limit: int, newest_first: bool = False
    ) -> list[Message]:
        """Messages with after < position < before, in order of position (or from the newest back)."""
        ...

    async def message(self, session_number: int, id: str) -> Message:
        """One message by its id, else MessageNotFound."""
        ...

    async def found(self, session_number: int, ids: Sequence[str]) -> dict[str, Message]:
        """Those of these messages that are there, by id."""
        ...

    async def replace(self, session_number: int, id: str, revise: Callable[[Message], NewMessage]) -> Message:
        """Put other content in a message's place: same id and position, chunks made anew, unindexed again, the
        snapshots that covered it stale and without their text, the receipts that quoted it gone. Read, revised and stored
        with no other write in between; `revise` is pure, may run more than once, and changes nothing if it raises. A task
        state that is no longer told goes; none is set. Those whose vectors hold some of the old content are unindexed."""
        ...

    async def delete(self, session_number: int, id: str, *, dry_run: bool = False) -> Forgotten:
        """Take a message out, with its chunks; its vectors follow, the snapshots that covered it turn stale and lose their text,
        the receipts that quote it go, and so does the task state if it is the one that the message told. The positions of
        the others stay; those whose vectors hold some of it are unindexed. A request that stored it is refused when it comes
        again (IdempotencyConflict). With `dry_run` it is only counted, as in what follows."""
        ...

    async def erase(self, session_number: int, stretch: Stretch, *, dry_run: bool = False) -> Forgotten:
        """Take out every message of a stretch, all at once, each as `delete` does; what went."""
        ...

    async def uncut(self, limit: int) -> list[Message]:
        """Messages of any session whose chunks another chunker made, oldest first."""
        ...

    async def recut(self, cut: Sequence[tuple[Message, Sequence[NewChunk]]]) -> None:
        """Give messages that were `uncut` other chunks; they are unindexed then. One that was edited or deleted since is left
        alone. Summaries and receipts stay: nothing was said otherwise."""
        ...

    async def chunks(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Chunks by number, passages of snapshots too; those that are gone or out of the scope are left out."""
        ...

    async def chunks_of(self, message: Message) -> list[Chunk]:
        """A message's chunks, in order."""
        ...


class Sessions(Protocol):
    """Sessions with their settings, meta and pins."""

    async def find(self, key: SessionKey) -> Session:
        """The session, else SessionNotFound."""
        ...

    async def save(
        self,
        key: SessionKey,
        change: Callable[[Session], Session],
        *,
        create: bool,
        mode_of: Callable[[Session], Mode] | None = None,
    ) -> Session:
        """Store the owner, settings and meta that `change` gives the session; a new one is made if `create`, else
        SessionNotFound. Read, changed and stored with no other write in between; `change` is pure, may run more than
        once, and changes nothing if it raises. Where `mode_of` tells another mode after it, that goes on the record of
        switches. The session's aside follows its owner and its retention."""
        ...

    async def listing(self, tenant: str, *, owner: str | None, after: str | None, limit: int) -> list[Session]:
        """Sessions of a tenant (and owner) in order of name, after the given name."""
        ...

    async def changed_last(self, *, limit: int) -> list[tuple[Scope, int]]:
        """The own scopes of those sessions of all tenants that hold chunks and were changed last, the latest first, each with
        the number of its chunks."""
        ...

    async def every(self, *, after: int, limit: int) -> list[Session]:
        """Sessions of every tenant numbered above `after`, in order of number: for the server's own rounds."""
        ...

    async def counts(self, session_number: int) -> SessionCounts:
        """What the session holds."""
        ...

    async def pending_index(self, session_number: int) -> int:
        """How many of the session's chunks wait for their vectors, as `counts` tells it, without counting the others."""
        ...

    async def forget(self, key: SessionKey, *, dry_run: bool = False) -> Forgotten:
        """Delete the session and all that hangs on it; its vectors follow; what went. A missing one is SessionNotFound. With
        `dry_run` it is only counted."""
        ...

    async def forget_owner(self, tenant: str, owner: str, *, dry_run: bool = False) -> Forgotten:
        """Delete every session of an owner in the tenant, all at once; what went, nothing if there is none."""
        ...

    async def scope(self, session: Session, *, owner_wide: bool) -> Scope:
        """The session's own scope, or that of all sessions of its owner (alone if it has none)."""
        ...

    async def pins(self, session_number: int) -> list[Pin]:
        """Pins, oldest first."""
        ...

    async def add_pin(self, session_number: int, text: str, kind: str) -> Pin:
        """Pin a text; pinning the same text again answers the pin that is there."""
        ...

    async def remove_pin(self, session_number: int, id: str) -> None:
        """Take a pin out, else PinNotFound."""
        ...


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


class Switches(Protocol):
    """Changes of a session's mode, on the record."""

    async def add(self, key: SessionKey, before: Mode, after: Mode, reason: str, version: int | None) -> Switch:
        """Set the session's mode and note why, both or neither. SessionNotFound if it is gone."""
        ...

    async def listing(self, session_number: int, *, limit: int) -> list[Switch]:
        """The newest first."""
        ...


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


class Outsets(Protocol):
    """What prompts begin with."""

    async def read(self, key: SessionKey, *, newest: Callable[[Session], int], opening: int) -> Outset:
        """One committed state of a session: itself, its pins, its newest sound snapshot, as many of its newest messages as
        `newest` says for it, and if there are more, its first `opening` ones (before those). Else SessionNotFound."""
        ...


class Receipts(Protocol):
    """The accounts of the last prompts, a bounded number a session; each goes with the messages that it quotes."""

    async def add(
        self, session_number: int, id: str, body: Mapping[str, Any], *, quotes: Iterable[int], made_at: datetime
    ) -> None:
        """Keep a receipt; the same id again replaces it; the oldest beyond the bound go. May be written a moment later.
        `quotes` are the numbers of the chunks whose text is in it; one that was edited, deleted or forgotten meanwhile
        takes the receipt with it, also later."""
        ...

    async def find(self, session_number: int, id: str) -> Mapping[str, Any]:
        """One by its id, also while it is on its way to the store, else ReceiptNotFound."""
        ...

    async def report(self, session_number: int, id: str) -> bool:
        """Note that the provider's count of this prompt came in; False if it had come before, or the receipt is gone. The same
        prompt asked for again may be reported again."""
        ...

    async def listing(self, session_number: int, limit: int) -> list[Mapping[str, Any]]:
        """The newest first, those still on their way to the store included."""
        ...


class Calibrations(Protocol):
    """What providers counted, by tenant and model; an empty model stands for prompts that name none."""

    async def find(self, tenant: str, model: str) -> Calibration:
        """What is known; a neutral calibration while nothing is."""
        ...

    async def change(self, tenant: str, model: str, change: Callable[[Calibration], Calibration]) -> Calibration:
        """Put what `change` makes of it in its place, with no other write in between; `change` is pure and may run more than
        once. Those not heard of for longest may be forgotten."""
        ...


class ModelList(Protocol):
    """What a provider tells of its models."""

    @property
    def name(self) -> str:
        """The provider's."""
        ...

    async def windows(self) -> Mapping[str, int]:
        """Context windows in tokens by the name of the model, of those that it tells. Raises UpstreamDown."""
        ...


class Reply(Protocol):
    """What an upstream answers, as it answers it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Those that are for the client, by their names in lower case."""
        ...

    def content(self) -> AsyncIterator[bytes]:
        """The body, piece by piece as it comes. Raises UpstreamDown where it breaks off."""
        ...

    async def close(self) -> None:
        """Let go of it, read or not; the upstream then stops."""
        ...


class Upstream(Protocol):
    """An endpoint that requests are passed on to unchanged."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str:
        """The model that is asked where a request names none; may be empty."""
        ...

    async def ask(self, body: Mapping[str, Any]) -> Reply:
        """The answer to a chat completion request, whatever its status, once its headers are there. Raises UpstreamDown."""
        ...

    async def models(self) -> list[dict[str, Any]]:
        """What it lists, each with its `id`. Raises UpstreamDown."""
        ...


class Lead(Protocol):
    """Which of several processes on the same stores does what only one should: index, catch up, throw away."""

    @property
    def held(self) -> bool:
        """Whether it is this one, as far as is known. After a connection broke two may think so for a moment."""
        ...

    async def taken(self) -> None:
        """Return when it is this one."""
        ...

    async def lost(self) -> None:
        """Return when it is not."""
        ...


class Claims(Protocol):
    """Which process summarises a session at the moment."""

    def claim(self, session_number: int) -> AbstractAsyncContextManager[bool]:
        """Whether the session is this process's own while inside: no other that asks gets it. Within a process it is not to be
        asked for twice at once. Raises StoreDown."""
        ...


class IndexQueue(Protocol):
    """Which chunks still wait for a vector, and which vectors must go. Work is a mark, never a high-water number."""

    async def generation(self, fingerprint: str) -> tuple[Generation, bool]:
        """The generation that is filled, for this fingerprint, and whether it is new: another fingerprint than the last makes
        a new one, in which every message is unindexed. It is built beside the one that answers if both are of one space,
        else it answers at once. Another chunker than the last makes every message `Transcript.uncut`."""
        ...

    async def renew(self, fingerprint: str, *, beside: bool = False) -> Generation:
        """Begin a new generation although the fingerprint is the same: every message is unindexed, and none is set aside. It
        answers at once (the index was lost), or is built `beside` the one that does."""
        ...

    async def newest(self) -> Generation | None:
        """The generation that is filled; None before the first."""
        ...

    async def answering(self) -> Generation | None:
        """The generation that searches go to, by which messages count as indexed; None before the first."""
        ...

    async def swap(self, generation: Generation) -> None:
        """A generation that was built beside another answers from now on."""
        ...

    async def left(self, generation: Generation) -> tuple[int, int]:
        """How many messages and passages that were indexed before this generation misses still (those set aside not counted), and
        how many there are to index in all."""
        ...

    async def indexed_chunks(self, generation: Generation) -> int:
        """How many chunks are marked, also of messages that are not whole yet. The index holds at least as many vectors,
        or it was lost."""
        ...

    async def pending(self, generation: Generation, *, limit: int) -> list[PendingChunk]:
        """Chunks of unindexed messages that are due, whole messages, all sessions: first those that the generation that answers
        misses too (`fresh`), then the oldest; passages of snapshots likewise, after the messages that are as fresh as they; at
        most about `limit`."""
        ...

    async def mark_indexed(self, generation: Generation, chunks: Sequence[PendingChunk]) -> None:
        """The vectors of these chunks are in the index. A message of which every chunk was marked is indexed; chunks that
        are gone meanwhile (deleted, edited) are put on the list of vectors to remove."""
        ...

    async def mark_failed(self, message_number: int, reason: str, *, most: int) -> bool:
        """Count a failed attempt and let the message wait longer each time. Whether it is set aside now, at the `most`-th:
        not tried again in this generation, counted and reported. An edit starts the count anew."""
        ...

    async def removals(self, limit: int) -> list[int]:
        """Numbers of chunks whose vectors must be removed."""
        ...

    async def clear_removals(self, chunk_numbers: Sequence[int]) -> None:
        """These are removed."""
        ...

    async def backlog(self) -> tuple[int, int]:
        """How many messages and passages the generation that answers misses, and how many are set aside, over all tenants."""
        ...

    async def next_due_s(self) -> float | None:
        """Seconds until a waiting message or passage is due again, or None if none waits."""
        ...


class Checks(Protocol):
    """What the store can say of its own soundness, and the repairs that are made there. It tells numbers, never text."""

    async def integrity(self) -> list[str]:
        """What the database finds wrong with its own files; none is good."""
        ...

    async def counts(self) -> Mapping[str, int]:
        """How many of each thing are wrong that the tables alone tell: 0 is good."""
        ...

    async def messages(self, *, after: int, limit: int) -> list[StoredMessage]:
        """Messages of every session numbered above `after`, in order, each with its chunks of the same moment."""
        ...

    async def marked(self, generation: Generation, *, after: int, limit: int) -> list[int]:
        """Numbers above `after` of the chunks and (negated) passages whose vectors should be in this generation, in order."""
        ...

    async def living(self, numbers: Sequence[int]) -> list[int]:
        """Those of these numbers that are a chunk's or a passage's."""
        ...

    async def strays(self, numbers: Sequence[int]) -> list[int]:
        """Those of these numbers that are no chunk's or passage's and are not listed for removal."""
        ...

    async def recut(self, message_numbers: Sequence[int]) -> None:
        """These messages are `Transcript.uncut`."""
        ...

    async def unmark(self, chunk_numbers: Sequence[int]) -> None:
        """These chunks and passages wait for their vectors."""
        ...

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        """The vectors of these numbers must go."""
        ...

    async def repair(self) -> None:
        """Mend what `counts` finds, but for messages that are lost."""
        ...

    async def purge(self) -> None:
        """Take every trace of deleted text out of the files, however large; writes wait meanwhile. Raises NotHere where the
        database does that by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """Chunks and how a search judged them: `numbers` int64 and `scores` float32, both of shape (n,)."""

    numbers: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, slots=True)
class Worded:
    """What a search by words found: `numbers` int64, `scores` and `coverage` float32, all of shape (n,). Coverage is the share
    of the question's terms, weighed by their rarity, that stand in or around a chunk: 0 to 1."""

    numbers: np.ndarray
    scores: np.ndarray
    coverage: np.ndarray


class Lexicon(Protocol):
    """What a scope says, in words and traits, as it was committed when the lexicon was opened. It never waits: computing is all
    that it does, so it is called in a thread."""

    @property
    def session_numbers(self) -> tuple[int, ...]:
        """Those sessions of the scope that say anything."""
        ...

    def search(self, terms: Sequence[str], *, limit: int) -> Worded:
        """The best `limit` chunks for these terms, by the statistics of the scope alone; a chunk that has no term of the query in
        its window is never among them."""
        ...

    def traits(self, numbers: np.ndarray) -> np.ndarray:
        """The traits (`core.recall.traits.TRAITS`) of these chunks (int64, rising) that are in the scope, in order of number."""
        ...

    def newest_at(self, session_number: int) -> float:
        """When the newest chunk of a session was said, in seconds since 1970; 0 without any."""
        ...


class LexicalIndex(Protocol):
    """BM25 over each chunk's terms and, weakened, those of its neighbours."""

    async def open(self, scope: Scope) -> Lexicon:
        """The scope as it is committed."""
        ...


class VectorIndex(Protocol):
    """Vectors of chunks, searched by cosine."""

    async def use(self, generation: Generation, dimension: int, *, answering: Generation | None = None) -> None:
        """Open (or make) this generation's collection, and remove those of others but that of `answering`: if it is there it is
        searched until `swap`, and this one is built beside it."""
        ...

    async def build(self, generation: Generation) -> None:
        """Begin this generation beside the one that is used, which goes on to answer."""
        ...

    async def swap(self) -> None:
        """What was built beside answers from now on; the collection that did is removed. Searches go on meanwhile."""
        ...

    async def follow(self, generation: Generation, dimension: int) -> None:
        """Open this generation's collection, which another process fills, for searching. IndexDown if it is not there."""
        ...

    async def put(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        """Store vectors, shape (len(chunks), dimension), float32, unit rows; what is there already is overwritten. Those of
        `fresh` chunks go into the generation that answers too."""
        ...

    async def remove(self, chunk_numbers: Sequence[int]) -> None:
        """Take vectors out of every generation; those that are not there are ignored."""
        ...

    async def search(self, scope: Scope, vector: np.ndarray, *, limit: int, also: Sequence[int] | np.ndarray = ()) -> Scored:
        """The nearest `limit` chunks of the scope, and those of `also` that are in it, each with its cosine similarity,
        best first."""
        ...

    async def count(self) -> int:
        """Vectors in the generation that is filled."""
        ...

    async def numbers(self) -> list[int]:
        """The numbers of all vectors in the generation that is filled."""
        ...

    async def sound(self, chunk_numbers: Sequence[int]) -> set[int]:
        """Those of these chunks that have a unit vector of the right dimension in the generation that is filled."""
        ...

    async def purge(self) -> None:
        """Take what is left of removed generations out of the files, where they are ours."""
        ...

    async def close(self) -> None: ...


class Embedder(Protocol):
    """Text to unit vectors."""

    @property
    def fingerprint(self) -> str:
        """Kind and model: what makes two vectors comparable."""
        ...

    @property
    def dimension(self) -> int | None:
        """Dimensions, or None until the first answer tells."""
        ...

    @property
    def cosine_scale(self) -> CosineScale | None:
        """How its cosines read, if that was measured: without it nothing is left out as irrelevant."""
        ...

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows, float32, shape (len(texts), dimension). Any text may come: the adapter cleans it."""
        ...

    async def query(self, text: str) -> np.ndarray:
        """One unit vector, float32, shape (dimension,)."""
        ...

    async def close(self) -> None: ...


class Analyzer(Protocol):
    """Text to search terms: segmented, folded, stemmed, without stop words."""

    def terms(self, text: str) -> list[str]:
        """Terms in order, repeated as often as they occur. Linear time."""
        ...


class TokenCounter(Protocol):
    """Tokens as a model's provider counts them, or a little more, never less."""

    def count(self, text: str, model: str | None) -> int:
        """Tokens of a text. Linear time whatever the text; special-token text is ordinary text."""
        ...

    def head(self, text: str, tokens: int, model: str | None) -> str:
        """The longest beginning of a text that costs at most so many tokens, cut between graphemes."""
        ...

    def tail(self, text: str, tokens: int, model: str | None) -> str:
        """The longest end of a text that costs at most so many tokens, cut between graphemes."""
        ...

    def encoding_name(self, model: str | None) -> str:
        """The encoding that counts for this model."""
        ...


class Keys(Protocol):
    """The keys that were made for a server. A change is on disk when it is told, and the next look finds it, in other processes
    too."""

    def all(self) -> tuple[AccessKey, ...]:
        """Every key, revoked ones too, in the order in which they were made."""
        ...

    def find(self, id: str) -> AccessKey | None:
        """The key of this id."""
        ...

    def add(self, key: AccessKey) -> None:
        """Keep a new key."""
        ...

    def replace(self, key: AccessKey) -> None:
        """Put a changed key in the place of the old one; nothing if it is not there."""
        ...
