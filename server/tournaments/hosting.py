"""Hosts rooms of tables at servers that do not lead the tournament. The rules of the file:

Decided    Only the server that leads decides which table is raced where, and when it starts. It repeats its `Orders` for as long as they
           hold. An order has the same effect however often it is heard, and a lost one is heard again.
Followed   The store has the last word: orders count only from the node that leads according to the store, and a room is opened only for a
           race that the log wants. What follows from the log needs no order: rooms of races that are no longer wanted are called off, and
           records of a finished round are revealed.
Told       The leading server is told again and again what each room is like (`RoomNews`). But only the store can tell it that a race is
           over or will never have a result.
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
"""Milliseconds from the order for a common start to the start itself, so that all servers hear it in time."""


class RoomNews(msgspec.Struct, frozen=True):
    """A room at the server that reports it. race: its id in the store. number: that of the round's shuffle. age_ms: since it was opened,
    without time in which no server had it. elapsed_ms: since the start; None before it."""

    race: str
    code: str
    round: int
    table: int
    number: int
    phase: Phase
    seats: tuple[SeatSummary, ...]
    age_ms: int
    elapsed_ms: int | None


class TableOpening(msgspec.Struct, frozen=True):
    """An order to open a room at this node. race: the number of the table's race, from 1. number: that of the round's shuffle."""

    node: int
    round: int
    table: int
    race: int
    number: int


class Orders(msgspec.Struct, frozen=True):
    """What the leading server wants of the others. decisions: how many its log has. rooms: by table of the round, the code of its only
    valid room. starts: by code, when the countdown begins, in Unix time.
    """

    decisions: int
    openings: tuple[TableOpening, ...] = ()
    rooms: dict[int, str] = {}
    starts: dict[str, int] = {}


def place_of_room(room: Room) -> tuple[TableKey, int]:
    """The round and table for which a room was opened, and the number of the round's shuffle."""
    assert room.spec is not None
    return (int(room.spec.deal.id.partition("/")[2]), room.spec.table), room.spec.deal.number


def summary_of(news: RoomNews, state: TournamentState, race: TableRace, now_ms: int) -> RoomSummary:
    """The summary of a room at another server, by this server's clock."""
    spec = shared_deal_spec(state, race.round, race.pairing)
    options = race_options(state.options, seats=len(news.seats))
    starts_at = now_ms - news.elapsed_ms if news.elapsed_ms is not None else None
    opened_at = now_ms - news.age_ms
    return RoomSummary(options, spec, news.race, 1, news.phase, news.seats, opened_at, starts_at, 0, sealed=True)


class HostedRooms:
    """The rooms here of one tournament that another server leads. Only the director's task may change anything."""

    def __init__(self, ports: TournamentPorts, tournament: str) -> None:
        self._ports = ports
        self._tournament = tournament

    def __iter__(self) -> Iterator[Room]:
        return iter(self._ports.rooms.of_tournament(self._tournament))

    def __len__(self) -> int:
        return len(self._ports.rooms.of_tournament(self._tournament))

    def news(self, now_ms: int) -> tuple[RoomNews, ...]:
        """News of the rooms that others can find."""
        return tuple(_news(room, now_ms) for room in self if room.is_kept and not room.is_closed)

    def tend(self, state: TournamentState) -> None:
        """Do what follows from the log. The log may be behind: a room that it does not know of stays as it is."""
        wanted = {race.key: state.deal_number(race.key) for race in state.wanted()}
        for room in self:
            key, number = place_of_room(room)
            if key[0] > state.round or number > state.deal_number(key):
                continue
            if wanted.get(key) != number:
                if room.summary.phase != "over":
                    # The round may be over and its secret public, so nobody may race on.
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
                # The table has another room: this one was opened by a late order.
                room.tell(CallOff())
            elif room.code in orders.starts:
                wait_ms = orders.starts[room.code] - self._ports.clock.wall_ms()
                # The limit to START_MS is for clocks that differ: then the order counts as just given.
                room.tell(Release(self._ports.clock.now_ms() + min(max(wait_ms, 0), START_MS)))

    def _open(self, state: TournamentState, openings: tuple[TableOpening, ...]) -> None:
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
                # The leading server has it opened elsewhere.
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
