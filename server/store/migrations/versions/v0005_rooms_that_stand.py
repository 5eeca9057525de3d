"""Keep who is still in the room of a race that is over."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    # Of the rooms that stood under the program before nothing is known.
    op.add_column("seats", sa.Column("here", sa.Boolean, nullable=False, server_default=sa.false()))
    here = sa.column("here").is_(True)
    op.create_index("seats_here", "seats", ["race"], sqlite_where=here, postgresql_where=here)
