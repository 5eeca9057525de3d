"""Give the place a name that no other has, whatever database server it is on."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    place = op.create_table("place", sa.Column("id", sa.Text, nullable=False), sa.PrimaryKeyConstraint("id", name="place_pkey"))
    # Servers of the version before go on beside newer ones: where there are any, they are to find each other by what they have.
    is_shared = op.get_bind().scalar(sa.text("SELECT count(*) FROM nodes"))
    op.bulk_insert(place, [{"id": "" if is_shared else secrets.token_hex(8)}])
