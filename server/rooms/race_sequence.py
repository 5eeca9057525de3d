"""The races of one room, one after another: the current race, its series, its log, and what its events lead to.

Keeps the room's time, `now`, in milliseconds; it never goes back. Must not know what was asked for, nor who comes and goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from protocol.errors import ErrorCode, Refusal
from protocol.fairness import HOUSE_NONCE, SECRET_BYTES
from protocol.record import Record
from protocol.room_events import Ghost, RematchAsked, Result, Scored
from protocol.views import RaceOptions
from server.race.commands import GetReady, LeaveSeat, LoseConnection, MeasureConnection, OtherCommand, PlayMove, StopSeat, TakeSeat
from server.race.events import MovePlayed, RaceEnded, RaceEvent, SeatDealt, SeatFreed
from server.race.machine import Race
from server.race.seat import Seat
from server.race.shared_deal_spec import SharedDealSpec
from server.race.start_position import StartPosition
from server.rooms.broadcast import UNNUMBERED, Broadcast, OwnEvent
from server.rooms.codes import SHOWN_LENGTH, new_code
from server.rooms.effects import Draft
from server.rooms.ghosts import Ghosts
from server.rooms.member import BotSeat, Member
from server.rooms.members import Members
from server.rooms.race_log import RaceLog
from server.rooms.recovery import EarlierRoom
from server.rooms.series_state import SeriesState, seated
from server.store.port import RaceOpened, room_shown
from server.store.replay import as_opened


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSetup:
    """All that a room begins with. spec, secret: those of the deal that its race shares with others. start_position: where its races begin,
    if not at a deal. earlier: what an earlier server left of the room. entropy(n): n random bytes fit for secrets.

    wall_ms: reads the wall clock. keeps: whether what is kept outlives the server. place: the part of its opener's address that counts as
    one place. matched: the players for whom it was opened by a quick match, before their first race.
    """

    code: str
    options: RaceOptions
    entropy: Callable[[int], bytes]
    wall_ms: Callable[[], int]
    software: str
    keeps: bool
    spec: SharedDealSpec | None = None
    secret: bytes | None = None
    start_position: StartPosition | None = None
    earlier: EarlierRoom | None = None
    place: str | None = None
    matched: tuple[str, ...] = ()


class RaceSequence:
    def __init__(self, setup: RoomSetup, *, draft: Draft, now: int) -> None:
        """now: by the server's clock."""
        earlier = setup.earlier
        self.ahead_ms = 0
        """How far the room's time is ahead of the server's clock."""
        self.now = now
        self.bots: tuple[BotSeat, ...] = ()
        self.reveals_at_ms: int | None = None
        """From when on, by the wall clock, the deal is anybody's to know; None where others do not play it, or that is not settled."""
        self._wins_held: list[MovePlayed] = []
        self.sat_here = set(earlier.sat_here) if earlier is not None else set[str]()
        """Everybody who ever took a seat."""
        self.series = earlier.series if earlier is not None else SeriesState(setup.options, None)
        self.log = RaceLog(draft, setup.entropy)
        self._setup = setup
        self._draft = draft
        self._shown_as = self._name_for_all(room_shown(earlier.opened.race) if earlier is not None else None)
        if earlier is None:
            self.race = self._open_race(1)
        else:
            # Its time goes on from the last moment kept: time since then counts against nobody, whatever the wall clock shows.
            self._set_time(earlier.last_at_ms)
            self.opened_at = earlier.opened.at_ms
            self.race = earlier.race
            earlier.take_up(self.log)
        self.members = Members(self.now, visited=earlier is not None)
        self.ghosts = Ghosts()
        self.broadcast = Broadcast(
            self.members,
            draft,
            self.ghosts,
            # No version from an earlier server may be mistaken for one of this room's: a client that has one is sent a snapshot.
            version=max(self.now, setup.wall_ms()) if earlier is not None else 0,
            ratings=earlier.ratings if earlier is not None else (),
            series=self.series,
        )

    def _name_for_all(self, before: str | None) -> str:
        """The letters by which records, histories and ids call the room. before: those used so far for a race that goes on."""
        # Anybody who has the code of a private room may watch there, but what is kept of a race is public: it must not give the code away.
        if self._setup.options.public:
            return self._setup.code
        return before or new_code(self._setup.entropy, length=SHOWN_LENGTH)

    def _set_time(self, now: int) -> None:
        self.ahead_ms += now - self.now
        self.now = now

    def _open_race(self, number: int) -> Race:
        setup = self._setup
        # A race is dated by the wall clock, and then runs by the room's time.
        self._set_time(max(self.now, setup.wall_ms()) if number > 1 else setup.wall_ms())
        opened = RaceOpened(
            race=self.log.new_id(self._shown_as, number),
            room=setup.code,
            number=number,
            options=setup.options,
            secret=setup.secret or self.series.secret or setup.entropy(SECRET_BYTES),
            software=setup.software,
            at_ms=self.now,
            series=self.series.so_far,
            won=self.series.won,
            spec=setup.spec,
            start_position=setup.start_position,
            matched=setup.matched if number == 1 else (),
        )
        self.opened_at = opened.at_ms
        self.series.opened(opened.race)
        self.log.open(opened)
        return as_opened(opened)

    # ---- doing and telling

    def pass_to(self, now: int) -> None:
        """Advance the room's time to this moment of the server's clock, by which nothing is due."""
        now += self.ahead_ms
        if now > self.now:
            self.now = now

    def time(self, now: int) -> int:
        """The room's time at this moment of the server's clock, for showing rather than doing something."""
        return max(self.now, now + self.ahead_ms)

    @property
    def is_called_to(self) -> bool:
        """Whether its players have been called, and the race has not begun."""
        spec = self._setup.spec
        return spec is not None and spec.deal.kind == "round" and self.race.phase == "waiting"

    def advance(self, now: int) -> None:
        """Do what is due by this moment of the server's clock."""
        self.pass_to(now)
        race = self.race
        events = self.log.pass_time(race, self.now)
        if events or self._wins_held:
            self.publish(events)
        for ghost in self.ghosts.advance(race, self.now):
            self.publish((Ghost(version=UNNUMBERED, ghost=ghost),))

    def do(self, command: OtherCommand) -> None:
        """Give the race a command and tell of the events. Raises Refusal, with nothing changed."""
        self.publish(self._take(command))

    def play(self, move: PlayMove) -> bool:
        """`do` for a move, since nearly all commands are moves. What is due by now has been done."""
        race, now = self.race, self.now
        event = race.play(move, now)
        if event is None:
            return False
        self.log.note(move, now)
        if event.state != "racing" or self._wins_held:
            self.publish(race.with_what_follows(event))
        else:
            # `_publish` inlined for the usual case.
            self.broadcast.publish_apart(event, race, now)
            if event.brings_home:
                self._draft.effects.moved = True
        return True

    def _take(self, command: OtherCommand) -> tuple[RaceEvent, ...]:
        events = self.log.take(self.race, command, self.now)
        if isinstance(command, TakeSeat):
            self.sat_here.add(command.player)
        return events

    def publish(self, events: Iterable[RaceEvent | OwnEvent]) -> None:
        """Tell of events, and do what follows from them."""
        if self._wins_held and not self.race.is_settling:
            wins, self._wins_held = self._wins_held, []
            self.broadcast.unseen.clear()
            self.publish(wins)
        for event in events:
            self._publish(event)

    def _publish(self, event: RaceEvent | OwnEvent) -> None:
        race = self.race
        if type(event) is not MovePlayed:
            self.broadcast.publish(event, race, self.now)
            if not isinstance(event, OwnEvent):
                self._note(event)
        elif event.state == "won" and race.is_settling:
            self._hold(event)
        else:
            self.broadcast.publish_apart(event, race, self.now)
            if event.state != "racing" or event.brings_home:
                self._draft.effects.moved = True

    def _hold(self, win: MovePlayed) -> None:
        """Hold a win back while moves that count before it may be on their way. Only the winner sees it, without a version."""
        seat = self.race.seats[win.seat]
        self._wins_held.append(win)
        self.broadcast.unseen[win.seat] = seat.before_last_move(self.race.deal.firsts[win.seat])
        member = self.members.connection(seat.player)
        if member is not None and seat.player is not None:
            self.broadcast.current_view(seat.player, member, self.race)

    def _note(self, event: RaceEvent) -> None:
        effects = self._draft.effects
        match event:
            case SeatDealt():
                effects.moved = True
            case SeatFreed():
                effects.changed = True
                if self.race.phase == "waiting":
                    self._met_anew()
                self._forget_unseated()
            case RaceEnded(record=record):
                effects.changed = True
                self._note_over(record)
                self._free_deserted_seats()
            case _:
                effects.changed = True

    def people(self) -> list[tuple[str, Seat]]:
        """Players and their seats, without the house bots."""
        return [(seat.player, seat) for seat in self.race.seats if seat.player is not None and seat.bot is None]

    def _forget_unseated(self) -> None:
        """Players who lost their seat because their grace ran out are no longer in this room."""
        for player in self.members.away():
            if self.race.seat_of(player) is None:
                self.members.forget(player)
                self._draft.effects.bindings += ((player, False),)

    def _free_deserted_seats(self) -> None:
        """Players who left during the race held their seats to its end. Now all can see that they will not race again."""
        for player, seat in self.people():
            if not self.members.claims(player):
                self.do(LeaveSeat(seat.number))

    def measure(self, seat: Seat, member: Member | None) -> None:
        """Note how long the round trip to this seat takes, if that has changed. member: the connection of its player."""
        measured = member.round_trip_ms if member is not None else seat.round_trip_ms
        if measured is None and seat.round_trip_ms:
            # Nobody keeps the credit of a slow connection by changing to a faster one that answers no ping.
            measured = 0
        if measured is not None and measured != seat.round_trip_ms:
            self.do(MeasureConnection(seat.number, measured))

    def measure_all(self) -> None:
        for seat in self.race.seats:
            self.measure(seat, self.members.connection(seat.player))

    # ---- the end of a race

    def _note_over(self, record: Record) -> None:
        self.series.raced(self.race, record)
        if self._setup.spec is not None or not self.race.sealed:
            self._close(record, players=seated(self.race))
        self._draft.effects.ended += (record,)
        self._tell_score()

    def _tell_score(self) -> None:
        """Tell how the series stands, with the sealed record, if it need not be sealed any more."""
        revealed = self.reveal_earlier() if not self.series.is_under_way else None
        info = self.series.info
        if info is not None:
            self.publish((Scored(version=UNNUMBERED, series=info, record=revealed),))

    def reveal_earlier(self) -> Record | None:
        """End the sealed race for everybody, as it has ended for its players."""
        sealed = self.series.reveal()
        if sealed is None:
            return None
        if sealed.record.id == self.race.id:
            self.race.reveal()
        self._close(sealed.record, players=sealed.players)
        return sealed.record

    def _close(self, record: Record, *, players: tuple[str | None, ...]) -> None:
        here = [seat.number for player, seat in self.people() if self.members.claims(player)]
        self.log.close(record, players=players, here=here, at_ms=self._setup.wall_ms())

    def reveal_shared(self) -> bool:
        """If it is time and has not been done: stop those who still play the deal, and tell the whole record of a race that is over."""
        # By the wall clock, which may have been set: from then on anybody may know the cards.
        is_due = self.reveals_at_ms is not None and self._setup.wall_ms() >= self.reveals_at_ms
        if not is_due or self._setup.spec is None or not self.race.sealed:
            return False
        for seat in self.race.seats if self.race.phase in ("countdown", "racing") else ():
            if seat.state in ("waiting", "racing"):
                self.do(StopSeat(seat.number))
        self.race.reveal()
        self._draft.effects.moved = True
        if self.race.record is not None:
            self.publish((Result(version=UNNUMBERED, record=self.race.record),))
        return True

    # ---- one race after another

    def ask_again(self, seat: Seat) -> None:
        """The player of this seat asks for a rematch. Raises Refusal."""
        if self.race.phase != "over":
            raise Refusal(ErrorCode.RACE_RUNNING)
        if self._setup.spec is not None:
            raise Refusal(ErrorCode.ONCE_ONLY)
        if any(other.player is None for other in self.race.seats):
            raise Refusal(ErrorCode.ROOM_CLOSED, "a player has left")
        again = self.broadcast.again
        if seat.number in again:
            return
        self.publish((RematchAsked(version=UNNUMBERED, seat=seat.number),))
        if len(again) == len(self.race.seats):
            self.series.start_over()
            self._open_next()

    def open_next_if_due(self) -> None:
        """Open the next race of a series under way; if a player has given it up, begin another series with those who are left."""
        if not self.series.is_under_way or self.race.phase in ("countdown", "racing"):
            return
        gone = [seat.number for seat in self.race.seats if seat.player is None]
        if not gone:
            if self.race.phase == "over":
                self._open_next()
            return
        before = self.series.before
        self.series.give_up(gone)
        self._tell_score()
        if self.race.phase != "waiting":
            # The end of the race noted who had left it.
            return
        if before is not None:
            self.log.note_given_up(before, seats=gone)
        if self.people():
            self.log.give_up("a player gave the series up", seats=(), at_ms=self._setup.wall_ms())
            self.series.start_over()
            self._met_anew()
            self._open_next()

    def _met_anew(self) -> None:
        """Whoever races next may be somebody else."""
        self.series.won = ()

    def _open_next(self) -> None:
        old, self.race = self.race, self._open_race(self.race.number + 1)
        for seat in old.seats:
            if seat.player is None:
                continue
            self._take(TakeSeat(seat.player, seat.name, seat.bot, seat.number))
            if not seat.connected:
                self._take(LoseConnection(seat.number))
        self.broadcast.start_over(self.race, self.now)
        self._draft.effects.changed = True
        self._ready_bots()

    # ---- house bots

    def seat_bots(self, bots: tuple[BotSeat, ...]) -> None:
        """Seat the bots, which are here from the beginning."""
        self.bots = bots
        for bot, kind in zip(bots, self.race.options.bots, strict=True):
            self.members.admit(bot.player.id, bot.member)
            if self.race.seat_of(bot.player.id) is None:
                self.do(TakeSeat(bot.player.id, bot.player.name, kind, bot.seat))
        self._ready_bots()
        for bot in bots:
            # They have heard nothing that an earlier server told.
            self.broadcast.snapshot(bot.player.id, bot.member, self.race, self.now)

    def _ready_bots(self) -> None:
        for bot in self.bots:
            seat = self.race.seat_of(bot.player.id)
            assert seat is not None
            if self.race.phase == "waiting" and seat.nonce is None:
                self.measure(seat, bot.member)
                self.do(GetReady(seat.number, HOUSE_NONCE))
