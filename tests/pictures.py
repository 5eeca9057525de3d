"""Pictures of screens, as a person sees them: `python -m tests.pictures DIRECTORY [NAME ...]`.

Each named screen of tests/client/tui/screens.py is shown in a pseudo-terminal of its own, at every size. What the terminal then holds
is written as SVG, and as PNG if there is a Chromium. With `--` and a command, that command is run and pictured instead.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path

import pyte
import urwid
from pyte.screens import Char

from client.tui.drawing.picture import Picture
from client.tui.drawing.theme import entries
from client.tui.drawing.transitions import begun, moved, transitions
from client.tui.replay.export import CELL, Look, Run, svg_of
from client.tui.scene import scene_of
from client.tui.terminal import Painted
from client.tui.view import view
from tests.e2e.terminal import Terminal, terminal_environment

SIZES = ("80x24", "120x40", "200x50")
NAMED = {
    "black": "#000000",
    "red": "#cd0000",
    "green": "#00cd00",
    "brown": "#cdcd00",
    "blue": "#0000ee",
    "magenta": "#cd00cd",
    "cyan": "#00cdcd",
    "white": "#e5e5e5",
}


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return NAMED.get(name.removeprefix("bright"), f"#{name}")


def svg(screen: pyte.Screen) -> str:
    """A terminal's screen as an SVG document."""
    rows = []
    for y in range(screen.lines):
        cells = [screen.buffer[y][x] for x in range(screen.columns)]
        # The second half of a wide character is an empty cell.
        runs = [("".join(cell.data for cell in run), *looks) for looks, run in groupby(cells, key=_looks)]
        rows.append([Run(text, Look(ink, back, bold)) for text, back, ink, bold in runs if text])
    return svg_of(rows, screen.columns)


def _looks(cell: Char) -> tuple[str, str, bool]:
    back, ink = _colour(cell.bg, "#101010"), _colour(cell.fg, "#d0d0d0")
    return (ink, back, cell.bold) if cell.reverse else (back, ink, cell.bold)


def write(screen: pyte.Screen, path: Path) -> None:
    """Write the screen as `path`.svg, and as `path`.png if there is a Chromium."""
    file = path.with_suffix(".svg")
    file.write_text(svg(screen), encoding="utf-8")
    chromium = shutil.which(os.environ.get("CARPET_TEST_CHROMIUM", "chromium"))
    if chromium is None:
        return
    size = f"{screen.columns * CELL[0]},{screen.lines * CELL[1]}"
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        command = [chromium, *options, f"--window-size={size}", f"--screenshot={path.with_suffix('.png')}", file.absolute().as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def show(name: str, at_ms: str) -> None:
    """Show a screen of the tests until this process is ended, as it looks `at_ms` after it replaced an empty one."""
    from tests.client.tui.screens import SCREENS

    shown = SCREENS[name]
    screen = urwid.display.raw.Screen()
    screen.set_terminal_properties(colors=1 if shown.colours == 1 else None)
    colours = screen.colors
    scene = scene_of(shown.model(), shown.ui, shown.now_ms, colours=colours)
    screen.register_palette(entries(scene.theme.palette, exact=colours > 256))

    class Whole(Painted):
        def picture_for(self, size: tuple[int, int]) -> object:  # type: ignore[override]
            picture = view(scene, size)
            return moved(picture, begun((), picture, transitions(Picture(), picture), 0), int(at_ms), scene.theme)

    urwid.MainLoop(Whole(), screen=screen).run()


def picture(command: list[str], size: str, path: Path, *, keys: str = "", depth: str = "") -> None:
    """Picture what a command shows in a terminal of this size, once it has come to rest."""
    columns, rows = map(int, size.split("x"))
    environment = terminal_environment(**({"COLORTERM": depth} if depth else {}))
    with Terminal(command, environment=environment, columns=columns, rows=rows) as terminal:
        terminal.wait_until(lambda lines: lines[0].strip() or None)
        for key in keys:
            terminal.type(key)
            time.sleep(0.3)
        _rest(terminal)
        write(terminal.screen, path)


def _rest(terminal: Terminal, quiet_s: float = 0.6) -> None:
    drawn, since = -1, time.monotonic()
    while time.monotonic() - since < quiet_s:
        time.sleep(0.1)
        if len(terminal.raw) != drawn:
            drawn, since = len(terminal.raw), time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", action="append", help="columns and rows, like 120x40; may be repeated")
    parser.add_argument("--at", type=int, default=1_200, help="milliseconds after the screen began to be shown")
    parser.add_argument("--keys", default="", help="typed before the picture is taken")
    parser.add_argument("--depth", default="truecolor", help="what COLORTERM says; empty for 256 colours")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    given.directory.mkdir(parents=True, exist_ok=True)
    this = [sys.executable, "-c", "import sys; from tests.pictures import show; show(*sys.argv[1:])"]
    shown = {"command": command} if command else {name: [*this, name, str(given.at)] for name in given.names}
    for name, each in shown.items():
        for size in given.size or SIZES:
            picture(each, size, given.directory / f"{name}-{size}", keys=given.keys, depth=given.depth)


if __name__ == "__main__":
    main()
