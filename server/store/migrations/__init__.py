"""How the tables became what they are: one file a step, run by `server.store.schema` and by nothing else."""
