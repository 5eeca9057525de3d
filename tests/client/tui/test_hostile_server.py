"""Whatever well-typed messages a server sends, in any order, the screens go on, are drawn within the terminal, and can be left."""

from __future__ import annotations

import random
from collections import deque

import pytest
import trio
import urwid
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from trio.testing import MockClock

from client.connection.events import Back, Connected, Connecting, Lost, RoundTrip
from client.text.width import text_width
from client.tui.actions import Action, After, Effect, Keep, Key, Quit, Resized
from client.tui.app import UNDRAWN
from client.tui.drawing.picture import Picture
from client.tui.drawing.transitions import begun, moved, transitions
from client.tui.driver import Driver
from client.tui.keymap import EVERYWHERE, QUIT
from client.tui.scene import scene_of
from client.tui.screens import SCREENS
from client.tui.start import StartHome, StartLesson, StartMatch, StartRace, StartTournaments, UiSettings
from client.tui.step import QUIET_MS
from client.tui.telling import Teller, watched_lines
from client.tui.terminal import canvas_of
from client.tui.ui_state import first_ui
from client.tui.view import body_times, head_times, is_running, view, with_head
from protocol.room_events import Result
from protocol.views import RaceOptions
from protocol.watch_messages import Watchers
from tests.client import scenes
from tests.client.hostile import Server
from tests.client.tui.hands import UP, FakeLink, running

SIZES = ((80, 24), (120, 40), (60, 20), (200, 60), (81, 25), (300, 80), (10, 3))
STARTS = (StartHome(), StartRace(RaceOptions()), StartLesson(), StartMatch(), StartTournaments(), StartTournaments("KWPRTM"))
KEYS = tuple({key for screen in SCREENS for each in (*screen.keys, *EVERYWHERE, QUIT) for key in each.keys})
TYPED = (*sorted(KEYS), *"abcdefghijp123456789'+-", "enter", "esc", "page down", "backspace")
CHECKED: deque[object] = deque(maxlen=2)
"""What `check` has looked at last: a picture, and the same with a newer first row."""


@pytest.fixture(autouse=True)
def utf_8() -> None:
    urwid.set_encoding("utf-8")


class Visitor:
    """Somebody at a hostile server, who types anything and clicks anywhere. dice: decides everything."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.link = FakeLink()
        self.now_ms = dice.choice((1000, 10**9))
        self.later: list[Action] = []
        self.kept = 0
        self.has_quit = False
        settings = UiSettings(ascii=dice.random() < 0.2, autoplay=dice.random() < 0.3, page="http://carpet.example/play/")
        self.driver = Driver(
            self.link,
            first_ui(dice.choice(STARTS), settings),
            now_ms=lambda: self.now_ms,
            nonce=lambda: "00" * 16,
            carry_out=self._carry_out,
        )
        self._teller = Teller()
        self._before: tuple[tuple[int, int], Picture] | None = None

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case After(ms, action):
                assert ms >= 0
                self.later.append(action)
            case Keep():
                self.kept += 1
            case Quit():
                self.has_quit = True
            case _:
                pass

    def visit(self) -> None:
        dice = self.dice
        self.resize()
        for message in (Connected("ws://fake", "carpet.v1.msgpack"), *Server(dice).messages(dice.randrange(3, 14))):
            self.now_ms += dice.choice((0, 10, 500, 5000, 100_000))
            if dice.random() < 0.05:
                self.driver.hear(dice.choice((Lost("x", 500), Back(), Connecting(2), Lost("y", None), RoundTrip(10))))
                self.link.up = dice.random() < 0.7
            self.driver.hear(message)
            if dice.random() < 0.3:
                self.resize()
            picture = self.draw()
            for _ in range(dice.choice((0, 0, 1, 3, 8))):
                self.act(picture)
                picture = self.draw()

    def act(self, picture: Picture) -> None:
        if self.dice.random() < 0.2 and picture.hits:
            self.driver.do(self.dice.choice(picture.hits).click)
        else:
            self.driver.do(Key(self.dice.choice(TYPED)))
        due, self.later = self.later, []
        for action in due:
            self.driver.do(action)

    def resize(self) -> None:
        self.driver.do(Resized(self.dice.choice(SIZES)))
        self.draw()

    def draw(self) -> Picture:
        """Draw and tell everything as the app does, and look at what a terminal would get."""
        size = self.driver.ui.size
        scene = scene_of(self.driver.state, self.driver.ui, self.now_ms, colours=self.dice.choice((1, 16, 256, 2**24)))
        assert all(line.isprintable() for line in (*self._teller.told(scene), *watched_lines(scene)))
        picture = view(scene, size)
        check(picture, size)
        check(with_head(picture, scene, size), size)
        hash((head_times(scene), body_times(scene), is_running(self.driver.state, self.driver.ui)))
        if self._before is not None and self._before[0] == size:
            moving = begun((), picture, transitions(self._before[1], picture), self.now_ms)
            check(moved(picture, moving, self.now_ms + 50, scene.theme), size)
        self._before = size, picture
        return picture


def check(picture: Picture, size: tuple[int, int]) -> None:
    # Most keys change nothing: what has just been looked at is not looked at again.
    looks = picture.lines, picture.large, picture.caret, size
    if looks in CHECKED:
        return
    CHECKED.append(looks)
    rows = list(canvas_of(picture, size).content())
    assert len(rows) == size[1]
    for row in rows:
        text = b"".join(piece for _, _, piece in row).decode()
        assert text.isprintable()
        assert text_width(text) == size[0]


@settings(max_examples=3 * settings().max_examples)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=621)
@example(seed=79487)
@example(seed=190410)
@example(seed=189270)
@example(seed=5000002)
def test_whatever_a_server_sends_and_a_player_types_every_screen_is_drawn_within_the_terminal_and_can_be_left(seed: int) -> None:
    visitor = Visitor(random.Random(seed))
    visitor.visit()
    # The moment in which keys may have been meant for something else has passed.
    visitor.now_ms += QUIET_MS
    for key in ("esc", "esc", "q", "q", "y", "q", "y", "q", "y", "q", "y"):
        visitor.driver.do(Key(key))
    assert visitor.has_quit


def test_a_server_has_no_more_records_kept_than_races_that_the_player_wanted() -> None:
    visitor = Visitor(random.Random(0))
    visitor.driver.hear(scenes.room())
    for number in range(10):
        visitor.driver.hear(scenes.room(version=1, race=number + 1))
        visitor.driver.hear(Result(version=2, record=replace(scenes.record(), race=number + 1, digest=f"{number:064x}")))
    assert visitor.kept == 2
    for number in range(10, 15):
        visitor.driver.hear(scenes.room(version=1, race=number + 1))
        visitor.driver.do(Key("r"))
        visitor.driver.hear(Result(version=2, record=replace(scenes.record(), race=number + 1, digest=f"{number:064x}")))
    assert visitor.kept == 7


async def test_a_server_that_sends_without_end_does_not_keep_the_terminal_from_being_drawn(mock_clock: MockClock) -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        drawn = len(run.screen.canvases)
        # Real time, for the pass in which urwid draws.
        mock_clock.autojump_threshold = 0.001
        run.link.say(*[Watchers(code="OTHERS", count=1)] * 20 * UNDRAWN)
        await trio.sleep(1)
        assert not run.link.events.statistics().current_buffer_used
        assert len(run.screen.canvases) - drawn >= 20
