"""Events of a tournament: the entries of its log, as values, and their stored text, in the form of `server.store.tagged_codec`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from server.store.tagged_codec import TaggedCodec
from server.tournaments.pairing.rounds import RaceResult, Round

NO_CHECK_IN: Final = "did not check in"
BANNED: Final = "banned by the host of the server"
"""Reasons for which the server withdraws entrants. They are in stored logs, so they are never changed. The host's own words follow after
`: `."""


@dataclass(frozen=True, slots=True)
class Entered:
    """Registration, or a late entry. rating: at that moment. bot: a house bot's name; bots need no check-in."""

    entrant: str
    name: str
    rating: int | None
    bot: str | None = None


@dataclass(frozen=True, slots=True)
class CheckInOpened: ...


@dataclass(frozen=True, slots=True)
class CheckInExtended:
    more_s: int


@dataclass(frozen=True, slots=True)
class CheckedIn:
    """nonce: 32 hexadecimal digits. Only an entrant's first one counts."""

    entrant: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """They left, were removed by the director, or missed the check-in."""

    entrant: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Returned:
    """An entrant who had withdrawn plays again, from the next round that is paired."""

    entrant: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EntrantRenamed:
    """The director has corrected an entrant's name."""

    entrant: str
    name: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ByeGiven:
    """An entrant will not be paired in this round, and scores half_points; 0: they will be. Asked for by themselves, or given by the
    director."""

    entrant: str
    round: int
    half_points: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RoundPaired:
    """The round itself is stored, so it is never paired again. length: rounds of the whole tournament, settled with the first one; 0 if it
    follows from the field."""

    round: Round
    length: int = 0


@dataclass(frozen=True, slots=True)
class ResultEntered:
    """The result of one race at a table. race: counts from 1; a drawn race that is run again is a new one. race_id: its id in the store;
    empty if no race was run."""

    round: int
    table: int
    race: int
    result: RaceResult
    race_id: str = ""


@dataclass(frozen=True, slots=True)
class TableRaceAborted:
    """A race that had begun was lost through a fault of the server. It is run again on another shuffle."""

    round: int
    table: int
    reason: str


@dataclass(frozen=True, slots=True)
class ResultCorrected:
    """The director's ruling on a race. result: None strikes it."""

    round: int
    table: int
    race: int
    result: RaceResult | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BoardsKeyGiven:
    """The director has the key to the boards of all tables, with every card face up. It is the same for all rounds."""


@dataclass(frozen=True, slots=True)
class DirectorChanged:
    """This player directs it from now on, by the server's host. name: at that moment."""

    player: str
    name: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resumed: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """Played to its end."""


@dataclass(frozen=True, slots=True)
class CalledOff:
    reason: str = ""


Event: TypeAlias = (
    Entered
    | CheckInOpened
    | CheckInExtended
    | CheckedIn
    | Withdrawn
    | Returned
    | EntrantRenamed
    | ByeGiven
    | RoundPaired
    | ResultEntered
    | TableRaceAborted
    | ResultCorrected
    | BoardsKeyGiven
    | DirectorChanged
    | Paused
    | Resumed
    | Finished
    | CalledOff
)

TAGS: Final[dict[str, type[Event]]] = {
    "enter": Entered,
    "open-check-in": CheckInOpened,
    "extend-check-in": CheckInExtended,
    "check-in": CheckedIn,
    "withdraw": Withdrawn,
    "return": Returned,
    "rename": EntrantRenamed,
    "bye": ByeGiven,
    "pair": RoundPaired,
    "result": ResultEntered,
    "broken-race": TableRaceAborted,
    "correct": ResultCorrected,
    "give-boards-key": BoardsKeyGiven,
    "direct": DirectorChanged,
    "pause": Paused,
    "resume": Resumed,
    "finish": Finished,
    "end": CalledOff,
}

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """number: from 1, without gaps. author: a player's id; None for the server."""

    number: int
    at_ms: int
    author: str | None
    event: Event


class BadTournamentLog(ValueError):
    """Stored text that cannot be read. Says why."""


_CODEC: Final = TaggedCodec[Event](TAGS, version=VERSION, what="decision", error=BadTournamentLog)

KIND: Final = _CODEC.tag_of
"""The `kind` of a `LoggedDecision`."""


def encode_event(event: Event) -> str:
    return _CODEC.encode(event).decode()


def decode_event(text: str) -> Event:
    """Raises BadTournamentLog."""
    return _CODEC.decode(text)
