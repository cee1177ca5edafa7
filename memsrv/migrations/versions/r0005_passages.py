"""The passages of summaries, which can be recalled; which receipts were reported on."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0003"


def upgrade() -> None:
    """The summaries that are there have none: what only they say is not recalled."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "passages",
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("session_number", number, sa.ForeignKey("sessions.number", ondelete="CASCADE"), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("generation", number, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("set_aside", sa.Boolean(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("passages_by_session", "passages", ["session_number", "number"])
    op.add_column("receipts", sa.Column("reported", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("passages_waiting", "passages", ["set_aside", "generation", "number", "retry_at"])


def downgrade() -> None:
    """A step back would lose what can be recalled of summaries."""
    raise NotImplementedError("there is no way back to 0003")
