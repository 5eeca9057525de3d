"""Keep the commands of each commit as one row of bytes, and number the commits."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

ROWS_IN_A_BATCH = 500


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("number", row_number, nullable=False, autoincrement=False),
        sa.Column("writer", sa.LargeBinary, nullable=False),
        sa.Column("commands", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("number", name="batches_pkey"),
    )
    batches = sa.table("batches", *(sa.column(name) for name in ("number", "writer", "commands")))
    connection = op.get_bind()
    for number, commands in enumerate(_commands(connection), 1):
        connection.execute(sa.insert(batches).values(number=number, writer=b"", commands=msgspec.msgpack.encode(commands)))
    op.drop_table("commands")
    # Over the column itself, so that one question finds it in both databases.
    here = sa.text("here")
    op.drop_index("seats_here", "seats")
    op.create_index("seats_here", "seats", ["race"], sqlite_where=here, postgresql_where=here)


def _commands(connection: sa.Connection) -> Iterator[list[tuple[bytes, int, int, bytes]]]:
    """Those of races that run, in their order; text that is damaged as it is."""
    # SQLite's driver refuses to read as text what is none.
    text = "CAST(commands.command AS BLOB)" if connection.dialect.name == "sqlite" else "commands.command"
    page = sa.text(
        f"SELECT commands.number, commands.race, commands.sequence, commands.at_ms, {text} AS command"  # noqa: S608
        " FROM commands JOIN races ON races.id = commands.race"
        " WHERE races.phase = 'running' AND commands.number > :last ORDER BY commands.number LIMIT :rows"
    )
    last = 0
    while rows := connection.execute(page, {"last": last, "rows": ROWS_IN_A_BATCH}).all():
        last = rows[-1].number
        yield [(row.race.encode(), row.sequence, row.at_ms, _bytes(row.command)) for row in rows]


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
