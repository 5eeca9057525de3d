"""Rooms of tables at other servers of a place than the one that leads the tournament. The rules of the file:

Decided    By the server that leads alone: which table is raced where, and when it starts. It says so again and again (`Orders`), as long as
           it wants it so. Each order has the same effect however often it is heard, and one that is lost is heard again.
Followed   By the store: an order counts if it is of the server that leads by the store, and a room is opened for a race that the log
           wants. What follows from the log needs no order: rooms of races that are not wanted any more are called off, and records of a
           round that is over are told.
Told       What a room is like (`RoomNews`) is told to the server that leads, again and again. That a race is over, or will never have a
           result, it believes the store alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

import msgspec

from protocol.errors import Refusal
from protocol.views import Phase
from server.rooms.driver import Room
from server.rooms.requests import CallOff, Release, Reveal
from server.rooms.summary import RoomSummary, SeatSummary
from server.tournaments.pairing.crosstable import TableKey, TableRace
from server.tournaments.ports import TournamentPorts
from server.tournaments.state import TournamentState
from server.tournaments.tables import race_options, seating, shared_deal_spec

logger = logging.getLogger("carpet.tournaments")

START_MS: Final = 1500
"""Milliseconds from the order to start at one moment to that moment: all servers have heard it by then."""


class RoomNews(msgspec.Struct, frozen=True):
    """A room, at the server that says so. race: its id in the store. number: of the round's shuffle. age_ms: since it was opened, without
    the time in which no server had it. elapsed_ms: since the start; None before it."""

    race: str
    code: str
    round: int
    table: int
    number: int
    phase: Phase
    seats: tuple[SeatSummary, ...]
    age_ms: int
    elapsed_ms: int | None


class Opening(msgspec.Struct, frozen=True):
    """A room is to be opened at this node. race: of the table, from 1. number: of the round's shuffle."""

    node: int
    round: int
    table: int
    race: int
    number: int


class Orders(msgspec.Struct, frozen=True):
    """What the server that leads wants of the others. decisions: in the log, as it knows it. rooms: the code of the one room of each table
    of the round that has one. starts: by code, when its countdown begins, in Unix time.
    """

    decisions: int
    openings: tuple[Opening, ...] = ()
    rooms: dict[int, str] = {}
    starts: dict[str, int] = {}


def place_of_room(room: Room) -> tuple[TableKey, int]:
    """The table for which a room was opened, with its round, and the number of the round's shuffle."""
    assert room.spec is not None
    return (int(room.spec.deal.id.partition("/")[2]), room.spec.table), room.spec.deal.number


def summary_of(news: RoomNews, state: TournamentState, race: TableRace, now_ms: int) -> RoomSummary:
    """What a room at another server is like, by this server's clock."""
    spec = shared_deal_spec(state, race.round, race.pairing)
    options = race_options(state.options, seats=len(news.seats))
    starts_at = now_ms - news.elapsed_ms if news.elapsed_ms is not None else None
    opened_at = now_ms - news.age_ms
    return RoomSummary(news.code, options, spec, news.race, 1, news.phase, news.seats, opened_at, starts_at, 0, sealed=True)


class HostedRooms:
    """Of one tournament that another server leads. Only the director's task calls what changes anything here."""

    def __init__(self, ports: TournamentPorts, tournament: str) -> None:
        self._ports = ports
        self._tournament = tournament

    def __iter__(self) -> Iterator[Room]:
        return iter(self._ports.rooms.of_tournament(self._tournament))

    def __len__(self) -> int:
        return len(self._ports.rooms.of_tournament(self._tournament))

    def news(self, now_ms: int) -> tuple[RoomNews, ...]:
        """Of the rooms that others can find."""
        return tuple(_news(room, now_ms) for room in self if room.is_kept and not room.is_closed)

    def tend(self, state: TournamentState) -> None:
        """Do what follows from the log. It may be behind: a room that it knows nothing of stays as it is."""
        wanted = {race.key: state.deal_number(race.key) for race in state.wanted()}
        for room in self:
            key, number = place_of_room(room)
            if key[0] > state.round or number > state.deal_number(key):
                continue
            if wanted.get(key) != number:
                if room.summary.phase != "over":
                    # Nobody races on: the round may be over, and its secret public.
                    room.tell(CallOff(also_running=True))
            elif state.paused and room.summary.phase == "waiting":
                room.tell(CallOff())
            if state.shuffles[key[0] - 1].over_at_ms is not None and room.summary.sealed:
                room.tell(Reveal())

    def obey(self, state: TournamentState, orders: Orders) -> None:
        """Do what the server that leads wants."""
        if len(state.log) >= orders.decisions and not state.paused:
            self._open(state, orders.openings)
        for room in self:
            key, number = place_of_room(room)
            if room.summary.phase != "waiting" or key[0] != state.round or number != state.deal_number(key):
                continue
            if orders.rooms.get(key[1], room.code) != room.code:
                # The table has another: this one was opened by an order that came late.
                room.tell(CallOff())
            elif room.code in orders.starts:
                wait_ms = orders.starts[room.code] - self._ports.clock.wall_ms()
                # Where the clocks of two machines differ, it is as if the order had just been given.
                room.tell(Release(self._ports.clock.now_ms() + min(max(wait_ms, 0), START_MS)))

    def _open(self, state: TournamentState, openings: tuple[Opening, ...]) -> None:
        wanted = {(race.key, race.number): race for race in state.wanted()}
        there = {place_of_room(room) for room in self}
        for opening in openings:
            key = opening.round, opening.table
            race = wanted.get((key, opening.race))
            if (
                opening.node != self._ports.node
                or race is None
                or opening.number != state.deal_number(key)
                or (key, opening.number) in there
            ):
                continue
            try:
                open_table(self._ports, state, race)
            except Refusal as refusal:
                # Whoever leads has it opened elsewhere.
                logger.warning("tournament %s: table %d has no room here: %s", state.id, opening.table, refusal)


def open_table(ports: TournamentPorts, state: TournamentState, race: TableRace) -> Room:
    """Raises Refusal."""
    seated = seating(state, race.pairing)
    options = race_options(state.options, seats=len(seated.sides), bots=seated.bots)
    return ports.rooms.open(options, spec=shared_deal_spec(state, race.round, race.pairing), secret=state.secret(race.round))


def _news(room: Room, now_ms: int) -> RoomNews:
    summary = room.summary
    (number, table), shuffle = place_of_room(room)
    return RoomNews(
        race=summary.race,
        code=room.code,
        round=number,
        table=table,
        number=shuffle,
        phase=summary.phase,
        seats=summary.seats,
        age_ms=now_ms + summary.ahead_ms - summary.opened_at,
        elapsed_ms=summary.elapsed_ms(now_ms) if summary.starts_at is not None else None,
    )
