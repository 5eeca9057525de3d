"""The spectators of one room: a task that lives as long as anybody watches passes on to them all that happens there. The rules:

In       The room hands over each event once and waits for nothing. Events are handled in order. BACKLOG of them may wait; beyond that all
         are dropped, and everybody gets a snapshot instead.
Joining  Newcomers wait for the next snapshot. It takes its place among the events: they hear all that follow it and none before, so there
         are no gaps. One snapshot serves all who wait.
Out      All that waits goes out as one bundle. It is made, encoded and framed once, and posted in one call per spectator, since the call is
         most of what a small message costs. Events that happen meanwhile form the next bundle, so a task that is behind catches up.
         `fanout_scheduler` decides when a bundle is posted, and puts players first.
Boards   Come late, by `delay`. If several boards of one seat are due at once, or while a bundle is posted, the last one is shown.
Spectators
         with the host's key get boards with every card face up, even of a sealed race; the players are told that somebody does.
Talk     Spectators hear it at once. Players hear it while their race is not running; what was said during the race, they hear at its end.
Closing  When the room is closed, spectators are first told what still waits, such as the result. Boards that are not due by then are not
         shown.
Slow     A spectator whose outbox has overflowed gets a snapshot once they have read it (`SpectatorRegistry.catch_up` has the policy).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Room as RoomMessage
from protocol.server_messages import Error, ServerMessage
from protocol.views import LateBoard, WatcherLine
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent, Watchers
from server.race.board_history import RaceHistory
from server.race.events import RaceEnded, StartSet
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.outgoing import CANNOT_WRITE, Bundle, Outgoing
from server.rooms.spectator_port import Happened, Shown
from server.runtime.token_bucket import Bucket
from server.spectate.delay import DelayedBoards
from server.spectate.fanout_scheduler import FanoutScheduler
from server.spectate.spectator import Spectator
from server.spectate.spectator_group import SpectatorGroup

logger = logging.getLogger("carpet.spectate")

BACKLOG: Final = 256
"""Items that may wait for the task. When it is full, the spectators are seconds behind: it is emptied, and everybody gets a snapshot."""

STEPS: Final = 64
"""Moves by which boards are advanced in one go."""

COUNT_S: Final = 1.0
"""Seconds between two messages about the number of spectators, at least."""

LINES_KEPT: Final = 50
"""Spectators' lines that are kept for those who come later, and for players until their race is over. When full, the oldest goes."""

LINES_A_SECOND: Final = 5.0
LINES_AT_ONCE: Final = 20
"""Lines of chat of all spectators of a room together: each goes to all of them. More are refused with `watch/too-much-talk`."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A message to spectators. whole: whether it is for those with the host's key or for the others; None if it is for all."""

    message: ServerMessage
    whole: bool | None = None


_Count: TypeAlias = tuple[int, bool]
"""How many watch, and whether any of them has the host's key."""
_NOBODY: Final[_Count] = (0, False)

OnClose: TypeAlias = "Callable[[RoomSpectators, list[Spectator]], None]"

_Item: TypeAlias = Happened | Shown | RoomMessage | WatcherLine | Error
"""A room message means that another race has begun; an error, that time stands still."""


class RoomSpectators(SpectatorGroup):
    """Satisfies `SpectatorPort`. `run` is its task. Once anybody has watched, it stays until the room is closed."""

    def __init__(self, room: Room, *, clock: Clock, scheduler: FanoutScheduler, on_close: OnClose) -> None:
        """on_close: called with this object and those who watched to the end."""
        super().__init__(room.code, scheduler)
        self.room = room
        self.beyond = 0
        """How many watch at other servers, not counting the spectator here who stands for them."""
        self.running = False
        self._clock = clock
        self._on_close = on_close
        self._items: deque[_Item] = deque()
        self._boards: DelayedBoards | None = None
        # The board of each seat last shown to those with the host's key (True) and to all others (False).
        self._told: dict[bool, dict[int, LateBoard]] = {True: {}, False: {}}
        self._sealed = False
        self._race = 0
        # Events are kept only from the first snapshot on.
        self._live = False
        self._asked = False
        # The room is closed, and why, as in `unwatched`.
        self._closed = False
        self._reason: str | None = None
        self._told_count = _NOBODY
        self._count_at = -COUNT_S
        # Whole boards have been shown since the count was last told. The players have to know, even if that spectator has gone since.
        self._key_used = False
        self._numbers = 0
        self._lines: deque[WatcherLine] = deque(maxlen=LINES_KEPT)
        self._untold: deque[WatcherLine] = deque(maxlen=LINES_KEPT)
        self._talk = Bucket(rate=LINES_A_SECOND, burst=LINES_AT_ONCE)

    # ---- for the registry

    def admit(self, spectator: Spectator) -> None:
        super().admit(spectator)
        if self._clock.is_paused:
            # While the store cannot write, their snapshot may have to wait.
            spectator.connection.post(CANNOT_WRITE)

    def count_beyond(self, number: int) -> None:
        if number != self.beyond:
            self.beyond = number
            self._wake.set()

    def say(self, spectator: Spectator, text: str, *, free: bool) -> None:
        if free and self.room.summary.phrases_only:
            raise Refusal(ErrorCode.PHRASES_ONLY, path="$.text")
        now = trio.current_time()
        if not (spectator.lines.take(now) and self._talk.take(now)):
            raise Refusal(ErrorCode.TALKED_TOO_MUCH)
        self._numbers += 1
        line = WatcherLine(number=self._numbers, name=spectator.player.name, text=text)
        self._lines.append(line)
        self._put(line)
        if self.room.summary.phase == "racing":
            self._untold.append(line)
        else:
            self.room.tell_players(self._talked((line,)))

    # ---- for the room (SpectatorPort)

    @property
    def count(self) -> int:
        return len(self._spectators) + self.beyond

    def happened(self, what: Happened) -> None:
        match what.event:
            case RaceEnded():
                self.quiet_since = trio.current_time()
                if self._untold:
                    self.room.tell_players(self._talked(self._untold))
                    self._untold.clear()
            case StartSet():
                self.quiet_since = None
            case _:
                pass
        self._put(what)

    def starts_over(self, snapshot: RoomMessage) -> None:
        self._put(snapshot)

    def cannot_write(self) -> None:
        assert isinstance(CANNOT_WRITE.message, Error)
        self._put(CANNOT_WRITE.message)

    def show_all_again(self) -> None:
        # A snapshot asked for earlier is of a moment when the clock had not been set right.
        self._asked = False
        self._all_anew()
        self._wake.set()

    def closed(self, reason: str | None) -> None:
        self._closed, self._reason = True, reason
        if self.running:
            # The task tells what waits, and then dismisses everybody.
            self._wake.set()
        else:
            self._dismiss_all(reason)

    def greeting(self, *, racing: bool) -> Sequence[Outgoing]:
        told = [self._counted()] if self._told_count != _NOBODY else []
        return [*told, self._talked(self._lines)] if self._lines and not racing else told

    # ---- the task

    async def run(self) -> None:
        """Serve the spectators until there are none. A crash ends their watching and nothing else."""
        self.running = True
        try:
            # Not only while somebody watches: the players are also told when the last one has gone.
            while self._has_work and (self._items or not self._closed):
                await self._serve()
            if self._closed:
                self._dismiss_all(self._reason)
        except Exception:
            logger.exception("watching room %s failed", self.room.code)
            self._dismiss_all("failed")
            # The task that would tell the players is over.
            self._told_count = _NOBODY
            self.room.tell_players(self._counted())
        finally:
            self.running = False
            self._start_anew()

    def _dismiss_all(self, reason: str | None) -> None:
        spectators = self.watched_by()
        told = Outgoing(Unwatched(code=self.room.code, reason=reason)) if reason is not None else None
        for spectator in spectators:
            self.dismiss(spectator)
            # Those who follow the closest race will be told of the next one, or that there is none.
            if told is not None and not spectator.closest:
                spectator.connection.post(told)
        self._on_close(self, spectators)

    @property
    def _has_work(self) -> bool:
        return bool(self._spectators) or self._key_used or self._told_count != _NOBODY

    async def _serve(self) -> None:
        """Do all that there is to do now, then wait."""
        self._wake = trio.Event()
        self._ask_for_snapshot()
        await self._tell(await self._waiting())
        while self._items:
            if isinstance(shown := self._items[0], Shown):
                self._items.popleft()
                await self._take_up(shown)
            await self._tell(await self._waiting())
        await self._tell_count()
        if not self._items and not self._wake.is_set() and self._has_work and not self._closed:
            with trio.move_on_at(self._deadline()):
                await self._wake.wait()

    def _ask_for_snapshot(self) -> None:
        if not self._asked and self._newcomers:
            # Set first: the answer may come at once, overflow the backlog and so clear it again.
            self._asked = True
            # The first snapshot brings its boards, so that both are of the same moment.
            if not self.room.show(partial(self._show, self._era), with_boards=self._boards is None):
                self._asked = False

    def _show(self, era: int, shown: Shown) -> None:
        if era == self._era:
            self._live = True
            self._put(shown)

    def _put(self, item: _Item) -> None:
        if not self._live:
            return
        if len(self._items) >= BACKLOG:
            logger.info("the watchers of room %s are behind: all get a snapshot", self.room.code)
            self._start_anew()
        else:
            self._items.append(item)
        self._wake.set()

    def _start_anew(self) -> None:
        self._items.clear()
        self._boards = None
        self._live = self._asked = False
        self._all_anew()

    async def _waiting(self) -> list[_Told]:
        """What to tell those who have had their snapshot, in order, up to the next snapshot."""
        era = self._era
        told: list[_Told] = []
        while self._items and not isinstance(item := self._items[0], Shown):
            self._items.popleft()
            match item:
                case Happened(message=message, event=event, at_ms=at_ms, sealed=sealed):
                    self._sealed |= sealed
                    if self._boards is not None and event is not None:
                        self._boards.note(event, at_ms)
                    if isinstance(event, RaceEnded):
                        # The last boards come before the result, just as they do when nobody is behind.
                        told += await self._boards_due()
                    told.append(_Told(WatchedEvent(code=self.room.code, event=message)))
                case RoomMessage():
                    self._begin(item, None, sealed=False)
                    told.append(_Told(WatchedEvent(code=self.room.code, event=item)))
                case WatcherLine():
                    told.append(_Told(Talk(code=self.room.code, lines=(item,))))
                case Error():
                    told.append(_Told(item))
                case _:
                    assert_never(item)
        told += await self._boards_due()
        # After a new era everybody waits for a snapshot of the present, and must not be told what came before it.
        return told if era == self._era else []

    def _begin(self, room: RoomMessage, history: RaceHistory | None, *, sealed: bool) -> None:
        self._boards = DelayedBoards(room.options.delay_s * 1000, seats=len(room.seats), history=history)
        self._told = {True: {}, False: {}}
        self._sealed = sealed
        self._race = room.race
        if room.phase in ("countdown", "racing"):
            self.quiet_since = None
        elif self.quiet_since is None:
            self.quiet_since = trio.current_time()

    async def _take_up(self, shown: Shown) -> None:
        self._asked = False
        boards, era = self._boards, self._era
        if boards is None:
            self._begin(shown.room, shown.boards, sealed=shown.sealed)
            boards = self._boards
            assert boards is not None
            # Nobody has seen any of them, so only the last ones matter.
            while boards.due(self._now_ms(), most=STEPS):
                await trio.lowlevel.checkpoint()
            self._told = {whole: {board.seat: board for board in self._shown(boards, whole=whole)} for whole in (True, False)}
        # The snapshot is encoded once for all whose answer is the same.
        answers: dict[tuple[bool, bool, int], list[Spectator]] = {}
        for spectator in self._newcomers:
            answers.setdefault((spectator.whole, spectator.closest, spectator.ref), []).append(spectator)
        for (whole, closest, ref), chosen in answers.items():
            if era == self._era:
                watched = Watched(
                    room=shown.room,
                    boards=self._shown(boards, whole=whole),
                    watchers=self.count,
                    lines=tuple(self._lines),
                    closest=closest,
                    curves=shown.curves,
                    ref=ref,
                )
                self._key_used |= whole
                held = (CANNOT_WRITE,) if self._clock.is_paused else ()
                await self._post(Bundle([Outgoing(watched), *held]), chosen, joining=True)

    def _shown(self, boards: DelayedBoards, *, whole: bool) -> tuple[LateBoard, ...]:
        return boards.shown(whole=whole) if whole or not self._sealed else ()

    async def _boards_due(self) -> list[_Told]:
        """The newest board of each seat whose visible part has changed: a card is turned up once all who race have seen it."""
        while (boards := self._boards) is not None:
            due = boards.due(self._now_ms(), most=STEPS)
            if len(due) < STEPS:
                break
            await trio.lowlevel.checkpoint()
        if boards is None:
            return []
        new: list[_Told] = []
        for whole in self._kinds():
            for board in self._shown(boards, whole=whole):
                if self._told[whole].get(board.seat) != board:
                    self._told[whole][board.seat] = board
                    new.append(_Told(Board(code=self.room.code, race=self._race, board=board), whole))
        return new

    def _now_ms(self) -> int:
        """The time by the room's clock."""
        return self._clock.now_ms() + self.room.summary.ahead_ms

    # ---- out

    def _kinds(self) -> dict[bool, list[Spectator]]:
        """Those who see every card (True) and all others (False), each only if there are any."""
        everybody, with_key = list(self._spectators), self._with_key
        kinds = {True: list(with_key), False: [each for each in everybody if each not in with_key] if with_key else everybody}
        return {whole: chosen for whole, chosen in kinds.items() if chosen}

    async def _tell(self, told: Sequence[_Told]) -> None:
        """Tell all who have had their snapshot."""
        if not told:
            return
        outgoing = [(each.whole, Outgoing(each.message)) for each in told]
        era = self._era
        for whole, chosen in self._kinds().items():
            bundle = Bundle([message for kind, message in outgoing if kind is None or kind is whole])
            if bundle.messages and era == self._era:
                await self._post(bundle, chosen)

    async def _tell_count(self) -> None:
        now, count = trio.current_time(), self._current_count()
        if count == self._told_count or now < self._count_at + COUNT_S:
            return
        self._told_count, self._count_at, self._key_used = count, now, False
        counted = self._counted()
        self.room.tell_players(counted)
        await self._tell([_Told(counted.message)])

    def _current_count(self) -> _Count:
        return max(self.count, int(self._key_used)), self._key_used or bool(self._with_key)

    def _deadline(self) -> float:
        counting = self._count_at + COUNT_S if self._current_count() != self._told_count else float("inf")
        due = self._boards.next_due if self._boards is not None else None
        return min(counting, self._clock.deadline(due - self.room.summary.ahead_ms) if due is not None else float("inf"))

    def _counted(self) -> Outgoing:
        count, whole = self._told_count
        return Outgoing(Watchers(code=self.room.code, count=count, whole=whole))

    def _talked(self, lines: Iterable[WatcherLine]) -> Outgoing:
        return Outgoing(Talk(code=self.room.code, lines=tuple(lines)))
