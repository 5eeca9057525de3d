"""A series of numbers as columns of text, with a scale on the left, for output that is not a screen.

Pure. Block characters show eighths of a row, ASCII shows thirds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

AXIS: Final = 7
"""Cells left of the columns."""

BLOCKS: Final = "▁▂▃▄▅▆▇█│└─"
"""The characters of a chart that is not ASCII: the parts of a row, then the axes."""
_ASCII: Final = ".:#|+-"
_WIDEST: Final = 4
"""Cells of a column, at most, if there are few."""


def chart(values: Sequence[int], *, low: int, high: int, width: int, height: int, ascii_only: bool) -> list[str]:
    """`height` rows of at most `width` cells: one column per value, for as many of the last values as fit. low, high: ends of the scale.

    The axis comes below. A label is the value at the top of its row. There must be at least one value, and low < high.
    """
    columns = values[-shown(len(values), width) :]
    across = min(max(width - AXIS, 1) // len(columns), _WIDEST)
    alphabet = _ASCII if ascii_only else BLOCKS
    parts, down, corner, along = alphabet[:-3], *alphabet[-3:]
    steps = [_steps(value, low, high, height * len(parts)) for value in columns]
    rows: list[str] = []
    for row in range(height):
        below = (height - 1 - row) * len(parts)
        label = {0: str(high), height // 2: str(low + (high - low) * (height - height // 2) // height)}.get(row, "")
        line = "".join((" " if each <= below else parts[min(each - below, len(parts)) - 1]) * across for each in steps)
        rows.append(f"{label:>{AXIS - 2}} {down}{line}".rstrip())
    rows.append(f"{low:>{AXIS - 2}} {corner}{along * (len(columns) * across)}")
    return rows


def strip(values: Sequence[int], low: int, high: int, *, ascii_only: bool) -> str:
    """The values as a row of columns, a cell each. low, high: ends of the scale, low <= high."""
    parts = (_ASCII if ascii_only else BLOCKS)[:-3]
    return "".join(parts[max(_steps(value, low, max(high, low + 1), len(parts)), 1) - 1] for value in values)


def shown(count: int, width: int) -> int:
    """How many of `count` values a chart of `width` cells shows."""
    return min(count, max(width - AXIS, 1))


def _steps(value: int, low: int, high: int, steps: int) -> int:
    """The height of a column. Any value above `low` shows, however slightly."""
    part = (min(max(value, low), high) - low) * steps
    return -(-part // (high - low))
