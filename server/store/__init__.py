"""What outlives the process: players, races that run, records. The only importer of sqlalchemy and alembic."""
