"""A digest of what was embedded, by which the vector of an equal text is found."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

EMBEDDED = sa.text("digest IS NOT NULL")


def upgrade() -> None:
    """Chunks that are there have none: a text that is equal to theirs is embedded once more."""
    op.add_column("chunks", sa.Column("digest", sa.LargeBinary()))
    op.create_index("chunks_by_digest", "chunks", ["digest", "generation"], sqlite_where=EMBEDDED, postgresql_where=EMBEDDED)


def downgrade() -> None:
    """Chunks would be embedded again that need not be."""
    raise NotImplementedError("there is no way back to 0007")
