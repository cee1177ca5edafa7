"""What a snapshot was made of and by, the compactions that failed, and the log of switches."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Snapshots that are there already count as folded from the beginning of their session."""
    added = (
        sa.Column("covers_from", Number, nullable=False, server_default="1"),
        sa.Column("summary", sa.Text()),
        sa.Column("made_by", sa.Text(), nullable=False, server_default=""),
        sa.Column("reason", sa.Text(), nullable=False, server_default="asked"),
        sa.Column("base", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("findings", sa.Text(), nullable=False, server_default="[]"),
    )
    for column in added:
        op.add_column("snapshots", column)
    op.create_table(
        "compaction_tries",
        of_session(primary_key=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("retry_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
    )
    op.create_table(
        "switches",
        sa.Column("number", Number, primary_key=True, autoincrement=True),
        of_session(),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer()),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_switches_session_number", "switches", ["session_number"])


def downgrade() -> None:
    """A step back would lose what was recorded."""
    raise NotImplementedError("there is no way back to 0001")


def of_session(**options: Any) -> sa.Column[int]:
    key = sa.ForeignKey("sessions.number", ondelete="CASCADE")
    return sa.Column("session_number", Number, key, nullable=False, **options)
