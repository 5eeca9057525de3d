"""Several servers as one place to play: who owns which races (in PostgreSQL), and what is fleeting (in Valkey or Redis)."""
