"""Exports a replay to a file: one moment as text or SVG, or the whole race as an animated SVG or an asciinema cast (version 2).

Pure: it draws the same screens, in the same colours, as in a terminal, but needs no terminal.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from client.replay.timeline import TimeLine
from client.state.store import Model
from client.text.width import text_width, wcwidth
from client.tui.drawing.picture import Line, Size, fit_line, printable
from client.tui.drawing.theme import PaletteEntry, entries, theme_for
from client.tui.keymap import Command
from client.tui.replay import replaying
from client.tui.replay_state import ReplayState, replay_after, replay_state_of
from client.tui.scene import replay_head, scene_of
from client.tui.start import StartHome, UiSettings
from client.tui.ui_state import Ui
from protocol.record import Record

COLOURS: Final = 2**24
TEXT_COLOURS: Final = 1
"""Nothing in a text may be told by its colour alone: with so few, cards have borders, and curves are lines without an area."""
CELL: Final = (9, 19)
"""Width and height of a character in an SVG, in pixels."""
EVERY_MS: Final = 1000
"""How often a cast updates the clock. Moves are shown at the moment they were made."""
LINGER_MS: Final = 3000
"""How long a cast or an animated SVG stays on its last frame."""
LONGEST_MS: Final = 60_000
"""The longest an animated SVG may take: longer races are sped up."""
JOINED: Final = 5
"""Two changes in a row with at most this many cells between them are written as one: a second position would cost as much."""
_GROUND, _INK = "#101010", "#d0d0d0"
_QUADRANTS: Final = {"▘": 1, "▝": 2, "▖": 4, "▗": 8, "▀": 3, "▄": 12, "▌": 5, "▐": 10, "█": 15}
"""The quarters of a cell that a block fills, as bits: top left, top right, bottom left, bottom right."""


class Look(NamedTuple):
    """ink, ground: `#rrggbb`."""

    ink: str
    ground: str
    bold: bool = False


class Run(NamedTuple):
    """Text in one look."""

    text: str
    look: Look


Cell: TypeAlias = tuple[str, Look]
"""A character and its look. The second cell of a wide character holds an empty string."""


class Change(NamedTuple):
    """New cells in a row, from a column on."""

    row: int
    column: int
    cells: Sequence[Cell]


# ---- screens


def screen_at(line: TimeLine, at_ms: int, size: Size, settings: UiSettings, *, colours: int = COLOURS) -> list[Line]:
    """The rows of the replay screen at a moment of the race, each as wide as the screen. The last row names the race, not the keys."""
    return _screen(_playing(line), at_ms, size, settings, colours)


def _playing(line: TimeLine) -> ReplayState:
    """A replay that is playing from its start."""
    return replay_after(replay_state_of(line), Command.PAUSE, 0)


def _screen(replay: ReplayState, at_ms: int, size: Size, settings: UiSettings, colours: int) -> list[Line]:
    ui = Ui(settings=settings, start=StartHome(), replay=replay, only_replay=True)
    scene = scene_of(Model(), ui, min(at_ms, replay.line.end_ms), colours=colours)
    # A picture has no keys, and neither plays nor pauses.
    rows = (*replay_head(scene, replay, size[0], with_keys=False).lines, *replaying.SCREEN.view(scene, size).lines[1:])
    return titled([fit_line(printable(row), size[0]) for row in rows], replay.line.record, size, settings)


def titled(rows: Sequence[Line], record: Record, size: Size, settings: UiSettings) -> list[Line]:
    """The rows of a screen; instead of the keys, the last one says where the race can be seen: its page if others can reach the server,
    or else the command that shows it here."""
    page = "" if settings.is_near or not record.id else settings.page
    told = f"{page.removesuffix('play/')}race/{record.id}" if page else f"carpet replay {record.id}"
    return [*rows[: size[1] - 1], fit_line(printable([("foot", f" {told}".rstrip())]), size[0], "foot")]


def text_of(rows: Sequence[Line]) -> str:
    """Rows as plain text."""
    return "".join("".join(text for _, text in row).rstrip() + "\n" for row in rows)


def coloured(rows: Sequence[Line], settings: UiSettings) -> list[list[Run]]:
    """The rows in the colours of the player's palette."""
    looks = _looks(settings)
    return [[Run(text, looks[role]) for role, text in row if text] for row in rows]


def _looks(settings: UiSettings) -> dict[str, Look]:
    """The look of each role in the player's palette."""
    palette = theme_for(settings.palette, ascii_only=settings.ascii, colours=COLOURS, own=settings.own_palette).palette
    return {entry[0]: _look(entry) for entry in entries(palette, exact=True)}


def _look(entry: PaletteEntry) -> Look:
    ink, *styles = entry[4].split(",")
    ink, ground = (ink if ink.startswith("#") else _INK), (entry[5] if entry[5].startswith("#") else _GROUND)
    told = {entry[4], *styles}
    return Look(ground, ink, "bold" in told) if "standout" in told else Look(ink, ground, "bold" in told)


# ---- what changes from moment to moment


def _changes(line: TimeLine, size: Size, settings: UiSettings, every_ms: int) -> Iterator[tuple[int, list[Change]]]:
    """Each moment at which the screen changes, and how. At the first one all of it is new.

    The clock advances every `every_ms`; moves are shown at the moment they were made.
    """
    replay, looks = _playing(line), _looks(settings)
    shown: list[Line] = [[] for _ in range(size[1])]
    cells: list[list[Cell]] = [[] for _ in shown]
    for at_ms in sorted({*range(0, line.end_ms, every_ms), *(frame.at_ms for frame in line.frames), line.end_ms}):
        changes = []
        for number, row in enumerate(_screen(replay, at_ms, size, settings, COLOURS)):
            if row != shown[number]:
                before, shown[number], cells[number] = cells[number], row, _cells(row, looks)
                changes += [Change(number, first, cells[number][first:end]) for first, end in _spans(before, cells[number])]
        if changes:
            yield at_ms, changes


def _spans(before: Sequence[Cell], after: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """The parts of a row that have changed, as (first column, column after the last)."""
    if len(before) != len(after):
        yield 0, len(after)
        return
    first = end = 0
    for at, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            if end and at - end > JOINED:
                yield first, end
                end = 0
            first, end = (first if end else at), at + 1
    if end:
        yield first, end


def _cells(row: Line, looks: dict[str, Look]) -> list[Cell]:
    return [*chain.from_iterable(zip(_signs(text), repeat(looks[role])) for role, text in row)]


@lru_cache(maxsize=4096)
def _signs(text: str) -> Sequence[str]:
    """The characters of a text, one for each column: a wide one is followed by an empty string."""
    if text.isascii():
        return text
    return [part for sign in wcwidth().iter_graphemes(text) for part in (sign, *[""] * (text_width(sign) - 1))]


# ---- SVG


def svg_of(rows: Sequence[Sequence[Run]], columns: int) -> str:
    """Rows as an SVG document. Block characters are drawn as shapes, since fonts leave gaps between them."""
    return _document(_drawn((0, y, row) for y, row in enumerate(rows)), columns, len(rows))


def moving_svg_of(line: TimeLine, size: Size, settings: UiSettings) -> str:
    """The whole race as an SVG document that plays by itself in a loop, without a script.

    It begins with a whole screen. Over it lie the changes, one group for each moment, hidden until then. If the viewer prefers no motion or
    there is no CSS, all groups are visible, and together they show the end of the race.
    """
    pace = max(-(-line.end_ms // LONGEST_MS), 1)
    whole_s = (line.end_ms / pace + LINGER_MS) / 1000
    rules, parts = [f"g{{animation:{whole_s:g}s step-end infinite}}"], []
    for number, (at_ms, changes) in enumerate(_changes(line, size, settings, EVERY_MS * pace)):
        drawn = _drawn((change.column, change.row, _runs(change.cells)) for change in changes)
        if not number:
            parts += drawn
            continue
        rules.append(f"@keyframes t{number}{{0%{{visibility:hidden}}{at_ms / pace / whole_s / 10:.3f}%{{visibility:visible}}}}")
        parts += [f'<g style="animation-name:t{number}">', *drawn, "</g>"]
    return _document(["<style>@media (prefers-reduced-motion:no-preference){", *rules, "}</style>", *parts], size[0], size[1])


def _document(parts: Iterable[str], columns: int, rows: int) -> str:
    wide, high = CELL
    width, height = columns * wide, rows * high
    font = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="15"'
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} {font} xml:space="preserve" shape-rendering="crispEdges">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="{_GROUND}"/>', *parts, "</svg>", ""])


def _runs(cells: Sequence[Cell]) -> list[Run]:
    return [Run("".join(sign for sign, _ in run), look) for look, run in groupby(cells, key=itemgetter(1))]


def _drawn(placed: Iterable[tuple[int, int, Iterable[Run]]]) -> list[str]:
    """Runs, each with its column and row, as SVG elements: one path for each fill colour, and then the texts."""
    filled: dict[tuple[bool, str], list[_Box]] = defaultdict(list)
    texts = []
    for x, y, runs in placed:
        signs: list[tuple[int, str, Look]] = []
        for run in runs:
            filled[False, run.look.ground].append(_Box(x, y, text_width(run.text), 1))
            for sign in wcwidth().iter_graphemes(run.text):
                blocks = [_Box(x + left, y + top, width, height) for left, top, width, height in _blocks(sign)]
                filled[True, run.look.ink] += blocks
                if not blocks and sign != " ":
                    signs.append((x, sign, run.look))
                x += text_width(sign)
        texts += [_text([*alike], y) for _, alike in groupby(signs, key=lambda each: (each[2].ink, each[2].bold))]
    # Grounds first: a character may stick out over the next cell's ground.
    return [*(_path(colour, boxes) for (_, colour), boxes in sorted(filled.items()) if boxes), *texts]


class _Box(NamedTuple):
    """Left, top, width and height, in cells."""

    x: float
    y: float
    width: float
    height: float


def _path(colour: str, boxes: Iterable[_Box]) -> str:
    """Boxes filled with a colour, as one path. Adjacent boxes are merged, first along each row, then from row to row."""
    wide: list[_Box] = []
    for box in boxes:
        if wide and wide[-1].x + wide[-1].width == box.x and wide[-1][1::2] == box[1::2]:
            box = box._replace(x=wide[-1].x, width=wide.pop().width + box.width)
        wide.append(box)
    high: dict[tuple[float, float, float], _Box] = {}
    for box in wide:
        above = high.pop((box.x, box.width, box.y), None)
        box = box if above is None else box._replace(y=above.y, height=above.height + box.height)
        high[box.x, box.width, box.y + box.height] = box
    (wide_px, high_px), parts = CELL, []
    for x, y, width, height in high.values():
        parts.append(f"M{x * wide_px:g} {y * high_px:g}h{width * wide_px:g}v{height * high_px:g}h{-width * wide_px:g}")
    return f'<path fill="{colour}" d="{"".join(parts)}"/>'


def _text(signs: Sequence[tuple[int, str, Look]], y: int) -> str:
    """Characters of one look in a row. Each gets its own position, since fonts differ in their widths."""
    look = signs[0][2]
    # A grapheme of several code points needs a position for each; only the first counts.
    places = " ".join(f"{x * CELL[0]}" for x, sign, _ in signs for _ in sign)
    weight = ' font-weight="bold"' if look.bold else ""
    return f'<text x="{places}" y="{y * CELL[1] + 14.5}" fill="{look.ink}"{weight}>{escape("".join(sign for _, sign, _ in signs))}</text>'


def _blocks(sign: str) -> Iterator[tuple[float, float, float, float]]:
    """The parts of a cell that a block character fills, from 0 to 1: left, top, width, height."""
    if sign in _QUADRANTS:
        for top in range(2):
            left, right = _QUADRANTS[sign] >> 2 * top & 1, _QUADRANTS[sign] >> 2 * top & 2
            if left or right:
                yield 0 if left else 0.5, top / 2, 1 if left and right else 0.5, 0.5
    elif "▁" <= sign <= "▇":
        part = (ord(sign) - ord("▁") + 1) / 8
        yield 0, 1 - part, 1, part
    elif "▉" <= sign <= "▏":
        yield 0, 0, (ord("▏") - ord(sign) + 1) / 8, 1


# ---- asciinema


def cast_of(line: TimeLine, size: Size, settings: UiSettings) -> Iterator[str]:
    """The whole race at its own pace, as the lines of a cast file."""
    columns, height = size
    title = f"Carpet Race {line.record.id}".rstrip()
    yield (
        json.dumps({"version": 2, "width": columns, "height": height, "title": title, "duration": (line.end_ms + LINGER_MS) / 1000}) + "\n"
    )
    for at_ms, changes in _changes(line, size, settings, EVERY_MS):
        drawn = "".join(map(_written, changes))
        yield json.dumps([at_ms / 1000, "o", ("" if at_ms else "\x1b[?25l\x1b[2J") + drawn], ensure_ascii=False) + "\n"
    yield json.dumps([(line.end_ms + LINGER_MS) / 1000, "o", "\x1b[0m"]) + "\n"


def _written(change: Change) -> str:
    """A change as the text that a terminal is sent."""
    parts = [f"\x1b[{change.row + 1};{change.column + 1}H"]
    before = Look("", "")
    for number, (text, look) in enumerate(_runs(change.cells)):
        codes = [] if number and look.bold is before.bold else ["1" if look.bold else "22"]
        codes += [] if look.ink == before.ink else [_sgr(38, look.ink)]
        codes += [] if look.ground == before.ground else [_sgr(48, look.ground)]
        before = look
        parts.append(f"\x1b[{';'.join(codes)}m{text}")
    return "".join(parts)


def _sgr(kind: int, colour: str) -> str:
    return f"{kind};2;" + ";".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
