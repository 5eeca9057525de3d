"""All that can be chosen in the course of a tournament, as values: the entries of its log as they are kept. Beside the pairing rules' own
decisions (`decisions`) they say who somebody is, when the check-in opens and a pause ends, which race a result is of, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from server.tournaments.pairing.rounds import Result, Round


@dataclass(frozen=True, slots=True)
class Entered:
    """rating: when he entered. bot: the house bot's name, if it is one. Bots are checked in from the start."""

    entrant: str
    name: str
    rating: int | None
    bot: str | None = None


@dataclass(frozen=True, slots=True)
class CheckInOpened: ...


@dataclass(frozen=True, slots=True)
class CheckedIn:
    """nonce: 32 hexadecimal digits. What was put in once stays."""

    entrant: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Left:
    entrant: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Returned:
    entrant: str


@dataclass(frozen=True, slots=True)
class Paired:
    """length: rounds of the whole tournament as settled with the first one; 0 where they follow from the field."""

    round: Round
    length: int = 0


@dataclass(frozen=True, slots=True)
class Raced:
    """A race at a table has come to this. race_id: of the one in the store; empty for one that was not run."""

    round: int
    table: int
    race: int
    result: Result
    race_id: str = ""


@dataclass(frozen=True, slots=True)
class BrokenRace:
    """A race was broken off after its start, by a fault of the server, and is run again on another shuffle."""

    round: int
    table: int
    reason: str


@dataclass(frozen=True, slots=True)
class Corrected:
    """The director's word on a race. result: None strikes it."""

    round: int
    table: int
    race: int
    result: Result | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Paused: ...


@dataclass(frozen=True, slots=True)
class Resumed: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """Played to its end."""


@dataclass(frozen=True, slots=True)
class BrokenOff:
    reason: str = ""


Choice: TypeAlias = (
    Entered
    | CheckInOpened
    | CheckedIn
    | Left
    | Returned
    | Paired
    | Raced
    | BrokenRace
    | Corrected
    | Paused
    | Resumed
    | Finished
    | BrokenOff
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One entry of the log. number: from 1, without gaps. author: a player's id, None for the server."""

    number: int
    at_ms: int
    author: str | None
    choice: Choice
