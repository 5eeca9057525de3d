"""Keep tournaments, and the logs of what was decided about them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "tournaments",
        sa.Column("id", Key, nullable=False),
        sa.Column("director", Key, nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("made_at_ms", sa.BigInteger, nullable=False),
        sa.Column("closed_at_ms", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("id", name="tournaments_pkey"),
        sa.ForeignKeyConstraint(["director"], ["players.id"], name="tournaments_director_fkey"),
    )
    op.create_index("tournaments_made", "tournaments", ["made_at_ms", "id"])
    op.create_table(
        "decisions",
        sa.Column("tournament", Key, nullable=False),
        sa.Column("sequence", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("author", Key, nullable=True),
        sa.Column("decision", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("tournament", "sequence", name="decisions_pkey"),
        sa.ForeignKeyConstraint(["tournament"], ["tournaments.id"], name="decisions_tournament_fkey"),
        sa.ForeignKeyConstraint(["author"], ["players.id"], name="decisions_author_fkey"),
    )
