"""What is asked of Chroma, and nothing else: blocking calls in our nouns, for `vectors_chroma` to make in threads.

(1) Every error of Chroma leaves as IndexDown (`errors_mapped`).
(2) No text and nothing a client sent reaches Chroma: an id is a chunk's number, metadata are tenant and session number.
(3) Tenant and session of each row are checked here again, whatever Chroma's filter let through.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import chromadb
import httpx
import numpy as np
from chromadb.config import Settings
from chromadb.errors import ChromaError, NotFoundError

from memsrv.errors import IndexDown
from memsrv.model import Generation, PendingChunk, Scope

PREFIX = "memsrv-"
COPY = "-copy"
"""Ends the name of what a collection is copied to."""
ROWS_PER_CALL = 1000
ROWS_WITH_METADATA = 5_000
"""So many rows are read with their metadata at once; from 32,766 on Chroma fails."""
SESSIONS_PER_FILTER = 2000
"""Chroma's store takes some 30,000 variables in one statement, no more."""
VACUUM_WAIT_S = 10
SERVER_TIMEOUT = httpx.Timeout(15.0, connect=3.0)
HNSW = {"space": "cosine", "ef_search": 400}
"""With Chroma's own 100, a search for 200 under a filter missed 7 of 100 true neighbours; so it misses 1."""

Place = tuple[str, int]
"""Tenant and session number."""
NOWHERE: Place = ("", -1)


@contextmanager
def errors_mapped(hint: str | None) -> Iterator[None]:
    """Chroma's errors, those of its HTTP client and its Rust panics as IndexDown.

    The HTTP client raises a bare Exception for an answer it does not know, and ValueError for a server that is not there;
    a panic's class derives from BaseException and can be known by its name only.
    """
    try:
        yield
    except BaseException as error:
        known = isinstance(error, (ChromaError, httpx.HTTPError, OSError, ValueError, sqlite3.Error))
        if known or type(error) is Exception or type(error).__name__ == "PanicException":
            raise IndexDown(f"The vector index failed ({type(error).__name__}).", hint) from error
        raise


def may_pass(error: IndexDown) -> bool:
    """Whether Chroma answered, with an error: a query that meets a deletion on its way may fail once ("Error finding id")."""
    return isinstance(error.__cause__, ChromaError)


def embedded(folder: Path) -> Any:
    """A client of Chroma in this process."""
    return chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))


def connected(url: str, headers: Mapping[str, str]) -> Any:
    """A client of a Chroma server. Its HTTP session has no time limit of its own and is given one."""
    parsed = urlsplit(url)
    secure = parsed.scheme == "https"
    client = chromadb.HttpClient(
        host=parsed.hostname or "",
        port=parsed.port or (443 if secure else 8000),
        ssl=secure,
        headers=dict(headers),
        settings=Settings(anonymized_telemetry=False),
    )
    for session in http_sessions(client):
        session.timeout = SERVER_TIMEOUT
    return client


def disconnect(client: Any) -> None:
    """Let go of a client, and of its connections, which it would leave open."""
    client.close()
    for session in http_sessions(client):
        session.close()


def http_sessions(client: Any) -> list[httpx.Client]:
    """What a client of a server speaks through: one for data and one for looking after them. They have no public name."""
    owners = (client, getattr(client, "_admin_client", None))
    sessions = (getattr(getattr(owner, "_server", None), "_session", None) for owner in owners)
    return [session for session in sessions if isinstance(session, httpx.Client)]


def name_of(generation: Generation) -> str:
    return f"{PREFIX}{generation.number}"


def marks_of(generation: Generation, dimension: int) -> dict[str, Any]:
    """What a collection says of itself."""
    return {"fingerprint": generation.fingerprint, "dimension": dimension}


def finish_copies(client: Any, kept: Sequence[Generation], dimension: int) -> None:
    """Put a copy in its place whose original is gone: it is whole, and only its name was not changed any more."""
    there = {one.name: one for one in client.list_collections()}
    for generation in kept:
        name = name_of(generation)
        copy = there.get(name + COPY)
        if copy is not None and name not in there and dict(copy.metadata or {}) == marks_of(generation, dimension):
            copy.modify(name=name)


def remove_others(client: Any, kept: Sequence[Generation], dimension: int) -> None:
    """Remove our collections but those of these generations; one of their names that was built otherwise goes too."""
    known = {name_of(generation): marks_of(generation, dimension) for generation in kept}
    for other in client.list_collections():
        if other.name.startswith(PREFIX) and known.get(other.name) != dict(other.metadata or {}):
            with suppress(NotFoundError):
                client.delete_collection(other.name)


def sweep(folder: Path) -> None:
    """Remove the folders of collections that are gone: Chroma forgets them but leaves them on the disk."""
    with closing(sqlite3.connect(f"{(folder / 'chroma.sqlite3').absolute().as_uri()}?mode=ro", uri=True)) as database:
        living = {id for (id,) in database.execute("SELECT id FROM segments")}
    for entry in folder.iterdir():
        if entry.is_dir() and is_uuid(entry.name) and entry.name not in living:
            shutil.rmtree(entry, ignore_errors=True)


def holes(folder: Path, collection: "Collection") -> int:
    """How many vectors Chroma's index still holds of those that were removed from a collection, as far as the files tell: their
    file of lengths has four bytes for each that was ever added. 0 if there is none."""
    with suppress(sqlite3.Error, OSError):
        with closing(sqlite3.connect(f"{(folder / 'chroma.sqlite3').absolute().as_uri()}?mode=ro", uri=True)) as database:
            query = "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'"
            row = database.execute(query, (str(collection.rows.id),)).fetchone()
        if row:
            return max(0, int((folder / row[0] / "length.bin").stat().st_size) // 4 - collection.count())
    return 0


def vacuum(folder: Path) -> None:
    """Write Chroma's database anew, without what was removed from it."""
    with closing(sqlite3.connect(folder / "chroma.sqlite3", timeout=VACUUM_WAIT_S)) as database:
        database.execute("VACUUM")


def is_uuid(name: str) -> bool:
    """Whether this is a name as Chroma gives them to its folders."""
    with suppress(ValueError):
        return str(UUID(name)) == name
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """The vectors of one generation."""

    client: Any
    rows: Any
    dimension: int
    generation: Generation

    @classmethod
    def own(cls, client: Any, generation: Generation, dimension: int) -> "Collection":
        """This generation's collection, made if it is missing."""
        rows = client.get_or_create_collection(
            name_of(generation),
            metadata=marks_of(generation, dimension),
            configuration={"hnsw": HNSW},
            embedding_function=None,
        )
        return cls(client, rows, dimension, generation)

    @classmethod
    def found(cls, client: Any, generation: Generation, dimension: int) -> "Collection | None":
        """This generation's collection, if it is there."""
        with suppress(NotFoundError):
            rows = client.get_collection(name_of(generation), embedding_function=None)
            return cls(client, rows, dimension, generation)
        return None

    def copied(self) -> "Collection":
        """A collection with all that this one holds, under a name of its own until it stands in its place."""
        name = name_of(self.generation) + COPY
        with suppress(NotFoundError):
            self.client.delete_collection(name)
        rows = self.client.create_collection(
            name,
            metadata=marks_of(self.generation, self.dimension),
            configuration={"hnsw": HNSW},
            embedding_function=None,
        )
        for part in parts(self.numbers()):
            answer = self.rows.get(ids=[str(number) for number in part], include=["embeddings", "metadatas"])
            whole = [n for n, row in enumerate(answer["embeddings"]) if row is not None and answer["metadatas"][n]]
            if whole:
                rows.add(
                    ids=[answer["ids"][n] for n in whole],
                    embeddings=np.stack([answer["embeddings"][n] for n in whole]),
                    metadatas=[answer["metadatas"][n] for n in whole],
                )
        return Collection(self.client, rows, self.dimension, self.generation)

    def take_place(self) -> None:
        """Be the generation's collection in the place of the one this is a copy of."""
        name = name_of(self.generation)
        with suppress(NotFoundError):
            self.client.delete_collection(name)
        self.rows.modify(name=name)

    def count(self) -> int:
        """Vectors in it."""
        return int(self.rows.count())

    def numbers(self) -> list[int]:
        """All chunk numbers in it. Not read in pages, which would shift under a write."""
        return [int(id) for id in self.rows.get(include=[])["ids"]]

    def write(self, chunks: Sequence[PendingChunk], vectors: np.ndarray) -> None:
        """Add or overwrite."""
        for start in range(0, len(chunks), ROWS_PER_CALL):
            part = chunks[start : start + ROWS_PER_CALL]
            self.rows.upsert(
                ids=[str(chunk.number) for chunk in part],
                embeddings=vectors[start : start + ROWS_PER_CALL],
                metadatas=[{"tenant": chunk.tenant, "session": chunk.session_number} for chunk in part],
            )

    def erase(self, numbers: Sequence[int]) -> None:
        """Take out; each must be there."""
        for part in parts(numbers):
            self.rows.delete(ids=[str(number) for number in part])

    def places(self, numbers: Sequence[int]) -> dict[int, Place]:
        """Where those chunks belong that are there."""
        found: dict[int, Place] = {}
        for part in parts(numbers):
            answer = self.rows.get(ids=[str(number) for number in part], include=["metadatas"])
            found.update(zip(map(int, answer["ids"]), map(place, answer["metadatas"]), strict=True))
        return found

    def listing(self, tenant: str, sessions: Sequence[int], limit: int) -> dict[int, list[int]] | None:
        """The chunk numbers of each session; None if there are more than `limit` in all.

        Not read in pages: a page would shift under a write, and a row that was missed would stay missed.
        """
        listed: dict[int, list[int]] = {}
        for part in parts(sessions, SESSIONS_PER_FILTER):
            together = self._listed_together(tenant, part) if len(part) > 1 else None
            listed |= together or {number: self._listed(tenant, number) for number in part}
            if sum(map(len, listed.values())) > limit:
                return None
        return listed

    def _listed_together(self, tenant: str, sessions: Sequence[int]) -> dict[int, list[int]] | None:
        """The chunk numbers of a few sessions in one call; None if they are too many for it."""
        listed: dict[int, list[int]] = {number: [] for number in sessions}
        answer = self.rows.get(where=among(sessions), include=["metadatas"], limit=ROWS_WITH_METADATA + 1)
        if len(answer["ids"]) > ROWS_WITH_METADATA:
            return None
        for id, (owner, session) in zip(answer["ids"], map(place, answer["metadatas"]), strict=True):
            if owner == tenant and session in listed:
                listed[session].append(int(id))
        return listed

    def _listed(self, tenant: str, session: int) -> list[int]:
        """The chunk numbers of one session, however many."""
        own = {"$and": [{"session": session}, {"tenant": tenant}]}
        return [int(id) for id in self.rows.get(where=own, include=[])["ids"]]

    def vectors(self, numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Numbers, each once, and their vectors, shape (n, dimension), float32; those that are gone are left out."""
        found, rows = np.empty(len(numbers), np.int64), np.empty((len(numbers), self.dimension), np.float32)
        size = 0
        for part in parts(numbers):
            answer = self.rows.get(ids=[str(number) for number in part], include=["embeddings"])
            for number, row in zip(map(int, answer["ids"]), answer["embeddings"], strict=True):
                if row is not None:
                    found[size], rows[size] = number, row
                    size += 1
        return found[:size], rows[:size]

    def nearest(self, scope: Scope, vector: np.ndarray, limit: int) -> dict[int, float]:
        """The cosines of about the nearest `limit` chunks of the scope (of each part of it, if it has very many sessions)."""
        sessions = set(scope.session_numbers)
        scores: dict[int, float] = {}
        for part in parts(scope.session_numbers, SESSIONS_PER_FILTER):
            answer = self.rows.query(
                query_embeddings=vector[None, :], n_results=limit, where=among(part), include=["distances", "metadatas"]
            )
            hits = zip(answer["ids"][0], map(place, answer["metadatas"][0]), answer["distances"][0], strict=True)
            scores.update(
                (int(id), 1.0 - distance) for id, (owner, at), distance in hits if owner == scope.tenant and at in sessions
            )
        return scores

    def cosines(self, scope: Scope, vector: np.ndarray, numbers: Sequence[int]) -> dict[int, float]:
        """The exact cosines of those of these chunks that are there and in the scope."""
        sessions = set(scope.session_numbers)
        inside = [number for number, (owner, at) in self.places(numbers).items() if owner == scope.tenant and at in sessions]
        found, rows = self.vectors(inside)
        return dict(zip(found.tolist(), (rows @ vector).tolist(), strict=True))


def place(metadata: Mapping[str, Any] | None) -> Place:
    """Where a row belongs. One that is deleted while it is read may come without metadata, and belongs nowhere."""
    return (str(metadata["tenant"]), int(metadata["session"])) if metadata else NOWHERE


def among(sessions: Sequence[int]) -> dict[str, Any]:
    """Chroma's filter for these sessions."""
    return {"session": sessions[0]} if len(sessions) == 1 else {"session": {"$in": list(sessions)}}


def parts(numbers: Sequence[int], size: int = ROWS_PER_CALL) -> Iterator[list[int]]:
    """Lists of at most `size` numbers, in order, each number once."""
    held = list(dict.fromkeys(numbers))
    for start in range(0, len(held), size):
        yield held[start : start + size]
