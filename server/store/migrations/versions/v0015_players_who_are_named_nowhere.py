"""Find at once who is best rated, and whether a player is named anywhere."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

OF_PLAYERS = {"shared_deals": "owner", "runs": "player", "tournaments": "director", "decisions": "author"}


def upgrade() -> None:
    is_rated = sa.text("mu IS NOT NULL")
    best_first = [sa.text("(mu - 3 * sigma) DESC"), sa.text("name_key")]
    op.create_index("players_rated", "players", best_first, sqlite_where=is_rated, postgresql_where=is_rated)
    for table, column in OF_PLAYERS.items():
        op.create_index(f"{table}_of_{column}", table, [column])
