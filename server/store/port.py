"""Entries: the values that go into a store (`answers` has those that come out). Knows no database.

Times are Unix time in milliseconds. Names are in the form that `protocol.text.clean_name` returns.
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
"""running: until its record is written, also while it waits for players; a new server resumes it. aborted: ended without a record."""


NEVER_MS: Final = 2**62
"""A time that never comes."""


def race_id(*, room: str, number: int, unique: bytes) -> str:
    """A race's id in the store. room: the public letters by which records and histories call its room; for a public room, its code.

    unique: random bytes, because codes are reused once their room is gone.
    """
    return f"{room}-{number}-{unique.hex()}"


def room_shown(race: str) -> str:
    """The letters by which records and histories call the room of the race with this id: its first ones."""
    return race.partition("-")[0]


def name_key(name: str) -> str:
    """A key that is equal for names that count as the same. It ignores case, width and composition, but not look-alike letters."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


@dataclass(frozen=True, slots=True)
class PlayedSeat:
    """player: None for a house bot.

    place, ended_at_ms: in an aborted race there are no places, and seats that were still racing have no end. The end counts from the start.
    rating: what the race did to the player's; None if it did not count.
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
    """Refused (`NameTaken`) if another player has the name; also refused if the id or the token is known already."""

    player: str
    name: str
    token_hash: bytes
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerRenamed:
    """Refused (`NameTaken`) if another player has the name. Players may change the case of their own."""

    player: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerSeen:
    player: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceOpened:
    """race: made by `race_id`. secret: the deal's, told to nobody before the race is over.

    node: the one that runs it; set by the store that writes it, and not read back. series: how it stood when this race of it was opened;
    None for its first race. won: how many races, or series, each seat had won in the room against the same players before that; empty if
    there were none. spec: the shared deal that the race was opened for, if any; that deal has to be known. A player has one run of
    a deal of the day or a challenge under each rule set. A second one is refused (`RunAlready`), unless the first was aborted before it had
    begun. start_position: where it begins, if that is not a deal of its own. matched: the players for whom the room was opened by a quick
    match, as long as this is its first race.
    """

    race: str
    room: str
    number: int
    options: RaceOptions
    secret: bytes
    software: str
    at_ms: int
    series: Series | None = None
    won: tuple[int, ...] = ()
    spec: SharedDealSpec | None = None
    start_position: StartPosition | None = None
    matched: tuple[str, ...] = ()
    node: int = 0


class CommandTaken(Struct, frozen=True, kw_only=True, gc=False):
    """A command that the race accepted at `at_ms`. sequence: counts the race's commands from 1, without gaps; refused otherwise."""

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
    """The players of these seats are no longer in the room of a finished race: they left, or it was closed, or went on to another race.

    gave_up: they gave its series up before the next race of it began.
    """

    race: str
    seats: tuple[int, ...]
    gave_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceAborted:
    """The race ended without a record: its room was closed before the start, or it could not go on.

    reason: one sentence without its full stop, which players see too. seats: all of them, as they stood at the end, if at least the
    countdown had begun; the race is then in these players' histories. Empty if it had not.
    """

    race: str
    reason: str
    at_ms: int
    seats: tuple[PlayedSeat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDealMade:
    """A shuffle for several races is settled, and its commitment may be published. Refused if it is known already.

    secret: told to nobody before `reveals_at_ms`, or before `SharedDealRevealed` if that is None. nonces: in hexadecimal; empty if they
    follow from kind, id and rules. options: those of its races; None if they differ. owner: the player who made it; None for the house.
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
    """From now on anybody may see the deal and the records of the races on it. Refused if the deal is not known."""

    kind: SharedKind
    id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentMade:
    """Refused if the id is known already, or the directing player is not known. secret: all of its shuffles follow from it; told to nobody.

    document: how it was set up, in a form that only the tournaments can read. node: see `RaceOpened`.
    """

    tournament: str
    director: str
    secret: bytes = field(repr=False)
    document: str
    at_ms: int
    node: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentDecided:
    """One entry of a tournament's log. sequence: from 1, without gaps; refused otherwise. author: None for the server.

    decision: in a form that only the tournaments can read. closes: nothing goes on by itself after it; always False when read back, see
    `tournaments`.
    """

    tournament: str
    sequence: int
    at_ms: int
    author: str | None
    decision: str
    closes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentRemoved:
    """The host removes a tournament. Refused once a round was paired, because its records stay."""

    tournament: str


BanKind = Literal["player", "address"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Banned:
    """The host keeps somebody out. subject: a player's id, or the part of an address that counts as one. Replaces an earlier ban."""

    kind: BanKind
    subject: str
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbanned:
    """They may come again. Refused if they are not banned."""

    kind: BanKind
    subject: str


def deal_key(kind: SharedKind, deal: str) -> str:
    """The key of a shared deal in the store."""
    return f"{kind}:{deal}"


def runs_once(spec: SharedDealSpec) -> bool:
    """Whether each player has only one run of the deal."""
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
