"""The port of the store: the values that go in and come out, and what a store promises. Knows no database.

All calls block. `write` is made by one thread at a time; reads may be made from any thread, beside a write too, and see whole writes only.
Times are Unix time in milliseconds. Names are as `protocol.text.clean_name` leaves them. Every call may raise `StoreError`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from protocol.record import Record
from protocol.views import RaceOptions, SeatState
from server.race.commands import Command
from server.store.errors import EntryRefused

RacePhase = Literal["running", "over", "aborted"]
"""running: until its record is written, waiting for players included; it comes back with the server. aborted: ended without a record."""


def race_id(*, room: str, number: int, unique: bytes) -> str:
    """A race's id in the store. unique: random bytes, because a room's code is used again when the room is gone."""
    return f"{room}-{number}-{unique.hex()}"


def name_key(name: str) -> str:
    """What two names have in common that count as the same: case, width and composition are left out. Look-alike letters are not."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


# ---- what goes in


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's skill as openskill has it, and the number of rated races it rests on."""

    mu: float
    sigma: float
    races: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerMade:
    """Refused (`NameTaken`) when another player has the name; refused when the id or the token is known already."""

    player: str
    name: str
    token_hash: bytes
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerRenamed:
    """Refused (`NameTaken`) when another player has the name. A player's own name in other case is his to take."""

    player: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerSeen:
    player: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """The player's rating from now on: whole values, not differences, so that writing one twice does no harm."""

    player: str
    rating: Rating


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceOpened:
    """race: by `race_id`. secret: the deal's, told to nobody before the race is over."""

    race: str
    room: str
    number: int
    options: RaceOptions
    secret: bytes
    software: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTaken:
    """A command that the race has accepted at `at_ms`. sequence: 1 for the race's first, then without gaps; refused otherwise."""

    race: str
    sequence: int
    at_ms: int
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceOver:
    """The race has its record, which replaces its commands. players: the id of each seat's player, None for a house bot.

    Write the command that ended the race and this in one request: a race is then either running or has its record.
    """

    race: str
    record: Record
    players: tuple[str | None, ...]
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceAborted:
    """The race ended without a record: its room was closed before the start, or it could not be brought back."""

    race: str
    reason: str
    at_ms: int


Entry: TypeAlias = PlayerMade | PlayerRenamed | PlayerSeen | Rated | RaceOpened | CommandTaken | RaceOver | RaceAborted
Request: TypeAlias = Sequence[Entry]
"""Entries that are written together or not at all."""


# ---- what comes out


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """rating: None before the first rated race."""

    id: str
    name: str
    created_at_ms: int
    seen_at_ms: int
    rating: Rating | None


@dataclass(frozen=True, slots=True)
class RunningRace:
    """opened and commands: as they were written; the commands from sequence 1 on, without gaps."""

    opened: RaceOpened
    commands: tuple[CommandTaken, ...]


@dataclass(frozen=True, slots=True)
class DamagedRace:
    """A race that was running and cannot be read. what: one sentence, for the log and for `RaceAborted`."""

    race: str
    what: str


@dataclass(frozen=True, slots=True)
class Running:
    """All races that are not over, by the time of their opening. One that is damaged does not keep the others from coming back."""

    races: tuple[RunningRace, ...]
    damaged: tuple[DamagedRace, ...]


@dataclass(frozen=True, slots=True)
class PlayedSeat:
    """player: None for a house bot."""

    player: str | None
    name: str
    bot: str | None
    state: SeatState
    place: int
    home: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a page of history ended."""

    finished_at_ms: int
    race: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRace:
    """One line of a player's history. seat: his own, by number. seats: all, in seat order."""

    race: str
    room: str
    number: int
    rules: str
    finished_at_ms: int
    seat: int
    seats: tuple[PlayedSeat, ...]

    @property
    def mark(self) -> Mark:
        return Mark(self.finished_at_ms, self.race)


class Store(Protocol):
    """waits: whether its calls wait for a disk or a network, so that an event loop makes them in a thread."""

    @property
    def waits(self) -> bool: ...

    def write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """Judge the requests in their order and write those that fit in one transaction, which is safe on the disk when this returns.

        Gives one outcome a request: None, or why it was refused; a refused one leaves no trace and does not keep the others out.
        Raises StoreError when nothing was written (see `StoreUnavailable` for the one case in which that is not known).
        """
        ...

    def running(self) -> Running:
        """What a server that starts has to bring back."""
        ...

    def player(self, player: str) -> Player | None: ...

    def player_by_token_hash(self, token_hash: bytes) -> Player | None: ...

    def name_taken(self, name: str) -> bool:
        """Whether any player has it, as `name_key` compares. Only `write` decides: somebody may be quicker."""
        ...

    def record(self, race: str) -> Record | None:
        """The record of a race that is over. Raises StoreCorrupt when it cannot be read."""
        ...

    def history(self, player: str, *, limit: int, before: Mark | None = None) -> tuple[PlayedRace, ...]:
        """The races this player has finished, newest first; with `before`, those older than that mark."""
        ...

    def ladder(self, limit: int) -> tuple[Player, ...]:
        """Rated players, best first: by mu - 3 sigma, what a player is worth almost surely; then by name."""
        ...

    def close(self) -> None:
        """Let go of the store. No other call may follow."""
        ...
