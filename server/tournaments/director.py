"""Runs one tournament, as a task of the server. The rules of the file:

Leading    Of several servers that form one place, one leads the tournament: there the clock and results cause events, and it says where a
           room is opened and when it starts. The others follow the log in the store, decide on commands, and host rooms of its tables
           (`hosting`). The log takes each number only once: a server that was overtaken reads what has been decided, and decides again. So
           players need not know which server leads, or whether one does at the moment.

Deciding   Commands, results and the clock cause events, in the order in which they arrive. An event is in the journal before anything is
           told or done about it. What cannot be stored has not happened.
Acting     Actions follow from the state alone (`_act`): rooms are opened and called off (`table_rooms`), and rooms of a finished round
           reveal its secret. So a starting server only has to act again.
Results    Rooms report them once they are stored. Results of rooms at other servers are read from the store; so are those that were
           stored but not entered before a crash.

Must not know how entrants are paired or ranked, or what others are told about a tournament.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from protocol.tournament_messages import Called, CheckInDue, Decided
from server.rooms.driver import Room
from server.rooms.member import PlayerName
from server.rooms.outgoing import Outgoing, refused
from server.store.errors import EntryRefused, StoreError
from server.tournaments.absence import Expiry, expiry, missing
from server.tournaments.commands import (
    AskedCommand,
    as_refusal,
    banned,
    check_run_on,
    clean_reason,
    comes_anew,
    decide,
    rated_races,
    when_due,
)
from server.tournaments.documents import entries_of, replayed
from server.tournaments.events import BadTournamentLog, CalledOff, DirectorChanged, Event, Finished, RoundPaired
from server.tournaments.hosting import HostedRooms, Orders, RoomNews
from server.tournaments.pairing.crosstable import Refused, TableRace
from server.tournaments.ports import ChooseNode, TournamentPorts
from server.tournaments.state import STAGE_SENTENCES, TournamentState
from server.tournaments.table_room import call_to
from server.tournaments.table_rooms import ELSEWHERE_LOOK_S, RETRY_S, TableRooms
from server.tournaments.views import LiveTable, TableNews, check_in_due

logger = logging.getLogger("carpet.tournaments")

ASKED_AT_ONCE: Final = 512
"""Commands that may wait for a tournament's task; all entrants may check in at one moment. When full, commands are refused with
`server/busy`, and their senders ask again."""


class _Overtaken(Exception):
    """Another server has decided something at the same moment. The state here already includes it."""


class Director:
    """`run` has to run in a task. changed: called with the director after each event and each change of a room. leads: see above."""

    def __init__(
        self, state: TournamentState, ports: TournamentPorts, changed: Callable[[Director], None], choose_node: ChooseNode, *, leads: bool
    ) -> None:
        self.state = state
        self.leads = leads
        self.since_ms = ports.clock.now_ms() if leads else 0
        """When the server that leads it began to, if this one has seen that; 0 otherwise. Time before that counts against nobody."""
        self.tables = TableRooms(ports, choose_node)
        self.tables_elsewhere: tuple[TableNews, ...] = ()
        """The tables, as last told by the server that leads."""
        self.led_by: int | None = None
        """The node that leads it, as last read from the store."""
        self.hosted = HostedRooms(ports, state.id)
        self._orders: Orders | None = None
        self._reports: Sequence[RoomNews] = ()
        self._looks_at = float("inf")
        self._wakes_at = float("inf")
        # What `changed` was last told.
        self._shown: tuple[TournamentState, list[str]] | None = None
        self._acted = state
        self.is_removed = False
        self._is_to_lead = False
        self._is_behind = False
        self._ports = ports
        self._changed = changed
        self._asked: deque[AskedCommand] = deque()
        self._over: deque[tuple[Room, Record]] = deque()
        self._wake = trio.Event()
        self._scope = trio.CancelScope()
        # The host's reason for ending it, from their request until it is done.
        self._by_host: str | None = None
        self._ended_by_host = trio.Event()
        # Whom the host wants to direct it, until they do.
        self._handed: deque[tuple[PlayerName, trio.Event]] = deque()
        # Players whom the host has banned, and why, until they are withdrawn.
        self._banned: dict[str, str] = {}
        # By the place that they came from. A newly started server counts anew.
        self._newcomers = Counter[str]()
        # What this version of the server cannot read in its log; empty if there is nothing.
        self._unknown = ""

    # ---- for other tasks

    async def end(self, reason: str) -> None:
        """The server's host calls it off. Returns when that is stored, however long it takes. Raises ValueError, with a sentence."""
        if not self.state.is_closed:
            self._by_host = reason
            await self._obeyed(self._ended_by_host)

    async def hand_over(self, player: PlayerName) -> None:
        """The server's host has another player direct it. Returns when that is stored. Raises ValueError, with a sentence."""
        done = trio.Event()
        self._handed.append((player, done))
        await self._obeyed(done)
        if self.state.is_closed:
            raise ValueError(STAGE_SENTENCES[self.state.stage])

    async def _obeyed(self, done: trio.Event) -> None:
        self._wake.set()
        while not done.is_set():
            if self._unknown:
                raise ValueError(f"this version of the server cannot read all that was decided in it: {self._unknown}")
            with trio.move_on_after(RETRY_S):
                await done.wait()
        if self.is_removed:
            raise ValueError(f"there is no tournament {self.state.id} any more: another server has removed it")

    def withdraw(self, player: str, reason: str) -> None:
        """Withdraw a player, if they have entered: the server's host has banned them."""
        if self.leads and not self.state.is_closed and self.state.crosstable.plays(player):
            self._banned.setdefault(player, reason)
            self._wake.set()

    def lead(self) -> None:
        """Make this server lead it, once the decision under way is done and its rooms, which are here, are found."""
        if not self.leads:
            self._is_to_lead = True
            self._wake.set()

    def hear_who_leads(self, node: int) -> None:
        """The store says that this node leads."""
        if self.led_by not in (None, node):
            # It was taken over, and for a while no server led it, so the new one grants the whole time again.
            self.since_ms = self._ports.clock.now_ms()
        self.led_by = node

    def fall_behind(self) -> None:
        """Another server has decided something."""
        self._is_behind = True
        self._wake.set()

    def hear(self, reports: Sequence[RoomNews], orders: Orders | None) -> None:
        """What other servers say. reports: about their rooms. orders: of the server that leads according to the store; or None."""
        if self.leads:
            self._reports = reports
        elif orders is not None:
            self._orders = orders
            self._is_behind = self._is_behind or orders.decisions > len(self.state.log)
        if (reports or self.tables.are_elsewhere) if self.leads else (orders is not None or self.hosted):
            self._wake.set()

    async def catch_up(self) -> None:
        """Read the events that the store has and this server does not know yet. Raises StoreError."""
        state = self.state
        kept = await self._ports.journal.ask(self._ports.store.tournament_log, state.id, len(state.log))
        if kept:
            state = await self._ports.beside(partial(replayed, state, kept))
        if len(state.log) > len(self.state.log):
            self.state = state

    def stop(self) -> None:
        """The tournament has been removed: decide nothing more, and tell those who wait."""
        self.is_removed = True
        self._scope.cancel()

    def ask(self, asked: AskedCommand) -> None:
        """Raises Refusal: `server/busy` if too many commands wait; others if the tournament is removed or nothing can be decided here."""
        if self.is_removed:
            raise Refusal(ErrorCode.NO_SUCH_TOURNAMENT, path="$.id")
        if self._unknown:
            raise Refusal(ErrorCode.OLDER_SERVER)
        if len(self._asked) >= ASKED_AT_ONCE:
            raise Refusal(ErrorCode.SERVER_BUSY)
        self._asked.append(asked)
        self._wake.set()

    def race_over(self, room: Room, record: Record) -> None:
        """The race in one of its rooms has a record, which is stored."""
        if self.leads:
            self._over.append((room, record))
            self._wake.set()

    def rooms_changed(self) -> None:
        """One of its rooms has changed."""
        # A player who was ready and has lost their seat is waited for again, and their time may be over already.
        if self._is_at_rest or self.tables.are_to_be_looked_at or self.tables.deadline(self.state) < self._wakes_at:
            self._wake.set()

    def calls_of(self, entrant: str) -> tuple[Called | CheckInDue, ...]:
        """What to tell an entrant who has just connected."""
        if entrant in self.state.awaited:
            return (check_in_due(self.state, self.check_in_ms),)
        if not self.leads:
            return tuple(
                call_to(race, live, self.state, entrant) for race, live in self.races_elsewhere() if entrant in race.pairing.entrants
            )
        now = self._ports.clock.now_ms()
        waiting = (table for table in self.tables if entrant in table.seating.invited and table.room.summary.phase != "over")
        return tuple(table.call(self.state, entrant, now) for table in waiting)

    @property
    def check_in_ms(self) -> int:
        """What is left of the check-in, which is open."""
        return max((self._next_due_ms or 0) - self._ports.clock.now_ms(), 0)

    @property
    def is_live(self) -> bool:
        """Whether there are rooms for its round."""
        return bool(self.tables.by_table if self.leads else self.tables_elsewhere)

    def live(self, now_ms: int) -> dict[int, LiveTable]:
        """The state of the rooms of its round, by table."""
        if self.leads:
            return {number: table.live(self.state, now_ms) for number, table in self.tables.by_table.items()}
        return {race.pairing.table: live for race, live in self.races_elsewhere()}

    def races_elsewhere(self) -> list[tuple[TableRace, LiveTable]]:
        """The races wanted now whose rooms another server has reported."""
        wanted = {(race.key, race.number): race for race in self.state.wanted()}
        told = ((wanted.get((news.table, news.race)), news.live) for news in self.tables_elsewhere)
        return [(race, live) for race, live in told if race is not None]

    # ---- the task

    async def run(self) -> None:
        """Run until it is over, with no room left here and everything answered; or until cancelled or removed. It may be run again.

        After a fault it goes on from what is stored; only what the fault concerned is lost.
        """
        with trio.CancelScope() as self._scope:
            while not (self._is_at_rest or self.is_removed):
                try:
                    await self._come_back()
                    self._unknown = ""
                    await self._serve()
                    continue
                except _Overtaken:
                    continue
                except BadTournamentLog as error:
                    self._give_up(str(error))
                except StoreError as error:
                    logger.error("tournament %s: nothing can be decided: %s", self.state.id, error)
                except Exception:
                    logger.exception("tournament %s failed", self.state.id)
                await trio.sleep(RETRY_S)
        self._ended_by_host.set()
        while self._handed:
            self._handed.popleft()[1].set()
        self._refuse_all(Refusal(ErrorCode.NO_SUCH_TOURNAMENT, path="$.id"))

    @property
    def _is_at_rest(self) -> bool:
        """Whether there is nothing to do until somebody asks for something."""
        is_asked = self._asked or self._by_host is not None or self._is_behind or self._is_to_lead
        return self.state.is_closed and not is_asked and not self.hosted

    def _give_up(self, unknown: str) -> None:
        """A newer server of the place has decided something that cannot be read here. Until it can, nothing is decided here."""
        if unknown != self._unknown:
            logger.error("tournament %s: nothing can be decided: %s", self.state.id, unknown)
        self._unknown = unknown
        self._refuse_all(Refusal(ErrorCode.OLDER_SERVER))

    def _refuse_all(self, refusal: Refusal) -> None:
        while self._asked:
            asked = self._asked.popleft()
            asked.member.post(refused(refusal, asked.command.ref))

    async def _come_back(self) -> None:
        """Read from the store how far the tournament is, find the rooms of its round, and enter results that are stored but not entered."""
        if self._is_to_lead:
            self._is_to_lead, self.leads = False, True
            self.since_ms = self._ports.clock.now_ms()
        # An event may be stored although its writer was told otherwise.
        await self.catch_up()
        if not self.leads:
            await self._act()
            return
        for player in self.state.crosstable.active:
            if (reason := self._ports.ban_of(player)) is not None:
                # The ban may be from before this server led, or an earlier server may have ended before it acted on it.
                self.withdraw(player, reason)
        await self._look_for_results(takes_back=True)
        for number in range(1, self.state.round + 1):
            self.tables.reveal(self.state, number)

    async def _look_for_results(self, *, takes_back: bool = False) -> None:
        """Enter the results that the store has for the races wanted now. takes_back: also find their rooms here."""
        found, running = await self.tables.found_results(self.state)
        if takes_back:
            self.tables.take_back(self.state)
        for number in found:
            self.tables.by_table.pop(number, None)
        self.tables.note_running(self.state, running)
        self._looks_at = trio.current_time() + ELSEWHERE_LOOK_S
        await self._happen([event for events in found.values() for event in events])

    async def _serve(self) -> None:
        self._wake.set()  # for commands that came before a fault and are not answered yet
        while not self._is_at_rest:
            self._wakes_at = self._deadline()
            with trio.move_on_at(self._wakes_at):
                await self._wake.wait()
            self._wake = trio.Event()
            if self._is_to_lead:
                return
            if self._is_behind:
                self._is_behind = False
                await self.catch_up()
            if self.leads:
                await self._hear_of_rooms()
                await self._enter_results()
            await self._obey_host()
            await self._answer_all()
            if self.leads:
                await self._heed_time()
            # Even if nothing happened: a table may only have waited for the time to come to run out.
            await self._act()

    async def _hear_of_rooms(self) -> None:
        reports, self._reports = self._reports, ()
        has_news = self.tables.hear(self.state, reports) if reports or self.tables.are_elsewhere else False
        if self.tables.are_elsewhere and (has_news or trio.current_time() >= self._looks_at):
            await self._look_for_results()

    def _deadline(self) -> float:
        """When, by Trio's clock, there is something to do without a request."""
        if not self.leads:
            return float("inf")
        expires = self._expiry
        moments = [moment for moment in (self._next_due_ms, expires.at_ms if expires is not None else None) if moment is not None]
        due = self._ports.clock.deadline(min(moments)) if moments else float("inf")
        return min(due, self.tables.deadline(self.state), self._looks_at if self.tables.are_elsewhere else float("inf"))

    async def _enter_results(self) -> None:
        """Enter all results that rooms have reported since last time, in one step. If that fails, `_come_back` finds them in the store."""
        over = list(self._over)
        self._over.clear()
        if events := self.tables.results(self.state, over):
            await self._happen(events)

    async def _obey_host(self) -> None:
        for player, reason in list(self._banned.items()):
            decision = await self._ports.beside(partial(banned, self.state, player, reason))
            await self._happen(decision.events, pairs=decision.pairs)
            del self._banned[player]
        while self._handed:
            to, done = self._handed[0]
            if not self.state.is_closed and to.id != self.state.director:
                await self._happen([DirectorChanged(to.id, to.name, "by the host of the server")])
            self._handed.popleft()
            done.set()
        if self._by_host is None:
            return
        if not self.state.is_closed:
            reason = f"by the host of the server: {self._by_host}" if self._by_host else "by the host of the server"
            await self._happen([CalledOff(clean_reason(reason))], by_host=self._by_host)
        self._by_host = None
        self._ended_by_host.set()

    async def _answer_all(self) -> None:
        while self._asked:
            asked = self._asked.popleft()
            try:
                number = await self._obey(asked)
            except Refusal as refusal:
                asked.member.post(refused(refusal, asked.command.ref))
            except StoreError as error:
                logger.error("tournament %s: a decision cannot be saved: %s", self.state.id, error)
                asked.member.post(refused(Refusal(ErrorCode.NOT_KEPT), asked.command.ref))
                # It may be stored all the same; `run` checks.
                raise
            except (BadTournamentLog, trio.Cancelled):
                self._asked.appendleft(asked)
                raise
            else:
                answer = asked.answer or Decided(id=self.state.id, number=number, ref=asked.command.ref)
                asked.member.post(Outgoing(answer))

    async def _obey(self, asked: AskedCommand) -> int:
        """The number of the event that was asked for; of the last event if everything is already as asked for."""
        while True:
            known = self.state
            number = len(known.log) + 1
            place = asked.asker.place or ""
            try:
                newcomers = self._newcomers[place]
                decision = await self._ports.beside(partial(decide, known, asked.asker, asked.command, newcomers=newcomers))
                if racing := self._rated_races():
                    await self._ports.beside(partial(check_run_on, racing, known, decision.events))
                await self._happen(decision.events, author=asked.asker.id, pairs=decision.pairs)
            except _Overtaken:
                continue
            except (Refused, Refusal) as error:
                if self._ports.is_shared:
                    await self.catch_up()
                if self.state is known:
                    raise as_refusal(error) if isinstance(error, Refused) else error from error
            else:
                if place and comes_anew(known, asked.asker) and not comes_anew(self.state, asked.asker):
                    self._newcomers[place] += 1
                return min(number, len(self.state.log))

    def _rated_races(self) -> tuple[int, ...]:
        live, tables = self.live(self._ports.clock.now_ms()), self.tables
        if self.leads:
            return rated_races(self.state, live, [number for number in live if not tables.by_table[number].is_elsewhere], tables.unseen)
        # In a pause there may be no rooms at all.
        return rated_races(self.state, live, (), [race.pairing.table for race in self.state.wanted() if not self.state.paused])

    async def _heed_time(self) -> None:
        now = self._ports.clock.now_ms()
        if no_shows := self.tables.no_shows(self.state, now):
            await self._happen(missing(self.state, no_shows))
        due = self._next_due_ms
        if due is not None and due <= now:
            decision = await self._ports.beside(partial(when_due, self.state))
            await self._happen(decision.events, pairs=decision.pairs)
        expires = self._expiry
        if expires is not None and expires.at_ms <= now:
            await self._happen([CalledOff(expires.reason)])

    @property
    def _next_due_ms(self) -> int | None:
        return self.state.next_due_ms(since_ms=self.since_ms)

    @property
    def _expiry(self) -> Expiry | None:
        return expiry(self.state, since_ms=self.since_ms)

    # ---- what happens

    async def _happen(self, events: Iterable[Event], *, author: str | None = None, pairs: bool = False, by_host: str | None = None) -> None:
        """Store the events, and act on them. pairs: pair the next round after them. by_host: see `TableRooms.update`.

        Raises Refused and StoreError, with nothing changed.
        """
        now = self._ports.clock.now_ms()
        state = await self._ports.beside(partial(self.state.after_all, events, at_ms=now, author=author))
        if pairs:
            settled, length = state.settled()
            paired = await self._ports.pair_next(settled)
            now = max(now, self._ports.clock.now_ms())
            # Whoever checks in last is not who pairs the round that follows by itself.
            paired_by = author if author == state.director else None
            state = state.after(Finished() if paired is None else RoundPaired(paired, length), at_ms=now, author=paired_by)
        # After the last round nothing follows, so it finishes even during a pause.
        if state is not self.state and state.is_played_out:
            state = state.after(Finished(), at_ms=now)
        was = self.state
        if state is not was:
            try:
                await self._ports.journal.write(*await self._ports.beside(partial(entries_of, was, state)))
            except EntryRefused:
                await self.catch_up()
                if self.state is not was:
                    raise _Overtaken from None
                if await self._ports.journal.ask(self._ports.store.tournament, was.id) is None:
                    self.stop()
                    await trio.lowlevel.checkpoint_if_cancelled()
                raise
            self.state = state
        await self._act(by_host=by_host)

    async def _act(self, *, by_host: str | None = None) -> None:
        state = self.state
        if self.leads:
            await self.tables.update(state, by_host=by_host)
            await self.tables.release(state)
        else:
            orders, self._orders = self._orders, None
            self.hosted.tend(state)
            if orders is not None:
                self.hosted.obey(state, orders)
        shown = self.state, [table.room.code for table in self.tables]
        if shown != self._shown:
            self._shown = shown
            self._changed(self)
        was, self._acted = self._acted, state
        for number in range(max(was.round, 1), state.round + 1) if self.leads and state is not was else ():
            if number > was.round or was.shuffles[number - 1].over_at_ms is None:
                self.tables.reveal(state, number)
