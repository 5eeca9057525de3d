"""A room as the rest of the server uses it: it passes each request to the core at once, and carries out the effects.

Decided    A request is decided in the call that brings it; no task waits for it. Who holds a seat where is known at once.
Delivered  Messages, the summary and notices go out once the journal has what they tell of (`commit_gate`).
Beside     All rooms share one task for deadlines. Whatever takes time is a side job, whose answer comes back as a request.
Broken     A fault, or something that can never be kept, ends its room: the members are told, and the other rooms go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from protocol.client_messages import Move, Rematch
from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from server.race.ghosts import GhostLine
from server.race.race_deal import DealWanted
from server.race.rating import RatingChange
from server.rooms.bots import BotPlayer, bot_players
from server.rooms.clock import Clock
from server.rooms.commit_gate import CommitGate
from server.rooms.core import RoomCore
from server.rooms.deadlines import Deadline, Deadlines
from server.rooms.effects import Closing, Effects, Unmatched, tell_spectators, tell_together
from server.rooms.ghosts import ghosts_wanted
from server.rooms.member import BotSeat, Member, PlayerName
from server.rooms.outgoing import CANNOT_WRITE, Outgoing
from server.rooms.ports import FindDeal, GhostLines, GhostWanted, JournalPort, RatingChanges, SearchFailed
from server.rooms.race_sequence import RoomSetup
from server.rooms.rating_updates import read_changes
from server.rooms.requests import EARLY, Ask, CloseRoom, DealFound, Enter, RatingsRead, RoomRequest, refuse
from server.rooms.spectator_port import Shown, SpectatorPort
from server.runtime import log_lines
from server.runtime.tasks import Tasks
from server.store.errors import JournalClosed, LeaseLost, RunAlready, StoreError

logger = logging.getLogger("carpet.rooms")


class RoomOwner(Protocol):
    """What a room reports to the owner of the list of rooms."""

    def seat_taken(self, room: Room, player: str) -> None: ...

    def seat_left(self, room: Room, player: str) -> None: ...

    def changed(self, room: Room) -> None:
        """The seats, names or phase in its summary have changed."""

    def over(self, room: Room, record: Record) -> None:
        """The race that the room was opened for is over, and its record is kept."""

    def rated(self, room: Room, record: Record, changes: Sequence[RatingChange]) -> None:
        """This race has changed its players' ratings, by seat."""

    def unmatched(self, room: Room, unmatched: Unmatched) -> None:
        """This player has left its race, which never began, to look for another opponent."""

    def gone(self, room: Room) -> None:
        """It is closed, everybody has been told, and nothing of it waits for the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomPorts:
    """What every room of a server is given. entropy(n): n random bytes fit for secrets."""

    clock: Clock
    entropy: Callable[[int], bytes]
    owner: RoomOwner
    journal: JournalPort
    nursery: trio.Nursery
    deadlines: Deadlines
    rating_changes: RatingChanges
    find_deal: FindDeal
    ghost_lines: GhostLines
    bots_wait: bool
    thoughts: trio.CapacityLimiter


class Room:
    """One room. Call `begin` once. Others use `ask` and `tell`, the `summary`, and what spectators need."""

    def __init__(self, setup: RoomSetup, ports: RoomPorts) -> None:
        """Raises Refusal for unknown bots, or if the bots leave no seat for the opener."""
        self.code = setup.code
        self.options = setup.options
        self.spec = setup.spec
        """The shared deal for which the room was opened, if there is one; the room then has only one race."""
        self.place = setup.place
        """The part of its opener's address that counts as one place; None if it is not known, or is this machine."""
        self.is_closed = False
        """Nothing will happen here any more. True before anybody is told."""
        self.is_kept = False
        """The journal has the room: other servers of the cluster can find it."""
        waits, thoughts = ports.bots_wait, ports.thoughts
        self._bots = bot_players(setup.options, setup.spec, entropy=ports.entropy, waits=waits, thoughts=thoughts, ask=self._ask_for_bot)
        self.core = RoomCore(setup, now=ports.clock.now_ms())
        """For this package and for tests."""
        self.summary = self.core.summary()
        """What others see."""
        self._ports = ports
        self._gate = CommitGate(ports.journal, deliver=self._deliver, fail=self._not_kept)
        complaint = "a background task of room %s crashed"
        self._jobs = Tasks(ports.nursery, setup.code, failed=self._crashed, logger=logger, complaint=complaint)
        """Side jobs, which wait for something: searches, reads, bots. Their answers come back as requests."""
        self._deadline = Deadline(ports.deadlines, self._wake)
        self._spectators: SpectatorPort | None = None
        self._ghosts = ghosts_wanted(setup.spec, setup.start_position)
        self.has_begun = False
        """Whether it answers. It waits for its ghosts first, since every player's first snapshot tells of them."""
        self._early: list[RoomRequest] = []
        self._sought: DealWanted | None = None
        self._search: trio.CancelScope | None = None

    def begin(self) -> None:
        """Open it, or take it up from an earlier server."""
        if self._ghosts:
            self._jobs.start_soon(self._read_ghosts, self._ghosts)
            return
        try:
            self._begin(())
        except Exception:
            logger.exception("room %s could not begin", self.code)
            self._crashed()

    # ---- requests

    def ask(self, request: RoomRequest) -> None:
        """Decide a request now; the outcome is told once it is safe. Raises Refusal `room/closed`, and `server/busy`."""
        if self.is_closed:
            raise Refusal(ErrorCode.ROOM_CLOSED)
        if len(self._early) >= EARLY:
            raise Refusal(ErrorCode.SERVER_BUSY)
        self.tell(request)

    def move(self, player: PlayerName, member: Member, message: Move, waited_ms: int = 0) -> None:
        """`ask` for a move, since nearly all requests are moves. waited_ms: see `Ask`."""
        if self.is_closed or not self.has_begun:
            self.ask(Ask(player, member, message, waited_ms))
            return
        # A move logs nothing unless something is wrong, so the log context is set only then.
        try:
            effects = self.core.move(player.id, member, message, waited_ms, self._ports.clock.now_ms())
        except Exception:
            about = log_lines.race.set(self.core.race.id)
            logger.exception("room %s crashed", self.code)
            log_lines.race.reset(about)
            self._crashed()
            return
        if effects.changed:
            self._do(effects)
            return
        # `_do` inlined, since this runs for each move: without a change, nobody takes or leaves a seat.
        self._gate.put(effects)
        if not self.core.is_due_known and not self.is_closed:
            self._set_deadline()

    def tell(self, request: RoomRequest) -> None:
        """`ask` for requests whose answer nobody waits for; does nothing if the room is closed."""
        if self.has_begun and not self.is_closed:
            self._take(request)
        elif not self.is_closed:
            self._early.append(request)
            if isinstance(request, Enter):
                # Until it is decided, they cannot take a seat elsewhere.
                self._ports.owner.seat_taken(self, request.player.id)

    def catch_up(self, player: str, member: Member) -> bool:
        """Tell members who have missed something everything again. False if this is not the connection by which they are in the room."""
        effects = self.core.catch_up(player, member, self._ports.clock.now_ms()) if self.has_begun else None
        if effects is not None:
            self._gate.put(effects)
        return effects is not None

    def _take(self, request: RoomRequest | None) -> None:
        about = log_lines.race.set(self.core.race.id)
        try:
            effects = self.core.take(request, self._ports.clock.now_ms())
        # With the one in `move`, the room's only supervisor: a bug costs no more than this room.
        except Exception:
            logger.exception("room %s crashed", self.code)
            self._crashed()
        else:
            self._do(effects)
        finally:
            log_lines.race.reset(about)

    def _wake(self) -> None:
        if not self.is_closed:
            self._take(None)
        if not self.is_closed:
            self._set_deadline()

    def _set_deadline(self) -> None:
        self._deadline.set(self.core.due, is_start=self.core.race.phase == "countdown")

    # ---- effects

    def _do(self, effects: Effects) -> None:
        owner = self._ports.owner
        for player, holds in effects.bindings:
            (owner.seat_taken if holds else owner.seat_left)(self, player)
        if effects.closing is not None:
            self._shut()
        self._gate.put(effects)
        if effects.closing is not None:
            self._give_up(effects.closing)
        elif not self.is_closed:
            if effects.changed:
                self._seek_deal()
            if not self.core.is_due_known:
                self._set_deadline()

    def _deliver(self, effects: Effects) -> None:
        if effects.summary is not None:
            self.summary = effects.summary
        told = effects.told
        if len(told) > self.options.seats:
            tell_together(told, self._spectators)
        else:
            # `tell_together` for the usual case: a move, told in one message to each.
            for what in told:
                if isinstance(what, tuple):
                    member, outgoing = what
                    member.post(outgoing)
                elif self._spectators is not None:
                    tell_spectators(self._spectators, what)
        for tell, shown in effects.shown:
            tell(shown)
        if effects.changed:
            self._note_change(effects)

    def _note_change(self, effects: Effects) -> None:
        if (closing := effects.closing) is not None and self._spectators is not None:
            self._spectators.closed(None if closing.will_resume else "failed" if closing.reason == "failed" else "closed")
        for record in effects.ended:
            self._note_over(record)
        for unmatched in effects.unmatched:
            self._ports.owner.unmatched(self, unmatched)
        self.is_kept = True
        self._ports.owner.changed(self)
        if closing is not None and not closing.entries:
            self._go()

    def _note_over(self, record: Record) -> None:
        places = ", ".join(f"{seat.place} {seat.name} ({seat.state}, {seat.home})" for seat in record.seats)
        logger.info("room %s race %d over: %s", self.code, record.race, places)
        if self.spec is not None:
            self._ports.owner.over(self, record)
        if record.rated:
            self._ports.nursery.start_soon(self._read_ratings, record)

    # ---- the end

    def break_off(self) -> None:
        """The server ends without having closed its rooms: close this one, telling nothing that is not safe."""
        self._gate.discard()
        self.tell(CloseRoom())

    def _shut(self) -> None:
        self.is_closed = True
        self._deadline.clear()
        self._jobs.cancel()
        refuse(self._early, Refusal(ErrorCode.ROOM_CLOSED))
        self._early.clear()

    def _give_up(self, closing: Closing) -> None:
        if closing.entries:
            try:
                self._ports.journal.submit(closing.entries, self._gave_up)
            except StoreError as error:
                self._gave_up(error)

    def _gave_up(self, error: StoreError | None) -> None:
        if error is not None:
            # If the store still has the room, the next server brings it back, and nobody will come.
            self._complain(logging.WARNING, "room %s: its closing could not be saved: %s", error)
        self._go()

    def _go(self) -> None:
        self._ports.owner.gone(self)
        self._gate.close()

    def _crashed(self) -> None:
        if not self.is_closed:
            self._fail(Refusal(ErrorCode.INTERNAL))

    def _not_kept(self, error: StoreError) -> None:
        if isinstance(error, RunAlready):
            self._fail(Refusal(ErrorCode.ONCE_ONLY), is_kept=False)
            return
        self._complain(logging.ERROR, "closing room %s: its events cannot be saved: %s", error)
        self._fail(Refusal(ErrorCode.NOT_KEPT))

    def _complain(self, level: int, what: str, error: StoreError) -> None:
        # A lost lease, or a journal that has ended, is reported once for all rooms.
        logger.log(logging.DEBUG if isinstance(error, LeaseLost | JournalClosed) else level, what, self.code, error)

    def _fail(self, refusal: Refusal, *, is_kept: bool = True) -> None:
        self._shut()
        self._gate.discard()
        effects = self.core.fail(refusal, is_kept=is_kept)
        assert effects.closing is not None
        self._deliver(effects)
        self._give_up(effects.closing)

    # ---- for those who watch, and in outages

    @property
    def is_listed(self) -> bool:
        """Whether its race is listed for everybody while it is run."""
        return self.options.public or (self.spec is not None and self.spec.listed)

    @property
    def watchers(self) -> int:
        """How many watch the room."""
        return self._spectators.count if self._spectators is not None else 0

    def attend(self, spectators: SpectatorPort) -> None:
        """Tell them all that happens from now on."""
        self._spectators = spectators
        self.core.watch()

    def show(self, tell: Callable[[Shown], None], *, with_boards: bool) -> bool:
        """Have `tell` called with what somebody without a seat may know now, before any later event. False if the room is closed."""
        if self.is_closed:
            return False
        self._gate.put(Effects(shown=((tell, self.core.shown(self._ports.clock.now_ms(), with_boards=with_boards)),)))
        return True

    def tell_players(self, outgoing: Outgoing) -> None:
        """Send the players a message about those who watch, after everything that has happened so far."""
        if not self.is_closed:
            self._gate.put(self.core.tell_all(outgoing))

    def tell_of_outage(self) -> None:
        """Tell everybody here at once: it is the reason why everything else has to wait."""
        # A room that has not begun has no members, and its opening is not kept yet. But some may be waiting to be let in.
        for member in {request.member for request in self._early if isinstance(request, Enter)}:
            member.post(CANNOT_WRITE)
        if not self.is_closed and self.has_begun:
            self._deliver(self.core.tell_all(CANNOT_WRITE))
        # If the race is over, spectators know all there is to know.
        if self._spectators is not None and self.summary.phase != "over":
            self._spectators.cannot_write()

    def set_clocks_right(self) -> None:
        """Tell everything again: nothing else says that time stood still and now runs on."""
        if self.has_begun and not self.is_closed and self.core.race.phase != "over":
            self._gate.put(self.core.tell_anew(self._ports.clock.now_ms()))
            if self._spectators is not None:
                self._spectators.show_all_again()

    # ---- side jobs

    async def _read_ghosts(self, wanted: tuple[GhostWanted, ...]) -> None:
        lines: tuple[GhostLine, ...] = ()
        try:
            lines = await self._ports.ghost_lines(wanted)
        except StoreError as error:
            logger.warning("cannot read the ghosts of a run: %s", error)
        self._begin(lines)

    def _begin(self, lines: tuple[GhostLine, ...]) -> None:
        self.has_begun = True
        seats = tuple(BotSeat(number, bot.player, bot) for number, bot in self._bots.items())
        for bot in self._bots.values():
            self._jobs.start_soon(bot.run)
        self._do(self.core.begin(bots=seats, ghosts=lines))
        # One of these may close the room. Then the others have been answered already.
        while self._early:
            request = self._early.pop(0)
            if isinstance(request, Enter):
                # Whether they get a seat is decided only now.
                self._ports.owner.seat_left(self, request.player.id)
            self.tell(request)

    def _seek_deal(self) -> None:
        """Keep a search running for the deal that is wanted now, and for no other."""
        wanted = self.core.deal_wanted
        if wanted == self._sought:
            return
        if self._search is not None:
            self._search.cancel()
        self._sought = wanted
        if wanted is not None:
            self._search = self._jobs.start_soon(self._find_deal, wanted)

    async def _find_deal(self, wanted: DealWanted) -> None:
        try:
            k = await self._ports.find_deal(wanted, self.place)
        except SearchFailed:
            # It may fail in the very moment in which it is called off.
            if not self.is_closed and wanted == self._sought:
                self._fail(Refusal(ErrorCode.CANNOT_DEAL))
        else:
            self.tell(DealFound(wanted, k))

    async def _read_ratings(self, record: Record) -> None:
        # The owner is told even if the room has closed by then.
        changes = await read_changes(record, self._ports.rating_changes)
        if changes:
            self._ports.owner.rated(self, record, changes)
            self.tell(RatingsRead(record.id, changes))

    def _ask_for_bot(self, bot: BotPlayer, message: Move | Rematch) -> None:
        self.ask(Ask(bot.player, bot, message))
