"""Everything that outlives the process: players, running races, records. The only importer of sqlalchemy and alembic."""
