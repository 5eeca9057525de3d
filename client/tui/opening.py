"""The first picture, in the terminal before the libraries are loaded that draw all others: they take longer than all it takes itself.

Owns the terminal from then on, until `client.tui.terminal` takes it over or it is given back. What is typed meanwhile waits for whoever
takes it over. The picture is the one that the app begins with, by the same view; where it is not certain how the terminal is told its
colours, nothing is shown, and the app is the first to draw.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from client.state.store import Model
from client.tui.drawing.picture import Picture, Size, fit_line, printable
from client.tui.drawing.theme import PaletteEntry, entries
from client.tui.scene import scene_of
from client.tui.start import Start, UiSettings
from client.tui.ui_state import first_ui
from client.tui.view import view

_SHOW, _HIDE = "\x1b[?1049h\x1b[?25l", "\x1b[0m\x1b[?25h\x1b[?1049l"
_STYLES: Final = {"bold": "1", "underline": "4", "standout": "7"}
_CUBE: Final = (0, 95, 135, 175, 215, 255)
"""The steps of the 256 colours' cube, numbered from 16 on."""


class _Held(NamedTuple):
    """What there was before. keys: the file descriptor that they come from. suspends: what Ctrl+Z did."""

    keys: int
    modes: list[Any]
    suspends: Any


_held: list[_Held] = []
"""One while the terminal is held: there is only one terminal."""


def show(start: Start, settings: UiSettings) -> None:
    """Show what the app begins with, if that is possible and not done yet."""
    colours = settings.colours or colours_of(os.environ)
    if _held or colours is None or (sys.stdout.encoding or "").lower() != "utf-8":
        return
    columns, rows = size = os.get_terminal_size(sys.stdout.fileno())
    if not columns or not rows:
        return
    scene = scene_of(Model(), replace(first_ui(start, settings), size=size), 0, colours=colours)
    frame = painted(view(scene, size), size, entries(scene.theme.palette, exact=colours > 256), colours)
    _hold(sys.stdin.fileno())
    sys.stdout.write(_SHOW + frame)
    sys.stdout.flush()


def _hold(keys: int) -> None:
    """Have keys come one by one and unseen."""
    modes = termios.tcgetattr(keys)
    # Nobody would draw the picture again.
    _held.append(_Held(keys, modes, signal.signal(signal.SIGTSTP, signal.SIG_IGN)))
    each_key = [*modes[:3], modes[3] & ~(termios.ECHO | termios.ICANON), *modes[4:]]
    each_key[6] = [*modes[6]]
    each_key[6][termios.VMIN], each_key[6][termios.VTIME] = b"\x01", b"\x00"
    termios.tcsetattr(keys, termios.TCSANOW, each_key)


def taken_over() -> bytes | None:
    """What was typed since, for whoever draws from now on: the picture stays, and all else is as it was. None where nothing is shown."""
    if not _held:
        return None
    held = _held.pop()
    typed = b""
    while select.select([held.keys], [], [], 0)[0] and (more := os.read(held.keys, 1024)):
        typed += more
    termios.tcsetattr(held.keys, termios.TCSANOW, held.modes)
    signal.signal(signal.SIGTSTP, held.suspends)
    return typed


def give_back() -> None:
    """Leave the terminal as it was, if it is still held: there will be no screens, or something is to be said first."""
    # One that has gone takes nothing back.
    with contextlib.suppress(OSError, termios.error):
        if taken_over() is not None:
            sys.stdout.write(_HIDE)
            sys.stdout.flush()


def colours_of(environment: Mapping[str, str]) -> int | None:
    """How many colours the terminal has: 1, 256 or 2**24; None for all others, and where it is not plain to see."""
    term = environment.get("TERM", "")
    if term in ("", "dumb", "unknown") or any(environment.get(name) for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR")):
        return None
    if environment.get("NO_COLOR"):
        return 1
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return 2**24
    return 256 if term.endswith("-256color") else None


def painted(picture: Picture, size: Size, palette: list[PaletteEntry], colours: int) -> str:
    """A picture as it is told to a terminal with 1, 256 or 2**24 colours, whose cursor is hidden already."""
    looks = {entry[0]: _look(entry, colours) for entry in palette}
    rows = []
    for at in range(size[1]):
        line = fit_line(printable(picture.lines[at]) if at < picture.height else [], size[0])
        rows.append(f"\x1b[{at + 1};1H" + "".join(looks[role] + text for role, text in line if text))
    return "".join(rows)


def _look(entry: PaletteEntry, colours: int) -> str:
    """A role's escape sequence."""
    told = [*entry[3].split(","), "default"] if colours == 1 else [*entry[4].split(","), entry[5]]
    ground = told.pop()
    codes = ["0", *(_STYLES[word] for word in told if word in _STYLES)]
    codes += [f"38;{_number(word)}" for word in told if word.startswith(("#", "g"))]
    codes += [f"48;{_number(ground)}"] if ground.startswith(("#", "g")) else []
    return f"\x1b[{';'.join(codes)}m"


def _number(colour: str) -> str:
    """`#rrggbb`; or one of the 256: `#rgb` of the cube, or a grey, `g` and its per cent."""
    if len(colour) == 7:
        return "2;" + ";".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
    if colour.startswith("g"):
        light = int(colour[1:]) * 255 / 100
        return f"5;{232 + min(range(24), key=lambda step: abs(8 + 10 * step - light))}"
    steps = [min(range(6), key=lambda step: abs(_CUBE[step] - 17 * int(digit, 16))) for digit in colour[1:]]
    return f"5;{16 + 36 * steps[0] + 6 * steps[1] + steps[2]}"
