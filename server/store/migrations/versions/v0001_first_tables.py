"""Make the tables: players, races, commands, records, seats."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "players",
        sa.Column("id", key, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", key, nullable=False),
        sa.Column("token_hash", sa.LargeBinary, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("seen_at_ms", sa.BigInteger, nullable=False),
        sa.Column("mu", sa.Double, nullable=True),
        sa.Column("sigma", sa.Double, nullable=True),
        sa.Column("races", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.PrimaryKeyConstraint("id", name="players_pkey"),
        sa.UniqueConstraint("name_key", name="players_name_key_key"),
        sa.UniqueConstraint("token_hash", name="players_token_hash_key"),
    )
    op.create_table(
        "races",
        sa.Column("id", key, nullable=False),
        sa.Column("room", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("software", sa.Text, nullable=False),
        sa.Column("opened_at_ms", sa.BigInteger, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger, nullable=True),
        sa.Column("reason", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("id", name="races_pkey"),
        sa.CheckConstraint("phase IN ('running', 'over', 'aborted')", name=op.f("races_phase_check")),
    )
    running = sa.text("phase = 'running'")
    op.create_index("races_running", "races", ["id"], sqlite_where=running, postgresql_where=running)
    op.create_table(
        "commands",
        sa.Column("number", row_number, nullable=False, autoincrement=False),
        sa.Column("race", key, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="commands_pkey"),
    )
    op.create_table(
        "records",
        sa.Column("race", key, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("finished_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("race", name="records_pkey"),
        sa.ForeignKeyConstraint(["race"], ["races.id"], name="records_race_fkey"),
    )
    op.create_table(
        "seats",
        sa.Column("race", key, nullable=False),
        sa.Column("seat", sa.SmallInteger, nullable=False, autoincrement=False),
        sa.Column("player", key, nullable=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("bot", sa.Text, nullable=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("place", sa.SmallInteger, nullable=False),
        sa.Column("home", sa.SmallInteger, nullable=False),
        sa.Column("finished_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("race", "seat", name="seats_pkey"),
        sa.ForeignKeyConstraint(["race"], ["races.id"], name="seats_race_fkey"),
        sa.ForeignKeyConstraint(["player"], ["players.id"], name="seats_player_fkey"),
    )
    op.create_index("seats_of_player", "seats", ["player", "finished_at_ms", "race"])
