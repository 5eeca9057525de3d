"""Several servers as one place to play: who owns which races (in PostgreSQL), and short-lived shared state (in Valkey or Redis)."""
