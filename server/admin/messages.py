"""What the host's command and a running server say to each other: one JSON object a line, a question and its answer."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of an answer, at most."""

LONGEST_QUESTION: Final = 4096

ANSWER_S: Final = 20.0
"""Seconds that an answer may take: what is ended has to be on the disk."""

ROWS_AT_ONCE: Final = 200
"""Rows of a list that are made in one go, half a millisecond: races come first."""

Noun: TypeAlias = Literal["tournaments", "rooms", "players", "connections"]
Verb: TypeAlias = Literal["list", "bans", "end", "remove", "ban", "unban"]


class Question(Struct, frozen=True, kw_only=True):
    """target: an id, a code, a name, a number or an address; none for lists. reason: for those whom it concerns."""

    noun: Noun
    verb: Verb
    target: str = ""
    reason: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """error: one sentence; None where it was done. rows: of a list, each with the same keys. done: what was done, as a sentence."""

    error: str | None = None
    rows: tuple[dict[str, str | int | bool | None], ...] = ()
    done: str = ""
