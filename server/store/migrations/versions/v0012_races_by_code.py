"""Find the races that were over in a room by its code."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    is_over = sa.text("phase = 'over'")
    op.create_index("races_over_by_room", "races", ["room"], sqlite_where=is_over, postgresql_where=is_over)
