"""The tables, for every SQL database, and the small conversions that their columns need.

Times are integers, microseconds since 1970 in UTC. JSON is text in pure ASCII, so that a payload with NUL or with text
that no database would take comes back as it was sent. Numbers of sessions, messages and chunks are never used again.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    func,
    literal_column,
    select,
    text,
)

T = TypeVar("T")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SLICE = 500  # values in one IN (...): far below every database's limit on variables

metadata = MetaData()
Number = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER counts up by itself there
Name = Text().with_variant(Text(collation="C"), "postgresql")  # text that is put in order: by code point, wherever it is


def numbered() -> Column[int]:
    """A primary key that is never used again."""
    return Column("number", Number, primary_key=True, autoincrement=True)


def of_session(**options: Any) -> Column[int]:
    """A reference to a session; the row goes with it."""
    return Column("session_number", Number, ForeignKey("sessions.number", ondelete="CASCADE"), nullable=False, **options)


EMBEDDED = text("digest IS NOT NULL")

sessions = Table(
    "sessions",
    metadata,
    numbered(),
    Column("tenant", Name, nullable=False),
    Column("name", Name, nullable=False),
    Column("owner", Name),
    Column("settings", Text, nullable=False),
    Column("meta", Text, nullable=False),
    Column("last_position", Number, nullable=False),
    Column("last_chunk", Number, nullable=False),  # with `rewrites`: tells a cache of the chunks whether it is fresh
    Column("rewrites", Number, nullable=False),
    Column("erased", Number, nullable=False, server_default="0"),  # messages that were deleted: so many positions are empty
    Column("made_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    UniqueConstraint("tenant", "name"),
    Index("sessions_by_owner", "tenant", "owner"),
    sqlite_autoincrement=True,
)

messages = Table(
    "messages",
    metadata,
    numbered(),
    of_session(),
    Column("position", Number, nullable=False),
    Column("id", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text),
    Column("sent_at", BigInteger, nullable=False),
    Column("stored_at", BigInteger, nullable=False),
    Column("metadata", Text),
    Column("digest", Text, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("generation", Number),  # the newest that holds all its chunks; NULL: there is nothing to index
    Column("attempts", Integer, nullable=False),
    Column("retry_at", BigInteger, nullable=False),
    Column("reason", Text),
    Column("set_aside", Boolean, nullable=False),
    UniqueConstraint("session_number", "position"),
    UniqueConstraint("session_number", "id"),
    Index("messages_waiting", "set_aside", "generation", "number", "retry_at", "chunk_count"),
    Index("messages_waiting_by_session", "session_number", "set_aside", "generation", "chunk_count"),
    sqlite_autoincrement=True,
)

chunks = Table(
    "chunks",
    metadata,
    numbered(),
    Column("message_number", Number, ForeignKey("messages.number", ondelete="CASCADE"), nullable=False),
    Column("session_number", Number, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("begins", Integer, nullable=False),
    Column("ends", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("generation", Number, nullable=False),
    Column("digest", LargeBinary),  # of what was embedded, with the tenant (`core.recall.view`); NULL: not known
    UniqueConstraint("message_number", "ordinal"),
    Index("chunks_waiting", "message_number", "generation", "ordinal"),
    Index("chunks_by_session", "session_number", "number"),
    Index("chunks_by_digest", "digest", "generation", sqlite_where=EMBEDDED, postgresql_where=EMBEDDED),
    sqlite_autoincrement=True,
)

pins = Table(
    "pins",
    metadata,
    numbered(),
    of_session(),
    Column("id", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    UniqueConstraint("session_number", "id"),
    sqlite_autoincrement=True,
)

snapshots = Table(
    "snapshots",
    metadata,
    of_session(primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("covers_upto", Number, nullable=False),
    Column("text", Text, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("stale", Boolean, nullable=False),
    Column("covers_from", Number, nullable=False),
    Column("summary", Text),  # the lines with their sources; NULL: made before they were kept, or emptied
    Column("made_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("base", Integer, nullable=False),
    Column("findings", Text, nullable=False),
)

passages = Table(  # of snapshots: what they say that the one before did not; in the index under the number negated
    "passages",
    metadata,
    numbered(),
    of_session(),
    Column("version", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("generation", Number, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("retry_at", BigInteger, nullable=False),
    Column("reason", Text),
    Column("set_aside", Boolean, nullable=False),
    Index("passages_by_session", "session_number", "number"),
    Index("passages_waiting", "set_aside", "generation", "number", "retry_at"),
    sqlite_autoincrement=True,
)

compaction_tries = Table(  # those that did not come to an end, by session; gone with the next that does
    "compaction_tries",
    metadata,
    of_session(primary_key=True),
    Column("tries", Integer, nullable=False),
    Column("retry_at", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
)

switches = Table(
    "switches",
    metadata,
    numbered(),
    of_session(index=True),
    Column("made_at", BigInteger, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("version", Integer),
    sqlite_autoincrement=True,
)

receipts = Table(
    "receipts",
    metadata,
    numbered(),
    of_session(),
    Column("id", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("reported", Boolean, nullable=False, server_default=false()),  # whether a provider's count of it came in
    UniqueConstraint("session_number", "id"),
    sqlite_autoincrement=True,
)

receipt_sources = Table(  # which messages a receipt quotes
    "receipt_sources",
    metadata,
    Column("receipt_number", Number, ForeignKey("receipts.number", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("message_number", Number, primary_key=True, autoincrement=False),
    Column("session_number", Number, nullable=False),  # the message's, not the receipt's
    Index("receipt_sources_by_message", "message_number"),
    Index("receipt_sources_by_session", "session_number"),
)

idempotency = Table(
    "idempotency",
    metadata,
    of_session(primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("first_position", Number, nullable=False, server_default="0"),  # of the messages that the answer names
    Column("last_position", Number, nullable=False, server_default="0"),
)

calibrations = Table(  # what providers counted; an empty model stands for prompts that name none
    "calibrations",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("counted_tokens", BigInteger, nullable=False),
    Column("reported_tokens", BigInteger, nullable=False),
    Column("percent", Integer, nullable=False),
    Column("reports", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

generations = Table(
    "generations",
    metadata,
    numbered(),
    Column("fingerprint", Text, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("answers", Boolean, nullable=False, server_default=false()),  # searches go to the newest that does
    sqlite_autoincrement=True,
)

recuts = Table("recuts", metadata, Column("message_number", Number, primary_key=True, autoincrement=False))

vector_removals = Table("vector_removals", metadata, Column("chunk_number", Number, primary_key=True, autoincrement=False))


def newest_generation() -> ColumnElement[int]:
    """The generation that is filled, as SQL; 1, the first there will be, while there is none."""
    newest = select(generations.c.number).order_by(generations.c.number.desc()).limit(literal_column("1"))
    return func.coalesce(newest.scalar_subquery(), literal_column("1"))


def answering_generation() -> ColumnElement[int]:
    """The generation that is searched, as SQL: the newest, or an older one while the newest is built beside it."""
    answering = select(generations.c.number).where(generations.c.answers).order_by(generations.c.number.desc())
    return func.coalesce(answering.limit(literal_column("1")).scalar_subquery(), literal_column("1"))


def to_micros(moment: datetime) -> int:
    """An aware time as a column holds it."""
    return (moment - EPOCH) // MICROSECOND


def to_moment(micros: int) -> datetime:
    """A column's time as the rest of the server knows it."""
    return EPOCH + micros * MICROSECOND


def now_micros() -> int:
    """This moment as a column holds it."""
    return to_micros(datetime.now(UTC))


def to_json(value: Any) -> str:
    """Compact JSON in ASCII."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def slices(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """The values in runs of at most SLICE."""
    for start in range(0, len(values), SLICE):
        yield values[start : start + SLICE]
