"""What providers counted, by tenant and model."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Nothing was reported so far."""
    op.create_table(
        "calibrations",
        sa.Column("tenant", sa.Text(), primary_key=True),
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("counted_tokens", sa.BigInteger(), nullable=False),
        sa.Column("reported_tokens", sa.BigInteger(), nullable=False),
        sa.Column("percent", sa.Integer(), nullable=False),
        sa.Column("reports", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    """A step back would lose what was reported."""
    raise NotImplementedError("there is no way back to 0002")
