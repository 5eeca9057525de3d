"""Let public races that are over be found by their rule set."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

ROWS_IN_A_BATCH = 500


class Options(msgspec.Struct):
    """What is looked at of a race's."""

    rules: str = "carpet"
    public: bool = True


def upgrade() -> None:
    op.add_column("races", sa.Column("listed", key, nullable=True))
    connection = op.get_bind()
    page = sa.text("SELECT id, options FROM races WHERE id > :last ORDER BY id LIMIT :rows")
    change = sa.text("UPDATE races SET listed = :listed WHERE id = :id")
    last = ""
    while rows := connection.execute(page, {"last": last, "rows": ROWS_IN_A_BATCH}).all():
        last = rows[-1].id
        if listed := [{"id": row.id, "listed": rules} for row in rows if (rules := _listed(row.options)) is not None]:
            connection.execute(change, listed)
    is_over = sa.text("phase = 'over' AND listed IS NOT NULL")
    op.create_index("races_listed", "races", ["listed", "ended_at_ms", "id"], sqlite_where=is_over, postgresql_where=is_over)


def _listed(options: str) -> str | None:
    try:
        read = msgspec.json.decode(options, type=Options)
    except (msgspec.DecodeError, TypeError):
        # Damaged: `db check` says so.
        return None
    return read.rules if read.public else None
