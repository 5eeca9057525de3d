"""The rooms in which the last round of one tournament is raced. All that a tournament knows of rooms is here. The rules of the file:

Wanted     Each race that the state wants has a room, and each room that it does not want is called off (`update`). So after a restart the
           director has only to take back the rooms that are there and update again.
Start      A room is held until all rooms of the round are ready, or the others' time is up; then all are released at one moment, so that no
           table knows the cards while another has yet to be dealt them. Races that are run again wait until no table is racing, and
           start together too. A table that comes late to a shuffle that was dealt starts at once.
Results    A room gives its record once that is kept. A room that closes without one, after its start, is an aborted race.
No-shows   Entrants are called when their room opens. Those who are not ready `no_show_s` later forfeit.
Elsewhere  In a place of several servers a room is opened at the one with least to do. What is said to and by the others, and what it is
           worth, says `hosting`. A table whose server cannot be heard is not ready, and nobody forfeits there.

Only the director's task calls what changes anything here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import trio

from protocol.errors import Refusal
from protocol.record import Record
from server.rooms.driver import Room
from server.rooms.outgoing import Outgoing
from server.rooms.requests import CallOff, Release, Reveal
from server.tournaments.commands import clean_reason
from server.tournaments.events import Event, ResultEntered, TableRaceAborted
from server.tournaments.hosting import START_MS, Opening, Orders, RoomNews, open_table, summary_of
from server.tournaments.pairing.crosstable import TableKey, TableRace
from server.tournaments.ports import TournamentPorts
from server.tournaments.state import TournamentState
from server.tournaments.table_room import RoomElsewhere, TableRoom
from server.tournaments.tables import no_show, result_of, seating
from server.tournaments.views import TableNews

logger = logging.getLogger("carpet.tournaments")

RETRY_S: Final = 5.0
"""Seconds until something is tried again that the store or the list of rooms has refused, or a fault has broken."""


RELEASE_MS: Final = 5
"""Milliseconds that are allowed for releasing one room, before the countdown of all begins."""

LOOK_S: Final = 2.0
"""Seconds between two looks at what the store has of rooms elsewhere; and that another server has for opening one."""


@dataclass(slots=True)
class _Expected:
    """A room of which nothing has been told yet. number: of the round's shuffle. node: at which it is to be opened; None for one that the
    store has already: race_id is its id. since: on the clock of Trio."""

    race: TableRace
    number: int
    node: int | None
    since: float
    race_id: str = ""


class TableRooms:
    """`by_table`: of races that are wanted now."""

    def __init__(self, ports: TournamentPorts) -> None:
        self.by_table: dict[int, TableRoom] = {}
        self._ports = ports
        self._byes_run: set[TableKey] = set()
        self._dealt = 0, 0
        self._rest_until: float | None = None
        # Of rooms elsewhere, by table.
        self._expected: dict[int, _Expected] = {}
        self._starts: dict[str, int] = {}
        self._kept_home: set[int] = set()

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
        ready = [table for table in self if table.is_waiting and table.is_ready and table.room.code not in self._starts]
        released = [table for table in ready if is_complete or (table.race.round, table.number) <= self._dealt]
        wait_ms = max(RELEASE_MS * len(released), START_MS if any(table.is_elsewhere for table in released) else 0)
        countdown_from_ms, start_ms = self._ports.clock.now_ms() + wait_ms, self._ports.clock.wall_ms() + wait_ms
        for table in released:
            self.note_dealt(table.race.round, table.number)
            if isinstance(table.room, RoomElsewhere):
                self._starts[table.room.code] = start_ms
            else:
                table.room.tell(Release(countdown_from_ms))
            await trio.lowlevel.checkpoint()

    def _wanted(self, state: TournamentState) -> list[TableRace]:
        return [race for race in state.wanted() if race.key not in self._byes_run]

    def take_back(self, state: TournamentState) -> None:
        """Find the rooms of races that are wanted among those that an earlier server has left, and call off the others."""
        wanted = {race.pairing.table: race for race in self._wanted(state)}
        for room in self._of_round(state, state.round):
            assert room.spec is not None
            place = room.spec.table
            race = wanted.get(place)
            is_current = race is not None and room.spec.deal.number == state.deal_number(race.key)
            known = self.by_table.get(place)
            is_new = known is None or (known.is_elsewhere and known.room.code == room.code)
            if race is not None and is_current and is_new and not room.is_closed:
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
                if not isinstance(table.room, RoomElsewhere):
                    # Nobody races on: the round may be over, and its secret public.
                    table.room.tell(CallOff(also_running=True, by_host=by_host))
            elif state.paused and table.room.summary.phase == "waiting" and not isinstance(table.room, RoomElsewhere):
                # It stays until it is closed: a race that is just about to begin is run.
                table.room.tell(CallOff())
        for place, expected in list(self._expected.items()):
            if place in self.by_table or wanted.get(place) != expected.race or expected.number != state.deal_number(expected.race.key):
                del self._expected[place]
        codes = {table.room.code for table in self if table.is_waiting}
        self._starts = {code: start for code, start in self._starts.items() if code in codes and not state.paused}
        is_any_racing = not all(table.is_waiting for table in self) or any(expected.race_id for expected in self._expected.values())
        opened: list[TableRace] = []
        for place, race in wanted.items() if not state.paused else ():
            is_dealt = (race.round, state.deal_number(race.key)) <= self._dealt
            is_there = place in self.by_table or place in self._expected
            if not is_there and (is_dealt or not is_any_racing) and self._place(race, state):
                opened.append(race)
                await trio.lowlevel.checkpoint()
        for race in opened:
            self._call_all(state, self.by_table[race.pairing.table])

    def _place(self, race: TableRace, state: TournamentState) -> bool:
        """Open its room here, or have it opened elsewhere. Gives whether it is open here by now."""
        place = race.pairing.table
        asked = [expected.node for expected in self._expected.values() if expected.node is not None]
        node = self._ports.choose_node(seating(state, race.pairing).invited, asked) if place not in self._kept_home else None
        if node is None or node == self._ports.node:
            return self._open(race, state)
        self._expected[place] = _Expected(race, state.deal_number(race.key), node, trio.current_time())
        return False

    def _open(self, race: TableRace, state: TournamentState) -> bool:
        if self._rest_until is not None:
            return False
        try:
            room = open_table(self._ports, state, race)
        except Refusal as refusal:
            logger.warning("tournament %s: table %d has no room: %s", state.id, race.pairing.table, refusal)
            self._rest()
            return False
        self._kept_home.discard(race.pairing.table)
        self._add(room, race, state)
        return True

    def _add(self, room: Room | RoomElsewhere, race: TableRace, state: TournamentState) -> None:
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

    def call_anew(self, state: TournamentState) -> None:
        """Time has stood still: say again how much is left, where it runs out."""
        for table in self:
            if table.no_show_at(state) is not None:
                self._call_all(state, table)

    # ---- rooms elsewhere

    @property
    def are_elsewhere(self) -> bool:
        """Whether the store is to be looked at for what comes of them."""
        return bool(self._expected) or any(table.is_elsewhere for table in self)

    def orders(self, state: TournamentState) -> Orders:
        """For the other servers."""
        opened = (
            Opening(node=each.node, round=each.race.round, table=table, race=each.race.number, number=each.number)
            for table, each in self._expected.items()
            if each.node is not None
        )
        rooms = {place: table.room.code for place, table in self.by_table.items() if table.is_findable}
        return Orders(len(state.log), tuple(opened), rooms, self._starts)

    def news(self, state: TournamentState, now_ms: int) -> tuple[TableNews, ...]:
        """How the rooms stand, for other servers: of those that they can find by now."""
        findable = (table for table in self if table.is_findable)
        return tuple(TableNews(table.race.key, table.race.number, table.live(state, now_ms)) for table in findable)

    def hear(self, state: TournamentState, told: Sequence[RoomNews]) -> bool:
        """What the others say of their rooms. Gives whether the store has something new."""
        self.take_back(state)
        wanted = {race.pairing.table: race for race in self._wanted(state)}
        now, has_news = self._ports.clock.now_ms(), False
        for news in told:
            race, known, expected = wanted.get(news.table), self.by_table.get(news.table), self._expected.get(news.table)
            if race is None or (news.round, news.number) != (race.round, state.deal_number(race.key)):
                continue
            if known is not None and (not known.is_elsewhere or known.room.code != news.code):
                # One too many: its server closes it.
                continue
            if known is None and expected is not None and expected.race_id not in ("", news.race):
                continue
            room = RoomElsewhere(news.code, news.race, summary_of(news, state, race, now), trio.current_time())
            if known is None:
                self._add(room, race, state)
                self._call_all(state, self.by_table[news.table])
            else:
                # Whoever could not be heard could not hear either: those who are missing there have their whole time once more.
                known.called_at_ms = max(now if known.is_silent else 0, known.called_at_ms)
                known.room = room
            if news.phase != "waiting":
                self.note_dealt(race.round, news.number)
            has_news = has_news or news.phase == "over"
        return has_news

    def note_running(self, state: TournamentState, running: Mapping[int, Sequence[str]]) -> None:
        """What the store has just shown: the ids of races that are not over, of the tables that are wanted and as they are."""
        now = trio.current_time()
        for place, table in list(self.by_table.items()):
            if isinstance(table.room, RoomElsewhere) and table.room.race not in running.get(place, ()):
                # It was closed before its start.
                del self.by_table[place]
        for race in self._wanted(state):
            place, expected = race.pairing.table, self._expected.get(race.pairing.table)
            if place in running and place not in self.by_table:
                self._expected[place] = _Expected(race, state.deal_number(race.key), None, now, running[place][0])
            elif expected is not None and place not in running and now - expected.since >= LOOK_S:
                del self._expected[place]
                # Nobody waits for a second server.
                self._kept_home.add(place)

    # ---- what comes of them

    def results(self, state: TournamentState, over: list[tuple[Room, Record]]) -> list[Event]:
        """Of rooms whose race is over, with its record, and of those that have closed without one. They are no longer wanted."""
        events: list[Event] = []
        tables = {table.room: table for table in self if not isinstance(table.room, RoomElsewhere)}
        for room, record in over:
            # Otherwise it does not count: the director has ruled on that table, or an entrant has withdrawn.
            if room in tables:
                events += self.raced(state, tables.pop(room).race, record)
        for room, table in list(tables.items()):
            if room.summary.closed:
                del tables[room]
                if not state.paused:
                    self._rest()
                # Over, but not kept: those who played it know its cards.
                if table.room.summary.phase in ("countdown", "racing", "over"):
                    events.append(TableRaceAborted(*table.race.key, clean_reason(room.summary.closed)))
        here = tables.values()
        self.by_table = {place: table for place, table in self.by_table.items() if table.is_elsewhere or table in here}
        return events

    async def found_results(self, state: TournamentState) -> tuple[dict[int, list[Event]], dict[int, list[str]]]:
        """What came of the races that are wanted, as far as the store knows, by table; and the ids of those that are not over.

        Raises StoreError.
        """
        store, ask = self._ports.store, self._ports.journal.ask
        wanted = {race.pairing.table: race for race in state.wanted()}
        found: dict[int, list[Event]] = {}
        running: dict[int, list[str]] = {}
        for run in await ask(store.runs, "round", state.deal_id(state.round)) if wanted else ():
            race = wanted.get(run.spec.table)
            if run.seats:
                self.note_dealt(state.round, run.spec.deal.number)
            if race is None or race.pairing.table in found or run.spec.deal.number != state.deal_number(race.key):
                continue
            if run.phase == "running":
                running.setdefault(race.pairing.table, []).append(run.race)
            record = await ask(store.record, run.race) if run.phase == "over" else None
            if record is not None:
                found[race.pairing.table] = self.raced(state, race, record)
            elif run.phase == "aborted" and run.seats:
                found[race.pairing.table] = [TableRaceAborted(*race.key, "the server could not go on with it")]
        return found, running

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
        deal = state.deal_id(number)
        return [room for room in self._ports.rooms.of_tournament(state.id) if room.spec is not None and room.spec.deal.id == deal]
