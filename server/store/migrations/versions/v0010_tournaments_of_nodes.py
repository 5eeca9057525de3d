"""Say which node of a cluster leads a tournament."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("node", sa.Integer, nullable=False, server_default=sa.text("0")))
    is_open = sa.text("closed_at_ms IS NULL")
    op.create_index("tournaments_open", "tournaments", ["id"], sqlite_where=is_open, postgresql_where=is_open)
