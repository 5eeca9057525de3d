"""A replay as a file, to share: one moment as text or SVG, the whole as an asciinema cast (version 2).

Pure: the screen is the one that is looked at in a terminal, in its own colours, and no terminal is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from client.replay.timeline import TimeLine
from client.state.store import Model
from client.tui import replaying
from client.tui.keymap import Command
from client.tui.picture import Line, Size, fit_line, printable, text_width
from client.tui.replay_state import replay_after, replay_state_of
from client.tui.scene import replay_head, scene_of
from client.tui.start import StartHome, UiSettings
from client.tui.theme import PaletteEntry, entries, theme_for
from client.tui.ui_state import Ui
from protocol.record import Record

COLOURS: Final = 2**24
TEXT_COLOURS: Final = 256
"""So few that nothing is painted, of which text would show the blocks."""
CELL: Final = (9, 19)
"""Columns and rows of a character in an SVG, in pixels."""
EVERY_MS: Final = 1000
"""A cast shows the clock so often, and each move when it was made."""
LINGER_MS: Final = 3000
"""How long a cast stays at the end."""
_GROUND, _INK = "#101010", "#d0d0d0"
_QUADRANTS: Final = {"▘": 1, "▝": 2, "▖": 4, "▗": 8, "▀": 3, "▄": 12, "▌": 5, "▐": 10, "█": 15}
"""The quarters of a cell that a block fills: top left, top right, bottom left, bottom right."""


class Run(NamedTuple):
    """Text in one look. ink, ground: `#rrggbb`."""

    text: str
    ink: str
    ground: str
    bold: bool = False


def screen_at(line: TimeLine, at_ms: int, size: Size, settings: UiSettings, *, colours: int = COLOURS) -> list[Line]:
    """The rows of the replay screen at a moment of the race, each as wide as the screen. In the place of its keys is what race it is."""
    replay = replay_after(replay_state_of(line), Command.PAUSE, 0)  # set going at once
    ui = Ui(settings=settings, start=StartHome(), replay=replay, only_replay=True)
    scene = scene_of(Model(), ui, min(at_ms, line.end_ms), colours=colours)
    # A picture neither plays nor pauses.
    rows = (*replay_head(scene, replay, size[0], paced=False).lines, *replaying.SCREEN.view(scene, size).lines[1:])
    return titled([fit_line(printable(row), size[0]) for row in rows], line.record, size)


def titled(rows: Sequence[Line], record: Record, size: Size) -> list[Line]:
    """The rows of a screen, the last of which says by what command the race is seen in place of the keys."""
    return [*rows[: size[1] - 1], fit_line([("foot", f" carpet replay {record.id}".rstrip())], size[0], "foot")]


def text_of(rows: Sequence[Line]) -> str:
    """Rows as plain text."""
    return "".join("".join(text for _, text in row).rstrip() + "\n" for row in rows)


def svg_of(rows: Sequence[Sequence[Run]], columns: int) -> str:
    """Rows as an SVG document. Blocks are drawn as what they fill, since fonts leave gaps between them."""
    wide, high = CELL
    width, height = columns * wide, len(rows) * high
    font = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="15"'
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} {font} xml:space="preserve" shape-rendering="crispEdges">',
        f'<rect width="{width}" height="{height}" fill="{_GROUND}"/>',
    ]
    for y, row in enumerate(rows):
        x = 0
        for run in row:
            cells = text_width(run.text)
            parts.append(f'<rect x="{x * wide}" y="{y * high}" width="{cells * wide}" height="{high}" fill="{run.ground}"/>')
            parts.extend(_signs(run, x, y))
            x += cells
    return "\n".join([*parts, "</svg>", ""])


def _signs(run: Run, x: int, y: int) -> Iterator[str]:
    wide, high = CELL
    for sign in run.text:
        blocks = list(_blocks(sign))
        for left, top, width, height in blocks:
            rect = f'x="{(x + left) * wide}" y="{(y + top) * high}" width="{width * wide}" height="{height * high}"'
            yield f'<rect {rect} fill="{run.ink}"/>'
        if not blocks and sign.strip():
            weight = ' font-weight="bold"' if run.bold else ""
            yield f'<text x="{x * wide}" y="{y * high + 14.5}" fill="{run.ink}"{weight}>{escape(sign)}</text>'
        x += text_width(sign)


def _blocks(sign: str) -> Iterator[tuple[float, float, float, float]]:
    """The parts of a cell, from 0 to 1, that a block sign fills: left, top, width, height."""
    if sign in _QUADRANTS:
        for bit in range(4):
            if _QUADRANTS[sign] & 1 << bit:
                yield bit % 2 / 2, bit // 2 / 2, 0.5, 0.5
    elif "▁" <= sign <= "▇":
        part = (ord(sign) - ord("▁") + 1) / 8
        yield 0, 1 - part, 1, part
    elif "▉" <= sign <= "▏":
        yield 0, 0, (ord("▏") - ord(sign) + 1) / 8, 1


def coloured(rows: Sequence[Line], settings: UiSettings) -> list[list[Run]]:
    """Rows in the colours of the player's palette."""
    palette = theme_for(settings.palette, ascii_only=settings.ascii, colours=COLOURS, own=settings.own_palette).palette
    looks = {entry[0]: _look(entry) for entry in entries(palette, exact=True)}
    return [[Run(text, *looks[role]) for role, text in row if text] for row in rows]


def _look(entry: PaletteEntry) -> tuple[str, str, bool]:
    ink, *styles = entry[4].split(",")
    ink, ground = (ink if ink.startswith("#") else _INK), (entry[5] if entry[5].startswith("#") else _GROUND)
    told = {entry[4], *styles}
    return (ground, ink, "bold" in told) if "standout" in told else (ink, ground, "bold" in told)


def cast_of(line: TimeLine, size: Size, settings: UiSettings) -> Iterator[str]:
    """The whole race, line by line of the file, at the pace at which it was raced."""
    columns, height = size
    title = f"Carpet Race {line.record.id}".rstrip()
    yield (
        json.dumps({"version": 2, "width": columns, "height": height, "title": title, "duration": (line.end_ms + LINGER_MS) / 1000}) + "\n"
    )
    moments = sorted({*range(0, line.end_ms, EVERY_MS), *(frame.at_ms for frame in line.frames), line.end_ms})
    shown: list[list[Run]] = [[] for _ in range(height)]
    for at_ms in moments:
        rows = coloured(screen_at(line, at_ms, size, settings), settings)
        drawn = "".join(_drawn(number, row, shown[number]) for number, row in enumerate(rows) if row != shown[number])
        shown = rows
        yield json.dumps([at_ms / 1000, "o", ("" if at_ms else "\x1b[?25l\x1b[2J") + drawn], ensure_ascii=False) + "\n"
    yield json.dumps([(line.end_ms + LINGER_MS) / 1000, "o", "\x1b[0m"]) + "\n"


def _drawn(number: int, row: Sequence[Run], before: Sequence[Run]) -> str:
    """What of a row is another than before, from the first such cell to the last."""
    now, then = _cells(row), _cells(before)
    first, end = 0, len(now)
    if len(then) == len(now):
        first = next(at for at in range(end) if now[at] != then[at])
        end = next(at for at in range(end, 0, -1) if now[at - 1] != then[at - 1])
    parts, ink, ground, bold = [f"\x1b[{number + 1};{first + 1}H"], "", "", None
    for cell in now[first:end]:
        codes = [] if cell.bold is bold else ["1" if cell.bold else "22"]
        codes += [] if cell.ink == ink else [_sgr(38, cell.ink)]
        codes += [] if cell.ground == ground else [_sgr(48, cell.ground)]
        ink, ground, bold = cell.ink, cell.ground, cell.bold
        parts.append((f"\x1b[{';'.join(codes)}m" if codes else "") + cell.text)
    return "".join(parts)


def _cells(row: Sequence[Run]) -> list[Run]:
    """A row cell by cell; the second one of a wide sign is empty."""
    return [
        cell for run in row for sign in run.text for cell in (run._replace(text=sign), *[run._replace(text="")] * (text_width(sign) - 1))
    ]


def _sgr(kind: int, colour: str) -> str:
    return f"{kind};2;" + ";".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
