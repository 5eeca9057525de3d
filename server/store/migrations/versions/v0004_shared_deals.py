"""Keep shuffles that several races share, and who has had their run of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "shared_deals",
        sa.Column("key", Key, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("id", Key, nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("nonces", sa.Text, nullable=False),
        sa.Column("options", sa.Text, nullable=True),
        sa.Column("owner", Key, nullable=True),
        sa.Column("made_at_ms", sa.BigInteger, nullable=False),
        sa.Column("reveals_at_ms", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("key", name="shared_deals_pkey"),
        sa.ForeignKeyConstraint(["owner"], ["players.id"], name="shared_deals_owner_fkey"),
    )
    op.create_index("shared_deals_of_kind", "shared_deals", ["kind", "made_at_ms"])
    op.add_column("races", sa.Column("deal", Key, nullable=True))
    is_shared = sa.text("deal IS NOT NULL")
    op.create_index("races_of_deal", "races", ["deal"], sqlite_where=is_shared, postgresql_where=is_shared)
    op.create_table(
        "runs",
        sa.Column("deal", Key, nullable=False),
        sa.Column("rules", Key, nullable=False),
        sa.Column("player", Key, nullable=False),
        sa.Column("race", Key, nullable=False),
        sa.PrimaryKeyConstraint("deal", "rules", "player", name="runs_pkey"),
        sa.ForeignKeyConstraint(["deal"], ["shared_deals.key"], name="runs_deal_fkey"),
        sa.ForeignKeyConstraint(["player"], ["players.id"], name="runs_player_fkey"),
        sa.ForeignKeyConstraint(["race"], ["races.id"], name="runs_race_fkey"),
    )
    op.create_index("runs_race", "runs", ["race"])
