"""One room: its task, its inbox, its members, and one race after another.

Owns who is here and in what order things happened (the versions). What happened is the race's affair, who may see it the view's; how it
travels is the member's. Nothing here waits for a member: `post` never blocks, and the inbox is the only thing the task waits for, beside
the next moment at which its race has something to do, and the journal; so at every other moment the room is in one piece for who looks at
it (`holds`, `catch_up`).

What a command leads to is held back until the journal has the command: nobody is ever told of a move that a crash could undo. When the
journal cannot keep it, the room ends, and its race has no result rather than a wrong one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeAlias, assert_never

import trio

from protocol.client_messages import LeaveRace, Move, Ready, Rematch, Resign, Say, Stop
from protocol.errors import ErrorCode, Refusal
from protocol.fairness import HOUSE_NONCE, SECRET_BYTES
from protocol.record import Record
from protocol.server_messages import Error, Left, RematchAsked, RoomEvent, Said
from protocol.text import clean_chat
from protocol.views import ChatLine, RaceOptions
from server.bots.house import UnknownBot, house_bot
from server.race.commands import (
    ChooseDeal,
    Command,
    GetReady,
    LeaveSeat,
    LoseLine,
    MeasureLine,
    PlayMove,
    RegainLine,
    ResignSeat,
    StopSeat,
    TakeSeat,
)
from server.race.events import MovePlayed, RaceEnded, RaceEvent, SeatDealt, SeatFreed
from server.race.machine import DealWanted, Race, Seat
from server.race.view import Viewer, current_view, snapshot, tell, tells_all_the_same
from server.rooms.bot_player import BotPlayer
from server.rooms.clock import Clock
from server.rooms.history import History
from server.rooms.member import Member, PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.replay import replay
from server.rules.catalogue import UnknownRules
from server.store.errors import StoreError
from server.store.port import CommandTaken, Entry, RaceAborted, RaceOpened, RaceOver, RunningRace, race_id

logger = logging.getLogger("carpet.rooms")

RoomMessage: TypeAlias = LeaveRace | Ready | Move | Stop | Resign | Rematch | Say
"""The client messages that are for a room."""

INBOX = 256
"""Requests that may wait for the room's task. When it is full, a request is refused with `server/busy` and the player asks again;
comings and goings wait in the task of the connection that has them, which has nothing else to do."""

UNIQUE_BYTES = 6
"""Random bytes in a race's id: codes are few enough to come again in the years a store is kept."""

CHAT_KEPT = 50
"""Lines of chat in a snapshot; older ones are gone for who comes later."""

IDLE_S = 120
"""How long a room with nobody in it is kept for its players to come back to, when no race runs in it."""


@dataclass(frozen=True, slots=True)
class Enter:
    """`player` is here by `member`: he takes a free seat, or has one already. version: the last he knows, 0 for none."""

    player: PlayerName
    member: Member
    version: int
    ref: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Exit:
    """The line of this member is gone."""

    player: PlayerName
    member: Member
    at_ms: int


@dataclass(frozen=True, slots=True)
class Ask:
    """A player's request, received at `at_ms`."""

    player: PlayerName
    member: Member
    message: RoomMessage
    at_ms: int


@dataclass(frozen=True, slots=True)
class Close:
    """The host stops."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class AgainAsked:
    """A room's own event: the player of this seat would race again."""

    seat: int


@dataclass(frozen=True, slots=True)
class LineSaid:
    """A room's own event: chat."""

    line: ChatLine


@dataclass(frozen=True, slots=True)
class DealFound:
    """What came of a search. k: None where no deal that can be won was found."""

    wanted: DealWanted
    k: int | None
    at_ms: int


RoomRequest: TypeAlias = Enter | Exit | Ask | Close | DealFound
FindDeal: TypeAlias = Callable[[DealWanted], Awaitable[int | None]]
"""Finds the number of the first seed that gives a winnable deal, or None. May take long; cancelled when it is not wanted any more."""
OwnEvent: TypeAlias = AgainAsked | LineSaid


class RoomOwner(Protocol):
    """What a room tells of itself to whoever keeps the list of rooms."""

    def seat_taken(self, room: Room, player: str) -> None: ...

    def seat_left(self, room: Room, player: str) -> None: ...

    def changed(self, room: Room) -> None:
        """Seats, names or phase are not what they were."""


class Journal(Protocol):
    """Where a room has its commands kept."""

    async def write(self, *entries: Entry) -> None:
        """Returns when the entries are safe, all of them. Raises StoreError when none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomPorts:
    """What a room is given by the outside: time, randomness, owner, journal, how winnable deals are found, how bots play and think, and the
    program's name for records.

    keeps: what the journal has outlives this process, so that a race goes on when the next server has started.
    """

    clock: Clock
    entropy: Callable[[int], bytes]
    owner: RoomOwner
    journal: Journal
    keeps: bool
    find_deal: FindDeal
    bots_wait: bool
    thoughts: trio.CapacityLimiter
    software: str


class Room:
    """Run `run` in a task; what changes anything goes through the inbox."""

    def __init__(self, *, code: str, options: RaceOptions, ports: RoomPorts, running: RunningRace | None = None) -> None:
        """Raises Refusal for options that do not fit: an unknown rule set or bot, no seat left for the opener, a winnable deal by name.

        running: a race of an earlier server that goes on here, as the store has it; its commands must have been taken once (`replay`
        raises otherwise).
        """
        if len(options.bots) >= options.seats:
            raise Refusal(ErrorCode.BAD_OPTIONS, f"{len(options.bots)} bots leave no seat of {options.seats}", path="$.options.bots")
        # It is shown to the others. Not cleaned but refused: another name would be another deal.
        if options.deal is not None and clean_chat(options.deal) != options.deal:
            raise Refusal(ErrorCode.BAD_OPTIONS, "a deal's name is one line of printable text", path="$.options.deal")
        try:
            self._house_bots = tuple(house_bot(name) for name in options.bots)
            self._secret = ports.entropy(SECRET_BYTES) if running is None else running.opened.secret
            if running is None:
                self.race = Race(room=code, number=1, options=options, secret=self._secret, software=ports.software)
            else:
                self.race = replay(running)
        except UnknownBot as error:
            raise Refusal(ErrorCode.UNKNOWN_BOT, str(error), path="$.options.bots") from error
        except UnknownRules as error:
            raise Refusal(ErrorCode.UNKNOWN_RULES, str(error), path="$.options.rules") from error
        if options.winnable and options.deal is not None:
            raise Refusal(ErrorCode.BAD_OPTIONS, "a deal by name is what it is, winnable or not", path="$.options.winnable")
        if options.winnable and not self.race.rules.solvable:
            raise Refusal(ErrorCode.BAD_OPTIONS, f"winnable deals are not offered under {options.rules}", path="$.options.winnable")
        self.code = code
        self.options = options
        self._ports = ports
        self._race_id = self._new_id() if running is None else running.opened.race
        self._sequence = 0 if running is None else len(running.commands)
        self._restored = running is not None
        self._entries: list[Entry] = []
        self._held: list[tuple[Member, Outgoing]] = []
        self._committing = False
        self._stopping = False
        self._history: History[RaceEvent | OwnEvent] = History()
        self._members: dict[str, Member] = {}
        self._names: dict[str, PlayerName] = {}
        self._again: set[int] = set()
        self._chat: list[ChatLine] = []
        self._empty_since: int | None = ports.clock.now_ms()
        # The wall may have been set back between two servers; the race's time must not.
        last_ms = running.commands[-1].at_ms if running is not None and running.commands else 0
        self._now = max(ports.clock.now_ms(), last_ms)
        self._visited = False
        self._closed = False
        self._reason = "closed"
        self._bots: list[BotPlayer] = []
        self._sought: DealWanted | None = None
        self._search = trio.CancelScope()
        self._send, self._receive = trio.open_memory_channel[RoomRequest](INBOX)

    def _new_id(self) -> str:
        return race_id(room=self.code, number=self.race.number, unique=self._ports.entropy(UNIQUE_BYTES))

    # ---- for other tasks

    def ask(self, request: Enter | Ask) -> None:
        """Put a request into the inbox. Raises Refusal `server/busy` when it is full and `room/closed` when nobody reads it any more."""
        try:
            self._send.send_nowait(request)
        except trio.WouldBlock:
            raise Refusal(ErrorCode.SERVER_BUSY) from None
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise Refusal(ErrorCode.ROOM_CLOSED) from None

    def holds(self, player: str) -> bool:
        """Whether this player has a seat here."""
        return self.race.seat_of(player) is not None

    def catch_up(self, player: PlayerName, member: Member) -> bool:
        """Tell a member that has missed something everything anew, now. False when it is not in this room."""
        if self._members.get(player.id) is not member:
            return False
        self._now = max(self._now, self._ports.clock.now_ms())
        self._post(member, Outgoing(self._snapshot(self._viewer(player.id))))
        # While the journal is waited for, this may tell of what is not safe yet, and waits with it.
        if not self._committing:
            self._deliver()
        return True

    async def tell(self, request: Exit | Close | DealFound) -> None:
        """Put in what must not be lost, waiting for room in the inbox. Returns at once when the room is closed."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._send.send(request)

    # ---- the task

    async def run(self) -> None:
        """Serve the room until it is closed. One crash ends one room: its members are told, the others go on."""
        try:
            async with trio.open_nursery() as nursery:
                self._begin(nursery)
                await self._commit()
                await self._serve(nursery)
                nursery.cancel_scope.cancel()
        except Exception:
            logger.exception("room %s crashed", self.code)
            self._fail(Refusal(ErrorCode.INTERNAL))
        finally:
            self._closed = True
            self._turn_away()
            self._receive.close()
            self._send.close()
            if not (self._stopping and self._ports.keeps):
                # Else the race goes on with the next server, and the client comes back to it by itself.
                self._post_all(Outgoing(Left(code=self.code, reason=self._reason)))
            self._deliver()
            self._members.clear()
            with trio.CancelScope(shield=True):
                await self._give_up()

    def _begin(self, nursery: trio.Nursery) -> None:
        if self._restored:
            self._bring_back()
        else:
            self._note_opened()
        self._seat_bots(nursery)

    def _bring_back(self) -> None:
        """Go on with the race of an earlier server: its clocks kept running, and everybody's line is lost until he comes back."""
        # No version of the earlier server may be taken for one of this room's: whoever has one is sent a snapshot.
        self._history.version = self._now
        self._visited = True
        for seat in self.race.seats:
            if seat.player is not None and seat.bot is None and seat.state != "forfeited":
                self._names[seat.player] = PlayerName(seat.player, seat.name)
                self._ports.owner.seat_taken(self, seat.player)
        self._publish(self.race.advance(self._now))
        for seat in self.race.seats:
            if seat.player is not None and seat.bot is None and seat.connected:
                self._do(LoseLine(seat.number))
        logger.info("room %s goes on with race %d, %s", self.code, self.race.number, self.race.phase)

    def _fail(self, refusal: Refusal) -> None:
        """End the room for a reason that is nobody's in it. What was not safe is not told."""
        self._closed = True
        self._reason = "failed"
        self._held.clear()
        self._entries.clear()
        self._post_all(Outgoing(_error(refusal, 0)))

    async def _give_up(self) -> None:
        """Say in the journal that a race which has no result will never have one, unless the next server is to go on with it."""
        if self.race.phase == "over" or (self._stopping and self._ports.keeps):
            return
        try:
            await self._ports.journal.write(RaceAborted(race=self._race_id, reason=self._reason, at_ms=self._now))
        except StoreError as error:
            logger.error("room %s: that its race was aborted could not be kept: %s", self.code, error)

    async def _serve(self, nursery: trio.Nursery) -> None:
        while not self._closed:
            self._look_for_deal(nursery)
            self._step(await self._next_request())
            # All that has come meanwhile goes into the same entry of the journal.
            with suppress(trio.WouldBlock):
                while not self._closed:
                    self._step(self._receive.receive_nowait())
            await self._commit()

    def _step(self, request: RoomRequest | None) -> None:
        now = self._now = max(self._now, self._ports.clock.now_ms() if request is None else request.at_ms)
        self._publish(self.race.advance(now))
        if request is not None:
            self._handle(request)
        self._close_if_abandoned()

    async def _commit(self) -> None:
        """Have the journal keep what was done, then tell of it."""
        entries, self._entries = self._entries, []
        if entries:
            self._committing = True
            try:
                await self._ports.journal.write(*entries)
            except StoreError as error:
                logger.error("room %s is ended: what happens in it cannot be kept: %s", self.code, error)
                self._fail(Refusal(ErrorCode.NOT_KEPT))
            finally:
                self._committing = False
        self._deliver()

    async def _next_request(self) -> RoomRequest | None:
        """The next request, or None when the time has come for something else."""
        try:
            # What has arrived is taken before what is due: its stamp is older than the present moment.
            return self._receive.receive_nowait()
        except trio.WouldBlock:
            pass
        due = min((moment for moment in (self.race.next_deadline(), self._abandoned_at) if moment is not None), default=None)
        with trio.move_on_at(self._ports.clock.deadline(due) if due is not None else float("inf")):
            return await self._receive.receive()
        return None

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
            case DealFound():
                self._deal_found(request)
            case _:
                assert_never(request)

    def _guarded(self, member: Member, ref: int, action: Callable[[], None]) -> None:
        try:
            action()
        except Refusal as refusal:
            self._post(member, Outgoing(_error(refusal, ref)))

    # ---- comings and goings

    def _enter(self, request: Enter) -> None:
        player = request.player
        seat = self.race.seat_of(player.id)
        # Told to the others first: whoever enters hears of it in his turn, with all that he has missed before it.
        if seat is None:
            try:
                self._do(TakeSeat(player.id, player.name))
            except Refusal:
                self._ports.owner.seat_left(self, player.id)
                raise
            self._ports.owner.seat_taken(self, player.id)
        else:
            self._do(RegainLine(seat.number))
        self._members[player.id] = request.member
        self._names[player.id] = player
        self._visited = True
        self._empty_since = None
        self._measure_all()
        # Only a snapshot says which seat is his own: events alone would not tell it to who lost one here and has taken another.
        self._bring_up_to_date(player.id, request.member, request.version if seat is not None else 0)

    def _bring_up_to_date(self, player: str, member: Member, version: int) -> None:
        missed = self._history.after(version) if version > 0 else None
        viewer = self._viewer(player)
        if missed is None:
            self._post(member, Outgoing(self._snapshot(viewer)))
            return
        for number, event in missed:
            self._post(member, Outgoing(self._message(event, version=number, viewer=viewer)))
        # A move that was refused, or answered into a dead line, leaves the client unsure of its own position; this settles it.
        self._post_current_view(player, member)

    def _line_lost(self, request: Exit) -> None:
        # The player may have come back by another line before this one was seen to be dead.
        if self._members.get(request.player.id) is not request.member:
            return
        del self._members[request.player.id]
        seat = self.race.seat_of(request.player.id)
        if seat is not None:
            self._do(LoseLine(seat.number))
        self._note_emptiness()

    def _leave(self, player: PlayerName, member: Member) -> None:
        seat = self.race.seat_of(player.id)
        self._members.pop(player.id, None)
        self._names.pop(player.id, None)
        if seat is not None:
            self._do(LeaveSeat(seat.number))
            if seat.player is not None and self.race.phase != "waiting":
                # The seat stays his until the race is over, but nobody waits for him.
                self._do(LoseLine(seat.number))
        self._ports.owner.seat_left(self, player.id)
        self._post(member, Outgoing(Left(code=self.code, reason="left")))
        self._note_emptiness()

    def _note_emptiness(self) -> None:
        if not self._people_here and self._empty_since is None:
            self._empty_since = self._now

    @property
    def _people_here(self) -> bool:
        return any(player in self._names for player in self._members)

    @property
    def _abandoned_at(self) -> int | None:
        if self._empty_since is None or self.race.phase in ("countdown", "racing"):
            return None
        return self._empty_since + IDLE_S * 1000

    def _close_if_abandoned(self) -> None:
        if self._abandoned_at is not None and self._abandoned_at <= self._now:
            self._closed = True
            self._reason = "idle"
        # Given up by all who came: nobody has a claim to it, and rooms that are opened and left must not pile up.
        if self._visited and self.race.phase in ("waiting", "over") and not any(s.player and not s.bot for s in self.race.seats):
            self._closed = True

    def _turn_away(self) -> None:
        """Answer what is still in the inbox."""
        with suppress(trio.WouldBlock):
            while True:
                match self._receive.receive_nowait():
                    case Enter(member=member, ref=ref):
                        self._post(member, Outgoing(_error(Refusal(ErrorCode.ROOM_CLOSED), ref)))
                    case Ask(member=member, message=message):
                        self._post(member, Outgoing(_error(Refusal(ErrorCode.ROOM_CLOSED), message.ref)))
                    case Exit(player=player, member=member):
                        if self._members.get(player.id) is member:
                            del self._members[player.id]
                    case Close() | DealFound():
                        pass

    # ---- the deal that can be won

    def _look_for_deal(self, nursery: trio.Nursery) -> None:
        """Have a search running for just the deal that the race wants now, if it wants one."""
        wanted = self.race.deal_wanted
        if wanted == self._sought:
            return
        self._search.cancel()
        self._sought = wanted
        if wanted is not None:
            self._search = trio.CancelScope()
            nursery.start_soon(self._seek, wanted, self._search)

    async def _seek(self, wanted: DealWanted, search: trio.CancelScope) -> None:
        with search:
            k = await self._ports.find_deal(wanted)
            await self.tell(DealFound(wanted, k, self._ports.clock.now_ms()))

    def _deal_found(self, found: DealFound) -> None:
        # Who was ready may have left since; then another deal is wanted, or none yet.
        if found.wanted != self.race.deal_wanted:
            return
        if found.k is not None:
            self._do(ChooseDeal(found.k))
            return
        # All have put in their nonces, which cannot be taken back, and the same search would end the same way: this race can never start.
        self._closed = True
        self._reason = "failed"
        self._post_all(Outgoing(_error(Refusal(ErrorCode.NO_WINNABLE_DEAL), 0)))

    # ---- requests

    def _answer(self, request: Ask) -> None:
        player, member, message = request.player, request.member, request.message
        if isinstance(message, LeaveRace):
            self._leave(player, member)
            return
        seat = self.race.seat_of(player.id)
        # A line by which he has not joined would never hear what came of it.
        if seat is None or self._members.get(player.id) is not member:
            raise Refusal(ErrorCode.NOT_IN_ROOM)
        match message:
            case Move():
                self._move(request, message, seat)
            case Ready():
                self._check_race(message.race)
                self._measure_all()
                self._do(GetReady(seat.number, bytes.fromhex(message.nonce)))
            case Stop():
                self._check_race(message.race)
                self._check_seat(seat, message.seat)
                self._do(StopSeat(seat.number))
            case Resign():
                self._check_race(message.race)
                self._check_seat(seat, message.seat)
                self._do(ResignSeat(seat.number))
            case Rematch():
                self._check_race(message.race)
                self._ask_again(seat)
            case Say():
                self._say(seat, message.text)
            case _:
                assert_never(message)

    def _move(self, request: Ask, message: Move, seat: Seat) -> None:
        try:
            self._check_race(message.race)
            self._check_seat(seat, message.seat)
            self._measure(seat)
            played = self._do(PlayMove(seat.number, message.ply, message.move))
        except Refusal as refusal:
            self._post(request.member, Outgoing(_error(refusal, message.ref)))
            played = False
        if not played:
            self._post_current_view(request.player.id, request.member)

    def _check_race(self, number: int) -> None:
        if number != self.race.number:
            raise Refusal(ErrorCode.WRONG_RACE, f"the current one is {self.race.number}", path="$.race")

    @staticmethod
    def _check_seat(seat: Seat, number: int) -> None:
        if number != seat.number:
            raise Refusal(ErrorCode.NOT_YOUR_SEAT, f"yours is {seat.number}", path="$.seat")

    def _measure(self, seat: Seat) -> None:
        member = self._members.get(seat.player or "")
        measured = member.round_trip_ms if member is not None else None
        if measured is not None and measured != seat.round_trip_ms:
            self._do(MeasureLine(seat.number, measured))

    def _measure_all(self) -> None:
        for seat in self.race.seats:
            self._measure(seat)

    def _say(self, seat: Seat, text: str) -> None:
        line = clean_chat(text)
        if not line:
            raise Refusal(ErrorCode.EMPTY_CHAT, path="$.text")
        said = ChatLine(seat=seat.number, name=seat.name, text=line)
        self._chat = [*self._chat[-(CHAT_KEPT - 1) :], said]
        self._publish([LineSaid(said)])

    def _ask_again(self, seat: Seat) -> None:
        if self.race.phase != "over":
            raise Refusal(ErrorCode.RACE_RUNNING)
        if any(other.player is None for other in self.race.seats):
            raise Refusal(ErrorCode.ROOM_CLOSED, "a player has left")
        if seat.number in self._again:
            return
        self._again.add(seat.number)
        self._publish([AgainAsked(seat.number)])
        if len(self._again) == len(self.race.seats):
            self._start_over()

    def _start_over(self) -> None:
        old = self.race
        self._secret = self._ports.entropy(SECRET_BYTES)
        self.race = Race(room=self.code, number=old.number + 1, options=self.options, secret=self._secret, software=self._ports.software)
        self._race_id = self._new_id()
        self._sequence = 0
        self._note_opened()
        self._again.clear()
        for seat in old.seats:
            assert seat.player is not None
            self._take(TakeSeat(seat.player, seat.name, seat.bot, seat.number))
            if not seat.connected:
                self._take(LoseLine(seat.number))
        version = self._history.forget()
        for player, member in self._members.items():
            viewer = self._viewer(player)
            self._post(member, Outgoing(self._snapshot(viewer, version=version)))
        self._ports.owner.changed(self)
        for bot in self._bots:
            self._ready_bot(bot)

    # ---- house bots

    def _seat_bots(self, nursery: trio.Nursery) -> None:
        for seat, house in enumerate(self._house_bots, self.options.seats - len(self._house_bots)):
            bot = BotPlayer(
                player=PlayerName(f"bot:{seat}", house.name),
                bot=house,
                rules=self.options.rules,
                seed=int.from_bytes(self._ports.entropy(8), "big"),
                waits=self._ports.bots_wait,
                thoughts=self._ports.thoughts,
                ask=self._ask_for_bot,
            )
            self._bots.append(bot)
            self._members[bot.player.id] = bot
            if self.race.seat_of(bot.player.id) is None:
                self._do(TakeSeat(bot.player.id, house.name, house.name, seat))
            self._ready_bot(bot)
            self._post_current_view(bot.player.id, bot)
            nursery.start_soon(bot.run)

    def _ready_bot(self, bot: BotPlayer) -> None:
        seat = self.race.seat_of(bot.player.id)
        assert seat is not None
        if self.race.phase == "waiting" and seat.nonce is None:
            self._measure(seat)
            self._do(GetReady(seat.number, HOUSE_NONCE))

    def _ask_for_bot(self, bot: BotPlayer, message: Move | Rematch) -> None:
        self.ask(Ask(bot.player, bot, message, self._ports.clock.now_ms()))

    # ---- what is done and kept

    def _do(self, command: Command) -> bool:
        """Give the race a command and tell of what came of it. False when nothing did. Raises Refusal, with nothing changed."""
        events = self._take(command)
        self._publish(events)
        return bool(events)

    def _take(self, command: Command) -> tuple[RaceEvent, ...]:
        """Give the race a command and note it for the journal, if it changed anything; what came of it."""
        was_over = self.race.phase == "over"
        events = self.race.apply(command, self._now)
        # Once there is a record it stands for the race, and who comes and goes afterwards is the room's affair alone.
        if not was_over and (events or isinstance(command, MeasureLine)):
            self._sequence += 1
            self._entries.append(CommandTaken(race=self._race_id, sequence=self._sequence, at_ms=self._now, command=command))
        return events

    def _note_opened(self) -> None:
        opened = RaceOpened(
            race=self._race_id,
            room=self.code,
            number=self.race.number,
            options=self.options,
            secret=self._secret,
            software=self._ports.software,
            at_ms=self._now,
        )
        self._entries.append(opened)

    def _note_over(self, record: Record) -> None:
        players = tuple(seat.player if seat.bot is None else None for seat in self.race.seats)
        self._entries.append(RaceOver(race=self._race_id, record=record, players=players, at_ms=self._now))

    # ---- what is told

    def _publish(self, events: Iterable[RaceEvent | OwnEvent]) -> None:
        for event in events:
            version = self._history.add(event)
            if isinstance(event, (AgainAsked, LineSaid)) or tells_all_the_same(event):
                self._post_all(Outgoing(self._message(event, version=version, viewer=None)))
            else:
                self._post_apart(event, version)
            self._note(event)

    def _post_apart(self, event: RaceEvent, version: int) -> None:
        """One message to the seat that the event is about, and one to everybody else."""
        assert isinstance(event, (MovePlayed, SeatDealt))
        to_others: Outgoing | None = None
        for player, member in self._members.items():
            viewer = self._viewer(player)
            if viewer == event.seat:
                self._post(member, Outgoing(self._message(event, version=version, viewer=viewer)))
                continue
            if to_others is None:
                to_others = Outgoing(self._message(event, version=version, viewer=None))
            self._post(member, to_others)

    def _note(self, event: RaceEvent | OwnEvent) -> None:
        match event:
            case SeatFreed():
                self._forget_unseated()
                self._ports.owner.changed(self)
            case RaceEnded(record=record):
                places = ", ".join(f"{seat.place} {seat.name} ({seat.state}, {seat.home})" for seat in record.seats)
                logger.info("room %s race %d over: %s", self.code, record.race, places)
                self._note_over(record)
                self._free_deserted_seats()
                self._ports.owner.changed(self)
            case AgainAsked() | LineSaid() | MovePlayed() | SeatDealt():
                pass
            case _:
                self._ports.owner.changed(self)

    def _forget_unseated(self) -> None:
        """Whoever lost his seat to the grace is in this room no more."""
        for player in [player for player in self._names if self.race.seat_of(player) is None]:
            if player not in self._members:
                del self._names[player]
                self._ports.owner.seat_left(self, player)

    def _free_deserted_seats(self) -> None:
        """Who left while the race ran held his seat to its end; now all can see that no rematch is to be had from him."""
        for seat in self.race.seats:
            if seat.player is not None and seat.bot is None and seat.player not in self._names:
                self._do(LeaveSeat(seat.number))

    def _message(self, event: RaceEvent | OwnEvent, *, version: int, viewer: Viewer) -> RoomEvent:
        match event:
            case AgainAsked(seat=seat):
                return RematchAsked(version=version, seat=seat)
            case LineSaid(line=line):
                return Said(version=version, line=line)
            case _:
                return tell(event, version=version, viewer=viewer, now=self._now)

    def _snapshot(self, viewer: Viewer, *, version: int | None = None) -> RoomEvent:
        return snapshot(
            self.race,
            version=self._history.version if version is None else version,
            viewer=viewer,
            now=self._now,
            again=frozenset(self._again),
            chat=tuple(self._chat),
        )

    def _viewer(self, player: str) -> Viewer:
        seat = self.race.seat_of(player)
        return seat.number if seat is not None else None

    def _post_current_view(self, player: str, member: Member) -> None:
        seat = self.race.seat_of(player)
        view = current_view(self.race, seat) if seat is not None else None
        if view is not None:
            self._post(member, Outgoing(view))

    def _post_all(self, outgoing: Outgoing) -> None:
        for member in self._members.values():
            self._post(member, outgoing)

    def _post(self, member: Member, outgoing: Outgoing) -> None:
        self._held.append((member, outgoing))

    def _deliver(self) -> None:
        held, self._held = self._held, []
        for member, outgoing in held:
            member.post(outgoing)


def _error(refusal: Refusal, ref: int) -> Error:
    return Error(code=refusal.code, fault=refusal.fault, message=refusal.sentence, path=refusal.path, ref=ref)
