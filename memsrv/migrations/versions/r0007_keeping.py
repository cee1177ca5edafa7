"""What forgetting and rebuilding have to know: how many messages went, which positions a request stored, which generation
answers, which messages must be cut anew."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0005"

Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NEWEST = "SELECT max(number) FROM generations"
GONE = "last_position - (SELECT count(*) FROM messages WHERE messages.session_number = sessions.number)"


def upgrade() -> None:
    """Positions that are empty count as erased; the newest generation answers; summaries of what was edited lose their text."""
    op.add_column("sessions", sa.Column("erased", Number, nullable=False, server_default="0"))
    op.execute(f"UPDATE sessions SET erased = {GONE}")  # noqa: S608 - our own words
    op.add_column("generations", sa.Column("answers", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute(f"UPDATE generations SET answers = (number = ({NEWEST}))")  # noqa: S608
    for name in ("first_position", "last_position"):
        op.add_column("idempotency", sa.Column(name, Number, nullable=False, server_default="0"))
    fill_positions(op.get_bind())
    empty_stale(op.get_bind())
    op.create_table("recuts", sa.Column("message_number", Number, primary_key=True, autoincrement=False))


def empty_stale(connection: sa.Connection) -> None:
    """Take the text out of summaries of what was edited; traces of it in the file are seen to after the start."""
    emptied = "UPDATE snapshots SET text = '', summary = NULL, findings = '[]' WHERE stale AND text != ''"
    if connection.execute(sa.text(emptied)).rowcount and connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA user_version=1")


def fill_positions(connection: sa.Connection) -> None:
    """The positions that each kept answer names."""
    change = sa.text(
        "UPDATE idempotency SET first_position = :first, last_position = :last WHERE session_number = :session AND key = :key"
    )
    for session, key, answer in connection.execute(sa.text("SELECT session_number, key, answer FROM idempotency")).all():
        positions = [position for _, position, _ in json.loads(answer)] or [0]
        connection.execute(change, {"first": min(positions), "last": max(positions), "session": session, "key": key})


def downgrade() -> None:
    """A step back would lose what was recorded."""
    raise NotImplementedError("there is no way back to 0005")
