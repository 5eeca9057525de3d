"""What goes into a store: entries, as values. What comes out of it is in `answers`. Knows no database.

Times are Unix time in milliseconds. Names are as `protocol.text.clean_name` leaves them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from protocol.record import Record
from protocol.views import RaceOptions, SeatState, SharedKind
from server.match.series import Series
from server.race.commands import Command
from server.race.rating import RatingChange
from server.race.shared_deal_spec import SharedDealSpec
from server.race.start_position import StartPosition

RacePhase = Literal["running", "over", "aborted"]
"""running: until its record is written, waiting for players included; it comes back with the server. aborted: ended without a record."""


NEVER_MS: Final = 2**62
"""A time that does not come."""


def race_id(*, room: str, number: int, unique: bytes) -> str:
    """A race's id in the store. room: the letters that records and histories have for its room, for all to see: a public room's code.

    unique: random bytes, because a room's code is used again when the room is gone.
    """
    return f"{room}-{number}-{unique.hex()}"


def room_shown(race: str) -> str:
    """How records and histories call the room of the race with this id: by the letters that it begins with."""
    return race.partition("-")[0]


def name_key(name: str) -> str:
    """What two names have in common that count as the same: case, width and composition are left out. Look-alike letters are not."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


@dataclass(frozen=True, slots=True)
class PlayedSeat:
    """player: None for a house bot.

    place, ended_at_ms: of a race that was aborted there is no place, and no end (from the start) of a seat that was still racing.
    rating: what the race did to the player's; None for one that did not count.
    """

    player: str | None
    name: str
    bot: str | None
    state: SeatState
    place: int | None
    home: int
    ended_at_ms: int | None
    rating: RatingChange | None = None


# ---- what goes in


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerMade:
    """Refused (`NameTaken`) when another player has the name; refused when the id or the token is known already."""

    player: str
    name: str
    token_hash: bytes
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerRenamed:
    """Refused (`NameTaken`) when another player has the name. A player's own name in other case is theirs to take."""

    player: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerSeen:
    player: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceOpened:
    """race: by `race_id`. secret: the deal's, told to nobody before the race is over.

    node: which runs it, as the store that writes it knows; not part of what comes out.
    series: as it stood when one of its later races was opened; None for a first one. spec: for what it was opened, other than somebody's
    wish; its deal has to be known. Of a deal of the day and of a challenge a player has one run under one rule set: a second one is refused
    (`RunAlready`), unless the first was aborted before it had begun. start_position: from where it begins, where that is no deal of its
    own.
    """

    race: str
    room: str
    number: int
    options: RaceOptions
    secret: bytes
    software: str
    at_ms: int
    series: Series | None = None
    spec: SharedDealSpec | None = None
    start_position: StartPosition | None = None
    node: int = 0


class CommandTaken(Struct, frozen=True, kw_only=True, gc=False):
    """A command that the race has accepted at `at_ms`. sequence: 1 for the race's first, then without gaps; refused otherwise."""

    race: str
    sequence: int
    at_ms: int
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceOver:
    """The race has its record, which replaces its commands. players: the id of each seat's player, None for a house bot.

    here: the seats whose players are in its room still; none where the room has gone on to another race. gone: those whose players had left
    it before, for good.

    Write the command that ended the race and this in one request: a race is then either running or has its record. Where the record is
    rated, the store rates its players as it is written, each from the rating they have at that moment; it is refused when its seats are not
    those of `players`, or cannot be rated.
    """

    race: str
    record: Record
    players: tuple[str | None, ...]
    at_ms: int
    here: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayersLeft:
    """The players of these seats are not any more in the room of a race that is over: they left it, it was closed, or has gone on."""

    race: str
    seats: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceAborted:
    """The race ended without a record: its room was closed before the start, or it could not go on.

    reason: one sentence without its full stop, for the players too. seats: all of them, as they were when a race ended that had begun (its
    countdown at least): these players' histories then have it. None where no race had begun.
    """

    race: str
    reason: str
    at_ms: int
    seats: tuple[PlayedSeat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDealMade:
    """A shuffle that several races are to be dealt is settled, and its commitment may be told. Refused where it is known already.

    secret: told to nobody before `reveals_at_ms`, or before `SharedDealRevealed` where that is None. nonces: in hexadecimal digits; none
    where they follow from kind, id and rules. options: of its races, None where they differ. owner: whose it is, None for the house's.
    """

    kind: SharedKind
    id: str
    secret: bytes
    at_ms: int
    nonces: tuple[str, ...] = ()
    options: RaceOptions | None = None
    owner: str | None = None
    reveals_at_ms: int | None = None

    @property
    def key(self) -> str:
        return deal_key(self.kind, self.id)

    def is_sealed(self, now_ms: int) -> bool:
        return self.reveals_at_ms is None or self.reveals_at_ms > now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDealRevealed:
    """From now on the deal, and the records of the races on it, are anybody's to see. Refused for one that is not known."""

    kind: SharedKind
    id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentMade:
    """Refused where the id is known, or the player who directs it is not. secret: from which all of its shuffles follow, told to nobody.

    document: what it is made with, in the words of the tournaments, which alone can read it. node: as of `RaceOpened`.
    """

    tournament: str
    director: str
    secret: bytes = field(repr=False)
    document: str
    at_ms: int
    node: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentDecided:
    """One entry of a tournament's log. sequence: 1 for the first, then without gaps; refused otherwise. author: None for the server.

    decision: in the words of the tournaments, which alone can read it. closes: nothing goes on by itself after it; False in what comes
    out, see `tournaments`.
    """

    tournament: str
    sequence: int
    at_ms: int
    author: str | None
    decision: str
    closes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentRemoved:
    """The host has it forgotten. Refused where a round was paired: its records stand."""

    tournament: str


BanKind = Literal["player", "address"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Banned:
    """The host keeps somebody out. subject: a player's id, or what of an address counts as one. One who is banned already is so anew."""

    kind: BanKind
    subject: str
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbanned:
    """They may come again. Refused for who is not banned."""

    kind: BanKind
    subject: str


def deal_key(kind: SharedKind, deal: str) -> str:
    """What a shared deal is found by."""
    return f"{kind}:{deal}"


def runs_once(spec: SharedDealSpec) -> bool:
    """Whether each player has one run of the deal."""
    return spec.deal.kind != "round"


Entry: TypeAlias = (
    PlayerMade
    | PlayerRenamed
    | PlayerSeen
    | RaceOpened
    | CommandTaken
    | RaceOver
    | PlayersLeft
    | RaceAborted
    | SharedDealMade
    | SharedDealRevealed
    | TournamentMade
    | TournamentDecided
    | TournamentRemoved
    | Banned
    | Unbanned
)
Request: TypeAlias = Sequence[Entry]
"""Entries that are written together or not at all."""
