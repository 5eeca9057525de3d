"""Number the records in the order of their writing; keep what a race did to ratings with its seats."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("records", sa.Column("number", sa.BigInteger, nullable=True))
    # None of those that are there counts for ratings, so any order will do that stays.
    op.execute(
        "UPDATE records SET number = ordered.number"
        " FROM (SELECT race, row_number() OVER (ORDER BY finished_at_ms, race) AS number FROM records) AS ordered"
        " WHERE ordered.race = records.race"
    )
    with op.batch_alter_table("records") as records:
        records.alter_column("number", nullable=False)
        records.create_unique_constraint("records_number_key", ["number"])
    for column in ("mu_before", "sigma_before", "mu_after", "sigma_after"):
        op.add_column("seats", sa.Column(column, sa.Double, nullable=True))
    op.add_column("seats", sa.Column("rated_races", sa.Integer, nullable=True))
