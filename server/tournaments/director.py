"""One tournament while the server runs: its task, and what is done about what was decided. The rules of the file:

Deciding   Requests, results and the time lead to choices, in the order in which they come. A choice is in the journal before anything is
           told or done about it. What cannot be kept has not been decided.
Doing      What is done follows from the course alone (`_act`): each race that is wanted has a room, each room that is not wanted is called
           off, and the secret of a round that is over is told. So a server that starts has only to do it again.
Results    Come from rooms once they are kept. Those that were kept and not entered before a crash are read from the store.

Owns the rooms of the last round. Must not know how entrants are paired or ranked, nor what is told of a tournament.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from protocol.server_messages import Called, Decided
from server.rooms.driver import Room
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing, refused
from server.rooms.ports import Purpose
from server.rooms.requests import CallOff, Reveal
from server.store.errors import StoreError
from server.store.port import Entry, SharedDealMade, SharedDealRevealed, TournamentDecided
from server.tournaments.choices import BrokenOff, BrokenRace, Choice, Finished, Paired, Raced
from server.tournaments.commands import AboutOne, Asker, Ruling, as_refusal, rule, taken, time_is_up
from server.tournaments.documents import encode_choice
from server.tournaments.log import reduced
from server.tournaments.log_text import name_of
from server.tournaments.ports import TournamentPorts
from server.tournaments.state import Course
from server.tournaments.tables import Seating, no_show, occasion, race_options, result_of, seating
from server.tournaments.tournament import Race, Refused

logger = logging.getLogger("carpet.tournaments")

ASKED_AT_ONCE: Final = 512
"""Requests that may wait for a tournament's task: all entrants may check in at one moment. Past it a request is refused with
`server/busy`, and its sender asks again."""

LONGEST_LOG: Final = 20_000
"""Decisions after which entrants come and go no more: some hundred times what a tournament of 256 takes."""

RETRY_S: Final = 5.0
"""Seconds until something is tried again that the store or the list of rooms has refused, or a fault has broken."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody's request, to be answered by this line."""

    member: Member
    asker: Asker
    message: AboutOne


@dataclass(slots=True, eq=False)
class TableRoom:
    """The room of a race of the last round. called_at_ms: when its entrants were told, by this server."""

    room: Room
    race: Race
    number: int  # of the round's shuffle
    seating: Seating
    called_at_ms: int


class Director:
    """Run `run` in a task. changed: called with it after every decision, and when a room of it has changed."""

    def __init__(self, course: Course, ports: TournamentPorts, changed: Callable[[Director], None]) -> None:
        self.course = course
        self.tables: dict[int, TableRoom] = {}
        """The rooms of races that are wanted, by table."""
        self._ports = ports
        self._changed = changed
        self._asked: deque[Asked] = deque()
        self._over: deque[tuple[Room, Record]] = deque()
        self._byes_run: set[tuple[int, int]] = set()
        self._wake = trio.Event()
        self._rest_until: float | None = None
        self._nursery: trio.Nursery

    # ---- for other tasks

    def ask(self, asked: Asked) -> None:
        """Raises Refusal `server/busy` when too much is asked."""
        if len(self._asked) >= ASKED_AT_ONCE:
            raise Refusal(ErrorCode.SERVER_BUSY)
        self._asked.append(asked)
        self._wake.set()

    def race_over(self, room: Room, record: Record) -> None:
        """The race in one of its rooms has a record, which is kept."""
        self._over.append((room, record))
        self._wake.set()

    def rooms_changed(self) -> None:
        """Some room of the server is another than it was."""
        if any(table.room.is_closed for table in self.tables.values()):
            self._wake.set()

    def calls_of(self, entrant: str) -> tuple[Called, ...]:
        """What an entrant is to be told who has just come."""
        waiting = (table for table in self.tables.values() if entrant in table.seating.invited and table.room.summary.phase != "over")
        return tuple(self._call(table, entrant) for table in waiting)

    def no_show_at(self, table: TableRoom) -> int | None:
        """When who is missing forfeits; None where the race has begun."""
        if table.room.summary.phase != "waiting" or not table.seating.invited:
            return None
        return table.called_at_ms + 1000 * self.course.options.no_show_s

    # ---- the task

    async def run(self) -> None:
        """Until cancelled. A fault costs what it was about; the rest goes on from what is kept."""
        async with trio.open_nursery() as self._nursery:
            while True:
                try:
                    await self._come_back()
                    await self._serve()
                except StoreError as error:
                    logger.error("tournament %s: nothing can be decided: %s", self.course.id, error)
                except Exception:
                    logger.exception("tournament %s: a fault", self.course.id)
                await trio.sleep(RETRY_S)

    async def _come_back(self) -> None:
        """Look in the store how far the tournament is, find the rooms of its round, and enter results that were kept and not entered."""
        # A decision may be kept although its writer was told otherwise.
        kept = await self._ports.journal.ask(self._ports.store.tournament_log, self.course.id)
        self.course = reduced(self.course, kept[len(self.course.log) :])
        number = self.course.round
        wanted = {race.pairing.table: race for race in self.course.wanted()}
        choices: list[Choice] = []
        found: set[int] = set()
        for run in await self._ports.journal.ask(self._ports.store.runs, "round", self.course.deal_id(number)) if wanted else ():
            place = run.occasion.table
            race = wanted.get(place)
            if place in found:
                continue
            if race is None or run.occasion.deal.number != self.course.numbers.get((number, place), 1):
                continue
            record = await self._ports.journal.ask(self._ports.store.record, run.race) if run.phase == "over" else None
            if record is not None:
                found.add(place)
                choices += self._raced(race, record)
            elif run.phase == "aborted" and run.seats:
                found.add(place)
                choices.append(BrokenRace(number, place, "the server could not go on with it"))
        for room in self._ports.rooms:
            self._take_back(room, wanted)
        if choices:
            for choice in choices:
                assert isinstance(choice, (Raced, BrokenRace))
                self.tables.pop(choice.table, None)
            await self._decide(choices)
        else:
            self._act()
        for over in range(1, self.course.round + 1):
            self._reveal(over)

    def _take_back(self, room: Room, wanted: Mapping[int, Race]) -> None:
        """If it is the room of a race that is wanted."""
        spec = room.spec
        if spec is None or not self._is_of(room, self.course.round):
            return
        race = wanted.get(spec.table)
        number = self.course.numbers.get((self.course.round, spec.table), 1)
        if race is not None and number == spec.deal.number and spec.table not in self.tables and not room.is_closed:
            table = TableRoom(room, race, number, seating(self.course, race.pairing), self._ports.clock.now_ms())
            self.tables[spec.table] = table
            for entrant in table.seating.invited:
                self._tell(entrant, self._call(table, entrant))

    async def _serve(self) -> None:
        while True:
            with trio.move_on_at(self._deadline()):
                await self._wake.wait()
            self._wake = trio.Event()
            if self._rest_until is not None and self._rest_until <= trio.current_time():
                self._rest_until = None
            await self._enter_results()
            await self._answer_all()
            await self._heed_time()

    def _deadline(self) -> float:
        moments = [self.course.next_due_ms, *(self.no_show_at(table) for table in self.tables.values())]
        due = min((moment for moment in moments if moment is not None), default=None)
        wake_at = self._ports.clock.deadline(due) if due is not None else float("inf")
        return wake_at if self._rest_until is None else min(self._rest_until, wake_at)

    def _rest(self) -> None:
        """Open no room for a moment: there are too many, or something ends them as soon as they are open."""
        self._rest_until = trio.current_time() + RETRY_S

    # ---- deciding

    async def _decide(self, choices: Iterable[Choice], *, author: str | None = None, pairs: bool = False) -> None:
        """Take the choices, keep them, and act on them. pairs: the next round behind them. Raises Refused and StoreError, with nothing
        changed."""
        now = self._ports.clock.now_ms()
        course = taken(self.course, choices, at_ms=now, author=author)
        if pairs:
            settled, length = course.settled()
            paired = await self._ports.pair_next(settled)
            follows = Finished() if paired is None else Paired(paired, length)
            now = max(now, self._ports.clock.now_ms())
            course = course.after(follows, at_ms=now, author=author)
        # Nothing follows a round that was the last: no pause need be waited for.
        if course.is_played_out:
            course = course.after(Finished(), at_ms=now)
        await self._ports.journal.write(*self._entries(course))
        was, self.course = self.course, course
        self._act()
        for number in range(max(was.round, 1), course.round + 1):
            if number > was.round or was.shuffles[number - 1].over_at_ms is None:
                self._reveal(number)

    def _entries(self, after: Course) -> list[Entry]:
        entries: list[Entry] = [
            TournamentDecided(
                tournament=after.id,
                sequence=chosen.number,
                at_ms=chosen.at_ms,
                author=chosen.author,
                decision=encode_choice(chosen.choice),
                closes=isinstance(chosen.choice, (Finished, BrokenOff)),
            )
            for chosen in after.log[len(self.course.log) :]
        ]
        for number, shuffle in enumerate(after.shuffles, 1):
            was = self.course.shuffles[number - 1] if number <= len(self.course.shuffles) else None
            if was is None:
                entries.append(
                    SharedDealMade(
                        kind="round",
                        id=after.deal_id(number),
                        secret=after.secret(number),
                        at_ms=shuffle.paired_at_ms,
                        nonces=(shuffle.nonce,),
                    )
                )
            if shuffle.over_at_ms is not None and (was is None or was.over_at_ms is None):
                entries.append(SharedDealRevealed(kind="round", id=after.deal_id(number), at_ms=shuffle.over_at_ms))
        return entries

    async def _answer_all(self) -> None:
        while self._asked:
            asked = self._asked.popleft()
            try:
                number = await self._answer(asked)
            except Refusal as refusal:
                asked.member.post(refused(refusal, asked.message.ref))
            except StoreError as error:
                logger.error("tournament %s: what was asked cannot be kept: %s", self.course.id, error)
                asked.member.post(refused(Refusal(ErrorCode.NOT_KEPT), asked.message.ref))
                # It may be kept all the same: `run` looks.
                raise
            else:
                asked.member.post(Outgoing(Decided(id=self.course.id, number=number, ref=asked.message.ref)))

    async def _answer(self, asked: Asked) -> int:
        """The number of the decision that was asked for."""
        number = len(self.course.log) + 1
        if number > LONGEST_LOG and asked.asker.id != self.course.director:
            raise Refusal(ErrorCode.NOT_NOW, "too much has been decided about it already; its director can still do so")
        try:
            ruling = rule(self.course, asked.asker, asked.message)
            await self._decide(ruling.choices, author=asked.asker.id, pairs=ruling.pairs)
        except Refused as error:
            raise as_refusal(error) from error
        return number

    async def _enter_results(self) -> None:
        """What has come from rooms since the last look, in one decision."""
        choices: list[Choice] = []
        rooms = {table.room: table for table in self.tables.values()}
        for room, record in self._over:
            # Else of no account: the director has said what came of that table, or who was in it has withdrawn.
            if room in rooms:
                choices += self._raced(rooms.pop(room).race, record)
        for table in list(rooms.values()):
            if table.room.is_closed:
                del rooms[table.room]
                if not self.course.paused:
                    self._rest()
                # Over, but not kept: its cards are known to who has played them.
                if table.room.summary.phase in ("countdown", "racing", "over"):
                    choices.append(BrokenRace(table.race.round, table.race.pairing.table, "its room was closed"))
        self._over.clear()
        self.tables = {table.race.pairing.table: table for table in rooms.values()}
        # Where this cannot be kept, `_come_back` finds the results in the store.
        if choices:
            await self._decide(choices)
        else:
            self._act()

    def _raced(self, race: Race, record: Record) -> list[Choice]:
        if not race.pairing.counted:
            self._byes_run.add((race.round, race.pairing.table))
            return []
        result = result_of(self.course, race.pairing, record)
        return [Raced(race.round, race.pairing.table, race.number, result, record.id)]

    async def _heed_time(self) -> None:
        now = self._ports.clock.now_ms()
        choices: list[Choice] = []
        for table in list(self.tables.values()):
            due = self.no_show_at(table)
            if due is not None and due <= now:
                choices += self._missed(table)
        if choices:
            await self._decide(choices)
        due = self.course.next_due_ms
        if due is not None and due <= now:
            ruling = Ruling((Finished(),)) if self.course.is_played_out else time_is_up(self.course)
            await self._decide(ruling.choices, pairs=ruling.pairs)

    def _missed(self, table: TableRoom) -> list[Choice]:
        people = table.room.summary.seats[: len(table.seating.invited)]
        absent = {number for number, seat in enumerate(people) if not seat.ready}
        result = no_show(table.seating, absent)
        if result is None:
            # All are there: the race is just about to begin.
            table.called_at_ms = self._ports.clock.now_ms()
            return []
        if not table.race.pairing.counted:
            self._byes_run.add((table.race.round, table.race.pairing.table))
            self._act()
            return []
        return [Raced(table.race.round, table.race.pairing.table, table.race.number, result)]

    # ---- doing

    def _act(self) -> None:
        """Make the rooms those that the course wants."""
        wanted = {race.pairing.table: race for race in self.course.wanted() if (race.round, race.pairing.table) not in self._byes_run}
        for place, table in list(self.tables.items()):
            number = self.course.numbers.get((table.race.round, place), 1)
            if wanted.get(place) != table.race or table.number != number:
                del self.tables[place]
                # Nobody races on where the round may be over, and its secret told to anybody.
                table.room.tell(CallOff(also_running=True))
            elif self.course.paused and table.room.summary.phase == "waiting":
                # It stays until it is closed: the race may be about to begin, and then it is run.
                table.room.tell(CallOff())
        opened: list[TableRoom] = []
        for place, race in wanted.items() if not self.course.paused else ():
            if place not in self.tables and (new := self._open(race)) is not None:
                self.tables[place] = new
                opened.append(new)
        for table in opened:
            for entrant in table.seating.invited:
                self._tell(entrant, self._call(table, entrant))
        self._changed(self)

    def _open(self, race: Race) -> TableRoom | None:
        if self._rest_until is not None:
            return None
        course, place = self.course, race.pairing.table
        seated = seating(course, race.pairing)
        options = race_options(course.options, seats=len(seated.sides), bots=seated.bots)
        purpose = Purpose(occasion=occasion(course, race.round, race.pairing), secret=course.secret(race.round))
        try:
            room = self._ports.rooms.open(options, purpose)
        except Refusal as refusal:
            logger.warning("tournament %s: table %d has no room: %s", course.id, place, refusal)
            self._rest()
            return None
        return TableRoom(room, race, course.numbers.get((race.round, place), 1), seated, self._ports.clock.now_ms())

    def _call(self, table: TableRoom, entrant: str) -> Called:
        course, pairing = self.course, table.race.pairing
        opponent = next((other for other in pairing.entrants if other != entrant), None)
        due = self.no_show_at(table)
        return Called(
            id=course.id,
            name=course.options.name,
            round=table.race.round,
            table=pairing.table,
            race=table.race.number,
            code=table.room.code,
            opponent=name_of(course, opponent) if opponent is not None else "",
            bot=course.people[opponent].bot if opponent is not None else next(iter(table.seating.bots), None),
            until_ms=max(due - self._ports.clock.now_ms(), 0) if due is not None else None,
        )

    def _tell(self, player: str, message: Called) -> None:
        line = self._ports.players.line(player)
        if line is not None:
            line.post(Outgoing(message))

    def _reveal(self, number: int) -> None:
        """Have the rooms of a round that is over tell its records."""
        if self.course.shuffles[number - 1].over_at_ms is None:
            return
        for room in self._ports.rooms:
            spec = room.spec
            if spec is not None and spec.deal.kind == "round" and spec.deal.id == self.course.deal_id(number) and room.summary.sealed:
                room.tell(Reveal())

    def _is_of(self, room: Room, number: int) -> bool:
        """Whether it was opened for that round of this tournament."""
        deal = room.spec.deal if room.spec is not None else None
        return deal is not None and (deal.kind, deal.id) == ("round", self.course.deal_id(number))
