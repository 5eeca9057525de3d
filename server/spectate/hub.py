"""The watchers of one room: what happens there goes to all of them, by a task that is there as long as they are. The rules of the file:

In       The room hands over each event once and waits for nothing. What comes in is dealt with in its order. BACKLOG of it may wait;
         past that all of it is dropped, and everybody gets a snapshot in its place.
Joining  Whoever comes waits for the next snapshot. It takes its place among the events, so that all of them after it, and none before,
         are for him: there are no gaps. One snapshot serves all who wait.
Out      All that waits goes out together, as one bundle: it is made, encoded and framed once, and posted in one call for each watcher,
         since the call is what a small message costs. What happens while a bundle is posted is the next one; so a hub that is behind
         gets through more with each. `turns` says when a bundle is posted, and that players come first.
Boards   Come late, by `delay`. Of several boards of one seat that are due at once, or while a bundle is posted, the last one is shown.
Talk     The watchers hear it at once. Players hear it when their race is not being run: then what was said meanwhile is told them too.
Slow     A watcher whose outbox has run over gets a snapshot once he has read it (`Gallery.catch_up` has the policy).
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
from protocol.server_messages import Board, Talk, Unwatched, Watched, WatchedEvent, Watchers, WatchMessage
from protocol.server_messages import Room as RoomMessage
from protocol.views import LateBoard, WatcherLine
from server.race.board_history import RaceHistory
from server.race.events import RaceEnded, StartSet
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.outgoing import Bundle, Outgoing
from server.rooms.spectator_port import Happened, Shown
from server.runtime.token_bucket import Bucket
from server.spectate.delay import DelayedBoards
from server.spectate.fanout_scheduler import Turns
from server.spectate.watcher import Watcher

logger = logging.getLogger("carpet.spectate")

BACKLOG: Final = 256
"""What may wait for the hub's task. When it is full the watchers are behind by seconds: it is emptied, and everybody gets a snapshot."""

STEPS: Final = 64
"""Moves that the boards follow in one go."""

COUNT_S: Final = 1.0
"""Seconds between two messages about how many watch, at least."""

LINES_KEPT: Final = 50
"""Lines of watchers that are kept for who comes later, and for players until their race is over. When it is full the oldest goes."""

LINES_A_SECOND: Final = 5.0
LINES_AT_ONCE: Final = 20
"""Lines of all watchers of a room: each goes to all of them. More are refused with `watch/too-much-talk`."""


@dataclass(frozen=True, slots=True)
class _StartsOver:
    room: RoomMessage


_Item: TypeAlias = Happened | Shown | _StartsOver | WatcherLine


class Hub:
    """Satisfies `SpectatorPort`. Once anybody has watched, it stays until the room is closed; `run` is its task."""

    def __init__(self, room: Room, *, clock: Clock, turns: Turns, on_close: Callable[[Hub], None]) -> None:
        """turns: of all hubs together."""
        self.room = room
        self.running = False
        self.quiet_since: float | None = None
        """Since when no race has been run or counted down, in Trio's seconds, as far as the watchers know; None while one is."""
        self._clock = clock
        self._turns = turns
        self._on_close = on_close
        self._watchers: dict[Watcher, None] = {}
        self._items: deque[_Item] = deque()
        self._wake = trio.Event()
        self._boards: DelayedBoards | None = None
        self._told: dict[int, LateBoard] = {}
        self._race = 0
        # From the first snapshot on what happens is of interest; with each new era all that went before is not.
        self._live = False
        self._era = 0
        self._asked = False
        self._count_told = 0
        self._count_at = -COUNT_S
        self._numbers = 0
        self._lines: deque[WatcherLine] = deque(maxlen=LINES_KEPT)
        self._untold: deque[WatcherLine] = deque(maxlen=LINES_KEPT)
        self._talk = Bucket(rate=LINES_A_SECOND, burst=LINES_AT_ONCE)

    # ---- for the gallery

    def admit(self, watcher: Watcher) -> None:
        """He watches this room from now on: he gets a snapshot soon, and then all that happens."""
        watcher.hub = self
        watcher.joined = False
        self._watchers[watcher] = None
        self._wake.set()

    def dismiss(self, watcher: Watcher) -> None:
        """He does not any more. Tells him nothing."""
        if watcher.hub is self:
            watcher.hub = None
            watcher.joined = False
        self._watchers.pop(watcher, None)
        self._wake.set()

    def watched_by(self) -> list[Watcher]:
        """Everybody who watches."""
        return list(self._watchers)

    def say(self, watcher: Watcher, text: str) -> None:
        """A line of chat, cleaned. Raises Refusal when there is too much of it."""
        now = trio.current_time()
        if not (watcher.lines.take(now) and self._talk.take(now)):
            raise Refusal(ErrorCode.TALKED_TOO_MUCH)
        self._numbers += 1
        line = WatcherLine(number=self._numbers, name=watcher.player.name, text=text)
        self._lines.append(line)
        self._put(line)
        if self.room.summary.phase == "racing":
            self._untold.append(line)
        else:
            self.room.tell_players(self._talked((line,)))

    # ---- for the room (SpectatorPort)

    @property
    def count(self) -> int:
        return len(self._watchers)

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
        self._put(_StartsOver(snapshot))

    def closed(self, reason: str | None) -> None:
        watchers = self.watched_by()
        self._items.clear()
        told = Outgoing(Unwatched(code=self.room.code, reason=reason)) if reason is not None else None
        for watcher in watchers:
            self.dismiss(watcher)
            # Who wants the closest race is told of the next one, or that there is none.
            if told is not None and not watcher.closest:
                watcher.line.post(told)
        self._on_close(self)

    def greeting(self, *, racing: bool) -> Sequence[Outgoing]:
        told = [self._counted()] if self._count_told else []
        return [*told, self._talked(self._lines)] if self._lines and not racing else told

    # ---- the task

    async def run(self) -> None:
        """Serve the watchers until there are none. A crash ends their watching and nothing else."""
        self.running = True
        try:
            # The players are told when the last one has gone.
            while self._watchers or self._count_told:
                await self._serve()
        except Exception:
            logger.exception("watching room %s failed", self.room.code)
            self.closed("failed")
            # Nobody is left who would tell the players.
            self._count_told = 0
            self.room.tell_players(self._counted())
        finally:
            self.running = False
            self._start_anew()

    async def _serve(self) -> None:
        """All there is to be done now, then wait."""
        self._wake = trio.Event()
        self._ask_for_snapshot()
        await self._tell(await self._waiting())
        while self._items:
            if isinstance(shown := self._items[0], Shown):
                self._items.popleft()
                await self._take_up(shown)
            await self._tell(await self._waiting())
        await self._tell_count()
        if not self._items and not self._wake.is_set() and (self._watchers or self._count_told):
            with trio.move_on_at(self._deadline()):
                await self._wake.wait()

    def _ask_for_snapshot(self) -> None:
        if not self._asked and any(not watcher.joined for watcher in self._watchers):
            # All are of the same moment.
            self._asked = self.room.show(partial(self._show, self._era), with_boards=self._boards is None)

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
        self._era += 1
        self._items.clear()
        self._boards = None
        self._live = self._asked = False
        for watcher in self._watchers:
            watcher.joined = False

    async def _waiting(self) -> list[Outgoing]:
        """What those are to be told who have had their snapshot, up to the next one; in its order."""
        era = self._era
        told: list[WatchMessage] = []
        while self._items and not isinstance(item := self._items[0], Shown):
            self._items.popleft()
            match item:
                case Happened(message=message, event=event, at_ms=at_ms):
                    if self._boards is not None and event is not None:
                        self._boards.note(event, at_ms)
                    if isinstance(event, RaceEnded):
                        # The last boards come before the result, as they do where nobody is behind.
                        told += await self._boards_due()
                    told.append(WatchedEvent(code=self.room.code, event=message))
                case _StartsOver(room=room):
                    self._begin(room, None)
                    told.append(WatchedEvent(code=self.room.code, event=room))
                case WatcherLine():
                    told.append(Talk(code=self.room.code, lines=(item,)))
                case _:
                    assert_never(item)
        told += await self._boards_due()
        # Who gets a snapshot of all that is now may not be told of what was before it.
        return [Outgoing(message) for message in told] if era == self._era else []

    def _begin(self, room: RoomMessage, history: RaceHistory | None) -> None:
        self._boards = DelayedBoards(room.options.delay_s * 1000, seats=len(room.seats), history=history)
        self._told = {}
        self._race = room.race
        if room.phase in ("countdown", "racing"):
            self.quiet_since = None
        elif self.quiet_since is None:
            self.quiet_since = trio.current_time()

    async def _take_up(self, shown: Shown) -> None:
        self._asked = False
        boards, era = self._boards, self._era
        if boards is None:
            self._begin(shown.room, shown.boards)
            boards = self._boards
            assert boards is not None
            # Nobody has seen any of them, so only the last ones matter.
            while boards.due(self._clock.now_ms() + self.room.summary.ahead_ms, most=STEPS):
                await trio.lowlevel.checkpoint()
            self._told = {board.seat: board for board in boards.shown()}
        late = boards.shown()
        # The snapshot is encoded once for all whose answer is the same.
        answers: dict[tuple[bool, int], list[Watcher]] = {}
        for watcher in self._watchers:
            if not watcher.joined:
                answers.setdefault((watcher.closest, watcher.ref), []).append(watcher)
        for (closest, ref), chosen in answers.items():
            if era == self._era:
                watched = Watched(
                    room=shown.room,
                    boards=late,
                    watchers=self.count,
                    lines=tuple(self._lines),
                    closest=closest,
                    curves=shown.curves,
                    ref=ref,
                )
                await self._post([Outgoing(watched)], chosen, joining=True)

    async def _boards_due(self) -> list[WatchMessage]:
        """The newest of each seat, where what may be shown of it has changed: a card is turned up when all who race have seen it."""
        while (boards := self._boards) is not None:
            due = boards.due(self._clock.now_ms() + self.room.summary.ahead_ms, most=STEPS)
            if len(due) < STEPS:
                break
            await trio.lowlevel.checkpoint()
        if boards is None:
            return []
        new = [board for board in boards.shown() if self._told.get(board.seat) != board]
        self._told |= {board.seat: board for board in new}
        return [Board(code=self.room.code, race=self._race, board=board) for board in new]

    # ---- out

    async def _tell(self, told: Sequence[Outgoing]) -> None:
        """All who have had their snapshot."""
        if told:
            await self._post(told, self.watched_by())

    async def _post(self, told: Sequence[Outgoing], watchers: list[Watcher], *, joining: bool = False) -> None:
        era, bundle = self._era, Bundle(told)

        def tell(watcher: Watcher) -> bool:
            if era != self._era:
                return False
            # He may have gone since, or have to be told everything anew.
            if watcher in self._watchers and watcher.joined is not joining:
                watcher.joined = True
                watcher.ref = 0
                watcher.line.post_all(bundle)
            return True

        await self._turns.tell(watchers, tell)

    async def _tell_count(self) -> None:
        now = trio.current_time()
        if self.count == self._count_told or now < self._count_at + COUNT_S:
            return
        self._count_told, self._count_at = self.count, now
        counted = self._counted()
        self.room.tell_players(counted)
        await self._tell([counted])

    def _deadline(self) -> float:
        counting = self._count_at + COUNT_S if self.count != self._count_told else float("inf")
        due = self._boards.next_due if self._boards is not None else None
        return min(counting, self._clock.deadline(due - self.room.summary.ahead_ms) if due is not None else float("inf"))

    def _counted(self) -> Outgoing:
        return Outgoing(Watchers(code=self.room.code, count=self._count_told))

    def _talked(self, lines: Iterable[WatcherLine]) -> Outgoing:
        return Outgoing(Talk(code=self.room.code, lines=tuple(lines)))
