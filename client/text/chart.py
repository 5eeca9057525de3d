"""A row of figures as columns of text, with a scale on the left: for output that is no screen.

Pure. Block characters show eighths of a row, ASCII shows thirds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

AXIS: Final = 7
"""Cells left of the columns."""

BLOCKS: Final = "▁▂▃▄▅▆▇█│└─"
"""Characters that a chart is made of where it is not of ASCII: the parts of a row, then the axes."""
_ASCII: Final = ".:#|+-"
_WIDEST: Final = 4
"""Cells that a column has at most, where there are few of them."""


def chart(values: Sequence[int], *, low: int, high: int, width: int, height: int, ascii_only: bool) -> list[str]:
    """`height` rows of at most `width` cells: the last of the values, one column each, as many as fit; low and high: the ends of the scale.

    Below them comes the axis. A label is the value at the top of its row. There is at least one value, and low < high.
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


def shown(count: int, width: int) -> int:
    """How many of so many values a chart of `width` cells shows."""
    return min(count, max(width - AXIS, 1))


def _steps(value: int, low: int, high: int, steps: int) -> int:
    """How high a column is. What is more than `low` is to be seen, however little it is."""
    part = (min(max(value, low), high) - low) * steps
    return -(-part // (high - low))
