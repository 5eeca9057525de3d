"""What a person can do something about: the one kind of error that a command prints as a sentence and not as a traceback."""

from __future__ import annotations


class Failure(Exception):
    """str() is one sentence for a person, or two: what is wrong, and what to do. Every module has its own kinds."""
