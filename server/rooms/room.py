"""One room: its task, and what its members' requests lead to, one race after another.

What happened is the race's affair, who may see it the view's, who is told of it the broadcast's; how it travels is the member's. Nothing
here waits for a member, and the inbox is the only thing the task waits for, beside the next moment at which its race has something to do,
and the store, by the journal and for ratings; so at every other moment the room is in one piece for who looks at it (`holds`, `catch_up`).

What a command leads to is held back until the journal has the command (`write_ahead`): nobody is ever told of a move that a crash could
undo. When the journal cannot keep it, the room ends, and its race has no result rather than a wrong one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import assert_never

import trio

from protocol.client_messages import LeaveRace, Move, Ready, Rematch, Resign, Say, Stop
from protocol.errors import ErrorCode, Refusal
from protocol.fairness import HOUSE_NONCE, SECRET_BYTES
from protocol.record import Record
from protocol.server_messages import Left
from protocol.server_messages import Room as RoomMessage
from protocol.views import ChatLine, RaceOptions
from server.race.commands import ChooseDeal, Command, GetReady, LeaveSeat, LoseLine, MeasureLine, RegainLine, TakeSeat
from server.race.events import MovePlayed, RaceEnded, RaceEvent, SeatDealt, SeatFreed
from server.race.machine import Race, Seat
from server.race.shared_deal_spec import Occasion
from server.race.start_position import Opening
from server.rooms.abort_summary import seats_left
from server.rooms.bot_player import BotPlayer
from server.rooms.bots import house_bots, house_player
from server.rooms.broadcast import AgainAsked, Broadcast, GhostMoved, LineSaid, OwnEvent, RecordRevealed, SeatsRated, SeriesScored
from server.rooms.chat import words
from server.rooms.codes import SHOWN_LENGTH, new_code
from server.rooms.commit_gate import WriteAhead
from server.rooms.deal_search import DealSearch
from server.rooms.ghosts import Haunting
from server.rooms.inbox import Inbox
from server.rooms.member import Member, PlayerName
from server.rooms.members import Members
from server.rooms.options import check_options
from server.rooms.outgoing import Outgoing, refused
from server.rooms.ports import GhostWanted, Purpose, RoomPorts
from server.rooms.rating_updates import RatingNews
from server.rooms.ready_timeout import Patience
from server.rooms.recovery import EarlierRoom
from server.rooms.requests import Ask, CallOff, Close, DealFound, Enter, Exit, Reveal, RoomRequest, check_race, race_command
from server.rooms.series_state import SeriesRun, seated
from server.rooms.spectator_port import Audience
from server.store.errors import RunAlready, StoreError
from server.store.port import RaceOpened, room_shown
from server.store.replay import as_opened

logger = logging.getLogger("carpet.rooms")

IDLE_S = 120
"""How long a room with nobody in it is kept for its players to come back to, when no race runs in it."""

_ABORTED_BECAUSE = {
    "closed": "its room was closed",
    "idle": "nobody was there any more",
    "called-off": "it was called off",
    "failed": "the server could not go on with it",
}
"""What histories say of a race without a result, by the reason that who was there was told."""


class Room:
    """Run `run` in a task; what changes anything goes through the inbox."""

    def __init__(
        self,
        *,
        code: str,
        options: RaceOptions,
        ports: RoomPorts,
        earlier: EarlierRoom | None = None,
        purpose: Purpose | None = None,
        opening: Opening | None = None,
    ) -> None:
        """Raises Refusal for options that do not fit: see `check_options` and `house_bots`.

        purpose: for what it is opened, other than its opener's wish. opening: from where its races begin, where not at a deal.
        earlier: what goes on here, of an earlier server.
        """
        check_options(options)
        occasion = earlier.opened.occasion if earlier is not None else purpose.occasion if purpose is not None else None
        self.occasion = occasion
        """For what the room was opened, other than its opener's wish; its one race is on a deal that other races share."""
        self._opening = earlier.opened.opening if earlier is not None else opening
        """From where its races begin, where that is not a deal of their own."""
        self._given_secret = purpose.secret if purpose is not None else None
        self.code = code
        self.options = options
        self._house_bots = house_bots(options, alone=occasion is not None)
        self._bots: list[BotPlayer] = []
        self._ports = ports
        self._earlier = earlier
        self._now = ports.clock.now_ms()
        self.ahead_ms = 0
        """How far the times of this room's race are ahead of the server's clock, for good."""
        self._log = WriteAhead(ports.journal, ports.entropy)
        self._shown_as = self._name_for_all(room_shown(earlier.opened.race) if earlier is not None else None)
        self._sat_here = set(earlier.sat_here) if earlier is not None else set()
        self._series = earlier.series if earlier is not None else SeriesRun(options, None)
        if earlier is None:
            self.race = self._open_race(1)
        else:
            self.race = earlier.race
            earlier.take_up(self._log)
            # The wall may have been set back between two servers. The race's time must not, nor stand still until the wall has caught up:
            # this room's is ahead of the server's clock.
            self.ahead_ms = max(earlier.last_at_ms - self._now, 0)
            self._now += self.ahead_ms
        self._members = Members(self._now, visited=earlier is not None)
        # No version of an earlier server may be taken for one of this room's: whoever has one is sent a snapshot.
        version, ratings = (self._now, earlier.ratings) if earlier is not None else (0, ())
        self._broadcast = Broadcast(self._members, self._log, version=version, ratings=ratings)
        self._broadcast.series = self._series.info
        self._rating_news = RatingNews(ports.rating_changes, ports.owner)
        self._haunting = Haunting(ports.ghost_lines, _ghosts(occasion, self._opening))
        self._broadcast.ghosts = self._haunting.infos
        self._patience = Patience()
        self._inbox = Inbox()
        self._search = DealSearch(ports.find_deal, ports.clock, self._inbox.tell)
        self._closed = False
        self._stopping = False
        self._is_kept = True
        """Whether the journal has taken the race at all."""
        self._reason = "closed"

    def _name_for_all(self, before: str | None) -> str:
        """The letters by which records, histories and ids call the room. before: of its race that goes on."""
        # Whoever has the code of a private room may watch there, and what is kept of a race is for everybody to read.
        if self.options.public:
            return self.code
        return before if before not in (None, self.code) else new_code(self._ports.entropy, length=SHOWN_LENGTH)

    def _open_race(self, number: int) -> Race:
        opened = RaceOpened(
            race=self._log.new_id(self._shown_as, number),
            room=self.code,
            number=number,
            options=self.options,
            secret=self._given_secret or self._series.secret or self._ports.entropy(SECRET_BYTES),
            software=self._ports.software,
            at_ms=self._now,
            series=self._series.so_far,
            occasion=self.occasion,
            opening=self._opening,
        )
        self._series.opened(opened.race)
        self._log.open(opened)
        return as_opened(opened)

    # ---- for other tasks

    def ask(self, request: Enter | Ask) -> None:
        """Put a request into the inbox. Raises Refusal `server/busy` when it is full and `room/closed` when nobody reads it any more."""
        self._inbox.ask(request)

    async def tell(self, request: Exit | Close | CallOff | Reveal | DealFound) -> None:
        """Put in what must not be lost, waiting for space in the inbox. Returns at once when the room is closed."""
        await self._inbox.tell(request)

    def holds(self, player: str) -> bool:
        """Whether this player has a seat here."""
        return self.race.seat_of(player) is not None

    def catch_up(self, player: PlayerName, member: Member) -> bool:
        """Tell a member that has missed something everything anew, now. False when it is not in this room, or the room is closed."""
        # What a room that failed had done last is not kept, and a snapshot would tell of it.
        if self._closed or self._members.line(player.id) is not member:
            return False
        # The room's own time stays: what waits in the inbox has older stamps, and counts by them.
        now = max(self._now, self._ports.clock.now_ms() + self.ahead_ms)
        self._broadcast.snapshot(player.id, member, self.race, now)
        # While the journal is waited for, this may tell of what is not safe yet, and waits with it.
        self._log.deliver()
        return True

    # ---- for those who watch

    @property
    def is_closed(self) -> bool:
        """Nothing will happen here any more."""
        return self._closed

    @property
    def watchers(self) -> int:
        """How many watch the room."""
        return self._broadcast.audience.count if self._broadcast.audience is not None else 0

    def attend(self, audience: Audience) -> None:
        """Tell it all that happens from now on."""
        self._broadcast.audience = audience

    def show(self, tell: Callable[[RoomMessage], None]) -> bool:
        """Have `tell` called with what somebody without a seat may know now, before any later event. False when the room is closed."""
        if self._closed:
            return False
        self._log.hold(tell, self._broadcast.shown(None, self.race, max(self._now, self._ports.clock.now_ms() + self.ahead_ms)))
        self._log.deliver()
        return True

    def tell_players(self, outgoing: Outgoing) -> None:
        """A message about those who watch, behind all that has happened."""
        self._broadcast.everybody(outgoing)
        self._log.deliver()

    # ---- the task

    async def run(self) -> None:
        """Serve the room until it is closed. One crash ends one room: its members are told, the others go on."""
        try:
            await self._haunting.come()
            async with trio.open_nursery() as nursery:
                if self._earlier is not None:
                    self._bring_back(self._earlier)
                self._seat_bots(nursery)
                self._go_on()
                await self._commit()
                await self._serve(nursery)
                nursery.cancel_scope.cancel()
        except Exception:
            logger.exception("room %s crashed", self.code)
            self._fail(Refusal(ErrorCode.INTERNAL))
        finally:
            # Cancelled: the server ends without having closed its rooms, because something else in it failed.
            self._stopping = self._stopping or not self._closed
            self._end()
            with trio.CancelScope(shield=True):
                await self._give_up()

    def _bring_back(self, earlier: EarlierRoom) -> None:
        """Go on with the race of an earlier server: its clocks kept running, and everybody's line is lost until he comes back."""
        for player in earlier.people.values():
            self._members.expect(player)
        self._publish(self.race.advance(self._now))
        for _, seat in self._people():
            if seat.connected:
                self._do(LoseLine(seat.number))
        logger.info("room %s goes on with race %d, %s", self.code, self.race.number, self.race.phase)

    async def _serve(self, nursery: trio.Nursery) -> None:
        while not self._closed:
            self._search.want(self.race.deal_wanted, nursery)
            self._step(await self._inbox.next(self._deadline()))
            self._step_through_inbox()
            await self._commit()

    def _step_through_inbox(self) -> None:
        """All that has come meanwhile goes into the same entry of the journal."""
        while not self._closed and (request := self._inbox.waiting()) is not None:
            self._step(request)

    def _deadline(self) -> float:
        """The Trio time at which the room has something to do by itself."""
        moments = (self.race.next_deadline(), self._abandoned_at, self._patience.due, self._haunting.due(self.race))
        due = min((moment for moment in moments if moment is not None), default=None)
        return self._ports.clock.deadline(due - self.ahead_ms) if due is not None else float("inf")

    def _step(self, request: RoomRequest | None) -> None:
        stamp_ms = self._ports.clock.now_ms() if request is None else request.at_ms
        self._now = max(self._now, stamp_ms + self.ahead_ms)
        self._publish(self.race.advance(self._now))
        self._publish(GhostMoved(ghost) for ghost in self._haunting.advance(self.race, self._now))
        # What was asked for after the patience had ended came too late; what it leads to may begin a new wait.
        self._free_late_seats()
        if request is not None:
            self._handle(request)
            self._free_late_seats()
        self._go_on()
        self._close_if_abandoned()

    async def _commit(self) -> None:
        try:
            await self._log.commit()
        except RunAlready:
            self._is_kept = False
            self._fail(Refusal(ErrorCode.ONCE_ONLY))
            return
        except StoreError as error:
            logger.error("room %s is ended: what happens in it cannot be kept: %s", self.code, error)
            self._fail(Refusal(ErrorCode.NOT_KEPT))
            return
        news = await self._rating_news.fetch(self._series.before or self.race.id)
        if news is not None:
            self._publish([news])
            self._log.deliver()

    def _handle(self, request: RoomRequest) -> None:
        match request:
            case Enter():
                self._guarded(request.member, request.ref, lambda: self._enter(request))
            case Exit():
                self._line_lost(request)
            case Ask():
                self._guarded(request.member, request.message.ref, lambda: self._answer(request))
            case Close():
                self._closed = True
                self._stopping = True
            case CallOff():
                self._call_off(request)
            case Reveal():
                self._reveal_shared()
            case DealFound():
                self._deal_found(request)
            case _:
                assert_never(request)

    def _guarded(self, member: Member, ref: int, action: Callable[[], None]) -> None:
        try:
            action()
        except Refusal as refusal:
            self._log.post(member, refused(refusal, ref))

    # ---- the end

    @property
    def _abandoned_at(self) -> int | None:
        if self._members.empty_since is None or self.race.phase in ("countdown", "racing"):
            return None
        # A series under way waits for its players as long as its grace says, a table of a round as long as its director does.
        if self._series.is_under_way or self._is_called_to:
            return None
        return self._members.empty_since + IDLE_S * 1000

    def _close_if_abandoned(self) -> None:
        if self._abandoned_at is not None and self._abandoned_at <= self._now:
            self._closed = True
            self._reason = "idle"
        # Given up by all who came: nobody has a claim to it, and rooms that are opened and left must not pile up.
        if self._members.visited and self.race.phase in ("waiting", "over") and not self._people() and not self._is_called_to:
            self._closed = True

    @property
    def _is_called_to(self) -> bool:
        """Whether its players have been called and the race has not begun."""
        return self.occasion is not None and self.occasion.deal.kind == "round" and self.race.phase == "waiting"

    def _fail(self, refusal: Refusal) -> None:
        """End the room for a reason that is nobody's in it. What was not safe is not told."""
        self._log.discard()
        self._close_as_failed(refusal)

    def _close_as_failed(self, refusal: Refusal) -> None:
        self._closed = True
        self._reason = "failed"
        self._broadcast.everybody(refused(refusal, 0))

    def _end(self) -> None:
        self._closed = True
        for request in self._inbox.close():
            self._turn_away(request)
        if not self._goes_on:
            # Else the client comes back to it by itself.
            self._broadcast.everybody(Outgoing(Left(code=self.code, reason=self._reason)))
        self._log.deliver()
        if self._broadcast.audience is not None:
            self._broadcast.audience.closed(None if self._goes_on else "failed" if self._reason == "failed" else "closed")
        self._members.clear()

    @property
    def _goes_on(self) -> bool:
        """Whether the race is left to the next server."""
        return self._stopping and self._ports.keeps

    def _turn_away(self, request: RoomRequest) -> None:
        match request:
            case Enter(member=member, ref=ref):
                self._log.post(member, refused(Refusal(ErrorCode.ROOM_CLOSED), ref))
            case Ask(member=member, message=message):
                self._log.post(member, refused(Refusal(ErrorCode.ROOM_CLOSED), message.ref))
            case Exit(player=player, member=member):
                self._members.lose(player.id, member, self._now)
            case Close() | CallOff() | Reveal() | DealFound():
                pass

    async def _give_up(self) -> None:
        """Say in the journal that the room is gone, and its race without a result, unless the next server goes on with it."""
        if self._goes_on or not self._is_kept:
            return
        if self.race.phase == "over":
            await self._close_for_good()
            return
        self._reveal()
        self._log.give_up(_ABORTED_BECAUSE[self._reason], seats=seats_left(self.race), at_ms=self._now)
        try:
            await self._log.end()
        except StoreError as error:
            logger.error("room %s: that its race was aborted could not be kept: %s", self.code, error)
            self._ports.owner.owe(self._log.unkept)

    async def _close_for_good(self) -> None:
        self._log.desert()
        try:
            await self._log.end()
        except StoreError as error:
            # Nothing is lost: the next server brings it back, for a while, and nobody comes.
            logger.warning("room %s: that it is closed could not be kept: %s", self.code, error)

    # ---- comings and goings

    def _enter(self, request: Enter) -> None:
        player, member = request.player, request.member
        seat = self.race.seat_of(player.id)
        # Told to the others first: whoever enters hears of it in his turn, with all that he has missed before it.
        if seat is None:
            self._seat(player)
        else:
            # Claimed before he asked, but he may have left by a request that stood before this one.
            self._ports.owner.seat_taken(self, player.id)
            self._do(RegainLine(seat.number))
        self._members.enter(player.id, member)
        self._measure_all()
        # Only a snapshot says which seat is his own: events alone would not tell it to who lost one here and has taken another.
        version = request.version if seat is not None else 0
        self._broadcast.bring_up_to_date(player.id, member, version, self.race, self._now, ref=request.ref)

    def _seat(self, player: PlayerName) -> None:
        try:
            place = self._place_of(player)
            # After its first race a private room is for those who were there: what is to come belongs to them, whoever has the code.
            if not self.options.public and self.race.number > 1 and player.id not in self._sat_here:
                raise Refusal(ErrorCode.ROOM_FULL, "in a private race, a rematch is for those who were there")
            self._do(TakeSeat(player.id, player.name, seat=place))
        except Refusal:
            self._ports.owner.seat_left(self, player.id)
            raise
        self._ports.owner.seat_taken(self, player.id)

    def _place_of(self, player: PlayerName) -> int | None:
        """The seat that is kept for him; None where he may take any. Raises Refusal where the seats are for others."""
        if self.occasion is None:
            return None
        if player.id not in self.occasion.invited:
            raise Refusal(ErrorCode.NOT_INVITED)
        return self.occasion.invited.index(player.id)

    def _line_lost(self, request: Exit) -> None:
        seat = self.race.seat_of(request.player.id)
        if self._members.lose(request.player.id, request.member, self._now) and seat is not None:
            self._do(LoseLine(seat.number))

    def _leave(self, player: str, member: Member | None, reason: str = "left", *, ref: int = 0) -> None:
        seat = self.race.seat_of(player)
        self._members.leave(player, self._now)
        if seat is not None:
            self._do(LeaveSeat(seat.number))
            if seat.player is not None and self.race.phase != "waiting":
                # The seat stays his until the race is over, but nobody waits for him.
                self._do(LoseLine(seat.number))
        self._ports.owner.seat_left(self, player)
        if member is not None:
            self._log.post(member, Outgoing(Left(code=self.code, reason=reason, ref=ref)))

    def _free_late_seats(self) -> None:
        for seat in self._patience.lost_by(self.race, self._now):
            assert seat.player is not None
            self._leave(seat.player, self._members.line(seat.player), reason="not-ready")

    def _forget_unseated(self) -> None:
        """Whoever lost his seat to the grace is in this room no more."""
        for player in self._members.away():
            if self.race.seat_of(player) is None:
                self._members.forget(player)
                self._ports.owner.seat_left(self, player)

    def _free_deserted_seats(self) -> None:
        """Who left while the race ran held his seat to its end; now all can see that no rematch is to be had from him."""
        for player, seat in self._people():
            if not self._members.claims(player):
                self._do(LeaveSeat(seat.number))

    def _people(self) -> list[tuple[str, Seat]]:
        """Players and their seats, without the house bots."""
        return [(seat.player, seat) for seat in self.race.seats if seat.player is not None and seat.bot is None]

    # ---- requests

    def _answer(self, request: Ask) -> None:
        player, member, message = request.player, request.member, request.message
        if isinstance(message, LeaveRace):
            self._leave(player.id, member, ref=message.ref)
            return
        seat = self.race.seat_of(player.id)
        # A line by which he has not joined would never hear what came of it.
        if seat is None or self._members.line(player.id) is not member:
            raise Refusal(ErrorCode.NOT_IN_ROOM)
        match message:
            case Move():
                self._move(request, message, seat)
            case Ready():
                command = race_command(message, seat=seat, race=self.race.number)
                self._measure_all()
                self._do(command)
            case Stop() | Resign():
                self._do(race_command(message, seat=seat, race=self.race.number))
            case Rematch():
                check_race(message.race, self.race.number)
                self._ask_again(seat)
            case Say():
                self._say(seat, message)
            case _:
                assert_never(message)

    def _move(self, request: Ask, message: Move, seat: Seat) -> None:
        played = False
        try:
            command = race_command(message, seat=seat, race=self.race.number)
            self._measure(seat)
            played = self._do(command)
        except Refusal as refusal:
            self._log.post(request.member, refused(refusal, message.ref))
        if not played:
            self._broadcast.current_view(request.player.id, request.member, self.race, ref=message.ref)

    def _measure(self, seat: Seat) -> None:
        member = self._members.line(seat.player)
        measured = member.round_trip_ms if member is not None else None
        if measured is not None and measured != seat.round_trip_ms:
            self._do(MeasureLine(seat.number, measured))

    def _measure_all(self) -> None:
        for seat in self.race.seats:
            self._measure(seat)

    def _say(self, seat: Seat, message: Say) -> None:
        text = words(message)
        if self.race.phase == "racing" and message.phrase is None:
            raise Refusal(ErrorCode.PHRASES_ONLY, path="$.text")
        self._publish([LineSaid(ChatLine(seat=seat.number, name=seat.name, text=text, phrase=message.phrase), message.ref)])

    def _deal_found(self, found: DealFound) -> None:
        # Who was ready may have left since; then another deal is wanted, or none yet.
        if found.wanted != self.race.deal_wanted:
            return
        if found.k is not None:
            self._do(ChooseDeal(found.k))
            return
        # All have put in their nonces, which cannot be taken back, and the same search would end the same way: this race can never start.
        self._close_as_failed(Refusal(ErrorCode.NO_WINNABLE_DEAL))

    # ---- one race after another

    def _ask_again(self, seat: Seat) -> None:
        if self.race.phase != "over":
            raise Refusal(ErrorCode.RACE_RUNNING)
        if self.occasion is not None:
            raise Refusal(ErrorCode.ONCE_ONLY)
        if any(other.player is None for other in self.race.seats):
            raise Refusal(ErrorCode.ROOM_CLOSED, "a player has left")
        if seat.number in self._broadcast.again:
            return
        self._publish([AgainAsked(seat.number)])
        if len(self._broadcast.again) == len(self.race.seats):
            self._series.start_over()
            self._open_next()

    def _go_on(self) -> None:
        """Open the next race of a series under way; where a player has given it up, begin another one with those who are left."""
        if not self._series.is_under_way or self.race.phase in ("countdown", "racing"):
            return
        gone = [seat.number for seat in self.race.seats if seat.player is None]
        if not gone:
            if self.race.phase == "over":
                self._open_next()
            return
        self._series.give_up(gone)
        self._tell_score()
        if self.race.phase == "waiting" and self._people():
            self._log.give_up("a player gave the series up", seats=(), at_ms=self._now)
            self._series.start_over()
            self._open_next()

    def _open_next(self) -> None:
        old, self.race = self.race, self._open_race(self.race.number + 1)
        self._broadcast.series = self._series.info
        for seat in old.seats:
            if seat.player is None:
                continue
            self._take(TakeSeat(seat.player, seat.name, seat.bot, seat.number))
            if not seat.connected:
                self._take(LoseLine(seat.number))
        self._broadcast.start_over(self.race, self._now)
        self._ports.owner.changed(self)
        for bot in self._bots:
            self._ready_bot(bot)

    # ---- house bots

    def _seat_bots(self, nursery: trio.Nursery) -> None:
        for number, house in self._house_bots.items():
            bot = house_player(number, house, rules=self.options.rules, ports=self._ports, ask=self._ask_for_bot)
            self._bots.append(bot)
            self._members.admit(bot.player.id, bot)
            if not self.holds(bot.player.id):
                self._do(TakeSeat(bot.player.id, house.name, house.name, number))
            self._ready_bot(bot)
            if self.race.phase == "over":
                # It has not heard the result by which it would have asked for a rematch.
                self._broadcast.snapshot(bot.player.id, bot, self.race, self._now)
            self._broadcast.current_view(bot.player.id, bot, self.race)
            nursery.start_soon(bot.run)

    def _ready_bot(self, bot: BotPlayer) -> None:
        seat = self.race.seat_of(bot.player.id)
        assert seat is not None
        if self.race.phase == "waiting" and seat.nonce is None:
            self._measure(seat)
            self._do(GetReady(seat.number, HOUSE_NONCE))

    def _ask_for_bot(self, bot: BotPlayer, message: Move | Rematch) -> None:
        self.ask(Ask(bot.player, bot, message, self._ports.clock.now_ms()))

    # ---- what is done and told

    def _do(self, command: Command) -> bool:
        """Give the race a command and tell of what came of it. False when nothing did. Raises Refusal, with nothing changed."""
        events = self._take(command)
        self._publish(events)
        return bool(events)

    def _take(self, command: Command) -> tuple[RaceEvent, ...]:
        events = self._log.take(self.race, command, self._now)
        if isinstance(command, TakeSeat):
            self._sat_here.add(command.player)
        return events

    def _publish(self, events: Iterable[RaceEvent | OwnEvent]) -> None:
        for event in events:
            self._broadcast.publish(event, self.race, self._now)
            self._note(event)

    def _note(self, event: RaceEvent | OwnEvent) -> None:
        match event:
            case SeatFreed():
                self._forget_unseated()
                self._ports.owner.changed(self)
            case RaceEnded(record=record):
                self._note_over(record)
                self._free_deserted_seats()
                self._ports.owner.changed(self)
            case AgainAsked() | LineSaid() | SeriesScored() | SeatsRated() | RecordRevealed() | GhostMoved() | MovePlayed() | SeatDealt():
                pass
            case _:
                self._ports.owner.changed(self)

    def _note_over(self, record: Record) -> None:
        places = ", ".join(f"{seat.place} {seat.name} ({seat.state}, {seat.home})" for seat in record.seats)
        logger.info("room %s race %d over: %s", self.code, record.race, places)
        self._series.raced(self.race, record)
        if self.occasion is not None or not self.race.withheld:
            self._close(record, players=seated(self.race))
        if self.occasion is not None:
            self._log.hold(self._tell_owner, record)
        self._rating_news.expect(record)
        self._tell_score()

    def _tell_owner(self, record: Record) -> None:
        self._ports.owner.over(self, record)

    def _call_off(self, request: CallOff) -> None:
        if self.race.phase == "waiting" or (request.also_running and self.race.phase != "over"):
            self._closed = True
            self._reason = "called-off"

    def _reveal_shared(self) -> None:
        """The deal of the race is no secret any more; what has been told of its end is told whole."""
        if not self.race.withheld or self.occasion is None:
            return
        self.race.reveal()
        if self.race.record is not None:
            self._publish([RecordRevealed(self.race.record)])

    def _tell_score(self) -> None:
        """Tell of the series as it stands; and of the record that was withheld, if it need not be any more."""
        revealed = self._reveal() if not self._series.is_under_way else None
        info = self._series.info
        if info is not None:
            self._publish([SeriesScored(info, revealed)])

    def _reveal(self) -> Record | None:
        """Have the race that was withheld be over for all, as it has been for its players."""
        withheld = self._series.reveal()
        if withheld is None:
            return None
        if withheld.record.id == self.race.id:
            self.race.reveal()
        self._close(withheld.record, players=withheld.players)
        return withheld.record

    def _close(self, record: Record, *, players: tuple[str | None, ...]) -> None:
        here = [seat.number for player, seat in self._people() if self._members.claims(player)]
        self._log.close(record, players=players, here=here, at_ms=self._now)


def _ghosts(occasion: Occasion | None, opening: Opening | None) -> tuple[GhostWanted, ...]:
    if opening is not None:
        return (GhostWanted(race=opening.past.race, seat=opening.past.seat, from_ply=opening.ply),)
    return tuple(GhostWanted(race=race) for race in occasion.ghosts) if occasion is not None else ()
