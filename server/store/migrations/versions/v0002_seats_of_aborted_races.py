"""Keep the seats of aborted races, without places, and when each seat ended."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

READ_AT_ONCE = 100
"""Records in memory at a time."""


def upgrade() -> None:
    with op.batch_alter_table("seats") as seats:
        seats.alter_column("place", existing_type=sa.SmallInteger(), nullable=True)
        seats.add_column(sa.Column("ended_at_ms", sa.BigInteger, nullable=True))
    _fill()


def _fill() -> None:
    """When each seat ended was in the records alone."""
    connection = op.get_bind()
    seats = sa.table("seats", *(sa.column(name) for name in ("race", "seat", "ended_at_ms")))
    ended = (
        sa.update(seats)
        .where(seats.c.race == sa.bindparam("of"), seats.c.seat == sa.bindparam("number"))
        .values(ended_at_ms=sa.bindparam("to"))
    )
    last = ""
    records = sa.table("records", sa.column("race"), sa.column("record"))
    # By key, not by a cursor: the same connection writes meanwhile.
    page = sa.select(records).where(records.c.race > sa.bindparam("last")).order_by(records.c.race).limit(READ_AT_ONCE)
    while rows := connection.execute(page, {"last": last}).all():
        last = rows[-1].race
        if known := [row for race, record in rows for row in _ends(race, record)]:
            connection.execute(ended, known)


def _ends(race: str, record: str) -> list[dict[str, object]]:
    try:
        ends = [seat["ended_at_ms"] for seat in json.loads(record)["seats"]]
    except (ValueError, LookupError, TypeError):
        # A damaged record is for `db check` to find; it keeps no server from starting.
        return []
    return [{"of": race, "number": number, "to": end} for number, end in enumerate(ends) if type(end) is int]
