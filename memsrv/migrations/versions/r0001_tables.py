"""The tables of the first version.

A revision is frozen once released: it says what was made then, whatever `adapters.schema` says today.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make every table and index."""
    sessions()
    messages()
    chunks()
    records()
    index_state()


def downgrade() -> None:
    """There is nothing before."""
    raise NotImplementedError("0001 is the first revision")


def sessions() -> None:
    op.create_table(
        "sessions",
        number(),
        sa.Column("tenant", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("owner", Name),
        text("settings"),
        text("meta"),
        integer("last_position"),
        integer("last_chunk"),
        integer("rewrites"),
        integer("made_at", sa.BigInteger()),
        integer("changed_at", sa.BigInteger()),
        sa.UniqueConstraint("tenant", "name"),
        sqlite_autoincrement=True,
    )
    op.create_index("sessions_by_owner", "sessions", ["tenant", "owner"])


def messages() -> None:
    op.create_table(
        "messages",
        number(),
        of_session(),
        integer("position"),
        text("id"),
        text("payload"),
        text("role"),
        sa.Column("name", sa.Text()),
        integer("sent_at", sa.BigInteger()),
        integer("stored_at", sa.BigInteger()),
        sa.Column("metadata", sa.Text()),
        text("digest"),
        integer("chunk_count", sa.Integer()),
        sa.Column("generation", Number),
        integer("attempts", sa.Integer()),
        integer("retry_at", sa.BigInteger()),
        sa.Column("reason", sa.Text()),
        sa.Column("set_aside", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("session_number", "position"),
        sa.UniqueConstraint("session_number", "id"),
        sqlite_autoincrement=True,
    )
    op.create_index("messages_waiting", "messages", ["set_aside", "generation", "number", "retry_at", "chunk_count"])
    op.create_index("messages_waiting_by_session", "messages", ["session_number", "set_aside", "generation", "chunk_count"])


def chunks() -> None:
    op.create_table(
        "chunks",
        number(),
        sa.Column("message_number", Number, sa.ForeignKey("messages.number", ondelete="CASCADE"), nullable=False),
        integer("session_number"),
        integer("ordinal", sa.Integer()),
        integer("begins", sa.Integer()),
        integer("ends", sa.Integer()),
        text("text"),
        text("terms"),
        integer("generation"),
        sa.UniqueConstraint("message_number", "ordinal"),
        sqlite_autoincrement=True,
    )
    op.create_index("chunks_waiting", "chunks", ["message_number", "generation", "ordinal"])
    op.create_index("chunks_by_session", "chunks", ["session_number", "number"])


def records() -> None:
    receipt = sa.ForeignKey("receipts.number", ondelete="CASCADE")
    op.create_table(
        "pins",
        number(),
        of_session(),
        text("id"),
        text("text"),
        text("kind"),
        integer("made_at", sa.BigInteger()),
        sa.UniqueConstraint("session_number", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "snapshots",
        of_session(primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True, autoincrement=False),
        integer("covers_upto"),
        text("text"),
        integer("made_at", sa.BigInteger()),
        sa.Column("stale", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "receipts",
        number(),
        of_session(),
        text("id"),
        text("body"),
        integer("made_at", sa.BigInteger()),
        sa.UniqueConstraint("session_number", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "receipt_sources",
        sa.Column("receipt_number", Number, receipt, primary_key=True, autoincrement=False),
        sa.Column("message_number", Number, primary_key=True, autoincrement=False),
        integer("session_number"),
    )
    op.create_index("receipt_sources_by_message", "receipt_sources", ["message_number"])
    op.create_index("receipt_sources_by_session", "receipt_sources", ["session_number"])
    op.create_table(
        "idempotency",
        of_session(primary_key=True),
        sa.Column("key", sa.Text(), primary_key=True),
        text("digest"),
        text("answer"),
    )


def index_state() -> None:
    op.create_table(
        "generations",
        number(),
        text("fingerprint"),
        integer("made_at", sa.BigInteger()),
        sqlite_autoincrement=True,
    )
    op.create_table("vector_removals", sa.Column("chunk_number", Number, primary_key=True, autoincrement=False))


def number() -> sa.Column[int]:
    return sa.Column("number", Number, primary_key=True, autoincrement=True)


def of_session(**options: Any) -> sa.Column[int]:
    key = sa.ForeignKey("sessions.number", ondelete="CASCADE")
    return sa.Column("session_number", Number, key, nullable=False, **options)


def text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def integer(name: str, kind: Any = Number) -> sa.Column[int]:
    return sa.Column(name, kind, nullable=False)
