"""Replaying a finished race: its time line, review and verification."""
