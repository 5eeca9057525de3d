"""Say which node of a cluster runs a race, and know the nodes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "nodes",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="nodes_pkey"),
        sa.UniqueConstraint("url", name="nodes_url_key"),
    )
    op.add_column("races", sa.Column("node", sa.Integer, nullable=False, server_default=sa.text("0")))
    if op.get_bind().dialect.name == "postgresql":
        # By code, from whichever node a player asks. One server alone knows its rooms without asking.
        op.create_index("races_of_room", "races", ["room"], postgresql_where=sa.text("phase = 'running'"))
