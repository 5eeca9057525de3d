"""What Alembic runs to get at the database: the connection is handed in, with its transaction begun, by `server.store.schema`."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    render_as_batch=True,
)
context.run_migrations()
