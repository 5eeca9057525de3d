"""The driver: urwid's main loop, the link's events and a ticking clock, each a task of one nursery of our own.

Owns the terminal while it runs and gives it back on every way out: a quit, a signal, a lost terminal, an error anywhere. All state is
in the controller; the root widget draws what it holds, when it has changed or when a shown second has passed.
"""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Literal, TextIO, TypeAlias

import trio
import urwid
from urwid.display.common import BaseScreen

from client.connection.events import Link, LinkEvent, NoLink
from client.replay.frames import NoReplay, replay_race
from client.replay.review import review_game
from client.replay.timeline import TimeLine
from client.storage.bests import BestChange, BestsError, counts
from client.text.formatting import bell_due, is_called, is_found
from client.text.runs import best_sentence
from client.tui.controller import Controller, ReplayWanted, ReviewWanted
from client.tui.root import Root
from client.tui.session import Session
from client.tui.start import AppOutcome, Start, StartAlone, StartBot, StartHall, StartHome
from client.tui.theme import entries, theme_for
from client.tui.tournament_view_state import Hall
from client.tui.ui_state import Desk, UiSettings
from protocol.record import Record
from protocol.server_messages import Scored, ServerMessage

TICK_S = 0.1
"""While a clock runs; a tick redraws only what has changed."""
IDLE_TICK_S = 0.5


Reviewer: TypeAlias = Callable[[Record, int], Awaitable[tuple[str, ...]]]
Replayer: TypeAlias = Callable[[Record], Awaitable[TimeLine]]
Keeper: TypeAlias = Callable[[Record], BestChange]
Recorder: TypeAlias = Callable[[Record], None]


async def run_app(
    link: Link,
    *,
    settings: UiSettings,
    start: Start,
    screen: BaseScreen | None = None,
    reviewer: Reviewer = review_game,
    replayer: Replayer = replay_race,
    keeper: Keeper | None = None,
    recorder: Recorder | None = None,
    remark: str = "",
) -> AppOutcome:
    """Run the screens over `link` until the player quits or the process is told to end; returns how it ended.

    screen: an urwid display, for tests; by default the terminal. reviewer: says what was possible in the game of a record's seat.
    replayer: plays the race of a record over again. keeper: keeps one's best times against the clock, and may raise BestsError; None where
    races are not against it. recorder: is given each record once, when it comes. remark: said in the room that one finds
    oneself in, until a key is pressed. The link is the caller's: it is not closed here.
    """
    app = App(
        link,
        settings=settings,
        start=start,
        screen=screen,
        reviewer=reviewer,
        replayer=replayer,
        keeper=keeper,
        recorder=recorder,
        remark=remark,
    )
    return await app.run()


async def run_replay(replay: TimeLine, *, settings: UiSettings, keys: TextIO, screen: BaseScreen | None = None) -> AppOutcome:
    """Show a race that is over until the player has seen enough; returns how it ended. keys: the terminal that they come from."""
    if screen is None:
        screen = urwid.display.raw.Screen(input=keys)
    return await App(NoLink(), settings=settings, start=StartHome(), screen=screen, replay=replay).run()


class App:
    """One run of the client's screens."""

    def __init__(
        self,
        link: Link,
        *,
        settings: UiSettings,
        start: Start,
        screen: BaseScreen | None = None,
        reviewer: Reviewer = review_game,
        replayer: Replayer = replay_race,
        keeper: Keeper | None = None,
        recorder: Recorder | None = None,
        replay: TimeLine | None = None,
        remark: str = "",
    ) -> None:
        self._link = link
        self._keeper = keeper
        self._recorder = recorder
        self._reviewer = reviewer
        self._replayer = replayer
        self._screen = screen if screen is not None else urwid.display.raw.Screen()
        self._colours: int = getattr(self._screen, "colors", 256)
        if settings.colours is not None:
            self._set_colours(settings.colours)
        self._session = Session(link, start=start, nonce=_nonce, now_ms=_now_ms)
        # A race at once is what `carpet play` begins with, on a server that it has started.
        own_server = isinstance(start, StartBot | StartAlone)
        self._controller = Controller(
            self._session, desk=Desk(settings=settings), now_ms=_now_ms, own_server=own_server, replay=replay, remark=remark
        )
        self._root = Root(self._controller, colours=self._colours, now_ms=_now_ms)
        self._event_loop = urwid.TrioEventLoop()
        self._loop = urwid.MainLoop(self._root, screen=self._screen, event_loop=self._event_loop)
        self._reason: Literal["quit", "signal", "terminal"] = "quit"
        self._records: dict[str, Record] = {}
        self._looks: UiSettings | None = None
        if isinstance(start, StartHall):
            self._controller.go_to_hall(Hall(start.id))
        self._root.after = self._settle
        self._settle()

    async def run(self) -> AppOutcome:
        """Open the nursery, start the screen, and wait for the end."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            if threading.current_thread() is threading.main_thread():
                await nursery.start(self._watch_signals)
            nursery.start_soon(self._listen)
            nursery.start_soon(self._tick)
            try:
                # `start` restores the terminal when the block is left, in whatever way.
                with self._loop.start():
                    await self._event_loop.run_async()
            except OSError:
                # The terminal went away: nothing is left to draw on.
                self._reason = "terminal"
            nursery.cancel_scope.cancel()
        room = self._controller.model.room
        held = room.code if room is not None and room.seat is not None and room.phase != "over" else None
        records, wanted = tuple(self._records.values()), self._controller.play_on
        return AppOutcome(self._reason, self._controller.desk.settings, held, records, play_on=wanted)

    async def _listen(self) -> None:
        async for event in self._link.events:
            self._hear(event)

    def _hear(self, event: ServerMessage | LinkEvent) -> None:
        before = self._controller.model
        self._controller.hear(event)
        after = self._controller.model
        # The first race of a swap is told of with the score of the second.
        told = event.record if isinstance(event, Scored) else None
        for record in (told, after.room.record if after.room is not None else None):
            if record is not None:
                self._keep(record)
        rules = after.rules
        due = is_found(before, after) or is_called(before, after) or bell_due(before.room, after.room, rules)
        if self._controller.desk.settings.bell and due:
            self._bell()
        self._settle()

    def _keep(self, record: Record) -> None:
        """Once for each race, however often its result is told."""
        if record.digest in self._records:
            return
        self._records[record.digest] = record
        if self._recorder is not None:
            self._recorder(record)
        if self._keeper is not None and counts(record):
            try:
                standing = best_sentence(self._keeper(record))
            except BestsError as error:
                standing = str(error)
            self._controller.kept(record, standing)

    async def _tick(self) -> None:
        while True:
            desk = self._controller.desk
            room, reel = self._controller.model.room or (desk.watch.room if desk.watch is not None else None), desk.reel
            runs = (room is not None and room.phase in ("countdown", "racing")) or (reel is not None and reel.is_running)
            await trio.sleep(TICK_S if runs else IDLE_TICK_S)
            self._root.tick()

    async def _watch_signals(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        # Ctrl+C included: as an exception it could strike anywhere, between two halves of an escape sequence too.
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            task_status.started()
            async for _ in signals:
                self._end("signal")

    def _end(self, reason: Literal["quit", "signal", "terminal"]) -> None:
        self._reason = reason
        self._nursery.cancel_scope.cancel()

    def _settle(self) -> None:
        """After anything has happened: new colours, a redraw, or the end."""
        if self._controller.quitting:
            self._end("quit")
        settings = self._controller.desk.settings
        if settings != self._looks:
            self._looks = settings
            theme = theme_for(settings.palette, ascii_only=settings.ascii, colours=self._colours)
            self._screen.register_palette(entries(theme.palette, exact=self._colours > 256))
        self._root.redraw()
        wanted, self._controller.review_wanted = self._controller.review_wanted, None
        if wanted is not None:
            self._nursery.start_soon(self._review, wanted)
        race, self._controller.replay_wanted = self._controller.replay_wanted, None
        if race is not None:
            self._nursery.start_soon(self._replay, race)

    async def _replay(self, wanted: ReplayWanted) -> None:
        try:
            line = await self._replayer(wanted.record)
        except NoReplay as error:
            self._controller.replayed(wanted, str(error))
        else:
            self._controller.replayed(wanted, line)
        self._settle()

    async def _review(self, wanted: ReviewWanted) -> None:
        self._controller.reviewed(wanted, await self._reviewer(wanted.record, wanted.seat))
        self._settle()

    def _set_colours(self, colours: Literal[1, 16, 88, 256, 16777216]) -> None:
        self._colours = colours
        set_properties = getattr(self._screen, "set_terminal_properties", None)
        if set_properties is not None:
            set_properties(colors=colours)

    def _bell(self) -> None:
        if isinstance(self._screen, urwid.display.raw.Screen) and self._screen.started:
            self._screen.write("\a")
            self._screen.flush()


def _nonce() -> str:
    return secrets.token_hex(16)


def _now_ms() -> int:
    return int(trio.current_time() * 1000)
