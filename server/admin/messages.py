"""The messages between the host's command and a running server: a question and its answer, each one line of JSON."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

LONGEST: Final = 64 * 1024 * 1024
"""Most bytes in an answer."""

LONGEST_QUESTION: Final = 4096

ANSWER_S: Final = 20.0
"""Seconds that an answer may take, because endings have to be on the disk first."""

ROWS_AT_ONCE: Final = 200
"""Rows of a list made in one go, in half a millisecond, because races come first."""

Noun: TypeAlias = Literal["tournaments", "rooms", "players", "connections"]
Verb: TypeAlias = Literal["list", "bans", "end", "remove", "ban", "unban", "rename", "director", "say", "drain", "undrain", "under-way"]


class Question(Struct, frozen=True, kw_only=True):
    """target: an id, a code, a name, a number or an address; empty for lists. reason: for those concerned. text: a new name, the name or id
    of a new director, or what to say to everybody.
    """

    noun: Noun
    verb: Verb
    target: str = ""
    reason: str = ""
    text: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """error: one sentence; None if it was done. rows: those of a list, all with the same keys. done: what was done, as a sentence."""

    error: str | None = None
    rows: tuple[dict[str, str | int | bool | None], ...] = ()
    done: str = ""
