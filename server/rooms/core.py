"""A room's decisions: turns each request into effects. Synchronous and without I/O: no clock, no journal, no connection.

Phases     A room has one race after another (`race_sequence`). It closes when everybody who came has given it up, when nobody has been
           here for a while, when it is called off, when its host stops, or when it fails. After that it answers nothing.
Order      What was due by the time of a request is done before it. A request is either done completely, or refused with nothing changed.
Secrecy    The core may know what is not safe yet; its effects are delivered only once what they tell of is safe (`commit_gate`).

Members are only handles here: the core names them as recipients and asks them for nothing but their round trip.
"""

from __future__ import annotations

from typing import assert_never

from protocol.client_messages import LeaveRace, Move, Ready, Rematch, Resign, Say, Stop
from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Ratings, Said
from protocol.server_messages import Left
from protocol.views import ChatLine
from server.race.commands import ChooseDeal, LeaveSeat, LoseConnection, PlayMove, RegainConnection, TakeSeat
from server.race.ghosts import GhostLine
from server.race.machine import Race
from server.race.race_deal import DealWanted
from server.race.seat import Seat
from server.rooms.abort_summary import ABORTED_BECAUSE, ENDED_BY_HOST, seats_left
from server.rooms.broadcast import UNNUMBERED, ReadyWanted
from server.rooms.effects import Closing, Draft, Effects, Unmatched
from server.rooms.member import BotSeat, Member, PlayerName
from server.rooms.outgoing import Outgoing, refused
from server.rooms.race_sequence import RaceSequence, RoomSetup
from server.rooms.ready_timeout import ReadyTimeout
from server.rooms.requests import (
    Ask,
    CallOff,
    CloseRoom,
    DealFound,
    Enter,
    Exit,
    RatingsRead,
    Release,
    Reveal,
    RoomRequest,
    check_move,
    check_race,
    race_command,
    words,
)
from server.rooms.spectator_port import Shown
from server.rooms.summary import RoomSummary, summarized
from server.runtime.token_bucket import Bucket

IDLE_S = 120
"""Seconds for which an empty room in which no race runs is kept, so that its players can come back."""

PHRASES_A_SECOND = 1.0
PHRASES_AT_ONCE = 10
"""How many phrases a player may say during a race; more would distract those who play. Beyond it: `watch/too-much-talk`."""


class RoomCore:
    """The core of one room: call `begin` first. `now` is the server's time in milliseconds. Effects come out in the order of decision."""

    def __init__(self, setup: RoomSetup, *, now: int) -> None:
        self.is_closed = False
        self._setup = setup
        self._draft = Draft()
        self._races = RaceSequence(setup, draft=self._draft, now=now)
        self.members = self._races.members
        self._broadcast = self._races.broadcast
        self._ready_timeout = ReadyTimeout(is_match=bool(setup.matched))
        self._reason = "closed"
        self._because = ""  # for histories, if the reason alone does not say enough
        self._will_resume = False
        self._is_given_up = False
        self._talk: dict[str | None, Bucket] = {}
        self._due: int | None = None
        self.is_due_known = False  # whether `due` is unchanged since it was last asked for

    @property
    def race(self) -> Race:
        """The current one."""
        return self._races.race

    # ---- what a driver asks

    def begin(self, *, bots: tuple[BotSeat, ...], ghosts: tuple[GhostLine, ...] = ()) -> Effects:
        """Open the room, or take it up from an earlier server."""
        self._draft.effects.changed = True
        self._races.ghosts.come(ghosts)
        earlier = self._setup.earlier
        if earlier is not None:
            for player in earlier.people.values():
                self.members.expect(player)
                self._draft.effects.bindings += ((player, True),)
            self._races.advance(self._races.now - self._races.ahead_ms)
            for _, seat in self._races.people():
                if seat.connected:
                    self._races.do(LoseConnection(seat.number))
        self._races.seat_bots(bots)
        self._races.open_next_if_due()
        return self._taken()

    def take(self, request: RoomRequest | None, now: int) -> Effects:
        """Do what is due by now, then handle the request; None if only time has passed."""
        if type(request) is Ask and type(request.message) is Move:
            return self.move(request.player.id, request.member, request.message, request.waited_ms, now)
        self._reach(now)
        if request is not None:
            self.is_due_known = False
            self._handle(request)
            self._free_late_seats()
        self._open_next_or_close()
        return self._taken()

    def move(self, player: str, member: Member, message: Move, waited_ms: int, now: int) -> Effects:
        """`take` for a move. Nearly all requests are moves, and most of them do not change what is due. waited_ms: see `Ask`."""
        self._reach(now)
        races, seat, is_new = self._races, None, False
        if races.reveals_at_ms is not None and races.reveal_shared():
            self.is_due_known = False
        race = races.race
        try:
            seat = self._seat_here(player, member)
            if message.race != race.number or message.seat != seat.number:
                check_move(message, seat=seat.number, race=race.number)
            if member.round_trip_ms != seat.round_trip_ms:
                races.measure(seat, member)
            is_new = races.play(PlayMove(seat.number, message.ply, message.move, waited_ms))
        except Refusal as refusal:
            self._broadcast.one(member, refused(refusal, message.ref))
        if seat is not None:
            if not is_new:
                self._broadcast.current_view(player, member, race, ref=message.ref)
            elif seat.state != "racing":
                self.is_due_known = False
        if race.phase != "racing":
            self._free_late_seats()
            self._open_next_or_close()
        return self._taken()

    def _reach(self, now: int) -> None:
        self._draft.effects = Effects()  # `begin` inlined, since this runs for each move
        if self.is_due_known and (self._due is None or now < self._due):
            # True for nearly all requests.
            self._races.pass_to(now)
        else:
            self.is_due_known = False
            self._races.advance(now)
            # Free late seats first: a request after the timeout comes too late, and what it leads to may begin a new wait.
            self._free_late_seats()

    def catch_up(self, player: str, member: Member, now: int) -> Effects | None:
        """Tell members who have missed something everything again. None if this is not the connection by which they are here."""
        if self.is_closed or self.members.connection(player) is not member:
            return None
        self._draft.begin()
        self._broadcast.snapshot(player, member, self.race, self._races.time(now))
        return self._draft.take()

    def tell_anew(self, now: int) -> Effects:
        """Tell everybody everything again, and also whoever is away just now and comes back with what they knew."""
        self._draft.begin()
        self._broadcast.tell_anew(self.race, self._races.time(now))
        return self._draft.take()

    def tell_all(self, outgoing: Outgoing) -> Effects:
        """One message to everybody who is here."""
        self._draft.begin()
        self._broadcast.everybody(outgoing)
        return self._draft.take()

    def shown(self, now: int, *, with_boards: bool) -> Shown:
        """What somebody without a seat may know now."""
        return self._broadcast.shown(self.race, self._races.time(now), with_boards=with_boards)

    def watch(self) -> None:
        """From now on, include what happens for spectators in the effects."""
        self._broadcast.watched = True

    def fail(self, refusal: Refusal, *, is_kept: bool = True) -> Effects:
        """End the room for a reason that nobody in it caused. What was not safe is not told. is_kept: the journal has the race at all."""
        self._draft.begin()
        self._races.log.forget()
        self._close_as_failed(refusal)
        return self._taken(is_kept=is_kept)

    @property
    def due(self) -> int | None:
        """When there is next something to do without a request, by the server's clock. It may turn out to be later."""
        if not self.is_due_known:
            self._due, self.is_due_known = self._find_due(), True
        return self._due

    def _find_due(self) -> int | None:
        races = self._races
        due = races.race.next_deadline()
        for moment in (self._abandoned_at, self._ready_timeout.due, races.ghosts.due(races.race), races.log.due(races.race)):
            if moment is not None and (due is None or moment < due):
                due = moment
        return due - races.ahead_ms if due is not None else None

    @property
    def deal_wanted(self) -> DealWanted | None:
        """The deal to search for, if any; answer with `DealFound`."""
        return self.race.deal_wanted if not self.is_closed else None

    def summary(self) -> RoomSummary:
        races, setup = self._races, self._setup
        seen = self._broadcast.as_seen_by(None, races.race)
        closed = self._why_closed if self.is_closed else ""
        return summarized(seen, spec=setup.spec, opened_at=races.opened_at, ahead_ms=races.ahead_ms, closed=closed)

    # ---- requests

    def _handle(self, request: RoomRequest) -> None:
        match request:
            case Ask(member=member, message=message):
                assert not isinstance(message, Move)
                try:
                    self._answer(request.player.id, member, message)
                except Refusal as refusal:
                    self._broadcast.one(member, refused(refusal, message.ref))
            case Enter(member=member, ref=ref):
                try:
                    self._enter(request)
                except Refusal as refusal:
                    self._broadcast.one(member, refused(refusal, ref))
            case Exit():
                self._connection_lost(request)
            case CloseRoom():
                self.is_closed = True
                self._will_resume = self._setup.keeps
                if self._will_resume:
                    self._races.log.note_time(self.race, self._races.now)
            case CallOff():
                self._call_off(request)
            case Release(countdown_from_ms=moment):
                if self.race.is_held:
                    self._races.measure_all()
                    wait_ms = max(moment + self._races.ahead_ms - self._races.now, 0)
                    self._races.do(ChooseDeal(self.race.deal.k, wait_ms))
            case Reveal(at_ms=at_ms):
                self._races.reveals_at_ms = at_ms
                self._races.reveal_shared()
            case DealFound():
                self._deal_found(request)
            case RatingsRead():
                self._ratings_read(request)
            case _:
                assert_never(request)

    def _answer(self, player: str, member: Member, message: LeaveRace | Ready | Stop | Resign | Rematch | Say) -> None:
        if isinstance(message, LeaveRace):
            self._leave(player, member, ref=message.ref)
            return
        races = self._races
        seat = self._seat_here(player, member)
        match message:
            case Ready():
                command = race_command(message, seat=seat.number, race=races.race.number)
                races.measure_all()
                races.do(command)
            case Stop() | Resign():
                races.do(race_command(message, seat=seat.number, race=races.race.number))
            case Rematch():
                check_race(message.race, races.race.number)
                races.ask_again(seat)
            case Say():
                self._say(seat, message)
            case _:
                assert_never(message)

    def _seat_here(self, player: str, member: Member) -> Seat:
        # A connection that has not joined would never hear the outcome.
        if self.members.connections.get(player) is member:
            for seat in self._races.race.seats:
                if seat.player == player:
                    return seat
        raise Refusal(ErrorCode.NOT_IN_ROOM)

    def _say(self, seat: Seat, message: Say) -> None:
        text = words(message)
        if message.phrase is None and (self.race.phase == "racing" or self.summary().phrases_only):
            raise Refusal(ErrorCode.PHRASES_ONLY, path="$.text")
        if self.race.phase == "racing":
            # Counted by player, so that reconnecting gives nobody more phrases.
            talk = self._talk.setdefault(seat.player, Bucket(rate=PHRASES_A_SECOND, burst=PHRASES_AT_ONCE))
            if not talk.take(self._races.now / 1000):
                raise Refusal(ErrorCode.TALKED_TOO_MUCH)
        line = ChatLine(seat=seat.number, name=seat.name, text=text, phrase=message.phrase)
        self._races.publish((Said(version=UNNUMBERED, line=line, ref=message.ref),))

    def _call_off(self, request: CallOff) -> None:
        if request.by_host is not None:
            self.is_closed = True
            if self.race.phase == "over":
                # Its result stands.
                return
            self._broadcast.everybody(refused(Refusal(ErrorCode.ENDED_BY_HOST, request.by_host), 0))
            self._because = f"{ENDED_BY_HOST}: {request.by_host}" if request.by_host else ENDED_BY_HOST
            return
        if self.race.phase == "waiting" or (request.also_running and self.race.phase != "over"):
            self.is_closed = True
            self._reason = "called-off"

    def _deal_found(self, found: DealFound) -> None:
        # Somebody who was ready may have left since. Then another deal is wanted, or none yet.
        if found.wanted != self.race.deal_wanted:
            return
        if found.k is not None:
            self._races.do(ChooseDeal(found.k))
            return
        # The nonces cannot be taken back, and the same search would end the same way: this race can never start.
        self._close_as_failed(Refusal(ErrorCode.NO_WINNABLE_DEAL))

    def _ratings_read(self, read: RatingsRead) -> None:
        # The room may have moved on to another race meanwhile.
        if read.race == (self._races.series.before or self.race.id) and self.race.phase in ("waiting", "over"):
            self._races.publish((Ratings(version=UNNUMBERED, seats=tuple(change.shown for change in read.changes)),))

    # ---- comings and goings

    def _enter(self, request: Enter) -> None:
        player, member, races = request.player, request.member, self._races
        seat = races.race.seat_of(player.id)
        # The others are told first: newcomers hear of it in turn, after all that they have missed.
        if seat is None:
            self._seat(player)
        else:
            races.do(RegainConnection(seat.number))
        self._draft.effects.bindings += ((player.id, True),)
        self.members.enter(player.id, member)
        races.measure_all()
        # Only a snapshot tells a player which seat is theirs: events would not tell that to somebody who lost one here and took another.
        version = request.version if seat is not None else 0
        self._broadcast.bring_up_to_date(player.id, member, version, races.race, races.now, ref=request.ref)

    def _seat(self, player: PlayerName) -> None:
        place = None
        if self._setup.spec is not None:
            if player.id not in self._setup.spec.invited:
                raise Refusal(ErrorCode.NOT_INVITED)
            place = self._setup.spec.invited.index(player.id)
        # After its first race a private room is for those who were there, no matter who else has the code.
        if not self._setup.options.public and self.race.number > 1 and player.id not in self._races.sat_here:
            raise Refusal(ErrorCode.ROOM_FULL, "in a private race, a rematch is for those who were there")
        self._races.do(TakeSeat(player.id, player.name, seat=place))

    def _connection_lost(self, request: Exit) -> None:
        seat = self.race.seat_of(request.player.id)
        if self.members.lose(request.player.id, request.member, self._races.now) and seat is not None:
            self._races.do(LoseConnection(seat.number))

    def _leave(self, player: str, member: Member | None, reason: str = "left", *, ref: int = 0) -> None:
        races = self._races
        seat = races.race.seat_of(player)
        self.members.leave(player, races.now)
        if seat is not None:
            races.do(LeaveSeat(seat.number))
            if seat.player is not None and races.race.phase != "waiting":
                # The seat stays theirs until the race is over, but nobody waits for them any more.
                races.do(LoseConnection(seat.number))
        self._draft.effects.bindings += ((player, False),)
        if member is not None:
            self._broadcast.one(member, Outgoing(Left(code=self._setup.code, reason=reason, ref=ref)))

    def _free_late_seats(self) -> None:
        late = self._ready_timeout.lost_by(self.race, self._races.now)
        until = self._ready_timeout.due
        if until != self._broadcast.ready_until:
            self._broadcast.ready_until = until
            if until is not None:
                self._races.publish((ReadyWanted(until),))
        if not late and not self._setup.matched:
            return
        going = [(seat.player, "not-ready") for seat in late if seat.player is not None]
        going += [(player, "no-opponent") for player in self._unmatched(late)]
        members = [self.members.connection(player) for player, _ in going]
        for player, _ in going:
            # None of them need hear that the others go.
            self.members.leave(player, self._races.now)
        for (player, reason), member in zip(going, members, strict=True):
            self._leave(player, member, reason=reason)
            if reason == "no-opponent" and member is not None:
                others = frozenset(self._setup.matched) - {player}
                gone = others.intersection(other for other, holds in self._draft.effects.bindings if not holds)
                self._draft.effects.unmatched += (Unmatched(player, member, others, gone),)

    def _unmatched(self, late: list[Seat]) -> list[str]:
        """Those whom a quick match has brought here, and who are ready and without an opponent once the late have gone."""
        race, matched = self.race, self._setup.matched
        if race.number > 1 or race.phase != "waiting" or not (late or any(seat.player is None for seat in race.seats)):
            return []
        ready = [player for player, seat in self._races.people() if player in matched and seat.nonce is not None]
        # Those who are away keep their seat until they are back, or their grace is over.
        return [player for player in ready if self.members.connection(player) is not None]

    # ---- the end

    @property
    def _abandoned_at(self) -> int | None:
        if self.members.empty_since is None or self.race.phase in ("countdown", "racing"):
            return None
        # A series under way waits for its players for its own grace, and a table of a round for as long as its director does.
        if self._races.series.is_under_way or self._races.is_called_to:
            return None
        return self.members.empty_since + IDLE_S * 1000

    def _open_next_or_close(self) -> None:
        """Go on to the next race of a series, or close the room, if that is due."""
        if self.race.phase not in ("waiting", "over"):
            return
        self._races.open_next_if_due()
        if self._abandoned_at is not None and self._abandoned_at <= self._races.now:
            self.is_closed = True
            self._reason = "idle"
        # Everybody who came has given it up, so nobody has a claim to it. Rooms that are opened and left must not pile up.
        if self.members.visited and not self._races.people() and not self._races.is_called_to:
            self.is_closed = True

    def _close_as_failed(self, refusal: Refusal) -> None:
        self.is_closed = True
        self._reason = "failed"
        self._will_resume = False
        self._broadcast.everybody(refused(refusal, 0))

    def _taken(self, *, is_kept: bool = True) -> Effects:
        if self.is_closed:
            return self._closing(is_kept=is_kept)
        effects = self._draft.take()
        if effects.changed or effects.moved:
            effects.summary = self.summary()
        return effects

    def _closing(self, *, is_kept: bool) -> Effects:
        if not self._will_resume:
            # If the next server resumes it, say nothing: the client comes back to it by itself.
            self._broadcast.everybody(Outgoing(Left(code=self._setup.code, reason=self._reason)))
        effects = self._draft.take()
        self._draft.begin()
        if is_kept and not self._will_resume and not self._is_given_up:
            self._give_up()
        effects.closing = Closing(reason=self._reason, will_resume=self._will_resume, entries=tuple(self._draft.take().entries))
        effects.changed = True
        effects.summary = self.summary()
        return effects

    def _give_up(self) -> None:
        """Note in the journal that the room is gone and its race has no result."""
        self._is_given_up = True
        if self.race.phase == "over":
            self._races.log.desert()
        else:
            self._races.reveal_earlier()
            self._races.log.give_up(self._why_closed, seats=seats_left(self.race), at_ms=self._setup.wall_ms())

    @property
    def _why_closed(self) -> str:
        return self._because or ABORTED_BECAUSE[self._reason]
