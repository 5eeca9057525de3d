"""A server of one's own, started for a race, a demonstration or a test, with scripted players."""
