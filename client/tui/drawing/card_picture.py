"""Cards as pixels, for terminals that show pictures. Pure.

A picture lies around a card's rank and suit, which stay text. Each of its cells is a private sign, in a role that names the picture: so
lines with them are cut, moved and covered like all others. What a terminal is told for such a cell is the adapter's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from client.tui.drawing.court import ART, INKS
from client.tui.drawing.picture import Line
from client.tui.drawing.theme import Palette, grounds

ROLE: Final = "picture "
ROWS, COLUMNS = 16, 16
"""No card is larger, in cells."""
_FIRST: Final = 0xF0000
SIGNS: Final = {_FIRST + row * COLUMNS + column: (row, column) for row in range(ROWS) for column in range(COLUMNS)}
"""Each sign of a cell, with its row and column in the picture."""
_SAMPLES: Final = 3
"""Along each side of a pixel; how many of them a shape covers is how much of its ink the pixel has."""

# Where the pips of a rank lie: (column of three, row of five), as on a printed card.
_SIDES_FOUR: Final = tuple((column, row) for column in (0, 2) for row in (0, 1, 3, 4))
_SIDES_THREE: Final = tuple((column, row) for column in (0, 2) for row in (0, 2, 4))
_CORNERS: Final = ((0, 0), (2, 0), (0, 4), (2, 4))
PIPS: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "A": ((1, 2),),
    "2": ((1, 0), (1, 4)),
    "3": ((1, 0), (1, 2), (1, 4)),
    "4": _CORNERS,
    "5": (*_CORNERS, (1, 2)),
    "6": _SIDES_THREE,
    "7": (*_SIDES_THREE, (1, 1)),
    "8": (*_SIDES_THREE, (1, 1), (1, 3)),
    "9": (*_SIDES_FOUR, (1, 2)),
    "T": (*_SIDES_FOUR, (1, 1), (1, 3)),
}


class Pixels(NamedTuple):
    """Columns and rows of the picture, in cells; its width and height in pixels, and these from the top left, four bytes each (RGBA)."""

    columns: int
    rows: int
    width: int
    height: int
    data: bytes


def with_picture(lines: list[Line], card: str, look: str) -> list[Line]:
    """The lines of a card, with cells of its picture where they are blank."""
    role = f"{ROLE}{card} {look} {sum(len(text) for _, text in lines[0])}x{len(lines)}"
    drawn = []
    for row, line in enumerate(lines):
        pieces: Line = []
        column = 0
        for own, text in line:
            for part in re.findall(r" +|[^ ]+", text):
                cells = "".join(chr(_FIRST + row * COLUMNS + at) for at in range(column, column + len(part)))
                pieces.append((role, cells) if part[0] == " " else (own, part))
                column += len(part)
        drawn.append(pieces)
    return drawn


def pixels(role: str, palette: Palette, cell: tuple[int, int]) -> Pixels:
    """The picture that a role names. cell: the width and height of a cell in pixels."""
    card, look, size = role.removeprefix(ROLE).split()
    columns, rows = map(int, size.split("x"))
    width, height = columns * cell[0], rows * cell[1]
    ground, ink = _rgb(grounds(palette)[look].exact), _rgb(palette.suits["SHDC".index(card[1])].exact)
    lines = [bytearray(ground * width) for _ in range(height)]
    # The first and the last row of cells have the rank and the suit.
    room = _Room(cell[0], cell[1], width - 2 * cell[0], height - 2 * cell[1])
    if card[0] in "JQK" and rows >= 5:
        _draw_court(lines, room, card[0], ink, ground)
    else:
        _draw_pips(lines, room, card, ink, ground, one=rows < 5)
    _round_corners(lines, width, height, cell[0] * 2 // 3)
    return Pixels(columns, rows, width, height, b"".join(lines))


class _Room(NamedTuple):
    left: int
    top: int
    width: int
    height: int


def _rgb(exact: str) -> bytes:
    return bytes.fromhex(exact[1:]) + b"\xff"


def _draw_pips(lines: list[bytearray], room: _Room, card: str, ink: bytes, ground: bytes, *, one: bool) -> None:
    places = PIPS.get(card[0], PIPS["A"]) if not one else PIPS["A"]
    side = min(room.width, room.height) if len(places) == 1 else min(room.width * 3 // 10, room.height // 5)
    upright = _pip(card[1], max(side, 4), ink, ground)
    for column, row in places:
        left = room.left + (room.width - len(upright)) * column // 2
        top = room.top + (room.height - len(upright)) * row // 4
        for at, drawn in enumerate(upright if row <= 2 else upright[::-1], top):
            lines[at][4 * left : 4 * left + len(drawn)] = drawn


def _draw_court(lines: list[bytearray], room: _Room, rank: str, ink: bytes, ground: bytes) -> None:
    """The portrait twice, the second time upside down, in a frame."""
    half = ART[rank]
    whole = [*half, *(row[::-1] for row in reversed(half))]
    wide, high = max(room.width // (len(half[0]) + 2), 1), max((room.height - 4) // len(whole), 1)
    width, height = wide * (len(half[0]) + 2), high * len(whole) + 4
    left, top = room.left + (room.width - width) // 2, room.top + (room.height - height) // 2
    inks = {"R": ink, ".": ground} | {name: _rgb(exact) for name, exact in INKS.items()}
    rows = [ink * width, ground * width]
    for row in whole:
        rows += [ground * wide + b"".join(inks[pixel] * wide for pixel in row) + ground * wide] * high
    rows += [ground * width, ink * width]
    for at, drawn in enumerate(rows, top):
        lines[at][4 * left : 4 * (left + width)] = drawn
        lines[at][4 * left : 4 * (left + 1)] = lines[at][4 * (left + width - 1) : 4 * (left + width)] = ink


def _round_corners(lines: list[bytearray], width: int, height: int, radius: int) -> None:
    """What lies beyond the corners cannot be seen."""
    for y in range(radius):
        for x in range(radius):
            seen = _covered(lambda across, down: across * across + down * down <= radius * radius, radius - x - 1, radius - y - 1)
            for row in (y, height - 1 - y):
                for column in (x, width - 1 - x):
                    lines[row][4 * column + 3] = 255 * seen // (_SAMPLES * _SAMPLES)


def _covered(shape: Callable[[float, float], bool], x: float, y: float, scale: float = 1.0) -> int:
    """How many of the samples of a pixel lie in a shape."""
    steps = [(at + 0.5) / _SAMPLES for at in range(_SAMPLES)]
    return sum(shape((x + across) * scale, (y + down) * scale) for down in steps for across in steps)


@lru_cache(maxsize=64)
def _pip(suit: str, side: int, ink: bytes, ground: bytes) -> list[bytes]:
    """A suit's sign in a square, row by row."""
    shape, most = _SHAPES[suit], _SAMPLES * _SAMPLES
    mixed = [
        bytes((ground[part] * (most - covered) + ink[part] * covered) // most for part in range(3)) + b"\xff" for covered in range(most + 1)
    ]
    scale, middle = 2 / side, (side + 1) // 2
    seen = [[shape((x + 0.5) * scale - 1, (y + 0.5) * scale - 1) for x in range(middle)] for y in range(side)]

    def pixel(x: int, y: int) -> int:
        # Only at an edge are there samples to be counted, and the right half is the left one's mirror image.
        beside = seen[max(y - 1, 0)][x], seen[min(y + 1, side - 1)][x], seen[y][max(x - 1, 0)], seen[y][min(x + 1, middle - 1)]
        if set(beside) == {seen[y][x]}:
            return most if seen[y][x] else 0
        return _covered(lambda across, down: shape(across - 1, down - 1), x, y, scale)

    halves = [[mixed[pixel(x, y)] for x in range(middle)] for y in range(side)]
    return [b"".join([*half, *half[: side // 2][::-1]]) for half in halves]


# The signs of the suits in a square of -1 to 1, from its left and its top.


def _heart(x: float, y: float) -> bool:
    across, up = x * 1.2, 0.22 - y * 1.18
    return (across * across + up * up - 1) ** 3 - across * across * up**3 <= 0


def _stem(x: float, y: float) -> bool:
    return 0.2 <= y <= 0.98 and abs(x) <= 0.06 + 0.34 * max(y - 0.45, 0) ** 1.5 * 2


def _spade(x: float, y: float) -> bool:
    return _heart(x, -y * 1.2 - 0.12) or _stem(x, y)


def _club(x: float, y: float) -> bool:
    leaves = ((0, -0.52), (-0.5, 0.16), (0.5, 0.16))
    return any((x - left) ** 2 + (y - top) ** 2 <= 0.2 for left, top in leaves) or (abs(x) < 0.2 and abs(y) < 0.3) or _stem(x, y)


def _diamond(x: float, y: float) -> bool:
    return abs(x) / 0.76 + abs(y) / 0.98 <= 1


_SHAPES: Final[dict[str, Callable[[float, float], bool]]] = {"S": _spade, "H": _heart, "D": _diamond, "C": _club}
