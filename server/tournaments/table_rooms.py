"""The rooms for the last round of one tournament. All that a tournament knows about rooms is here. The rules of the file:

Wanted     Each race that the state wants has a room, and all other rooms are called off (`update`). So after a restart the director only
           has to take back the existing rooms and update again.
Start      A room is held until all rooms of the round are ready or out of time. Then all are released at one moment, so that no table
           knows the cards while another has yet to be dealt them. Races that are run again wait until no table is racing, and also start
           together. A table that is late for a shuffle that was already dealt starts at once.
Results    A room gives its record once that is stored. A room that closes without one after its start is an aborted race.
No-shows   Entrants are called when their room opens. Those who are not ready `no_show_s` later forfeit.
Elsewhere  In a place of several servers a room is opened at the least loaded one. `hosting` describes what the servers tell each other
           and how far it counts. While a table's server cannot be heard, the table is not ready and nobody forfeits there.

Only the director's task may change anything here.
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
from server.tournaments.hosting import START_MS, Orders, RoomNews, TableOpening, open_table, summary_of
from server.tournaments.pairing.crosstable import TableKey, TableRace
from server.tournaments.ports import ChooseNode, TournamentPorts
from server.tournaments.state import TournamentState
from server.tournaments.table_room import RoomElsewhere, TableRoom
from server.tournaments.tables import no_show, result_of, seating
from server.tournaments.views import TableNews

logger = logging.getLogger("carpet.tournaments")

RETRY_S: Final = 5.0
"""Seconds until another try after a fault, or a refusal by the store or the list of rooms."""


RELEASE_MS: Final = 5
"""Milliseconds allowed for releasing each room before the common countdown begins."""

ELSEWHERE_LOOK_S: Final = 2.0
"""Seconds between two looks at what the store has of rooms elsewhere; another server has the same time to open one."""


@dataclass(slots=True)
class _Expected:
    """A room that no server has reported yet. number: that of the round's shuffle. node: where it is to be opened; None if the store
    already has the race, whose id is race_id. since: by Trio's clock."""

    race: TableRace
    number: int
    node: int | None
    since: float
    race_id: str = ""


class TableRooms:
    """`by_table`: the rooms of races wanted now."""

    def __init__(self, ports: TournamentPorts, choose_node: ChooseNode) -> None:
        self.by_table: dict[int, TableRoom] = {}
        self._ports = ports
        self._choose_node = choose_node
        self._byes_run: set[TableKey] = set()
        self._dealt = 0, 0
        self._rest_until: float | None = None
        # Rooms elsewhere, by table.
        self._expected: dict[int, _Expected] = {}
        self._starts: dict[str, int] = {}
        self._kept_home: set[int] = set()

    def __iter__(self) -> Iterator[TableRoom]:
        return iter(self.by_table.values())

    def deadline(self, state: TournamentState) -> float:
        """When, by Trio's clock, there is something to do here without a request."""
        moments = [due for table in self if (due := table.no_show_at(state)) is not None]
        wake_at = self._ports.clock.deadline(min(moments)) if moments else float("inf")
        return wake_at if self._rest_until is None else min(self._rest_until, wake_at)

    # ---- starting, opening and calling off

    @property
    def are_to_be_looked_at(self) -> bool:
        """Whether a room has closed, or one waits to be released."""
        return any(table.room.summary.closed or self._is_late(table) for table in self) or self._all_ready

    @property
    def _all_ready(self) -> bool:
        """Whether all tables wait for each other alone. Nobody waits for a race that is run for fun."""
        waiting = [table for table in self if table.is_waiting and table.race.pairing.counted]
        return bool(waiting) and all(table.is_ready for table in waiting)

    def _is_due(self, table: TableRoom) -> bool:
        return table.is_waiting and table.is_ready and table.room.code not in self._starts

    def _is_late(self, table: TableRoom) -> bool:
        """Whether others have started without it, and it can too."""
        return self._is_due(table) and (table.race.round, table.number) <= self._dealt

    def note_dealt(self, number: int, shuffle: int) -> None:
        """The shuffle of this number in the round has been dealt to somebody."""
        self._dealt = max(self._dealt, (number, shuffle))

    async def release(self, state: TournamentState) -> None:
        """Start all tables that may start, at one moment."""
        if state.paused:
            return
        is_complete = self._all_ready and all(race.pairing.table in self.by_table for race in self._wanted(state))
        released = [table for table in self if self._is_due(table) and (is_complete or self._is_late(table))]
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
        """Find the rooms of wanted races among those that an earlier server left, and call off the others."""
        wanted = {race.pairing.table: race for race in self._wanted(state)}
        for room in self._of_round(state, state.round):
            assert room.spec is not None
            table_number = room.spec.table
            race = wanted.get(table_number)
            is_current = race is not None and room.spec.deal.number == state.deal_number(race.key)
            known = self.by_table.get(table_number)
            is_new = known is None or (known.is_elsewhere and known.room.code == room.code)
            if race is not None and is_current and is_new and not room.is_closed:
                self._add(room, race, state)
                if room.summary.phase != "waiting":
                    self.note_dealt(race.round, state.deal_number(race.key))
                self._call_all(state, self.by_table[table_number])
            elif not is_current and room.summary.phase != "over":
                # It was decided against while no server led the tournament.
                room.tell(CallOff(also_running=True))

    async def update(self, state: TournamentState, *, by_host: str | None = None) -> None:
        """Open the rooms that the state wants and call off the others. by_host: the reason, if the server's host ends these."""
        if self._rest_until is not None and self._rest_until <= trio.current_time():
            self._rest_until = None
        wanted = {race.pairing.table: race for race in self._wanted(state)}
        for table_number, table in list(self.by_table.items()):
            if wanted.get(table_number) != table.race or table.number != state.deal_number(table.race.key):
                del self.by_table[table_number]
                if not isinstance(table.room, RoomElsewhere):
                    # The round may be over and its secret public, so nobody may race on.
                    table.room.tell(CallOff(also_running=True, by_host=by_host))
            elif state.paused and table.room.summary.phase == "waiting" and not isinstance(table.room, RoomElsewhere):
                # It stays in `by_table` until it closes, because a race that is just about to begin is run.
                table.room.tell(CallOff())
        for table_number, expected in list(self._expected.items()):
            is_wanted = wanted.get(table_number) == expected.race and expected.number == state.deal_number(expected.race.key)
            if table_number in self.by_table or not is_wanted:
                del self._expected[table_number]
        codes = {table.room.code for table in self if table.is_waiting}
        self._starts = {code: start for code, start in self._starts.items() if code in codes and not state.paused}
        # Of two races of a table the second waits for those of other tables, but not for one that is run for fun.
        is_any_racing = any(table.race.pairing.counted and not table.is_waiting for table in self)
        is_any_racing = is_any_racing or any(expected.race_id for expected in self._expected.values())
        opened: list[TableRace] = []
        for table_number, race in wanted.items() if not state.paused else ():
            is_dealt = (race.round, state.deal_number(race.key)) <= self._dealt
            is_there = table_number in self.by_table or table_number in self._expected
            if not is_there and (is_dealt or not is_any_racing) and self._place(race, state):
                opened.append(race)
                await trio.lowlevel.checkpoint()
        for race in opened:
            self._call_all(state, self.by_table[race.pairing.table])

    def _place(self, race: TableRace, state: TournamentState) -> bool:
        """Open its room here, or have it opened elsewhere. Gives whether it is now open here."""
        table_number = race.pairing.table
        asked = [expected.node for expected in self._expected.values() if expected.node is not None]
        node = self._choose_node(seating(state, race.pairing).invited, asked) if table_number not in self._kept_home else None
        if node is None or node == self._ports.node:
            return self._open(race, state)
        self._expected[table_number] = _Expected(race, state.deal_number(race.key), node, trio.current_time())
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
        # By the room's own time, which stands still while no server runs.
        called_at_ms = room.summary.opened_at - room.summary.ahead_ms
        self.by_table[race.pairing.table] = TableRoom(room, race, state.deal_number(race.key), seating(state, race.pairing), called_at_ms)

    def _rest(self) -> None:
        """Open no rooms for a moment: there are too many, or something closes them as soon as they open."""
        self._rest_until = trio.current_time() + RETRY_S

    def _call_all(self, state: TournamentState, table: TableRoom) -> None:
        for entrant in table.seating.invited:
            member = self._ports.players.connection(entrant)
            if member is not None:
                member.post(Outgoing(table.call(state, entrant, self._ports.clock.now_ms())))

    def call_anew(self, state: TournamentState) -> None:
        """Time has stood still: tell those whose time is running how much is left."""
        for table in self:
            if table.no_show_at(state) is not None:
                self._call_all(state, table)

    # ---- rooms elsewhere

    @property
    def are_elsewhere(self) -> bool:
        """Whether there are rooms elsewhere, whose results have to be looked up in the store."""
        return bool(self._expected) or any(table.is_elsewhere for table in self)

    @property
    def unseen(self) -> frozenset[int]:
        """The tables whose race the store has, but no server reports."""
        return frozenset(table_number for table_number, expected in self._expected.items() if expected.race_id)

    def orders(self, state: TournamentState) -> Orders:
        """The orders for the other servers."""
        opened = (
            TableOpening(node=each.node, round=each.race.round, table=table, race=each.race.number, number=each.number)
            for table, each in self._expected.items()
            if each.node is not None
        )
        rooms = {table_number: table.room.code for table_number, table in self.by_table.items() if table.is_findable}
        return Orders(len(state.log), tuple(opened), rooms, self._starts)

    def news(self, state: TournamentState, now_ms: int) -> tuple[TableNews, ...]:
        """The state of the rooms that other servers can find, for them."""
        findable = (table for table in self if table.is_findable)
        return tuple(TableNews(table.race.key, table.race.number, table.live(state, now_ms)) for table in findable)

    def hear(self, state: TournamentState, reports: Sequence[RoomNews]) -> bool:
        """reports: what other servers report of their rooms. Gives whether the store has something new."""
        self.take_back(state)
        wanted = {race.pairing.table: race for race in self._wanted(state)}
        now, has_news = self._ports.clock.now_ms(), False
        for news in reports:
            race, known, expected = wanted.get(news.table), self.by_table.get(news.table), self._expected.get(news.table)
            if race is None or (news.round, news.number) != (race.round, state.deal_number(race.key)):
                continue
            if known is not None and (not known.is_elsewhere or known.room.code != news.code):
                # The table has another room; the server of this one closes it.
                continue
            if known is None and expected is not None and expected.race_id not in ("", news.race):
                continue
            room = RoomElsewhere(news.code, news.race, summary_of(news, state, race, now), trio.current_time())
            if known is None:
                self._add(room, race, state)
                self._call_all(state, self.by_table[news.table])
            else:
                # While the server could not be heard, it could not hear either, so the missing have their whole time again.
                known.called_at_ms = max(now if known.is_silent else 0, known.called_at_ms)
                known.room = room
            if news.phase != "waiting":
                self.note_dealt(race.round, news.number)
            has_news = has_news or news.phase == "over"
        return has_news

    def note_running(self, state: TournamentState, running: Mapping[int, Sequence[str]]) -> None:
        """running: the ids of unfinished races that the store has just shown, by wanted table, with the tables' present shuffles."""
        now = trio.current_time()
        for table_number, table in list(self.by_table.items()):
            if isinstance(table.room, RoomElsewhere) and table.room.race not in running.get(table_number, ()):
                # It closed before its start.
                del self.by_table[table_number]
        for race in self._wanted(state):
            table_number, expected = race.pairing.table, self._expected.get(race.pairing.table)
            if table_number in running and table_number not in self.by_table:
                self._expected[table_number] = _Expected(race, state.deal_number(race.key), None, now, running[table_number][0])
            elif expected is not None and table_number not in running and now - expected.since >= ELSEWHERE_LOOK_S:
                del self._expected[table_number]
                # Do not wait for yet another server: open it here.
                self._kept_home.add(table_number)

    # ---- what comes of them

    def results(self, state: TournamentState, over: list[tuple[Room, Record]]) -> list[Event]:
        """Events for rooms whose race is over, given with its record, and for those that closed without one. These rooms are dropped."""
        events: list[Event] = []
        tables = {table.room: table for table in self if not isinstance(table.room, RoomElsewhere)}
        for room, record in over:
            # A record from another room does not count: the director has ruled on its table, or an entrant has withdrawn.
            if room in tables:
                events += self.raced(state, tables.pop(room).race, record)
        for room, table in list(tables.items()):
            if room.summary.closed:
                del tables[room]
                if not state.paused:
                    self._rest()
                # "over": its record was not stored, but those who played it know the cards.
                if table.room.summary.phase in ("countdown", "racing", "over"):
                    events.append(TableRaceAborted(*table.race.key, clean_reason(room.summary.closed)))
        here = tables.values()
        self.by_table = {table_number: table for table_number, table in self.by_table.items() if table.is_elsewhere or table in here}
        return events

    async def found_results(self, state: TournamentState) -> tuple[dict[int, list[Event]], dict[int, list[str]]]:
        """Events for those wanted races that the store has as over or aborted, by table; and the ids of those still running.

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
                found[race.pairing.table] = [TableRaceAborted(*race.key, clean_reason(run.aborted or ""))]
        return found, running

    def raced(self, state: TournamentState, race: TableRace, record: Record) -> list[Event]:
        if not race.pairing.counted:
            self._byes_run.add(race.key)
            return []
        result = result_of(state, race.pairing, record)
        return [ResultEntered(race.round, race.pairing.table, race.number, result, record.id)]

    def no_shows(self, state: TournamentState, now_ms: int) -> list[ResultEntered]:
        """Forfeits for entrants who have not come in time."""
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
        """Have the rooms of a finished round reveal its records."""
        for room in self._of_round(state, number) if state.shuffles[number - 1].over_at_ms is not None else ():
            if room.summary.sealed:
                room.tell(Reveal())

    def _of_round(self, state: TournamentState, number: int) -> list[Room]:
        """The rooms opened for that round of this tournament."""
        deal = state.deal_id(number)
        return [room for room in self._ports.rooms.of_tournament(state.id) if room.spec is not None and room.spec.deal.id == deal]
