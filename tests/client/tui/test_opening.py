"""The first picture, which is drawn without urwid: it looks the same as urwid's."""

from __future__ import annotations

import io
import os
from typing import Any

import pyte
import pytest
import urwid
import wcwidth

from client.state.store import Model
from client.text.width import NARROW
from client.tui.drawing.picture import Size
from client.tui.drawing.theme import PALETTES, Palette, entries
from client.tui.opening import colours_of, painted
from client.tui.scene import scene_of
from client.tui.start import Start, StartMenu, StartRace, UiSettings
from client.tui.terminal import canvas_of
from client.tui.ui_state import first_ui
from client.tui.view import view
from protocol.views import RaceOptions


def shown(told: str, size: Size) -> list[list[Any]]:
    """The cells of a terminal that was told this."""
    screen = pyte.Screen(*size)
    pyte.Stream(screen).feed(told)
    return [[screen.buffer[row][column] for column in range(size[0])] for row in range(size[1])]


LAYING = StartRace(RaceOptions(bots=("greedy",)))


@pytest.mark.parametrize("colours", [1, 256, 2**24])
@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
@pytest.mark.parametrize(("start", "size"), [(StartMenu(), (80, 24)), (LAYING, (120, 40))], ids=["menu", "laying"])
def test_the_first_picture_is_the_one_that_urwid_draws_next(start: Start, size: Size, palette: Palette, colours: Any) -> None:
    scene = scene_of(Model(), first_ui(start, UiSettings(palette=palette.name)), 0, colours=colours)
    looks = entries(scene.theme.palette, exact=colours > 256)
    picture = view(scene, size)

    told = io.StringIO()
    with open(os.devnull, encoding="ascii") as keys:
        screen = urwid.display.raw.Screen(input=keys, output=told)
        screen.set_terminal_properties(colors=colours)
        screen.register_palette(looks)
        with screen.start():
            screen.draw_screen(size, canvas_of(picture, size))
            drawn = shown(told.getvalue(), size)

    assert shown(painted(picture, size, looks, colours), size) == drawn


@pytest.mark.parametrize(
    ("environment", "colours"),
    [
        ({"TERM": "xterm-256color"}, 256),
        ({"TERM": "tmux-256color", "COLORTERM": "truecolor"}, 2**24),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", "COLORTERM": "truecolor"}, 1),
        ({"TERM": "xterm"}, None),
        ({"TERM": "linux"}, None),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, None),
        ({"TERM": "xterm-256color", "FORCE_COLOR": "1"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_colours_are_taken_for_known_only_where_they_are_plain_to_see(environment: dict[str, str], colours: int | None) -> None:
    assert colours_of(environment) == colours


def test_the_signs_that_are_counted_without_the_library_have_one_column() -> None:
    assert {sign for sign in NARROW if wcwidth.width(sign) != 1 or len(list(wcwidth.iter_graphemes(f"A{sign}"))) != 2} == set()
