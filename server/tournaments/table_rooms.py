"""The rooms in which the last round of one tournament is raced. All that a tournament knows of rooms is here. The rules of the file:

Wanted     Each race that the state wants has a room, and each room that it does not want is called off (`update`). So after a restart the
           director has only to take back the rooms that are there and update again.
Start      A room is held until all rooms of the round are ready, or the others' time is up; then all are released at one moment, so that no
           table knows the cards while another has yet to be dealt them. Races that are run again wait until no table is racing, and
           start together too. A table that comes late to a shuffle that was dealt starts at once.
Results    A room gives its record once that is kept. A room that closes without one, after its start, is an aborted race.
No-shows   Entrants are called when their room opens. Those who are not ready `no_show_s` later forfeit.

Only the director's task calls what changes anything here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import trio

from protocol.errors import Refusal
from protocol.record import Record
from protocol.tournament_messages import Called
from protocol.tournaments import TournamentSide
from server.rooms.driver import Room
from server.rooms.outgoing import Outgoing
from server.rooms.requests import CallOff, Release, Reveal
from server.tournaments.events import Event, ResultEntered, TableRaceAborted
from server.tournaments.log_text import name_of
from server.tournaments.pairing.crosstable import TableKey, TableRace
from server.tournaments.ports import TournamentPorts
from server.tournaments.state import TournamentState
from server.tournaments.tables import Seating, no_show, race_options, result_of, seating, shared_deal_spec
from server.tournaments.views import LiveTable

logger = logging.getLogger("carpet.tournaments")

RETRY_S: Final = 5.0
"""Seconds until something is tried again that the store or the list of rooms has refused, or a fault has broken."""


RELEASE_MS: Final = 5
"""Milliseconds that are allowed for releasing one room, before the countdown of all begins."""


@dataclass(slots=True, eq=False)
class TableRoom:
    """The room of a race of the last round. number: of the round's shuffle. called_at_ms: when its entrants were told.
    is_late: the time to come is over."""

    room: Room
    race: TableRace
    number: int
    seating: Seating
    called_at_ms: int
    is_late: bool = False

    @property
    def is_waiting(self) -> bool:
        return self.room.summary.phase == "waiting" and not self.room.is_closed

    @property
    def is_ready(self) -> bool:
        """Whether it waits for nobody but other tables. Ready players whose connection is gone are waited for, until the time is over."""
        return all(seat.ready and (seat.connected or self.is_late) for seat in self.room.summary.seats)

    def no_show_at(self, state: TournamentState) -> int | None:
        """When those who are missing forfeit; None when nobody is."""
        if not self.is_waiting or self.is_ready:
            return None
        return self.called_at_ms + 1000 * state.options.no_show_s

    def live(self, state: TournamentState, now_ms: int) -> LiveTable:
        due = self.no_show_at(state)
        return LiveTable(
            code=self.room.code,
            sides=tuple(self._side(state, seat) for seat in self.seating.sides),
            elapsed_ms=self.room.summary.elapsed_ms(now_ms),
            no_show_ms=max(due - now_ms, 0) if due is not None else None,
        )

    def _side(self, state: TournamentState, number: int) -> TournamentSide:
        seat, entrant = self.room.summary.seats[number], self.seating.entrants[number]
        return TournamentSide(
            entrant=entrant,
            name=name_of(state, entrant) if entrant is not None else state.options.bot,
            present=seat.player is not None and seat.connected,
            state=seat.state,
            home=seat.home,
        )

    def call(self, state: TournamentState, entrant: str, now_ms: int) -> Called:
        """What an entrant who is wanted here is told."""
        return call_to(self.race, self.live(state, now_ms), state, entrant)


def call_to(race: TableRace, live: LiveTable, state: TournamentState, entrant: str) -> Called:
    """What an entrant who is wanted at a table is told, wherever its room is."""
    pairing = race.pairing
    opponent = next((other for other in pairing.entrants if other != entrant), None)
    return Called(
        id=state.id,
        name=state.options.name,
        round=race.round,
        table=pairing.table,
        race=race.number,
        code=live.code,
        opponent=name_of(state, opponent) if opponent is not None else "",
        bot=state.people[opponent].bot if opponent is not None else next(iter(seating(state, pairing).bots), None),
        until_ms=live.no_show_ms,
    )


class TableRooms:
    """`by_table`: of races that are wanted now."""

    def __init__(self, ports: TournamentPorts) -> None:
        self.by_table: dict[int, TableRoom] = {}
        self._ports = ports
        self._byes_run: set[TableKey] = set()
        self._dealt = 0, 0
        self._rest_until: float | None = None

    def __iter__(self) -> Iterator[TableRoom]:
        return iter(self.by_table.values())

    def deadline(self, state: TournamentState) -> float:
        """When, on the clock of Trio, there is something to do here without anybody asking."""
        moments = [due for table in self if (due := table.no_show_at(state)) is not None]
        wake_at = self._ports.clock.deadline(min(moments)) if moments else float("inf")
        return wake_at if self._rest_until is None else min(self._rest_until, wake_at)

    # ---- starting, opening and calling off

    @property
    def are_to_be_looked_at(self) -> bool:
        """Whether a room has closed, or all wait to be released."""
        return any(table.room.summary.closed for table in self) or self._all_ready

    @property
    def _all_ready(self) -> bool:
        waiting = [table for table in self if table.is_waiting]
        return bool(waiting) and all(table.is_ready for table in waiting)

    def note_dealt(self, number: int, shuffle: int) -> None:
        """The round's shuffle of this number has been dealt to somebody."""
        self._dealt = max(self._dealt, (number, shuffle))

    async def release(self, state: TournamentState) -> None:
        """Start the tables that may be started, all at one moment."""
        if state.paused:
            return
        is_complete = self._all_ready and all(race.pairing.table in self.by_table for race in self._wanted(state))
        ready = [table for table in self if table.is_waiting and table.is_ready]
        released = [table for table in ready if is_complete or (table.race.round, table.number) <= self._dealt]
        countdown_from_ms = self._ports.clock.now_ms() + RELEASE_MS * len(released)
        for table in released:
            self.note_dealt(table.race.round, table.number)
            table.room.tell(Release(countdown_from_ms))
            await trio.lowlevel.checkpoint()

    def _wanted(self, state: TournamentState) -> list[TableRace]:
        return [race for race in state.wanted() if race.key not in self._byes_run]

    def take_back(self, state: TournamentState) -> None:
        """Find the rooms of races that are wanted among those that an earlier server has left, and call off the others."""
        wanted = {race.pairing.table: race for race in state.wanted()}
        for room in self._of_round(state, state.round):
            assert room.spec is not None
            place = room.spec.table
            race = wanted.get(place)
            is_current = race is not None and room.spec.deal.number == state.deal_number(race.key)
            if race is not None and is_current and place not in self.by_table and not room.is_closed:
                self._add(room, race, state)
                if room.summary.phase != "waiting":
                    self.note_dealt(race.round, state.deal_number(race.key))
                self._call_all(state, self.by_table[place])
            elif not is_current and room.summary.phase != "over":
                # It was decided while no server led the tournament.
                room.tell(CallOff(also_running=True))

    async def update(self, state: TournamentState, *, by_host: str | None = None) -> None:
        """Make the rooms those that the state wants. by_host: why the server's host does away with the others, where it is the host."""
        if self._rest_until is not None and self._rest_until <= trio.current_time():
            self._rest_until = None
        wanted = {race.pairing.table: race for race in self._wanted(state)}
        for place, table in list(self.by_table.items()):
            if wanted.get(place) != table.race or table.number != state.deal_number(table.race.key):
                del self.by_table[place]
                # Nobody races on: the round may be over, and its secret public.
                table.room.tell(CallOff(also_running=True, by_host=by_host))
            elif state.paused and table.room.summary.phase == "waiting":
                # It stays until it is closed: a race that is just about to begin is run.
                table.room.tell(CallOff())
        is_any_racing = not all(table.is_waiting for table in self)
        opened: list[TableRace] = []
        for place, race in wanted.items() if not state.paused else ():
            is_dealt = (race.round, state.deal_number(race.key)) <= self._dealt
            if place not in self.by_table and (is_dealt or not is_any_racing) and self._open(race, state):
                opened.append(race)
                await trio.lowlevel.checkpoint()
        for race in opened:
            self._call_all(state, self.by_table[race.pairing.table])

    def _open(self, race: TableRace, state: TournamentState) -> bool:
        if self._rest_until is not None:
            return False
        seated = seating(state, race.pairing)
        options = race_options(state.options, seats=len(seated.sides), bots=seated.bots)
        spec = shared_deal_spec(state, race.round, race.pairing)
        try:
            room = self._ports.rooms.open(options, spec=spec, secret=state.secret(race.round))
        except Refusal as refusal:
            logger.warning("tournament %s: table %d has no room: %s", state.id, race.pairing.table, refusal)
            self._rest()
            return False
        self._add(room, race, state)
        return True

    def _add(self, room: Room, race: TableRace, state: TournamentState) -> None:
        # The room's own time, in which no time passes while no server runs.
        called_at_ms = room.summary.opened_at - room.summary.ahead_ms
        self.by_table[race.pairing.table] = TableRoom(room, race, state.deal_number(race.key), seating(state, race.pairing), called_at_ms)

    def _rest(self) -> None:
        """Open no room for a moment: there are too many, or something ends them as soon as they are open."""
        self._rest_until = trio.current_time() + RETRY_S

    def _call_all(self, state: TournamentState, table: TableRoom) -> None:
        for entrant in table.seating.invited:
            member = self._ports.players.connection(entrant)
            if member is not None:
                member.post(Outgoing(table.call(state, entrant, self._ports.clock.now_ms())))

    # ---- what comes of them

    def results(self, state: TournamentState, over: list[tuple[Room, Record]]) -> list[Event]:
        """Of rooms whose race is over, with its record, and of those that have closed without one. They are no longer wanted."""
        events: list[Event] = []
        tables = {table.room: table for table in self}
        for room, record in over:
            # Otherwise it does not count: the director has ruled on that table, or an entrant has withdrawn.
            if room in tables:
                events += self.raced(state, tables.pop(room).race, record)
        for table in list(tables.values()):
            if table.room.summary.closed:
                del tables[table.room]
                if not state.paused:
                    self._rest()
                # Over, but not kept: those who played it know its cards.
                if table.room.summary.phase in ("countdown", "racing", "over"):
                    events.append(TableRaceAborted(table.race.round, table.race.pairing.table, "its room was closed"))
        self.by_table = {table.race.pairing.table: table for table in tables.values()}
        return events

    def raced(self, state: TournamentState, race: TableRace, record: Record) -> list[Event]:
        if not race.pairing.counted:
            self._byes_run.add(race.key)
            return []
        result = result_of(state, race.pairing, record)
        return [ResultEntered(race.round, race.pairing.table, race.number, result, record.id)]

    def no_shows(self, state: TournamentState, now_ms: int) -> list[ResultEntered]:
        """The forfeits of entrants who have not come in time."""
        events: list[ResultEntered] = []
        for table in self:
            due = table.no_show_at(state)
            if due is None or due > now_ms:
                continue
            race = table.race
            invited = table.room.summary.seats[: len(table.seating.invited)]
            result = no_show(table.seating, {number for number, seat in enumerate(invited) if not seat.ready})
            table.is_late = True
            if result is None:
                continue
            if race.pairing.counted:
                events.append(ResultEntered(race.round, race.pairing.table, race.number, result))
            else:
                self._byes_run.add(race.key)
        return events

    def reveal(self, state: TournamentState, number: int) -> None:
        """Have the rooms of a round that is over tell its records."""
        for room in self._of_round(state, number) if state.shuffles[number - 1].over_at_ms is not None else ():
            if room.summary.sealed:
                room.tell(Reveal())

    def _of_round(self, state: TournamentState, number: int) -> list[Room]:
        """The rooms that were opened for that round of this tournament."""
        deal = "round", state.deal_id(number)
        return [room for room in self._ports.rooms if room.spec is not None and (room.spec.deal.kind, room.spec.deal.id) == deal]
