"""A link and a screen for tests: the link delivers what the test says and keeps what it was sent, the screen types and clicks."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio
from msgspec.structs import replace
from trio.testing import MockClock, wait_all_tasks_blocked
from urwid.testing import ScriptedScreen

from client.connection.events import Connected, LinkEvent
from client.replay.own_server import GameReview
from client.replay.timeline import TimeLine
from client.tui.app import Jobs, run_app
from client.tui.start import AppOutcome, Start, StartHome, StartRace, UiSettings
from client.tui.step import QUIET_MS
from protocol.client_messages import ClientMessage, Ready
from protocol.record import Record
from protocol.room_events import Countdown, Dealt, PlayerReady, PlayerView, Result, Seated, Started
from protocol.server_messages import ServerMessage
from protocol.views import RaceOptions, View
from tests.client import scenes

STEADY = StartRace(RaceOptions(bots=("Steady",)))
"""A race against a house bot, at once."""


class FakeLink:
    """A link scripted by a test. up: whether messages go out."""

    def __init__(self) -> None:
        self.url = "ws://fake"
        self.sent: list[ClientMessage] = []
        self.up = True
        self.hurried = 0
        # Unbounded: a test does not say much.
        self._say, self.events = trio.open_memory_channel[ServerMessage | LinkEvent](math.inf)

    def hurry(self) -> None:
        self.hurried += 1

    def send(self, message: ClientMessage) -> bool:
        if self.up:
            self.sent.append(message)
        return self.up

    def say(self, *events: ServerMessage | LinkEvent) -> None:
        for event in events:
            self._say.send_nowait(event)

    def close(self) -> None:
        self._say.close()

    def taken(self) -> list[ClientMessage]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent


class HandScreen(ScriptedScreen):
    """A screen whose keys and clicks come from the test."""

    def __init__(self, size: tuple[int, int] = (80, 24)) -> None:
        super().__init__(size=size)
        self.colors = 256
        self._deliver: Callable[..., object] | None = None

    def hook_event_loop(self, event_loop: object, callback: Callable[..., object]) -> None:
        self._deliver = callback

    def unhook_event_loop(self, event_loop: object) -> None:
        self._deliver = None

    def draw_screen(self, size: tuple[int, int], canvas: object) -> None:
        self.canvases.append(canvas)  # type: ignore[arg-type]

    async def give(self, *keys: str | tuple[str, int, int, int]) -> None:
        """Type keys, or click with (event, button, column, row)."""
        assert self._deliver is not None
        for key in keys:
            if self._deliver is not None:
                self._deliver([key], [])
        await settled()

    async def click(self, text: str, *, nth: int = 0) -> None:
        """Click on the middle of a text on the screen."""
        found = [(row, line.index(text)) for row, line in enumerate(self.last_text) if text in line]
        row, column = found[nth]
        await self.give(("mouse press", 1, column + len(text) // 2, row), ("mouse release", 0, column, row))

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.last_text)


async def settled() -> None:
    """Wait until everything that was said and typed has been handled and drawn. The cushion gives urwid time for its idle pass."""
    await wait_all_tasks_blocked(0.002)


HOME, DEFAULTS = StartHome(), UiSettings(motion=False)
UP = Connected("ws://fake", "carpet.v1.msgpack")


class Run:
    """A running app. outcome: set once it has ended."""

    def __init__(self, link: FakeLink, screen: HandScreen) -> None:
        self.link = link
        self.screen = screen
        self.outcome: AppOutcome | None = None
        self.give = screen.give
        self.click = screen.click

    async def say(self, *events: object) -> None:
        self.link.say(*events)  # type: ignore[arg-type]
        await settled()

    async def later(self, seconds: float) -> None:
        """Let time pass: it stands still otherwise."""
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        clock.jump(seconds)
        await settled()

    async def wait_for(self, text: str) -> None:
        """Wait until the screen shows a text, even over several lines. It waits in real time, since a thread may have to produce it."""

        def shown() -> bool:
            return "".join(text.split()) in "".join("".join(self.screen.last_text).split())

        given_up_at = time.monotonic() + 60
        while not shown() and time.monotonic() < given_up_at:
            await settled()
        assert shown(), "\n".join(self.screen.last_text)


def answer(move: str, ply: int, view: View) -> PlayerView:
    """The answer to a move that leads to this ply, in the race of `racing`."""
    return PlayerView(version=7 + ply, seat=0, ply=ply, move=move, state="racing", elapsed_ms=5, view=view)


async def no_reviewer(record: Record, seat: int) -> GameReview:
    raise AssertionError("nobody has asked for a review")


async def no_replayer(record: Record) -> TimeLine:
    raise AssertionError("nobody has asked for a replay")


async def no_verifier(record: Record) -> tuple[bool | None, str]:
    raise AssertionError("there is no deal that had to be searched for")


NO_JOBS = Jobs(no_reviewer, no_replayer, no_verifier)


@asynccontextmanager
async def run_on_hand_screen(app: Callable[[Run], Awaitable[AppOutcome]], size: tuple[int, int]) -> AsyncIterator[Run]:
    """The screens, from their first picture until the test has seen enough."""
    run = Run(FakeLink(), HandScreen(size))

    async def wait_for_outcome() -> None:
        run.outcome = await app(run)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_outcome)
        await settled()
        yield run
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def running(
    start: Start = HOME,
    *,
    settings: UiSettings = DEFAULTS,
    size: tuple[int, int] = (80, 24),
    note: str = "",
    **jobs: Any,
) -> AsyncIterator[Run]:
    def app(run: Run) -> Awaitable[AppOutcome]:
        return run_app(run.link, settings=settings, start=start, screen=run.screen, jobs=replace(NO_JOBS, **jobs), note=note)

    async with run_on_hand_screen(app, size) as run:
        yield run


@asynccontextmanager
async def racing(start: Start = HOME, **options: Any) -> AsyncIterator[Run]:
    """The screens in a race that has just begun, at 4 s on the local clock of the messages, with the first view shown."""
    async with running(start, **options) as run:
        await run.say(UP, scenes.welcome(), scenes.room(), Seated(version=2, seat=1, name="Benedikt", bot=None))
        await run.give("r")
        await run.say(PlayerReady(version=3, seat=0), PlayerReady(version=4, seat=1))
        await run.say(Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)))
        await run.say(Dealt(version=6, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=7))
        run.link.taken()
        yield run


@asynccontextmanager
async def raced(*, record: Record | None = None, **options: Any) -> AsyncIterator[Run]:
    """The screens at the result of that race, when all keys count. record: its record, by default the one in `scenes`."""
    async with racing(**options) as run:
        await run.say(Result(version=8, record=record or scenes.record()))
        await run.later(QUIET_MS / 1000)
        yield run


def ready_sent(run: Run) -> Ready:
    """All that was sent since the last time."""
    (ready,) = run.link.taken()
    assert isinstance(ready, Ready)
    assert len(bytes.fromhex(ready.nonce)) == 16
    return ready
