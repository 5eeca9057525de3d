"""Matches: series of races between the same players. Pure."""
